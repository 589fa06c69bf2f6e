package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
)

// Users, teams, projects, environments and registries are made, read, changed,
// listed and deleted by an admin; the nodes' certificates are listed.
func TestAdmin_MakesReadsChangesDeletes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	for kind, c := range map[string]struct {
		first, second object
		field, was    string
		is            string
	}{
		"users": {object{"role": "user", "password": password, "display_name": "One"},
			object{"role": "admin", "display_name": "One"}, "role", "user", "admin"},
		"teams": {object{"members": []string{"full"}}, object{"members": []string{"reader"}},
			"members", "[full]", "[reader]"},
		"projects": {object{"description": "one", "resources": object{"cpu": 1, "memory_mib": 64}},
			object{"description": "two", "resources": object{"cpu": 1, "memory_mib": 64}},
			"description", "one", "two"},
		"environments": {object{"domain": "localhost", "description": "one"},
			object{"domain": "localhost", "description": "two"}, "description", "one", "two"},
		"registries": {object{"host": "localhost:5001", "insecure": true},
			object{"host": "localhost:5002", "insecure": true}, "host", "localhost:5001",
			"localhost:5002"},
	} {
		path := "/api/v1/" + kind + "/sample"
		for _, step := range []struct {
			body object
			want string
		}{{c.first, c.was}, {c.second, c.is}} {
			put := w.call("PUT", path, root, step.body)
			got := w.call("GET", path, root, nil)
			// promise: N-303
			if put.status >= 300 || got.status != http.StatusOK || got.field(c.field) != step.want {
				t.Errorf("%s: put %d %s, then it is %s", path, put.status, put.body, got.body)
			}
		}
		list := w.call("GET", "/api/v1/"+kind, root, nil)
		gone := w.call("DELETE", path, root, nil)
		after := w.call("GET", path, root, nil)
		// promise: N-303
		if !strings.Contains(string(list.body), `"sample"`) || gone.status != http.StatusNoContent ||
			after.status != http.StatusNotFound {
			t.Errorf("%s: listed in %s, deleted %d, then %d", path, list.body, gone.status, after.status)
		}
	}
	// promise: N-304
	nodes := w.call("GET", "/api/v1/nodes", root, nil)
	if !strings.Contains(string(nodes.body), fmt.Sprintf("%064x", "node-1")) {
		t.Errorf("the trusted certificate's thumbprint is not listed: %s", nodes.body)
	}
}

// Not signed in, project not visible, not allowed, key used for another request, version missing
// from the catalogue: each has its own refusal.
func TestCreateDeployment_EachRefusalIsItsOwn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	body := func(name, tag string) object {
		return object{"name": name, "project": "shop", "environment": "qa",
			"versions": object{"api": tag}}
	}
	full, codes := w.token("full"), map[string]string{}
	missing.Store("not-there", true)
	defer missing.Delete("not-there")
	if a := w.withKey("POST", "/api/v1/deployments", full, "k", body("one", "1.0")); a.status != 201 {
		t.Fatalf("a good one: %d %s", a.status, a.body)
	}
	for what, c := range map[string]struct {
		answer answer
		status int
	}{
		"identity": {w.call("POST", "/api/v1/deployments", "", body("x", "1.0")), 401},
		"scope":    {w.call("POST", "/api/v1/deployments", w.token("stranger"), body("x", "1.0")), 404},
		"policy":   {w.call("POST", "/api/v1/deployments", w.token("reader"), body("x", "1.0")), 403},
		"key": {w.withKey("POST", "/api/v1/deployments", full, "k", body("other", "1.0")),
			409},
		"catalogue": {w.call("POST", "/api/v1/deployments", full, body("x", "not-there")), 400},
	} {
		code := c.answer.field("code")
		// promise: G-11
		if c.answer.status != c.status || code == "" || codes[code] != "" {
			t.Errorf("%s: %d %s, want %d; the same as %q", what, c.answer.status, c.answer.body,
				c.status, codes[code])
		}
		codes[code] = what
	}
}

// No operation takes a secret in its query, where logs and histories would
// keep it; a token there opens nothing, and the log does not show it.
func TestContract_NoSecretInQueries(t *testing.T) {
	t.Parallel()
	for id, o := range readOperations(t) {
		for _, p := range o.op.Parameters {
			name := strings.ToLower(p.Value.Name)
			for _, word := range []string{"token", "secret", "password", "ticket", "session", "key"} {
				// promise: G-18
				if p.Value.In == openapi3.ParameterInQuery && strings.Contains(name, word) {
					t.Errorf("%s takes %s in its query", id, p.Value.Name)
				}
			}
		}
	}
	w := newWorld(t)
	w.people()
	token := w.token("root")
	for _, name := range []string{"access_token", "token", "ticket"} {
		a := w.call("GET", "/api/v1/me?"+name+"="+token, "", nil)
		// promise: G-18
		if a.status != http.StatusUnauthorized || containsValue(w.log.String(), token) {
			t.Errorf("a token in the address: %d, in the log: %v", a.status,
				containsValue(w.log.String(), token))
		}
	}
}
