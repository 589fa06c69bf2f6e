package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// jobRun plays a run of a job and a service after it. The agent may restart at any time, and
// the engine keeps the job's container.
type jobRun struct {
	*engine.Machine
	t       *testing.T
	p       pipeline.Pipeline
	now     time.Time
	wake    time.Time
	records []engine.Record
	events  []engine.Event
	did     []string
	failed  wire.Event
	done    wire.Event
	// ends is how long the job runs and code its exit code; gone says that a stranger removed
	// its container.
	ends    time.Duration
	code    int
	gone    bool
	started time.Time
	stopped bool
	// tests are its results, and why is the reason of an end that the engine knows.
	tests *wire.TestReport
	why   string
	// loses is the operation whose answer is lost with the agent.
	loses engine.Kind
}

func newJobRun(t *testing.T) *jobRun {
	t.Helper()
	r := &jobRun{Machine: engine.New("d"), t: t, now: time.Unix(1_800_000_000, 0)}
	r.p = pipeline.Pipeline{Order: []pipeline.StepKey{"migrate", "web"}, Steps: []pipeline.Step{
		{Key: "migrate", Job: &pipeline.JobStep{TimeoutSeconds: 60}},
		{Key: "web", Needs: []pipeline.StepKey{"migrate"}, Service: &pipeline.ServiceStep{
			Name: "web"}},
	}}
	return r
}

// play continues until the run is ready or fails.
func (r *jobRun) play() wire.Phase {
	r.t.Helper()
	r.events = append(r.events, engine.GoalSet{Goal: presentGoal(r.p)})
	for range 1000 {
		if len(r.events) == 0 {
			r.now = r.now.Add(min(time.Second, max(r.wake.Sub(r.now), time.Millisecond)))
			r.wake = r.now.Add(time.Second)
			r.events = append(r.events, engine.Tick{})
		}
		ev := r.events[0]
		r.events = r.events[1:]
		for _, e := range stepAndCheck(r.t, r.Machine, r.now, ev) {
			r.perform(e)
		}
		switch phase := r.State().Phase; phase {
		case wire.PhaseReady, wire.PhaseUndoing:
			return phase
		}
	}
	r.t.Fatalf("the run does not end: %v", r.did)
	return ""
}

func (r *jobRun) perform(e engine.Effect) {
	switch e := e.(type) {
	case engine.Record:
		r.records = append(r.records, e)
	case engine.Report:
		if e.Event.Status == pipeline.StepFailed {
			r.failed = e.Event
		}
		if e.Event.Status == pipeline.StepDone && e.Event.Step == "migrate" {
			r.done = e.Event
		}
	case engine.WantSecrets:
		r.events = append(r.events, engine.SecretsArrived{Run: e.Run})
	case engine.Wake:
		r.wake = e.At
	case engine.StartOperation:
		if e.Kind != engine.Probe && e.Kind != engine.Pull && e.Kind != engine.Prepare {
			r.did = append(r.did, string(e.Kind)+" "+string(e.Step))
		}
		result := r.operate(e)
		if r.loses == e.Kind && e.Step == "migrate" {
			// The agent dies after the engine has done it.
			r.loses = ""
			r.Machine = engine.Replay("d", r.records)
			r.events = []engine.Event{engine.AgentRestarted{}}
			return
		}
		r.events = append(r.events, engine.OperationEnded{Op: e.Op, Result: result})
	}
}

func (r *jobRun) operate(d engine.StartOperation) engine.Result {
	ok := engine.Result{Outcome: engine.OutcomeOK}
	ended := r.stopped || !r.now.Before(r.started.Add(r.ends))
	switch {
	case d.Step != "migrate" && d.Kind == engine.Probe:
		ok.Health, ok.StartedAt = wire.HealthHealthy, r.now.Add(-time.Minute)
	case d.Step != "migrate":
	case d.Kind == engine.Start && r.started.IsZero():
		r.started = r.now
	case d.Kind == engine.Stop:
		ok.Exited, r.stopped, ok.Tests = ended, true, r.tests
		if !ended {
			r.code = 143
		}
	case d.Kind == engine.Probe && r.gone:
		return engine.Result{Outcome: engine.OutcomeNo, Message: "its container is gone"}
	case d.Kind == engine.Probe && ended:
		ok.Exited, ok.ExitCode, ok.Message = true, &r.code, "it ended"
		ok.Tests, ok.Code = r.tests, r.why
	}
	return ok
}

