package kubernetes_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/nullops/nullops/agent/kubernetes"
)

// Before anything is created, the agent learns which cluster this is, and may refuse it.
func TestNew_RefusesAnotherCluster(t *testing.T) {
	t.Parallel()
	a := &apiServer{t: t, answer: func(r *http.Request) (int, string, bool) {
		if r.URL.Path == "/api/v1/namespaces/kube-system" {
			return 200, `{"kind":"Namespace","apiVersion":"v1","metadata":{"uid":"one"}}`, true
		}
		return 0, "", false
	}}
	server := httptest.NewServer(a)
	t.Cleanup(server.Close)
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfigFor(server.URL)), 0o600); err != nil {
		t.Fatal(err)
	}
	refusal, asked := errors.New("it is another one"), ""
	_, err := kubernetes.New(t.Context(), kubernetes.Config{Kubeconfig: file, Install: "test",
		Helper: "registry.test/agent:1", CheckCluster: func(id string) error {
			asked = id
			return refusal
		}})
	if !errors.Is(err, refusal) || asked != "one" || len(a.changed()) > 0 {
		t.Errorf("asked for %q it says %v, and did %v", asked, err, a.changed())
	}
}
