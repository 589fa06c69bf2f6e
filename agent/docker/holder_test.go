package docker_test

import (
	"strings"
	"testing"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// prepareShared prepares plugins of one run that join the network.
func (r *rig) prepareShared(d *docker.Docker, id string, steps ...pipeline.StepKey) (
	all []agent.PluginSpec,
) {
	r.t.Helper()
	for _, step := range steps {
		p := r.plugin(id, step)
		p.Network, p.SharesNetwork = true, true
		if err := d.CreatePlugin(r.t.Context(), p); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, p)
	}
	return all
}

// The first plugin of a run has a place of its own in the network, and those that wait beside it
// share one. Each reaches services by their names, and nothing is left of it after the last.
func TestHolder_IsSharedByPlugins(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	all := r.prepareShared(r.Docker, id, "first", "second", "third")
	holder := r.find(agent.KindHolder)
	modes := map[pipeline.StepKey]string{}
	listed, err := r.List(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range listed {
		if o.Kind == agent.KindPlugin {
			modes[o.Step] = r.networkMode(o.ID)
		}
	}
	shared := "container:" + holder.ID
	if modes["second"] != shared || modes["third"] != shared ||
		strings.HasPrefix(modes["first"], "container:") {
		t.Errorf("the holder is %s, the plugins' networks are %v", holder.ID, modes)
	}
	r.mustReachAndLeaveNothing(all)
}

// A plugin whose place went away before its turn gets another one, and nobody's else.
func TestHolder_EndsBeforeItsPluginsTurn(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	r.start(r.service(id, "web"))
	all := r.prepareShared(r.Docker, id, "first", "second", "third")
	r.removeByHand(r.find(agent.KindHolder).ID)
	r.mustReachAndLeaveNothing(all)
}

// The holder of an agent that died ends with it, and the next list of objects takes it away.
func TestHolder_EndsWithItsAgent(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	id := r.deployment()
	other := r.open()
	r.prepareShared(other, id, "first", "second")
	ended := r.api.ContainerWait(t.Context(), r.find(agent.KindHolder).ID,
		client.ContainerWaitOptions{Condition: container.WaitConditionNextExit})
	docker.HangUpHolders(other)
	select {
	case <-ended.Result:
	case err := <-ended.Error:
		t.Fatal(err)
	}
	// The list begins the removal, and Close waits for it.
	r.kinds(agent.KindHolder)
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	all, err := r.api.ContainerList(t.Context(), client.ContainerListOptions{All: true,
		Filters: make(client.Filters).Add("label", "nullops.install="+r.install).
			Add("label", "nullops.kind="+string(agent.KindHolder))})
	if err != nil || len(all.Items) != 0 {
		t.Errorf("left are %+v, error %v", all.Items, err)
	}
}

// mustReachAndLeaveNothing runs the plugins in order, each of which has to reach the service web.
func (r *rig) mustReachAndLeaveNothing(all []agent.PluginSpec) {
	r.t.Helper()
	for _, p := range all {
		if got := r.reach(p, "web:80"); !strings.HasPrefix(got, "connected") {
			r.t.Errorf("%s: %s", p.Step, got)
		}
	}
	if n := r.kinds(agent.KindHolder) + r.kinds(agent.KindPlugin); n != 0 {
		r.t.Errorf("%d containers are left", n)
	}
}

func (r *rig) networkMode(id string) string {
	r.t.Helper()
	c, err := r.api.ContainerInspect(r.t.Context(), id, client.ContainerInspectOptions{})
	if err != nil {
		r.t.Fatal(err)
	}
	return string(c.Container.HostConfig.NetworkMode)
}
