package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// starts plays a run of services in virtual time. lives says how long each
// start of a service lives; the last one counts for all that follow. Zero is for
// ever, a negative one ends at once.
type starts struct {
	*engine.Machine
	t     *testing.T
	p     pipeline.Pipeline
	lives map[pipeline.StepKey][]time.Duration
	code  int
	// forgetful engines do not say when a process started.
	forgetful bool

	now, wake time.Time
	began     time.Time
	started   map[pipeline.StepKey]int
	at        map[pipeline.StepKey]time.Time
	failed    wire.Event
}

func newStarts(t *testing.T, restart pipeline.Restart, ready *pipeline.Readiness,
	keys ...pipeline.StepKey) *starts {
	t.Helper()
	now := time.Unix(1_800_000_000, 0)
	s := &starts{Machine: engine.New("d"), t: t, code: 3, now: now, began: now,
		lives:   map[pipeline.StepKey][]time.Duration{},
		started: map[pipeline.StepKey]int{}, at: map[pipeline.StepKey]time.Time{}}
	for _, key := range keys {
		s.p.Steps = append(s.p.Steps, pipeline.Step{Key: key, Service: &pipeline.ServiceStep{
			Name: string(key), Restart: restart, Ready: ready}})
		s.p.Order = append(s.p.Order, key)
	}
	return s
}

func (s *starts) runs(key pipeline.StepKey) bool {
	lives := s.lives[key]
	if s.started[key] == 0 || len(lives) == 0 {
		return s.started[key] > 0
	}
	life := lives[min(s.started[key], len(lives))-1]
	return life == 0 || s.now.Before(s.at[key].Add(life))
}

// play continues until the run is ready or failed, and returns how long it took.
func (s *starts) play() (time.Duration, wire.Phase) {
	s.t.Helper()
	events := []engine.Event{engine.GoalSet{Goal: presentGoal(s.p)}}
	for range 10_000 {
		if len(events) == 0 {
			s.now = s.now.Add(min(time.Second, max(s.wake.Sub(s.now), time.Millisecond)))
			s.wake = s.now.Add(time.Second)
			events = append(events, engine.Tick{}, s.list())
		}
		effects := stepAndCheck(s.t, s.Machine, s.now, events[0])
		events = events[1:]
		for _, effect := range effects {
			switch e := effect.(type) {
			case engine.WantSecrets:
				events = append(events, engine.SecretsArrived{Run: e.Run})
			case engine.Wake:
				s.wake = e.At
			case engine.Report:
				if e.Event.Status == pipeline.StepFailed {
					s.failed = e.Event
				}
			case engine.StartOperation:
				events = append(events, engine.OperationEnded{Op: e.Op, Result: s.performOperation(e)})
			}
		}
		switch phase := s.State().Phase; phase {
		case wire.PhaseReady, wire.PhaseUndoing:
			return s.now.Sub(s.began), phase
		}
	}
	s.t.Fatal("the run does not end")
	return 0, ""
}

func (s *starts) list() engine.ObjectsListed {
	l := engine.ObjectsListed{Began: s.now, Network: true, Relay: true}
	for _, key := range s.p.Order {
		if s.runs(key) {
			l.Running = append(l.Running, key)
		}
	}
	return l
}

func (s *starts) performOperation(d engine.StartOperation) engine.Result {
	r := engine.Result{Outcome: engine.OutcomeOK}
	switch {
	case d.Kind == engine.Start && !s.runs(d.Step):
		s.started[d.Step]++
		s.at[d.Step] = s.now
	case d.Kind == engine.Probe && s.runs(d.Step):
		r.Health = wire.HealthHealthy
		if !s.forgetful {
			r.StartedAt = s.at[d.Step]
		}
	case d.Kind == engine.Probe:
		r.Health, r.Exited, r.ExitCode = wire.HealthStopped, true, &s.code
		r.Message = "it ended"
	}
	return r
}

