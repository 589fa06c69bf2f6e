//go:build kubernetes

package kubernetes_test

import (
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
)

// Without a metrics server, the figures are the kubelet's.
func TestVitals_MeasuresMachinesAndServices(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	deployment := r.newDeployment()
	web := r.echoService(deployment, "web")
	r.start(web)
	gone := web
	gone.Step = "gone"
	for deadline := time.Now().Add(90 * time.Second); ; {
		v, err := r.Vitals(t.Context(), []agent.ServiceSpec{web, gone})
		if err != nil {
			t.Fatal(err)
		}
		if v.MemoryUsed > 0 && v.DiskFree > 0 && v.Services[0].Memory > 0 &&
			v.MemoryOurs == v.Services[0].Memory && v.Services[1].Detail == "its pod is gone" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("it measures %+v", v)
		}
		_ = wait.Sleep(t.Context(), time.Second)
	}
}