// The next step starts only after the job has ended with exit code 0.
func TestJob_IsDoneWhenItHasEnded(t *testing.T) {
	for _, c := range []struct {
		name  string
		ends  time.Duration
		code  int
		gone  bool
		phase wire.Phase
		fails string
		says  string
	}{
		{"ends well", 20 * time.Second, 0, false, wire.PhaseReady, "", ""},
		{"ends at once", 0, 0, false, wire.PhaseReady, "", ""},
		{"fails", 5 * time.Second, 3, false, wire.PhaseUndoing, engine.CodeExitCode, "it ended"},
		{"runs too long", time.Hour, 0, false, wire.PhaseUndoing, engine.CodeTimeout,
			`the job did not end within 1 minute and was stopped`},
		{"was removed", time.Second, 0, true, wire.PhaseUndoing, engine.CodeUnknownOutcome,
			"it may not run twice"},
	} {
		for _, loses := range []engine.Kind{"", engine.Start, engine.Probe, engine.Stop} {
			r := newJobRun(t)
			r.ends, r.code, r.gone, r.loses = c.ends, c.code, c.gone, loses
			phase := r.play()
			did := strings.Join(r.did, ", ")
			if phase != c.phase || r.failed.Code != c.fails ||
				!strings.Contains(r.failed.Message, c.says) {
				t.Errorf("%s, the agent dies at %q: %s after %s: %+v", c.name, loses, phase, did,
					r.failed)
			}
			if c.fails == engine.CodeExitCode && *r.failed.ExitCode != 3 {
				t.Errorf("%s: exit code %d", c.name, *r.failed.ExitCode)
			}
			if phase != wire.PhaseReady && strings.Contains(did, "start web") {
				t.Errorf("%s: the next step was started: %s", c.name, did)
			}
			if n := strings.Count(did, "start migrate"); n != 1 && loses != engine.Start {
				t.Errorf("%s, the agent dies at %q: the job was started %d times", c.name, loses, n)
			}
		}
	}
}

// After ready, an ended job is done: no listing of containers brings it back, and neither
// does an agent without memory of the run.
func TestJob_StaysDone(t *testing.T) {
	for _, remembers := range []bool{true, false} {
		r := newJobRun(t)
		if r.play() != wire.PhaseReady {
			t.Fatal("not ready")
		}
		g := presentGoal(r.p)
		g.Ready = true
		if r.Machine = engine.Replay("d", r.records); !remembers {
			r.Machine = engine.New("d")
		}
		r.did, r.events = nil, nil
		for _, ev := range []engine.Event{engine.AgentRestarted{}, engine.GoalSet{Goal: g},
			engine.ObjectsListed{Began: r.now.Add(time.Second), Network: true, Relay: true,
				Running: []pipeline.StepKey{"web"}, Missing: []pipeline.StepKey{"migrate"}}} {
			r.now = r.now.Add(2 * time.Second)
			for _, e := range stepAndCheck(r.t, r.Machine, r.now, ev) {
				r.perform(e)
			}
		}
		for range 20 {
			r.now = r.now.Add(time.Minute)
			for _, e := range stepAndCheck(r.t, r.Machine, r.now, engine.Tick{}) {
				r.perform(e)
			}
		}
		if len(r.did) > 0 || r.Status("migrate") != pipeline.StepDone {
			t.Errorf("remembers %t: %v, %s", remembers, r.did, r.Status("migrate"))
		}
	}
}

// A pipeline of a newer release may hold steps that this one does not know.
func TestMachine_RefusesAnUnknownFormat(t *testing.T) {
	r := newJobRun(t)
	r.p.Format = pipeline.Format + 1
	if phase := r.play(); phase != wire.PhaseUndoing || len(r.did) != 1 {
		t.Errorf("%s: %v", phase, r.did)
	}
	if c := r.Snapshot()[0].Cause; c == nil || c.Code != engine.CodeUnknownFormat ||
		!strings.Contains(c.Message, "upgrade the agent") {
		t.Errorf("cause %+v", c)
	}
}
