//go:build kubernetes

package kubernetes_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/agent/wire"
)

// The probe tells a cluster that enforces network policies from one that only stores them. This
// node's network plugin is of the second kind; rules of the kernel that follow from the same
// objects (tools/kubernetes/policies.go) make it one of the first. It runs alone: the rules are for
// every pod.
func TestProbeIsolation_TellsWhetherPoliciesAreEnforced(t *testing.T) {
	r := newRig(t)
	// promise: K-04
	if c := r.ProbeIsolation(t.Context()); c.Severity != wire.SeverityCritical ||
		!strings.Contains(c.Detail, "the API server") || !strings.Contains(c.Remedy, "Calico") {
		t.Errorf("without enforcement, it says %+v", c)
	}
	clustertest.EnforcePolicies(t)
	// promise: K-04
	if c := r.ProbeIsolation(t.Context()); c.Severity != wire.SeverityOK {
		t.Errorf("with enforcement, it says %+v", c)
	}
	for _, n := range newAdmin(t).list("/api/v1/namespaces").Items {
		if n.Metadata.Labels["nullops.probe"] == r.config.Install {
			t.Errorf("it leaves the namespace %s", n.Metadata.Name)
		}
	}
	// Services work under the same rules.
	deployment := r.newDeployment()
	r.start(r.echoService(deployment, "web"))
	newAdmin(t).mustDo(http.MethodGet, "/api/v1/namespaces/"+r.namespaceOf(deployment)+
		"/services/web", "")
}
