package runtimetest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/nullops/nullops/agent"
)

// A service is reached by name through the relay, and is gone without a trace.
func serviceLivesAndGoes(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	b.startReady(b.newService("web"))
	b.checkEcho("web")
	left, err := b.Runtime.RemoveDeployment(b.ctx, b.deployment)
	b.mustSucceed(err)
	if rest := b.listOwn(); len(left) > 0 || len(rest) > 0 {
		b.Errorf("left %v, listed %v", left, rest)
	}
	if conn, err := b.Runtime.Dial(b.ctx, b.deployment, "web", b.Port); err == nil {
		_ = conn.Close()
		b.Error("a removed service was dialed")
	}
}

// A stopped service keeps its container, and is started again in it.
func serviceStopsAndGoesOn(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	web := b.newService("web")
	b.startReady(web)
	before := b.onlyObject(agent.KindService)
	for _, want := range []bool{true, false} {
		ran, err := b.Runtime.StopService(b.ctx, b.deployment, "web")
		b.mustSucceed(err)
		if o := b.onlyObject(agent.KindService); ran != want || o.Running || o.ID != before.ID {
			b.Errorf("stopped, it ran %t, and is %+v", ran, o)
		}
	}
	b.startReady(web)
	if o := b.onlyObject(agent.KindService); o.ID != before.ID || !o.Running {
		b.Errorf("started again, it is %+v", o)
	}
	b.checkEcho("web")
	if ran, err := b.Runtime.StopService(b.ctx, b.deployment, "nobody"); ran || err != nil {
		b.Errorf("a service that is not there ran %t: %v", ran, err)
	}
}

// The container of a job is started once in a run, even if the start is repeated after it has
// ended, and again in the next run. A job without a container is not found, so that nobody
// takes it for one that has ended.
func jobStartsOnceInARun(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	job := b.newService("job")
	job.Once, job.Ready = true, nil
	job.SecretEnv["PASSWORD"] = "hunter2"
	if p, err := b.Runtime.Probe(b.ctx, job); !errors.Is(err, agent.ErrNotFound) {
		b.Errorf("a job that does not exist: %+v, %v", p, err)
	}
	b.startReady(job)
	b.mustSucceed(b.Runtime.StartService(b.ctx, job))
	if p, err := b.Runtime.Probe(b.ctx, job); err != nil || p.Ended {
		b.Errorf("a running job, started again: %+v, %v", p, err)
	}
	_, err := b.Runtime.StopService(b.ctx, b.deployment, "job")
	b.mustSucceed(err)
	job.SecretEnv["PASSWORD"] = "other"
	b.mustSucceed(b.Runtime.StartService(b.ctx, job))
	if p, err := b.Runtime.Probe(b.ctx, job); err != nil || !p.Ended {
		b.Errorf("an ended job, started again in its run: %+v, %v", p, err)
	}
	job.Run = "run-2"
	b.startReady(job)
}

// A service or a job whose container was started before its turn is listed as one that waits, and
// takes no connection until it is started. A job is then started once, as ever.
func serviceWaitsForItsTurn(b *testDeployment) {
	preparer, ok := b.Runtime.(agent.ServicePreparer)
	if !ok {
		return // its services are all started at their turn
	}
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	for _, once := range []bool{false, true} {
		s := b.newService("web")
		s.Once = once
		b.mustSucceed(b.Runtime.Pull(b.ctx, s.Image, nil, nil))
		b.mustSucceed(preparer.CreateService(b.ctx, s))
		before := b.onlyObject(agent.KindService)
		if !before.Running || !before.Waiting {
			b.Errorf("prepared, it is %+v", before)
		}
		b.startReady(s)
		if o := b.onlyObject(agent.KindService); o.ID != before.ID || o.Waiting || !o.Running {
			b.Errorf("started, it is %+v", o)
		}
		b.checkEcho("web")
		if err := preparer.CreateService(b.ctx, s); err == nil {
			b.Error("a service that runs was prepared")
		}
		b.mustSucceed(b.Runtime.Remove(b.ctx, b.onlyObject(agent.KindService)))
	}
}

