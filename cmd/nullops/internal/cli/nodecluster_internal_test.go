package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
	"github.com/nullops/nullops/controlplane/apiclient"
)

// readNode decodes a node as an API would answer it.
func readNode(t *testing.T, text string) (n apiclient.Node) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &n); err != nil {
		t.Fatal(err)
	}
	return n
}

const clusterText = `{"name": "qa", "inventory": {"hostname": "10.96.0.1", "os": "Debian",
	"kernel": "6", "arch": "amd64", "engine_version": "Kubernetes v1.34.3", "api_version": "v1",
	"cpu": 6, "memory": 12884901888, "disk": 1, "runtime": "kubernetes",
	"cluster": {"version": "v1.34.3",
	"network": "Calico", "machine_count": 3, "machines": [
		{"name": "a", "state": "ready", "version": "v1.34.3", "cpu": 3.5, "memory": 8589934592},
		{"name": "b", "state": "not_ready", "version": "v1.33.1", "cpu": 2, "memory": 4294967296,
			"detail": "Kubelet stopped"}],
	"storage_classes": [{"name": "fast", "provisioner": "disk", "default": true}]}}}`

// A cluster is described in its own terms; what it has no use for is said, and nothing is taken for
// Docker. An API that knows no clusters describes machines as before.
func TestPrintFacts_DescribesClusters(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		node       string
		has, lacks []string
	}{
		{clusterText, []string{"Kubernetes 1.34.3", "Calico", "fast (disk, default)", "machine a",
			"ready, kubelet 1.34.3, 3.5 cores, 8.6 GB of memory", "not ready, kubelet 1.33.1",
			": Kubelet stopped", "1 more", "does not apply", "image clean-up"}, []string{"Docker"}},
		{`{"inventory": {"hostname": "m", "os": "Debian", "engine_version": "28.5.1", "cpu": 2}}`,
			[]string{"Docker 28.5.1", "runc"}, []string{"Kubernetes", "does not apply"}},
	} {
		var text strings.Builder
		if err := printFacts(&text, readNode(t, c.node)); err != nil {
			t.Fatal(err)
		}
		for _, want := range c.has {
			if !strings.Contains(text.String(), want) {
				t.Errorf("it does not say %q:\n%s", want, text.String())
			}
		}
		for _, not := range c.lacks {
			if strings.Contains(text.String(), not) {
				t.Errorf("it says %q:\n%s", not, text.String())
			}
		}
	}
}

// Both lines for a cluster are printed, and not the one for a machine. A control plane that does
// not know them is named, with what to do.
func TestPrintEnrolment_OfACluster(t *testing.T) {
	t.Parallel()
	e := apiclient.NodeEnrolment{Node: apiclient.Node{Name: "qa"}, Command: "docker run it",
		Kubernetes: &apiclient.KubernetesCommands{Helm: "helm it", Kubectl: "kubectl it"}}
	var text strings.Builder
	c := &cobra.Command{}
	c.SetOut(&text)
	if err := printEnrolment(c, e, output.JSON[apiclient.NodeEnrolment]{}, true); err != nil {
		t.Fatal(err)
	}
	if said := text.String(); !strings.Contains(said, "\n\nhelm it\n\n") ||
		!strings.Contains(said, "\n\nkubectl it\n\n") || strings.Contains(said, "docker") {
		t.Errorf("it prints:\n%s", said)
	}
	e.Kubernetes = nil
	if err := printEnrolment(c, e, output.JSON[apiclient.NodeEnrolment]{}, true); err == nil ||
		!strings.Contains(err.Error(), "nullops node rotate qa") {
		t.Errorf("an old control plane: %v", err)
	}
}
