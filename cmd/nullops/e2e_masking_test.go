package main_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
)

// masking runs a plugin that logs and returns its secrets in every spelling.
func masking(t *testing.T, w *world) {
	p := w.product()
	const secret = "canary/masking+value 42"
	leaking := func(key, mode string, needs ...string) object {
		s := hostileStep(key, needs, object{"mode": mode})
		s["plugin"].(object)["secrets"] = object{"token": "${{ secrets.CANARY }}"}
		return s
	}
	p.admin.put(t, "/projects/leaky", object{"resources": object{"memory_mib": 512}}, nil)
	p.admin.put(t, "/projects/leaky/secrets/CANARY", object{"value": secret}, nil)
	p.savePipeline(t, "leaky", leaking("log", "leak"), leaking("out", "leak-output", "log"))
	d := p.admin.deployReady(t, "leaky", "leaky", nil)
	log := strings.Join(p.admin.stepLog(t, d, "log"), "\n")
	// promise: N-066, N-111, N-112
	for _, line := range []string{"leaking 1 secrets", "leaked"} {
		if !strings.Contains(log, line) {
			t.Errorf("the plugin did not get its secret, or its log is not here: %q", log)
		}
	}
	seen := map[string]string{"log": log}
	for _, path := range []string{"", "/runs/1", "/runs/1/steps/out/log", "/runs/1/steps/log/log"} {
		seen[path] = p.admin.ask(t, http.MethodGet, "/deployments/"+d.Id+path, nil).body
	}
	seen["secrets"] = p.admin.ask(t, http.MethodGet, "/projects/leaky/secrets", nil).body
	seen["dump"] = string(p.dump(t))
	for place, text := range seen {
		for form, spelling := range dockertest.SecretForms(secret) {
			if bytes.Contains([]byte(text), spelling) {
				// promise: I-12
				t.Errorf("the secret is in %s as %s", place, form)
			}
		}
		for _, spelling := range []string{"%63%61%6e%61", "&#x63;&#x61;", `\u0063\u0061`} {
			if strings.Contains(text, spelling) {
				t.Errorf("the secret is in %s with each byte escaped: %s", place, spelling)
			}
		}
	}
	if !strings.Contains(seen["/runs/1"], "[secret]") || !strings.Contains(seen["secrets"], "CANARY") {
		t.Errorf("where is it hidden? %s %s", seen["/runs/1"], seen["secrets"])
	}
	p.admin.remove(t, d.Id)
}
