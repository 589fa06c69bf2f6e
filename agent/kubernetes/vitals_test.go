//go:build kubernetes

package kubernetes_test

import (
	"io"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// The kubelet's figures are those of machines and services, with what went through their networks.
func TestVitals_MeasuresMachinesAndServices(t *testing.T) {
	testpart.Rotate(t)
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
		one := v.Services[0]
		if v.MemoryUsed > 0 && v.DiskFree > 0 && one.Memory > 0 && v.MemoryOurs == one.Memory &&
			v.Services[1].Detail == "its pod is gone" && v.Flow.NetIn > 0 && v.Flow.NetOut > 0 &&
			one.Flow.NetIn > 1000 && one.Flow.NetOut > 1000 {
			return
		}
		r.sendMuch(deployment, "web")
		if time.Now().After(deadline) {
			t.Fatalf("it measures %+v", v)
		}
		_ = wait.Sleep(t.Context(), time.Second)
	}
}

// sendMuch has a service send back what it is sent.
func (r *rig) sendMuch(deployment string, step pipeline.StepKey) {
	r.t.Helper()
	conn, err := r.Dial(r.t.Context(), deployment, step, 7)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	data := make([]byte, 256<<10)
	go func() { _, _ = conn.Write(data) }()
	if _, err := io.ReadFull(conn, make([]byte, len(data))); err != nil {
		r.t.Error(err)
	}
}
