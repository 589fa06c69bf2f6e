package docker_test

import (
	"context"
	"fmt"
	"io"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// A service that is removed by an undo, or replaced by a changed one, is stopped with the signal
// that its image names, and what it writes then is in its volume.
func TestRemove_ServiceIsToldToEnd(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	for signal, want := range map[string]string{"SIGTERM": "told to end\n",
		"SIGINT": "told to end by interrupt\n", "SIGQUIT": "told to end by quit\n"} {
		s := r.service(id, pipeline.StepKey(strings.ToLower(signal)))
		s.Image = r.stopsBy(signal)
		s.Command = []string{"serve", "80", "/data/last"}
		s.Volumes = []pipeline.Volume{{Name: "data", Path: "/data"}}
		r.start(s)
		s.Env = map[string]string{"WHO": "another"}
		r.start(s)
		r.expectFile(s, "replaced", want)
		for _, o := range r.services(s.Step) {
			if err := r.Remove(t.Context(), o); err != nil {
				t.Fatal(err)
			}
		}
		r.start(s)
		r.expectFile(s, "removed", want+want)
		if ran, err := r.StopService(t.Context(), id, s.Step); !ran || err != nil {
			t.Errorf("stopped: %t, %v", ran, err)
		}
		r.start(s)
		r.expectFile(s, "stopped", want+want+want)
	}
}

// stopsBy makes an image of the actor with a STOPSIGNAL, which no import takes.
func (r *rig) stopsBy(signal string) pipeline.Image {
	r.t.Helper()
	ctx := context.WithoutCancel(r.t.Context())
	made, err := r.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Config: &container.Config{Image: r.image.Repository + ":" + r.image.Tag, StopSignal: signal}})
	if err != nil {
		r.t.Fatal(err)
	}
	image := pipeline.Image{Repository: "nullops-test/stops", Tag: strings.ToLower(signal)}
	_, err = r.api.ContainerCommit(ctx, made.ID, client.ContainerCommitOptions{
		Reference: image.Repository + ":" + image.Tag})
	if err != nil {
		r.t.Error(err)
	}
	_, err = r.api.ContainerRemove(ctx, made.ID,
		client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
	if err != nil {
		r.t.Error(err)
	}
	return image
}

func (r *rig) expectFile(s agent.ServiceSpec, how, want string) {
	r.t.Helper()
	if got := r.get(s.Deployment, s.Step, "/file?path=/data/last"); got != want {
		r.t.Errorf("service %s was %s, and wrote %q instead of %q", s.Step, how, got, want)
	}
}

func (r *rig) services(step pipeline.StepKey) (found []agent.Object) {
	r.t.Helper()
	all, err := r.List(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	for _, o := range all {
		if o.Kind == agent.KindService && o.Step == step {
			found = append(found, o)
		}
	}
	return found
}

// All services of a deployment have one grace period together: each gets its stop signal before the
// first is killed. A plugin and a relay have nothing to write.
func TestRemoveDeployment_ServicesShareTheGrace(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	polite := r.service(id, "polite")
	polite.Command = []string{"serve", "80", "/last"}
	r.start(polite)
	want := map[string]string{"polite": "0"}
	for i := range 5 {
		s := r.service(id, pipeline.StepKey(fmt.Sprintf("deaf-%d", i)))
		s.Command, s.Ready = []string{"stubborn"}, nil
		r.start(s)
		r.awaitLog(s, "ignoring SIGTERM")
		want[string(s.Step)] = "137"
	}
	began := time.Now()
	if left, err := r.RemoveDeployment(t.Context(), id); err != nil || len(left) > 0 {
		t.Errorf("left %v: %v", left, err)
	}
	ends, told := map[string]string{}, map[string]bool{}
	for _, e := range r.history(id, began) {
		step := e.Actor.Attributes["nullops.step"]
		switch {
		case step == "":
		case e.Action == events.ActionDie:
			ends[step] = e.Actor.Attributes["exitCode"]
		case e.Action == events.ActionKill && e.Actor.Attributes["signal"] == "15":
			told[step] = true
		case e.Action == events.ActionKill && len(told) < len(want):
			t.Errorf("%s was killed when only %v had been told", step, told)
		}
	}
	if !maps.Equal(ends, want) {
		t.Errorf("the services ended by %v instead of %v", ends, want)
	}
}

// awaitLog waits for a line: a process that has just begun ignores no signal yet.
func (r *rig) awaitLog(s agent.ServiceSpec, line string) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	dockertest.WaitUntil(ctx, r.t, string(s.Step)+" says "+line, func() bool {
		log, err := r.Logs(ctx, s.Deployment, s.Step, agent.LogOptions{})
		if err != nil {
			return false
		}
		defer func() { _ = log.Close() }()
		text, err := io.ReadAll(log)
		return err == nil && strings.Contains(string(text), line)
	})
}

// history is what the engine did to a deployment's containers.
func (r *rig) history(deployment string, since time.Time) (all []events.Message) {
	r.t.Helper()
	stream := r.api.Events(r.t.Context(), client.EventsListOptions{
		Since: fmt.Sprint(since.Unix() - 1), Until: fmt.Sprint(time.Now().Unix() + 1),
		Filters: make(client.Filters).Add("type", "container").
			Add("label", "nullops.deployment="+deployment)})
	for {
		select {
		case e := <-stream.Messages:
			all = append(all, e)
		case <-stream.Err:
			return all
		}
	}
}
