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
	return effects
}
