package docker_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// A sandbox that was killed before its turn is replaced, and its plugin runs once all the same.
// One whose agent is gone ends by itself, without an instruction of the image.
func TestSandbox_EndsBeforeItsTurn(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	p := r.plugin(id, "box")
	if err := r.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	first := r.find(agent.KindPlugin)
	if err := r.CreatePlugin(t.Context(), p); err != nil || r.find(agent.KindPlugin).ID != first.ID {
		t.Errorf("preparing it twice: %v", err)
	}
	r.removeByHand(first.ID)
	got, lines := r.act(p, "echo", 0)
	if got.ExitCode != 0 || !strings.HasPrefix(strings.Join(lines, ""), "echoing") {
		t.Errorf("after a kill: %+v, %q", got, lines)
	}

	other := r.open()
	if err := other.CreatePlugin(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	box := r.find(agent.KindPlugin)
	if box.Waiting || !box.Running {
		t.Errorf("a sandbox of another process is %+v", box)
	}
	// Nobody hears what it wrote: its log driver is none. What ran would not end with 116.
	ended := r.api.ContainerWait(t.Context(), box.ID, client.ContainerWaitOptions{
		Condition: container.WaitConditionNextExit})
	docker.HangUp(other)
	select {
	case w := <-ended.Result:
		if w.StatusCode != 116 {
			t.Errorf("ended with %d", w.StatusCode)
		}
	case err := <-ended.Error:
		t.Fatal(err)
	}
}

func (r *rig) removeByHand(id string) {
	r.t.Helper()
	_, err := r.api.ContainerRemove(r.t.Context(), id, client.ContainerRemoveOptions{Force: true})
	if err != nil {
		r.t.Fatal(err)
	}
}

// The memory of the setting bounds what waits; a step whose sandbox was refused makes its own.
// Closing the runtime leaves none behind.
func TestSandbox_IsBounded(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	small := r.openWith(func(c *docker.Config) { c.SandboxMemory = 16 << 20 })
	if err := small.CreatePlugin(t.Context(), r.plugin(id, "first")); err != nil {
		t.Fatal(err)
	}
	second := r.plugin(id, "second")
	err := small.CreatePlugin(t.Context(), second)
	if err == nil || errors.Is(err, agent.ErrUnavailable) ||
		!strings.Contains(err.Error(), "agent.sandboxes.memory") {
		t.Errorf("error is %v", err)
	}
	result, err := small.RunPlugin(t.Context(), second, []byte("{}"), func(string) {})
	if err != nil || result.ExitCode != 0 {
		t.Errorf("result is %+v, error %v", result, err)
	}
	if err := small.Close(); err != nil {
		t.Error(err)
	}
	r.expectKinds(agent.KindRelay, agent.KindNetwork)
}

// An image whose command does not exist is a result with a reason: it is certain that nothing ran.
func TestSandbox_NothingToRun(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	p := r.plugin(id, "nothing")
	p.Image = dockertest.ImportActorImage(t, r.host, "nullops-test/nothing",
		`ENTRYPOINT ["/nothing"]`)
	got, lines := r.act(p, "echo", 0)
	if got.ExitCode != 126 || !strings.Contains(strings.Join(lines, ""), "start /nothing") {
		t.Errorf("result is %+v, log %q", got, lines)
	}
}
