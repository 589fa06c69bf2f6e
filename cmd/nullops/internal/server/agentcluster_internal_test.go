package server

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/durable"
)

// An agent stays with the cluster that it met first.
func TestCheckCluster_RefusesAnotherOne(t *testing.T) {
	t.Parallel()
	data := t.TempDir()
	for range 2 {
		if err := checkCluster(durable.OS{}, data, "first"); err != nil {
			t.Fatal(err)
		}
	}
	err := checkCluster(durable.OS{}, data, "second")
	for _, want := range []string{"agent.kubernetes.kubeconfig", "(second)", "(first)",
		"add a new cluster as a node", data} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("another cluster: the error does not say %q: %v", want, err)
		}
	}
	if err := checkCluster(durable.OS{}, data, "first"); err != nil {
		t.Errorf("back at the first: %v", err)
	}
}
