//go:build kubernetes

package sweep_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/internal/testpart"
)

// The same, on a real cluster that tools/kubernetes/node.sh has started.
//
// fault: F20
// promise: K-05
func TestAgent_SurvivesKillAtEveryFailpointOnKubernetes(t *testing.T) {
	newClusterSite(t).sweep(t, testpart.Pick(t, failpointNames()))
}

// clusterEngine is a cluster.
type clusterEngine struct {
	kubeconfig, from string
	// helper is the image with our helper.
	helper string
}

func newClusterSite(t *testing.T) *site {
	t.Helper()
	e := clusterEngine{kubeconfig: clustertest.Variable(t, "NULLOPS_TEST_KUBERNETES"),
		from:   clustertest.Variable(t, "NULLOPS_TEST_KUBERNETES_FROM"),
		helper: clustertest.PublishHelper(t)}
	actor := dockertest.BuildActor(t)
	return &site{engine: e, binary: buildAgent(t),
		service: clustertest.PublishProgram(t, "nullops-test/actor", "actor", actor, "/actor"),
		plugin: clustertest.PublishProgram(t, "nullops-test/record", "actor", actor, "/actor",
			"record")}
}

func (e clusterEngine) agentFlags(*node) []string {
	return []string{"--agent.runtime=kubernetes", "--agent.kubernetes.kubeconfig=" + e.kubeconfig,
		"--agent.kubernetes.helper=" + e.helper, "--agent.kubernetes.admit=" + e.from + "/32",
		"--agent.grace=2s"}
}

func (e clusterEngine) ledgerHost() string { return e.from }

// has: services are not started before their turn on a cluster.
func (clusterEngine) has(place string) bool {
	return !strings.HasPrefix(place, "sandbox.service_") && !strings.HasPrefix(place, "holder.")
}

// scanForLeaks need not wait: removing a deployment has waited for its namespace.
func (clusterEngine) scanForLeaks(t testing.TB, install string) []string {
	t.Helper()
	return clustertest.ListLeft(t, install)
}
