// Package runtimetest tests what package agent relies on in every agent.Runtime, whatever
// its engine: names that make repeated calls harmless, complete lists, repeatable removals,
// enforced limits, and distinguishable results.
package runtimetest

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// Behaviour selects what a test plugin does.
type Behaviour string

// The behaviours. Every plugin writes one line to stderr first.
const (
	// Echo answers {"success":true,"outputs":{"stdin":…}} with its whole input.
	Echo Behaviour = "echo"
	// Fail exits with code 3.
	Fail Behaviour = "fail"
	// Hang ignores SIGTERM and never ends.
	Hang Behaviour = "hang"
	// Flood writes to stdout without end.
	Flood Behaviour = "flood"
)

// Subject is a runtime and what to run on it.
type Subject struct {
	Runtime agent.Runtime
	// Service fills in image and command of a service that answers each
	// connection on Port with what it is sent.
	Service func(s *agent.ServiceSpec)
	Port    int
	// Actor fills in image and command of the program in agent/docker/dockertest/testdata/actor, in
	// an image with its users and groups. Nil leaves out the parts that need it.
	Actor func(s *agent.ServiceSpec, args ...string)
	// Plugin fills in what makes a plugin behave.
	Plugin func(p *agent.PluginSpec, b Behaviour)
}

// patience bounds every call; a real engine on a loaded machine is slow.
const patience = 4 * time.Minute

// Run holds a runtime to the contract. open is called once for each part; the
// runtime may be the same each time.
func Run(t *testing.T, open func(t *testing.T) Subject) {
	for name, part := range map[string]func(*testDeployment){
		"ServiceLivesAndGoes":        serviceLivesAndGoes,
		"ServiceStopsAndGoesOn":      serviceStopsAndGoesOn,
		"JobStartsOnceInARun":        jobStartsOnceInARun,
		"ServiceWaitsForItsTurn":     serviceWaitsForItsTurn,
		"RepeatsAreHarmless":         repeatsAreHarmless,
		"ListShowsEveryState":        listShowsEveryState,
		"RemovingTwiceIsFine":        removingTwiceIsFine,
		"PluginGetsInputGivesOutput": pluginGetsInput,
		"PluginLeavesNoContainer":    pluginLeavesNoContainer,
		"PluginEndsAreToldApart":     pluginEnds,
		"CancelEndsAPlugin":          cancelEndsPlugin,
		"DeploymentsAreApart":        deploymentsAreApart,
		"VolumesKeepTheirContent":    volumesKeepTheirContent,
		"UserIsTheImages":            userIsTheImages,
		"EndedServiceStaysEnded":     endedServiceStaysEnded,
		"JobLeavesItsResults":        jobLeavesItsResults,
		"PersonGetsInside":           personGetsInside,
		"MailsReachTheAgent":         mailsReachTheAgent,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			part(newBench(t, open(t)))
		})
	}
}

// testDeployment is one part's deployment. Whatever it leaves is removed, and reported.
type testDeployment struct {
	*testing.T
	Subject
	ctx        context.Context
	deployment string
}

func newBench(t *testing.T, s Subject) *testDeployment {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	b := &testDeployment{T: t, Subject: s, ctx: ctx, deployment: newID()}
	t.Cleanup(func() {
		cancel()
		clean, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer done()
		left, err := s.Runtime.RemoveDeployment(clean, b.deployment)
		if err != nil || len(left) > 0 {
			t.Errorf("remove the deployment: left %v, %v", left, err)
		}
		b.ctx = clean
		if rest := b.listOwn(); len(rest) > 0 {
			t.Errorf("after RemoveDeployment there is %v", rest)
		}
	})
	return b
}

// newID is of the form of a deployment's id, and never the same twice.
func newID() string {
	var raw [16]byte
	_, _ = rand.Read(raw[:]) // never fails: the process dies instead
	return fmt.Sprintf("%x-%x-%x-%x-%x", raw[:4], raw[4:6], raw[6:8], raw[8:10], raw[10:])
}

func (b *testDeployment) mustSucceed(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

func (b *testDeployment) newService(key pipeline.StepKey) agent.ServiceSpec {
	s := agent.ServiceSpec{Deployment: b.deployment, Run: "run", Step: key,
		Env: map[string]string{}, SecretEnv: map[string]string{},
		Ports: []pipeline.Port{{Name: "echo", Port: b.Port}},
		Ready: &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: b.Port}}}
	b.Service(&s)
	return s
}

