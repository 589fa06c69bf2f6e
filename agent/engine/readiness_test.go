package engine_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// startUnready plays a run of one service that never gets ready, in virtual time, and
// returns how long after its start the run gave up, how often it was asked, and
// with which words.
func startUnready(
	t *testing.T, ready *pipeline.Readiness,
) (after time.Duration, asked int, says string) {
	t.Helper()
	p := pipeline.Pipeline{Steps: []pipeline.Step{{Key: "web",
		Service: &pipeline.ServiceStep{Name: "web", Ready: ready}}},
		Order: []pipeline.StepKey{"web"}}
	m := engine.New("d")
	now := time.Unix(1_800_000_000, 0)
	var began time.Time
	var wake time.Time
	events := []engine.Event{engine.GoalSet{Goal: presentGoal(p)}}
	for range 10_000 {
		if len(events) == 0 {
			now, wake = wake, time.Time{}
			events = append(events, engine.Tick{})
		}
		effects := stepAndCheck(t, m, now, events[0])
		events = events[1:]
		for _, effect := range effects {
			switch e := effect.(type) {
			case engine.WantSecrets:
				events = append(events, engine.SecretsArrived{Run: e.Run})
			case engine.Wake:
				wake = e.At
			case engine.Report:
				if e.Event.Code == engine.CodeNotReady {
					return now.Sub(began), asked, e.Event.Message
				}
			case engine.StartOperation:
				result := engine.Result{Outcome: engine.OutcomeOK}
				switch e.Kind {
				case engine.Start:
					began = now
				case engine.Probe:
					asked++
					result.Health, result.Message = wire.HealthUnhealthy, "not yet"
				}
				events = append(events, engine.OperationEnded{Op: e.Op, Result: result})
			}
		}
	}
	t.Fatal("the run did not give up")
	return 0, 0, ""
}

// Interval, retries and start period are what they say: no check counts in the
// start period, those that count are an interval apart, and the last one ends it.
func TestReadiness_Times(t *testing.T) {
	tcp := &pipeline.TCPProbe{Port: 80}
	for name, c := range map[string]struct {
		ready *pipeline.Readiness
		after time.Duration
		says  string
	}{
		"defaults": {&pipeline.Readiness{TCP: tcp}, 59 * time.Second, "after 60 checks: not yet"},
		"own": {&pipeline.Readiness{TCP: tcp, IntervalSeconds: 2, Retries: 4}, 6 * time.Second,
			"after 4 checks"},
		"start period": {&pipeline.Readiness{TCP: tcp, IntervalSeconds: 5, Retries: 3,
			StartPeriodSeconds: 100}, 110 * time.Second, "after 3 checks"},
	} {
		after, asked, says := startUnready(t, c.ready)
		// The first check that counts may come an interval after the start period.
		interval := time.Duration(max(c.ready.IntervalSeconds, 1)) * time.Second
		if after < c.after || after > c.after+interval || !strings.Contains(says, c.says) {
			t.Errorf("%s: gave up after %s and %d questions: %s; wanted %s, %q", name, after, asked,
				says, c.after, c.says)
		}
	}
}
