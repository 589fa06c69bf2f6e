package agent_test

import (
	"cmp"
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// store keeps samples once, as the database does, and says so.
func (p *plane) store(ctx context.Context, s *wire.Session, r wire.Samples) {
	last := int64(0)
	p.update(func() {
		if p.deaf {
			return
		}
		if p.samples == nil {
			p.samples = map[string][]int64{}
		}
		for _, item := range r.Items {
			last = item.Number
			if have := p.samples[r.Boot]; len(have) == 0 || have[len(have)-1] < item.Number {
				p.samples[r.Boot] = append(have, item.Number)
			}
		}
	})
	if last > 0 {
		_ = s.Send(ctx, wire.Stored{Boot: r.Boot, Number: last})
	}
}

// countSamples returns what there is of the only life. The lock is held.
func (p *plane) countSamples() []int64 {
	for _, numbers := range p.samples {
		return numbers
	}
	return nil
}

// What is measured while the link is down, and what was sent and not stored,
// comes after it: no number is missing.
func TestRecord_LeavesNoGapWhenTheLinkIsCut(t *testing.T) {
	p := newPlane(t)
	r := &changing{Runtime: dummy.New(dummy.Hooks{})}
	n := p.bootFast(r, -1)
	s := n.connect()
	p.until("samples", func() bool { return len(p.countSamples()) >= 3 })
	p.update(func() { p.deaf = true })
	before := 0
	p.update(func() { before = len(p.countSamples()) })
	_ = s.Close(wire.CodeGone, "the test cuts the link")
	r.awaitVitals(t, 6)
	p.update(func() { p.deaf = false })
	n.connect()
	p.until("more samples", func() bool { return len(p.countSamples()) > before+6 })
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.samples) != 1 {
		t.Fatalf("one life has %d names", len(p.samples))
	}
	for i, number := range p.countSamples() {
		if number != int64(i+1) {
			t.Fatalf("stored %v", p.countSamples())
		}
	}
}

// changing is a node whose inventory and isolation change.
type changing struct {
	*dummy.Runtime
	mu       sync.Mutex
	gpus     []wire.GPU
	found    wire.Check
	restarts int64
	probes   int
	vitals   int
	disk     int64
}

func (c *changing) Vitals(ctx context.Context, s []agent.ServiceSpec) (wire.Vitals, error) {
	v, err := c.Runtime.Vitals(ctx, s)
	c.set(func() {
		c.vitals++
		v.DiskFree = cmp.Or(c.disk, v.DiskFree)
	})
	return v, err
}

