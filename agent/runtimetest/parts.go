package runtimetest

import (
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/nullops/nullops/agent"
)

// A service is reached by name through the gate, and is gone without a trace.
func serviceLivesAndGoes(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	b.start(b.service("web"))
	b.echoes("web")
	left, err := b.Runtime.RemoveDeployment(b.ctx, b.deployment)
	b.must(err)
	if rest := b.list(); len(left) > 0 || len(rest) > 0 {
		b.Errorf("left %v, listed %v", left, rest)
	}
	if conn, err := b.Runtime.Dial(b.ctx, b.deployment, "web", b.Port); err == nil {
		_ = conn.Close()
		b.Error("a removed service was dialed")
	}
}

// A stopped service keeps its container, and is started again in it.
func serviceStopsAndGoesOn(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	web := b.service("web")
	b.start(web)
	before := b.object(agent.KindService)
	for _, want := range []bool{true, false} {
		ran, err := b.Runtime.StopService(b.ctx, b.deployment, "web")
		b.must(err)
		if o := b.object(agent.KindService); ran != want || o.Running || o.ID != before.ID {
			b.Errorf("stopped, it ran %t, and is %+v", ran, o)
		}
	}
	b.start(web)
	if o := b.object(agent.KindService); o.ID != before.ID || !o.Running {
		b.Errorf("started again, it is %+v", o)
	}
	b.echoes("web")
	if ran, err := b.Runtime.StopService(b.ctx, b.deployment, "nobody"); ran || err != nil {
		b.Errorf("a service that is not there ran %t: %v", ran, err)
	}
}

// What is there from before a lost answer is adopted, not doubled.
func repeatsAreHarmless(b *bench) {
	web := b.service("web")
	for range 2 {
		b.must(b.Runtime.Prepare(b.ctx, b.deployment))
		b.start(web)
		p := b.plugin("make", Echo)
		b.must(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
		b.must(b.Runtime.CreatePlugin(b.ctx, p))
	}
	for _, what := range []string{"network", "gate", "service web", "plugin make"} {
		if n := b.count(what); n != 1 {
			b.Errorf("there are %d of %q: %v", n, what, b.list())
		}
	}
	if r, _ := b.run(b.plugin("make", Echo), "{}"); r.ExitCode != 0 {
		b.Errorf("a plugin created ahead ended with %+v", r)
	}
	b.echoes("web")
}

// A container that was created and never started is in the list too.
func listShowsEveryState(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	p := b.plugin("make", Echo)
	b.must(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
	b.must(b.Runtime.CreatePlugin(b.ctx, p))
	all, err := b.Runtime.List(b.ctx)
	b.must(err)
	for _, o := range all {
		if o.Deployment == b.deployment && o.Kind == agent.KindPlugin {
			if o.Running || o.ID == "" || o.Name == "" || o.Step != "make" {
				b.Errorf("listed as %+v", o)
			}
			return
		}
	}
	b.Errorf("a created container is missing: %+v", all)
}

// Gone already is success, for one object and for all.
func removingTwiceIsFine(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	b.start(b.service("web"))
	all, err := b.Runtime.List(b.ctx)
	b.must(err)
	for _, o := range all {
		if o.Deployment == b.deployment && o.Kind == agent.KindService {
			b.must(b.Runtime.Remove(b.ctx, o))
			b.must(b.Runtime.Remove(b.ctx, o))
		}
	}
	if n := b.count("service web"); n != 0 {
		b.Error("a removed service is listed")
	}
	for range 2 {
		left, err := b.Runtime.RemoveDeployment(b.ctx, b.deployment)
		b.must(err)
		if len(left) > 0 {
			b.Errorf("left %v", left)
		}
	}
}

func pluginGetsInput(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	r, lines := b.run(b.plugin("make", Echo), `{"action":"create"}`)
	var answer struct {
		Success bool              `json:"success"`
		Outputs map[string]string `json:"outputs"`
	}
	if err := json.Unmarshal(r.Stdout, &answer); err != nil {
		b.Fatalf("stdout %q: %v", r.Stdout, err)
	}
	if !answer.Success || answer.Outputs["stdin"] != `{"action":"create"}` || r.ExitCode != 0 {
		b.Errorf("got %+v, exit code %d", answer, r.ExitCode)
	}
	if len(lines) != 1 || r.Lines != 1 {
		b.Errorf("stderr came as %q, counted %d", lines, r.Lines)
	}
}

func pluginLeavesNoContainer(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	for _, what := range []Behaviour{Echo, Fail} {
		b.run(b.plugin("make", what), "{}")
		if slices.Contains(b.list(), "plugin make") {
			b.Errorf("after %s the container is still there", what)
		}
	}
}

func pluginEnds(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	if r, _ := b.run(b.plugin("fail", Fail), "{}"); r.ExitCode != 3 || r.TimedOut || r.Overflow {
		b.Errorf("a failing plugin ended as %+v", r)
	}
	slow := b.plugin("slow", Hang)
	slow.Timeout = 500_000_000
	if r, _ := b.run(slow, "{}"); !r.TimedOut || r.Canceled || r.OOM {
		b.Errorf("a plugin over its time ended as %+v", r)
	}
	flood := b.plugin("flood", Flood)
	flood.StdoutLimit = 4096
	r, _ := b.run(flood, "{}")
	if !r.Overflow || r.TimedOut || int64(len(r.Stdout)) > flood.StdoutLimit {
		b.Errorf("a flooding plugin ended as overflow %t with %d bytes", r.Overflow, len(r.Stdout))
	}
}

// A cancelled run is a result, and ends though the plugin does not want to.
func cancelEndsPlugin(b *bench) {
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	p := b.plugin("hang", Hang)
	b.must(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	r, err := b.Runtime.RunPlugin(ctx, p, []byte("{}"), func(string) { cancel() })
	b.must(err)
	if !r.Canceled || r.TimedOut || r.OOM {
		b.Errorf("a cancelled plugin ended as %+v", r)
	}
}

// Removing one deployment touches nothing of another.
func deploymentsAreApart(b *bench) {
	other := *b
	other.deployment = strings.Replace(b.deployment, b.deployment[:8], "00000000", 1)
	b.must(b.Runtime.Prepare(b.ctx, b.deployment))
	b.start(b.service("web"))
	b.must(b.Runtime.Prepare(b.ctx, other.deployment))
	other.start(other.service("web"))
	left, err := b.Runtime.RemoveDeployment(b.ctx, other.deployment)
	b.must(err)
	if rest := other.list(); len(left) > 0 || len(rest) > 0 {
		b.Errorf("left %v, listed %v", left, rest)
	}
	b.echoes("web")
}