// A started process proves nothing: without a readiness check it has to stay up for a while, and an
// earlier exit fails the run.
func TestStartup_StartedIsNotDone(t *testing.T) {
	for _, c := range []struct {
		name  string
		life  time.Duration
		code  int
		phase wire.Phase
		says  string
	}{
		{"exits at once", -1, 3, wire.PhaseUndoing, "it ended"},
		{"exits after three seconds", 3 * time.Second, 3, wire.PhaseUndoing, "it ended"},
		{"ends with zero, as a job does", 2 * time.Second, 0, wire.PhaseReady, ""},
		{"stays", 0, 0, wire.PhaseReady, ""},
	} {
		for _, forgetful := range []bool{false, true} {
			s := newStarts(t, pipeline.RestartNever, nil, "web")
			s.lives["web"], s.code, s.forgetful = []time.Duration{c.life}, c.code, forgetful
			took, phase := s.play()
			if phase != c.phase || !strings.HasPrefix(s.failed.Message, c.says) {
				t.Errorf("%s: the run is %s: %+v", c.name, phase, s.failed)
			}
			if phase == wire.PhaseUndoing && (s.failed.Code != engine.CodeServiceExited ||
				s.failed.ExitCode == nil || *s.failed.ExitCode != c.code) {
				t.Errorf("%s: reported as %+v", c.name, s.failed)
			}
			if c.life == 0 && (took < 5*time.Second || took > 6*time.Second) {
				t.Errorf("%s: ready after %s", c.name, took)
			}
			if s.started["web"] != 1 {
				t.Errorf("%s: started %d times", c.name, s.started["web"])
			}
		}
	}
}

// A service that may be restarted can exit until what it needs is there. One
// that never stays up fails the run when its time is over.
//
// fault: F51
func TestStartup_RestartsWithinTheBudget(t *testing.T) {
	check := &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 80}}
	short := &pipeline.Readiness{TCP: check.TCP, IntervalSeconds: 2, Retries: 4,
		StartPeriodSeconds: 2}
	second := time.Second
	for _, c := range []struct {
		name     string
		ready    *pipeline.Readiness
		lives    []time.Duration
		phase    wire.Phase
		from, to time.Duration
	}{
		{"waits for its database", nil, []time.Duration{second, second, second, 0},
			wire.PhaseReady, 14 * second, 17 * second},
		{"loops", nil, []time.Duration{second}, wire.PhaseUndoing, 20 * second, 31 * second},
		{"waits with a check", check, []time.Duration{-1, -1, -1, -1, -1, -1, -1, -1, 0}, wire.PhaseReady,
			30 * second, 40 * second},
		{"loops with a check", check, []time.Duration{-1}, wire.PhaseUndoing, 50 * second,
			61 * second},
		{"loops with a short check", short, []time.Duration{-1}, wire.PhaseUndoing, 5 * second,
			11 * second},
		{"loops with one check", &pipeline.Readiness{TCP: check.TCP, Retries: 1},
			[]time.Duration{-1}, wire.PhaseUndoing, second, second},
	} {
		s := newStarts(t, pipeline.RestartAlways, c.ready, "web")
		s.lives["web"] = c.lives
		took, phase := s.play()
		if phase != c.phase || took < c.from || took > c.to {
			t.Errorf("%s: the run is %s after %s: %+v", c.name, phase, took, s.failed)
		}
		failed := phase == wire.PhaseUndoing
		times := fmt.Sprintf("%d times", s.started["web"]-1)
		if s.started["web"] == 2 {
			times = "once"
		}
		if failed && !strings.Contains(s.failed.Message, "it was started again "+times+" within ") {
			t.Errorf("%s: the message is %q", c.name, s.failed.Message)
		}
	}
}

// A service that ends while a later step starts is started again, or fails the
// run if it is never restarted.
func TestStartup_EarlierServiceEnds(t *testing.T) {
	done := newStarts(t, pipeline.RestartNever, nil, "db", "web")
	done.lives["db"], done.code = []time.Duration{7 * time.Second, 0}, 0
	if _, phase := done.play(); phase != wire.PhaseReady || done.started["db"] != 1 {
		t.Errorf("with a job that ended well the run is %s: %+v", phase, done.failed)
	}
	for restart, want := range map[pipeline.Restart]wire.Phase{
		pipeline.RestartAlways: wire.PhaseReady, pipeline.RestartNever: wire.PhaseUndoing} {
		s := newStarts(t, restart, nil, "db", "web")
		s.lives["db"] = []time.Duration{7 * time.Second, 0}
		_, phase := s.play()
		if phase != want {
			t.Errorf("restarted %s, the run is %s", restart, phase)
		}
		if restart == pipeline.RestartAlways && s.started["db"] != 2 {
			t.Errorf("the database was started %d times", s.started["db"])
		}
		if restart == pipeline.RestartNever && (s.failed.Step != "db" ||
			s.failed.Code != engine.CodeServiceExited) {
			t.Errorf("failed is %+v", s.failed)
		}
		if !slices.Contains(s.p.Order, s.failed.Step) && want == wire.PhaseUndoing {
			t.Errorf("no step failed")
		}
	}
}