func (b *testDeployment) newPlugin(key pipeline.StepKey, what Behaviour) agent.PluginSpec {
	p := agent.PluginSpec{Deployment: b.deployment, Run: "run", Step: key, Action: "create",
		Timeout: patience, StdoutLimit: 1 << 20}
	b.Plugin(&p, what)
	return p
}

// startReady brings a service up and waits until it is ready.
func (b *testDeployment) startReady(s agent.ServiceSpec) {
	b.Helper()
	b.mustSucceed(b.Runtime.Pull(b.ctx, s.Image, nil, nil))
	b.mustSucceed(b.Runtime.StartService(b.ctx, s))
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		p, err := b.Runtime.Probe(b.ctx, s)
		b.mustSucceed(err)
		if p.Ended {
			b.Fatalf("service %s ended: %+v", s.Step, p)
		}
		if p.Health == wire.HealthHealthy {
			return
		}
		select {
		case <-tick.C:
		case <-b.ctx.Done():
			b.Fatalf("service %s is not ready: %+v", s.Step, p)
		}
	}
}

// awaitProbe probes until the answer is as wanted.
func (b *testDeployment) awaitProbe(
	s agent.ServiceSpec, is func(agent.ProbeResult) bool,
) agent.ProbeResult {
	b.Helper()
	for {
		p, err := b.Runtime.Probe(b.ctx, s)
		if err == nil && is(p) {
			return p
		}
		if wait.Sleep(b.ctx, 50*time.Millisecond) != nil {
			b.Fatalf("service %s is still %+v, %v", s.Step, p, err)
		}
	}
}

// awaitLog waits until a service has printed a text.
func (b *testDeployment) awaitLog(step pipeline.StepKey, text string) {
	b.Helper()
	for {
		lines, err := b.Runtime.Logs(b.ctx, b.deployment, step, agent.LogOptions{})
		said := []byte{}
		if err == nil {
			said, _ = io.ReadAll(lines) // what it could not read comes with the next try
			_ = lines.Close()
		}
		if strings.Contains(string(said), text) {
			return
		}
		if wait.Sleep(b.ctx, 100*time.Millisecond) != nil {
			b.Fatalf("%s does not print %q: %v", step, text, err)
		}
	}
}

func (b *testDeployment) runPlugin(
	p agent.PluginSpec,
	stdin string,
) (agent.PluginResult, []string) {
	b.Helper()
	b.mustSucceed(b.Runtime.Pull(b.ctx, p.Image, nil, nil))
	var lines []string
	r, err := b.Runtime.RunPlugin(b.ctx, p, []byte(stdin), func(l string) { lines = append(lines, l) })
	b.mustSucceed(err)
	return r, lines
}

// listOwn returns this deployment's objects, as "kind step".
func (b *testDeployment) listOwn() []string {
	b.Helper()
	all, err := b.Runtime.List(b.ctx)
	b.mustSucceed(err)
	var mine []string
	for _, o := range all {
		if o.Deployment == b.deployment {
			mine = append(mine, strings.TrimSpace(fmt.Sprintf("%s %s", o.Kind, o.Step)))
		}
	}
	slices.Sort(mine)
	return mine
}

// onlyObject is the only one of its kind.
func (b *testDeployment) onlyObject(kind agent.ObjectKind) agent.Object {
	b.Helper()
	all, err := b.Runtime.List(b.ctx)
	b.mustSucceed(err)
	for _, o := range all {
		if o.Deployment == b.deployment && o.Kind == kind {
			return o
		}
	}
	b.Fatalf("there is no %s", kind)
	return agent.Object{}
}

func (b *testDeployment) countObjects(what string) int {
	n := 0
	for _, o := range b.listOwn() {
		if o == what {
			n++
		}
	}
	return n
}

func (b *testDeployment) checkEcho(key pipeline.StepKey) {
	b.Helper()
	conn, err := b.Runtime.Dial(b.ctx, b.deployment, key, b.Port)
	b.mustSucceed(err)
	defer func() { _ = conn.Close() }()
	_, err = io.WriteString(conn, "ping\n")
	b.mustSucceed(err)
	got := make([]byte, 5)
	_, err = io.ReadFull(conn, got)
	b.mustSucceed(err)
	if string(got) != "ping\n" {
		b.Errorf("the service answered %q", got)
	}
}
