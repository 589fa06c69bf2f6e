package cli

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// The value alone goes to stdout, for scripts; what a person must know of it goes
// to stderr. A refusal prints no value.
func TestSecretReveal_PrintsOnlyTheValue(t *testing.T) {
	const id, value = "01a1fc00-0000-7000-8000-000000000000", "k3Jw9xQpL0aZ"
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.Method + " " + strings.TrimPrefix(r.URL.Path, "/api/v1/deployments/"+id) {
		case "GET ":
			_, _ = io.WriteString(w, `{"id":"`+id+`","name":"first"}`)
		case "POST /secrets/DB_PASSWORD/reveal":
			_, _ = io.WriteString(w, `{"name":"DB_PASSWORD","value":"`+value+`"}`)
		default:
			w.Header().Set("Content-Type", "application/problem+json")
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, `{"title":"you have read access here","status":403}`)
		}
	}))
	defer server.Close()
	t.Setenv("NULLOPS_CLI_URL", server.URL)
	t.Setenv("NULLOPS_CLI_TOKEN", "nop_test")
	run := func(name string) (out, errs string, err error) {
		var stdout, stderr bytes.Buffer
		c := secretCommand()
		c.SetOut(&stdout)
		c.SetErr(&stderr)
		c.SilenceUsage, c.SilenceErrors = true, true
		c.SetArgs([]string{"reveal", id, name})
		err = c.ExecuteContext(t.Context())
		return stdout.String(), stderr.String(), err
	}
	out, errs, err := run("DB_PASSWORD")
	if err != nil || out != value+"\n" || !strings.Contains(errs, "audit") ||
		strings.Contains(errs, value) {
		t.Errorf("stdout %q, stderr %q, %v", out, errs, err)
	}
	if out, _, err = run("OTHER"); out != "" || exit.CodeOf(err) != exit.Forbidden {
		t.Errorf("refused: stdout %q, %v", out, err)
	}
}
