package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// The container engine may complete a request after the agent gave up on it or died, even
// after everything was removed. So when a listing shows objects of a deployment that has
// ended, they are removed again.

// strays removes objects that should not be there.
type strays struct {
	*core
	// stray: there are objects although the deployment has ended.
	stray bool
	// leftover are plugins with a container although the run is ready.
	leftover []pipeline.StepKey
}

func (y *strays) reset() { y.stray, y.leftover = false, nil }

// recordStrays records containers that should not exist in this phase.
func (y *strays) recordStrays(l ObjectsListed) {
	switch y.phase {
	case wire.PhaseReady:
		y.leftover = l.Plugins
	case wire.PhaseFailed, wire.PhaseRemoved:
		y.stray = l.Objects > 0
	default:
	}
}

// removeStrays removes objects that appeared after the deployment had ended.
func (y *strays) removeStrays() {
	if y.stray && y.current == nil && !y.isBackingOff() {
		y.current = y.startOperation(StartOperation{Kind: RemoveAll})
	}
}

// onStraysRemoved clears the flag, or retries; the next listing shows whether everything is
// gone.
func (y *strays) onStraysRemoved(r Result) {
	if r.Outcome == OutcomeOK {
		y.resetRetries()
		y.stray = false
		return
	}
	y.retryLater()
}

// removeLeftover takes a plugin's container away that outlived its run, and
// reports whether there is one.
func (y *strays) removeLeftover() bool {
	if len(y.leftover) == 0 {
		return false
	}
	y.current = y.startOperation(StartOperation{Kind: Remove, Step: y.leftover[0], Action: "create"})
	return true
}

// onLeftoverRemoved forgets the leftover, even if removing it failed: the next listing
// shows it again.
func (y *strays) onLeftoverRemoved(key pipeline.StepKey) {
	if len(y.leftover) > 0 && y.leftover[0] == key {
		y.leftover = y.leftover[1:]
	}
}
