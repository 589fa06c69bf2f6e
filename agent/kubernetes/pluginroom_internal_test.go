package kubernetes

import (
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// A plugin may use what its step names, and its pod holds next to nothing of the cluster's room
// while it waits for its turn.
func TestPluginPod_HoldsNoRoom(t *testing.T) {
	t.Parallel()
	k := newTestServices(t, map[string]imageConfig{"r.test/p:1": {Entrypoint: []string{"/p"}}})
	pod, err := k.plugins.newPod(t.Context(), agent.PluginSpec{Step: "make", Action: "create",
		Deployment: internalDeployment, Resources: pipeline.Resources{CPU: 1, MemoryMiB: 256},
		Image:       pipeline.Image{Registry: "r.test", Repository: "p", Tag: "1"},
		Traceparent: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"})
	if err != nil {
		t.Fatal(err)
	}
	// It knows the trace that its work belongs to, as on Docker.
	if env := pod.Spec.Containers[0].Env; len(env) != 1 || env[0].Name != "TRACEPARENT" ||
		env[0].Value != "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01" {
		t.Errorf("its environment is %v", env)
	}
	r := pod.Spec.Containers[0].Resources
	if r.Limits.Cpu().MilliValue() != 1000 || r.Limits.Memory().Value() != 256<<20 ||
		r.Requests.Cpu().MilliValue() > 10 || r.Requests.Memory().Value() > 16<<20 {
		t.Errorf("it is limited to %v and requests %v", r.Limits, r.Requests)
	}
}
