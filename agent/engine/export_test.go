package engine

import (
	"fmt"
	"slices"

	"github.com/nullops/nullops/agent/wire"
)

// CheckState compares what a machine is in with the tables of phases and steps.
func (m *Machine) CheckState() error { return m.checkState() }

// CheckMoves compares the phases that a Step went through with the table.
func CheckMoves(from wire.Phase, effects []Effect) error {
	for _, e := range effects {
		r, ok := e.(Record)
		if !ok || r.Phase == "" || r.Phase == from {
			continue
		}
		if !slices.Contains(phaseRules()[r.Phase].from, from) {
			return fmt.Errorf("it went from %q to %s", from, r.Phase)
		}
		from = r.Phase
	}
	return nil
}
