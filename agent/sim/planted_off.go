//go:build !planted

package sim

import "github.com/nullops/nullops/agent/engine"

// planted is the defect a world has on purpose: none, in a build like this.
type planted struct{}

func (planted) hasDefect(string) bool { return false }

func (planted) plantDefect(*engine.Machine) {}