// What is there from before a lost answer is adopted, not doubled.
func repeatsAreHarmless(b *testDeployment) {
	web := b.newService("web")
	for range 2 {
		b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
		b.startReady(web)
		p := b.newPlugin("make", Echo)
		b.mustSucceed(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
		b.mustSucceed(b.Runtime.CreatePlugin(b.ctx, p))
	}
	for _, what := range []string{"network", "relay", "service web", "plugin make"} {
		if n := b.countObjects(what); n != 1 {
			b.Errorf("there are %d of %q: %v", n, what, b.listOwn())
		}
	}
	if r, _ := b.runPlugin(b.newPlugin("make", Echo), "{}"); r.ExitCode != 0 {
		b.Errorf("a plugin created ahead ended with %+v", r)
	}
	b.checkEcho("web")
}

// A sandbox that waits for its turn is in the list, as one that waits.
func listShowsEveryState(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	p := b.newPlugin("make", Echo)
	b.mustSucceed(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
	b.mustSucceed(b.Runtime.CreatePlugin(b.ctx, p))
	all, err := b.Runtime.List(b.ctx)
	b.mustSucceed(err)
	for _, o := range all {
		if o.Deployment == b.deployment && o.Kind == agent.KindPlugin {
			if !o.Running || !o.Waiting || o.ID == "" || o.Name == "" || o.Step != "make" {
				b.Errorf("listed as %+v", o)
			}
			return
		}
	}
	b.Errorf("the sandbox is missing: %+v", all)
}

// Gone already is success, for one object and for all.
func removingTwiceIsFine(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	b.startReady(b.newService("web"))
	all, err := b.Runtime.List(b.ctx)
	b.mustSucceed(err)
	for _, o := range all {
		if o.Deployment == b.deployment && o.Kind == agent.KindService {
			b.mustSucceed(b.Runtime.Remove(b.ctx, o))
			b.mustSucceed(b.Runtime.Remove(b.ctx, o))
		}
	}
	if n := b.countObjects("service web"); n != 0 {
		b.Error("a removed service is listed")
	}
	for range 2 {
		left, err := b.Runtime.RemoveDeployment(b.ctx, b.deployment)
		b.mustSucceed(err)
		if len(left) > 0 {
			b.Errorf("left %v", left)
		}
	}
}

func pluginGetsInput(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	r, lines := b.runPlugin(b.newPlugin("make", Echo), `{"action":"create"}`)
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

func pluginLeavesNoContainer(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	for _, what := range []Behaviour{Echo, Fail} {
		b.runPlugin(b.newPlugin("make", what), "{}")
		if slices.Contains(b.listOwn(), "plugin make") {
			b.Errorf("after %s the container is still there", what)
		}
	}
}

func pluginEnds(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	if r, _ := b.runPlugin(b.newPlugin("fail", Fail), "{}"); r.ExitCode != 3 || r.TimedOut ||
		r.Overflow {
		b.Errorf("a failing plugin ended as %+v", r)
	}
	slow := b.newPlugin("slow", Hang)
	slow.Timeout = 500_000_000
	if r, _ := b.runPlugin(slow, "{}"); !r.TimedOut || r.Canceled || r.OOM {
		b.Errorf("a plugin over its time ended as %+v", r)
	}
	flood := b.newPlugin("flood", Flood)
	flood.StdoutLimit = 4096
	r, _ := b.runPlugin(flood, "{}")
	if !r.Overflow || r.TimedOut || int64(len(r.Stdout)) > flood.StdoutLimit {
		b.Errorf("a flooding plugin ended as overflow %t with %d bytes", r.Overflow, len(r.Stdout))
	}
}

// A cancelled run is a result, and ends though the plugin does not want to.
func cancelEndsPlugin(b *testDeployment) {
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	p := b.newPlugin("hang", Hang)
	b.mustSucceed(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
	ctx, cancel := context.WithCancel(b.ctx)
	defer cancel()
	r, err := b.Runtime.RunPlugin(ctx, p, []byte("{}"), func(string) { cancel() })
	b.mustSucceed(err)
	if !r.Canceled || r.TimedOut || r.OOM {
		b.Errorf("a cancelled plugin ended as %+v", r)
	}
}

// Removing one deployment touches nothing of another.
func deploymentsAreApart(b *testDeployment) {
	other := *b
	other.deployment = strings.Replace(b.deployment, b.deployment[:8], "00000000", 1)
	b.mustSucceed(b.Runtime.Prepare(b.ctx, b.deployment))
	b.startReady(b.newService("web"))
	b.mustSucceed(b.Runtime.Prepare(b.ctx, other.deployment))
	other.startReady(other.newService("web"))
	left, err := b.Runtime.RemoveDeployment(b.ctx, other.deployment)
	b.mustSucceed(err)
	if rest := other.listOwn(); len(left) > 0 || len(rest) > 0 {
		b.Errorf("left %v, listed %v", left, rest)
	}
	b.checkEcho("web")
}
