package docker_test

import (
	"fmt"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// One plugin step, with its container made ahead as the engine does, beside
// what a person would type.
func BenchmarkPluginStep(b *testing.B) {
	r := newRig(b)
	id := r.deployment()
	p := r.plugin(id, "step")
	ref := r.image.Repository + ":" + r.image.Tag
	b.Run("ours", func(b *testing.B) {
		for range b.N {
			b.StopTimer()
			if err := r.CreatePlugin(b.Context(), p); err != nil {
				b.Fatal(err)
			}
			b.StartTimer()
			if _, err := r.RunPlugin(b.Context(), p, []byte("{}"), func(string) {}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("docker run", func(b *testing.B) {
		for range b.N {
			c := exec.CommandContext(b.Context(), "docker", "-H", r.host, "run", "--rm", "-i", ref)
			c.Stdin = strings.NewReader("{}")
			if out, err := c.CombinedOutput(); err != nil {
				b.Fatalf("%v: %s", err, out)
			}
		}
	})
}

// What one measurement of a node with twenty services costs the agent, in
// processor time; it is made every five seconds.
func BenchmarkVitals_TwentyServices(b *testing.B) {
	r := newRig(b)
	id := r.deployment()
	var all []agent.ServiceSpec
	for i := range 20 {
		s := r.service(id, pipeline.StepKey(fmt.Sprintf("web-%d", i)))
		if err := r.StartService(b.Context(), s); err != nil {
			b.Fatal(err)
		}
		all = append(all, s)
	}
	before := processorTime(b)
	for b.Loop() {
		if v, err := r.Vitals(b.Context(), all); err != nil || v.Services[19].Memory == 0 {
			b.Fatalf("%+v, %v", v, err)
		}
	}
	b.ReportMetric(float64(processorTime(b)-before)/float64(b.N)/1e6, "cpu-ms/op")
}

// processorTime is what this process used so far, in nanoseconds.
func processorTime(b *testing.B) int64 {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return u.Utime.Nano() + u.Stime.Nano()
}
