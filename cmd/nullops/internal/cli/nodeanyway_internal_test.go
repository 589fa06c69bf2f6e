package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
)

// What cuts off those who are at a node's deployments names them, and does it with --anyway only.
func TestNode_NamesWhomItCutsOff(t *testing.T) {
	const said = "deployments of node worker-2 are in use: first by lena (12 seconds ago)"
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method+" "+r.URL.RequestURI())
		status, kind := http.StatusOK, "application/json"
		body := map[string]any{"token": "t", "command": "docker run",
			"node": map[string]any{"name": "worker-2"}}
		if r.URL.Query().Get("anyway") != "true" {
			status, kind = http.StatusConflict, "application/problem+json"
			body = map[string]any{"status": status, "code": "people_present", "detail": said,
				"remedy": "Ask them first, or do it anyway (anyway, --anyway)."}
		} else if r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/token") {
			status = http.StatusCreated
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(body)
	}))
	t.Cleanup(server.Close)
	t.Setenv("NULLOPS_CLI_URL", server.URL)
	t.Setenv("NULLOPS_CLI_TOKEN", "x")
	t.Setenv("NULLOPS_CLI_FINGERPRINT", "")
	for line, path := range map[string]string{
		"disable worker-2":        "POST /api/v1/nodes/worker-2/disable",
		"rotate worker-2":         "POST /api/v1/nodes/worker-2/token",
		"revoke worker-2":         "DELETE /api/v1/nodes/worker-2/token",
		"remove worker-2 --force": "POST /api/v1/nodes/worker-2/forget"} {
		run := func(more ...string) error {
			c := nodeCommand()
			c.SetArgs(append(strings.Fields(line), more...))
			c.SetOut(io.Discard)
			c.SetErr(io.Discard)
			c.SilenceErrors, c.SilenceUsage = true, true
			return c.ExecuteContext(t.Context())
		}
		asked = nil
		// promise: W-05
		if err := run(); err == nil || !strings.Contains(err.Error(), "lena (12 seconds ago)") {
			t.Errorf("node %s: %v", line, err)
		}
		if err := run("--anyway"); err != nil {
			t.Errorf("node %s --anyway: %v", line, err)
		}
		if !slices.Equal(asked, []string{path, path + "?anyway=true"}) {
			t.Errorf("node %s asks for %q", line, asked)
		}
	}
}
