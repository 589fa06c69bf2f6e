package engine

import (
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// run completes and fails steps, and ends the run itself.
type run struct {
	*core
	pulls  *imagePulls
	prober *prober
}

// completeStep marks a step complete.
func (n *run) completeStep(key pipeline.StepKey, r Result) {
	n.prober.reset()
	n.resetRetries()
	e := eventOf(r)
	e.Outputs, e.Sealed = r.Outputs, r.Sealed
	n.changeStep(key, e, func(s *StepState) {
		s.Done, s.Status, s.Outputs, s.Sealed = true, pipeline.StepDone, r.Outputs, r.Sealed
	})
}

// failStep ends the run because of a step.
func (n *run) failStep(key pipeline.StepKey, r Result) {
	n.changeStep(key, eventOf(r), func(s *StepState) {
		s.Status = pipeline.StepFailed
		if r.Harmless && s.Attempt <= 1 {
			s.Started = false
		}
		if r.Outputs != nil {
			s.Outputs, s.Sealed = r.Outputs, r.Sealed
		}
	})
	n.giveUp(r.Code, r.Message)
}

// giveUp ends an incomplete run. It cancels running operations and skips steps that never
// started; undoing begins once no operation runs.
func (n *run) giveUp(code, message string) {
	n.recordChange(Record{Cause: &Cause{Code: code, Message: message}})
	n.windDown(wire.PhaseUndoing)
}

// windDown ends what a run is doing, and begins to undo or to remove it.
func (n *run) windDown(phase wire.Phase) {
	if n.phase == wire.PhaseApplying || n.phase == wire.PhaseReady {
		n.cancelOperation(n.current)
		for _, o := range n.ahead {
			n.cancelOperation(o)
		}
	}
	n.pulls.cancelPulls()
	for _, key := range n.order {
		s := n.steps[key]
		if n.isNeverBegun(s) {
			n.changeStep(key, unansweredEvent(s), func(s *StepState) { s.Status = pipeline.StepSkipped })
		}
	}
	n.retryFailedUndo()
	n.resetRetries()
	n.killed = ""
	n.prober.reset()
	if n.phase == phase {
		return
	}
	var e wire.Event
	if n.cause != nil {
		e.Code, e.Message = n.cause.Code, n.cause.Message
	}
	n.moveTo(phase, e)
}

// isNeverBegun reports whether a step is marked as skipped when the run ends. That includes
// an approval without an answer; an answered one keeps its status.
func (n *run) isNeverBegun(s *StepState) bool {
	return !s.Started && !s.Done && s.Status != pipeline.StepSkipped &&
		s.Status != pipeline.StepFailed
}

// retryFailedUndo marks steps whose undoing failed to be tried again.
func (n *run) retryFailedUndo() {
	for _, key := range n.order {
		if n.steps[key].GaveUp != "" {
			n.changeStep(key, wire.Event{}, func(s *StepState) { s.GaveUp, s.Deletes = "", 0 })
		}
	}
}
