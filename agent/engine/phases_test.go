package engine_test

import (
	"time"

	"github.com/nullops/nullops/agent/engine"
)

// stepAndCheck takes one event in, and holds the machine to the tables of phases and steps.
func stepAndCheck(
	t interface{ Fatalf(string, ...any) }, m *engine.Machine, now time.Time, ev engine.Event,
) []engine.Effect {
	from := m.State().Phase
	effects := m.Step(now, ev)
	if err := engine.CheckMoves(from, effects); err != nil {
		t.Fatalf("after %+v: %v", ev, err)
	}
	if err := m.CheckState(); err != nil {
		t.Fatalf("after %+v: %v", ev, err)
	}
	checkReports(t, m, now, effects)
	if got := engine.Replay("d", m.Snapshot()).State(); got != m.State() {
		t.Fatalf("after %+v: the snapshot makes %+v of %+v", ev, got, m.State())
	}
	return effects
}

// checkReports: what is told has the time of the step, names its run, and is told of nothing
// that the control plane does not know.
func checkReports(
	t interface{ Fatalf(string, ...any) }, m *engine.Machine, now time.Time, effects []engine.Effect,
) {
	for _, e := range effects {
		r, ok := e.(engine.Report)
		if ok && (!r.Event.At.Equal(now) || r.Event.Deployment != "d" || r.Event.Run == "" ||
			m.State().Abandoned) {
			t.Fatalf("reported %+v at %s", r.Event, now)
		}
	}
}
