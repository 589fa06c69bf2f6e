package docker_test

import (
	"context"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// A service whose exit code is 137 was killed by the kernel for its memory, or by someone whom we
// do not know: never by us, who do not ask it then.
func TestProbe_KilledByWhom(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	hungry := r.service(id, "hungry")
	hungry.Command = []string{"eat"}
	hungry.Resources = pipeline.Resources{CPU: 1, MemoryMiB: 32}
	if err := r.StartService(t.Context(), hungry); err != nil {
		t.Fatal(err)
	}
	if p := r.awaitEnd(hungry); p.ExitCode != 137 || !p.OOM || p.Detail != "ran out of memory" {
		t.Errorf("the hungry one: %+v", p)
	}
	victim := r.service(id, "victim")
	r.start(victim)
	all, err := r.api.ContainerList(t.Context(), client.ContainerListOptions{
		Filters: make(client.Filters).Add("label", "nullops.step=victim").
			Add("label", "nullops.deployment="+id)})
	if err != nil || len(all.Items) != 1 {
		t.Fatalf("find the service: %v, %v", all.Items, err)
	}
	_, err = r.api.ContainerKill(t.Context(), all.Items[0].ID,
		client.ContainerKillOptions{Signal: "SIGKILL"})
	if err != nil {
		t.Fatal(err)
	}
	if p := r.awaitEnd(victim); p.ExitCode != 137 || p.OOM {
		t.Errorf("the victim: %+v", p)
	}
}

func (r *rig) awaitEnd(s agent.ServiceSpec) (p agent.ProbeResult) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 90*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, r.t, "service "+string(s.Step)+" has ended", func() bool {
		var err error
		p, err = r.Probe(ctx, s)
		return err == nil && p.Ended
	})
	return p
}
