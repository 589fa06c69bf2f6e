//go:build !planted

package engine

// planted is the defect a machine has on purpose: none, in a build like this.
type planted struct{}

func (planted) hasDefect(string) bool { return false }
