package docker_test

import (
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/pipeline"
)

// A service that is slow to start may use idle processors, and has its limit back by the time that
// it is ready, also after a restart of the agent.
func TestProbe_LendsProcessorsToASlowStart(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Docker = r.openWith(func(c *docker.Config) { c.StartCPU = 1 })
	id := r.deployment()
	s := r.service(id, "slow")
	s.Resources, s.Starting = pipeline.Resources{CPU: 0.25, MemoryMiB: 64}, true
	s.Ready.HTTP.Path = "/status/503"
	if err := r.StartService(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	if got := r.limitOfCPU("slow"); got != 250_000_000 {
		t.Errorf("it begins with a limit of %d billionths of a processor", got)
	}
	r.awaitLimit(s, 1_000_000_000)
	r.Docker = r.openWith(func(*docker.Config) {})
	s.Ready.HTTP.Path = "/"
	r.awaitReady(s)
	if got := r.limitOfCPU("slow"); got != 250_000_000 {
		t.Errorf("it is ready with a limit of %d billionths of a processor", got)
	}
}

// Only a start is helped: a service that was ready and is not any more, or that starts within its
// limit, or a node whose admin wants none of it.
func TestProbe_LendsNothingElse(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.Docker = r.openWith(func(c *docker.Config) { c.StartCPU = 0.5 })
	id := r.deployment()
	ill, wide := r.service(id, "ill"), r.service(id, "wide")
	ill.Resources = pipeline.Resources{CPU: 0.25, MemoryMiB: 64}
	wide.Resources, wide.Starting = pipeline.Resources{CPU: 0.75, MemoryMiB: 64}, true
	for _, s := range []agent.ServiceSpec{ill, wide} {
		s.Ready.HTTP.Path = "/status/503"
		if err := r.StartService(t.Context(), s); err != nil {
			t.Fatal(err)
		}
		began := time.Now()
		dockertest.WaitUntil(t.Context(), t, "it is asked long enough", func() bool {
			p, err := r.Probe(t.Context(), s)
			return err == nil && p.Health == "unhealthy" && time.Since(began) > time.Second
		})
		want := int64(s.Resources.CPU * 1e9)
		if got := r.limitOfCPU(s.Step); got != want {
			t.Errorf("%s has a limit of %d billionths of a processor, want %d", s.Step, got, want)
		}
	}
}

func (r *rig) awaitLimit(s agent.ServiceSpec, want int64) {
	r.t.Helper()
	dockertest.WaitUntil(r.t.Context(), r.t, "the service has more processors", func() bool {
		if _, err := r.Probe(r.t.Context(), s); err != nil {
			r.t.Log(err)
		}
		return r.limitOfCPU(s.Step) == want
	})
}

// limitOfCPU is in billionths of a processor.
func (r *rig) limitOfCPU(step pipeline.StepKey) int64 {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Kind == agent.KindService && o.Step == step {
			c, err := r.api.ContainerInspect(r.t.Context(), o.ID, client.ContainerInspectOptions{})
			if err != nil {
				r.t.Fatal(err)
			}
			return c.Container.HostConfig.NanoCPUs
		}
	}
	r.t.Fatalf("there is no service %s", step)
	return 0
}
