package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/cmd/nullops/internal/exit"
)

// startCluster starts what a doctor needs of an API server, which denies these rights.
func startCluster(t *testing.T, denied ...string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if !strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
			answers := map[string]string{"/version": `{"gitVersion": "v1.34.3"}`,
				"/api/v1/nodes": `{"items": [{"metadata": {"name": "a"}, "status": {"conditions":
					[{"type": "Ready", "status": "True"}], "allocatable": {"cpu": "2"}}}]}`,
				"/apis/storage.k8s.io/v1/storageclasses": `{"items": [{"metadata": {"name": "fast",
					"annotations": {"storageclass.kubernetes.io/is-default-class": "true"}}}]}`}
			if answers[r.URL.Path] == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = w.Write([]byte(answers[r.URL.Path]))
			return
		}
		var review struct {
			Kind       string         `json:"kind"`
			APIVersion string         `json:"apiVersion"`
			Metadata   map[string]any `json:"metadata"`
			Spec       struct {
				Attributes map[string]string `json:"resourceAttributes"`
			} `json:"spec"`
			Status map[string]any `json:"status"`
		}
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		asked, allowed := review.Spec.Attributes, true
		for _, one := range denied {
			allowed = allowed && one != asked["verb"]+" "+asked["resource"]
		}
		review.Status = map[string]any{"allowed": allowed}
		w.WriteHeader(http.StatusCreated)
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": [{"name": "c", "cluster": {"server": "` + server.URL + `"}}],
		"contexts": [{"name": "x", "context": {"cluster": "c"}}]}`
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func examine(t *testing.T, kubeconfig string) (said string, err error) {
	t.Helper()
	s, err := loadSettings([]string{"--agent.runtime=kubernetes", "--agent.kubernetes.helper=agent:1",
		"--agent.kubernetes.kubeconfig=" + kubeconfig, "--agent.data=" + t.TempDir()}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	err = runDoctor(t.Context(), s, &text, output.JSON[diagnosis]{})
	return text.String(), err
}

// The doctor of a cluster names each right that the agent lacks, and how to grant them; with all
// of them it says what the cluster is, and tries whether it enforces network policies.
func TestDoctor_OfACluster(t *testing.T) {
	t.Parallel()
	said, err := examine(t, startCluster(t, "delete namespaces", "watch pods"))
	if exit.CodeOf(err) != exit.Failed {
		t.Errorf("without two rights: %v", err)
	}
	for _, want := range []string{"lacks 2 of its", "may not delete namespaces\n",
		"may not watch pods\n", "docs/kubernetes.md"} {
		if !strings.Contains(said, want) {
			t.Errorf("it does not say %q:\n%s", want, said)
		}
	}
	if strings.Contains(said, "may not create") || strings.Contains(said, "Docker") {
		t.Errorf("it says:\n%s", said)
	}
	said, err = examine(t, startCluster(t))
	if !strings.Contains(said, "Kubernetes 1.34.3, machines: 1") ||
		!strings.Contains(said, "StorageClass fast (default)") ||
		!strings.Contains(said, "enforces network policies could not be tried") ||
		strings.Contains(said, "Docker Engine") {
		t.Errorf("with all rights, %v:\n%s", err, said)
	}
}