// awaitVitals waits for some more measurements.
func (c *changing) awaitVitals(t *testing.T, more int) {
	t.Helper()
	now := func() (n int) {
		c.set(func() { n = c.vitals })
		return n
	}
	deadline := time.Now().Add(patience)
	for first := now(); now() < first+more; {
		if time.Now().After(deadline) {
			t.Fatal("nothing is measured any more")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *changing) Inventory(ctx context.Context) (wire.Inventory, error) {
	i, err := c.Runtime.Inventory(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	i.GPUs = slices.Clone(c.gpus)
	return i, err
}

func (c *changing) ProbeIsolation(context.Context) wire.Check {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.probes++
	return c.found
}

func (c *changing) CountRestarts() int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.restarts
}

func (c *changing) set(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
}

// bootFast starts an agent that looks at its node all the time.
func (p *plane) bootFast(r agent.Runtime, probeEvery time.Duration) *node {
	pipes := wiretest.NewPipeListener()
	a, err := agent.New(agent.Config{Data: p.t.TempDir(), Token: &p.token, Build: "dev",
		Listener: pipes, Log: slog.New(slog.DiscardHandler), InventoryEvery: 20 * time.Millisecond,
		VitalsEvery: 50 * time.Millisecond, ProbeEvery: probeEvery}, r)
	if err != nil {
		p.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	n := &node{plane: p, agent: a, pipes: pipes, cancel: cancel, done: make(chan error, 1)}
	go func() { n.done <- a.Run(ctx) }()
	p.t.Cleanup(n.stop)
	return n
}

// A change of the node is reported in the running session.
func TestInventory_IsToldWhenItChanges(t *testing.T) {
	p := newPlane(t)
	r := &changing{Runtime: dummy.New(dummy.Hooks{})}
	n := p.bootFast(r, -1)
	n.connect()
	p.until("the welcome", func() bool { return p.welcome.Inventory.Hostname != "" })
	if p.welcome.At.IsZero() {
		t.Error("the welcome does not tell the agent's clock")
	}
	r.set(func() { r.gpus = []wire.GPU{{Model: "NVIDIA L4", Memory: 24 << 30}} })
	p.until("the new card", func() bool { return len(p.inventory.GPUs) == 1 })
}

// A lost isolation is reported, stays reported while it cannot be probed again, and ends with a
// good probe, which a restart of the engine brings about.
func TestIsolation_IsToldUntilItIsBack(t *testing.T) {
	p := newPlane(t)
	r := &changing{Runtime: dummy.New(dummy.Hooks{}),
		found: wire.Check{ID: "isolation", Severity: wire.SeverityCritical, Detail: "open"}}
	n := p.bootFast(r, 50*time.Millisecond)
	n.connect()
	severity := func() wire.Severity {
		for _, c := range p.inventory.Checks {
			if c.ID == "isolation" {
				return c.Severity
			}
		}
		return ""
	}
	p.until("the alarm", func() bool { return severity() == wire.SeverityCritical })
	again := 0
	r.set(func() { r.found.Severity, again = wire.SeverityUnknown, r.probes+2 })
	p.until("two more probes", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.probes >= again
	})
	p.mu.Lock()
	if severity() != wire.SeverityCritical {
		t.Errorf("a probe that could not be made turned the alarm to %q", severity())
	}
	p.mu.Unlock()
	r.set(func() { r.found.Severity, r.restarts = wire.SeverityOK, 1 })
	p.until("the all-clear", func() bool { return severity() == wire.SeverityOK })
}

// countJoined is how many measurements samples are.
func countJoined(all []wire.Sample) (n int) {
	for _, s := range all {
		n += max(1, s.Count)
	}
	return n
}

// A node at rest sends its samples with its vitals, in one message; as soon as somebody looks, it
// reports what it measured last, without a measurement of its own for that.
func TestVitals_RestUntilSomebodyLooks(t *testing.T) {
	testpart.Rotate(t)
	p := newPlane(t)
	r := &changing{Runtime: dummy.New(dummy.Hooks{})}
	n := p.bootFast(r, -1)
	s := n.connect()
	p.until("vitals of an agent that nobody told to rest", func() bool { return p.vitalsSeen > 1 })
	if !p.welcome.Rests || p.vitals.Pong || p.vitals.Within != 0 {
		t.Errorf("the first vitals are not those of the release before: %+v", p.vitals)
	}
	if err := s.Send(t.Context(), wire.Watch{Rest: 3600, Seconds: 3600}); err != nil {
		t.Fatal(err)
	}
	p.until("vitals that ask for a sign of life", func() bool { return p.vitals.Pong })
	if err := s.Send(t.Context(), wire.Watch{Rest: 3600}); err != nil {
		t.Fatal(err)
	}
	// A sample is sent every second by then, or never again.
	r.awaitVitals(t, 40)
	p.mu.Lock()
	before, samples := p.vitalsSeen, len(p.countSamples())
	p.mu.Unlock()
	r.awaitVitals(t, 40)
	p.mu.Lock()
	if p.vitalsSeen > before || len(p.countSamples()) > samples {
		t.Errorf("%d vitals and %d samples of a node at rest", p.vitalsSeen-before,
			len(p.countSamples())-samples)
	}
	p.mu.Unlock()
	r.set(func() { r.disk = 20 << 30 })
	p.until("the disk, with the samples", func() bool {
		return p.vitals.DiskFree == 20<<30 && p.vitals.Samples != nil &&
			countJoined(p.vitals.Samples.Items) >= 40
	})
	p.mu.Lock()
	if n := len(p.vitals.Samples.Items); n > 10 {
		t.Errorf("what hardly differed is %d samples", n)
	}
	before = p.vitalsSeen
	p.mu.Unlock()
	if err := s.Send(t.Context(), wire.Watch{Rest: 3600, Seconds: 60}); err != nil {
		t.Fatal(err)
	}
	p.until("vitals for somebody", func() bool { return p.vitalsSeen > before+1 })
}

// Services that hang, however long their checks may take, delay nothing: the node is measured, and
// another service is seen to be ill.
func TestVitals_HungServicesDelayNothing(t *testing.T) {
	p := newPlane(t)
	var ill, hangs atomic.Bool
	over := make(chan struct{})
	defer close(over)
	r := dummy.New(dummy.Hooks{Health: func(s agent.ServiceSpec) agent.ProbeResult {
		if hangs.Load() && s.Step != "last" {
			<-over
		}
		if ill.Load() {
			return agent.ProbeResult{Health: wire.HealthUnhealthy, Detail: "it coughs"}
		}
		return agent.ProbeResult{Health: wire.HealthHealthy}
	}})
	s := p.bootFast(r, -1).connect()
	goal := shopGoal("d1")
	goal.Pipeline.Steps = nil
	for _, key := range []pipeline.StepKey{"a", "b", "c", "d", "e", "f", "g", "h", "last"} {
		goal.Pipeline.Steps = append(goal.Pipeline.Steps, pipeline.Step{Key: key,
			Service: &pipeline.ServiceStep{Name: "web", Image: imageOf("web")}})
	}
	goal.Pipeline.Order, _ = pipeline.Order(goal.Pipeline)
	p.want(s, goal)
	p.untilPhase("d1", wire.PhaseReady)
	p.until("vitals of all services", func() bool { return len(p.vitals.Services) == 9 })
	hangs.Store(true)
	ill.Store(true)
	// promise: O-05
	p.until("the last service is seen", func() bool {
		return slices.ContainsFunc(p.vitals.Services, func(s wire.ServiceVitals) bool {
			return s.Step == "last" && s.Health == wire.HealthUnhealthy
		})
	})
	seen := 0
	p.update(func() { seen = p.vitalsSeen })
	p.until("the node is measured", func() bool { return p.vitalsSeen > seen+3 })
}
