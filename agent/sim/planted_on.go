//go:build planted

package sim

import (
	"slices"

	"github.com/nullops/nullops/agent/engine"
)

// planted is the defect a world has on purpose.
type planted struct{ defect string }

func (p planted) hasDefect(defect string) bool { return p.defect == defect }

func (p planted) plantDefect(m *engine.Machine) { m.Plant(p.defect) }

// WithDefect is a world whose agent has one of Defects.
func WithDefect(defect string) Options { return Options{planted: planted{defect}} }

// Defects are the names of all bugs that can be planted: those of the engine,
// and those of what is around it.
func Defects() []string {
	return slices.Concat(engine.Defects(), []string{
		"acknowledge before fsync", "list without stopped containers",
		"delete on a failed list", "leave the network", "forget events on restart",
		"hear a replaced session", "ask for secrets once", "start an ended job again",
		"run a sandbox early", "forget a sandbox", "use a sandbox twice",
		"run a service's sandbox early", "forget a service's sandbox", "use a service's sandbox twice",
	})
}
