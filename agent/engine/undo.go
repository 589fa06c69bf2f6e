package engine

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxRemovals is how often removing everything is tried before the deployment counts as
// stuck.
const maxRemovals = 6

// undo removes what a run has started, in reverse order.
type undo struct {
	*run
	secrets   *secrets
	sandboxes *sandboxes
}

// advanceUndo undoes what was started, in reverse order, and then removes all objects with
// the deployment's label.
func (u *undo) advanceUndo() {
	if u.sandboxes.hasCanceled() {
		return
	}
	if o := u.current; o != nil && o.do.Kind == Run && o.do.Action == "delete" {
		u.sandboxes.prepareForUndo(u.undoOrder(), o.do.Step)
	}
	if u.current != nil || u.isBackingOff() {
		return
	}
	if u.blind && !u.orphan && u.hasAnyDelete() && !u.secrets.requireSecrets() {
		// Only the bundle says which plugins ran.
		if u.secrets.state != secretsRefused {
			return
		}
		u.assumeAllPluginsRan()
	}
	for _, key := range u.undoOrder() {
		s := u.steps[key]
		if u.hasDefect("skip the unknown step") && !s.Done {
			continue
		}
		if s.Started && !s.Undone && s.GaveUp == "" {
			if !u.sandboxes.isPreparing(key) {
				u.undoStep(key)
			}
			return
		}
	}
	if len(u.ahead) == 0 {
		u.current = u.startOperation(StartOperation{Kind: RemoveAll})
	}
}

// assumeAllPluginsRan treats every plugin as if it had run: there is no record, and the control
// plane refuses the secrets that would tell. Effects that cannot be undone are then listed for
// people.
func (u *undo) assumeAllPluginsRan() {
	for _, key := range u.order {
		if u.hasDelete(key) && !u.steps[key].Started {
			u.changeStep(key, wire.Event{}, func(s *StepState) { s.Started = true })
		}
	}
}

// undoStep removes the container first: a step that may still run must not run beside its own undo.
func (u *undo) undoStep(key pipeline.StepKey) {
	if u.steps[key].Status != pipeline.StepUndoing {
		u.changeStep(key, wire.Event{}, func(s *StepState) { s.Status = pipeline.StepUndoing })
	}
	switch {
	case u.killed != key && !u.hasDefect("delete beside the plugin"):
		u.current = u.startOperation(StartOperation{Kind: Remove, Step: key, Action: "create",
			Keep: u.sandboxes.isWaiting(key, "delete")})
	case !u.hasDelete(key):
		u.recordStepUndone(key, Result{})
	default:
		u.deletePlugin(key)
	}
}

// deletePlugin gets what the delete action needs, then runs it.
func (u *undo) deletePlugin(key pipeline.StepKey) {
	if u.orphan && u.secrets.state == secretsUnknown {
		u.secrets.recordRefusal("the control plane does not know the deployment")
	}
	if u.secrets.state == secretsRefused {
		u.recordGiveUp(key, Result{Code: CodeSecretsRefused,
			Message: "its secrets were refused: " + u.secrets.refusal})
		return
	}
	if !u.secrets.requireSecrets() {
		return
	}
	if plugin := u.pipelineStep(key).Plugin; plugin != nil && plugin.Networked() && !u.prepared {
		u.current = u.startOperation(StartOperation{Kind: Prepare, Step: key})
		return
	}
	if u.hasImage(key) && !u.pulls.isPulled(key) {
		u.current = u.startOperation(StartOperation{Kind: Pull, Step: key})
		return
	}
	if u.steps[key].Deletes >= maxAttempts {
		u.recordGiveUp(key, Result{Code: CodeUnknownOutcome,
			Message: fmt.Sprintf("its delete did not answer %d times", maxAttempts)})
		return
	}
	u.sandboxes.use(key, "delete")
	u.changeStep(key, wire.Event{}, func(s *StepState) { s.Deletes++ })
	u.current = u.startOperation(
		StartOperation{Kind: Run, Step: key, Action: "delete", Attempt: u.steps[key].Deletes},
	)
}

// onUndoEnded handles the end of an operation while undoing.
func (u *undo) onUndoEnded(o operation, r Result) {
	key := o.do.Step
	if r.Outcome == OutcomeOK && len(r.Left) == 0 {
		u.resetRetries() // what leaves something is a try, of which there are maxRemovals
	}
	switch o.do.Kind {
	case Remove:
		u.onContainerRemoved(key, r)
	case Pull:
		u.onDeletePulled(key, r)
	case Run:
		u.onDeleteEnded(key, r)
	case RemoveAll:
		u.onAllRemoved(r)
	default:
	}
}

func (u *undo) onContainerRemoved(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeOK:
		u.killed = key
	case r.Outcome == OutcomeUnknown:
		u.retryLater()
	case u.refusals < maxRemovals:
		u.refusals++
		u.retryLater()
	case u.hasDelete(key):
		// It may still run, so its undoing must not.
		u.recordGiveUp(key, Result{Message: "its container could not be removed: " + r.Message})
	default:
		// RemoveAll tries again and lists what it leaves.
		u.resetRetries()
		u.killed = key
	}
}

func (u *undo) onDeletePulled(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeOK:
		u.pulls.setPulled(key)
	case r.Outcome == OutcomeUnknown || u.tries < maxAttempts:
		u.retryLater()
	default:
		u.recordGiveUp(key, r)
	}
}

func (u *undo) onDeleteEnded(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		u.recordStepUndone(key, r)
	case OutcomeNo:
		u.recordGiveUp(key, r)
	default:
		u.killed = ""
		u.retryLater()
	}
}

func (u *undo) recordStepUndone(key pipeline.StepKey, r Result) {
	u.killed = ""
	u.resetRetries()
	u.changeStep(key, eventOf(r), func(s *StepState) {
		s.Undone, s.Status = true, pipeline.StepUndone
	})
}

// recordGiveUp records that a step could not be undone; the others are still tried.
func (u *undo) recordGiveUp(key pipeline.StepKey, r Result) {
	u.killed = ""
	u.resetRetries()
	u.changeStep(key, wire.Event{Code: CodeUndoFailed, Message: r.Message, ExitCode: r.ExitCode},
		func(s *StepState) {
			s.GaveUp = cmp.Or(r.Message, r.Code, "unknown")
			s.Status = pipeline.StepFailed
		})
}

func (u *undo) onAllRemoved(r Result) {
	left := r.Left
	if r.Outcome != OutcomeOK && len(r.Left) == 0 {
		left = []string{cmp.Or(r.Message, "the container engine could not be asked")}
	}
	if u.hasMoreToUndo() {
		// A newer goal arrived in the meantime, and marked failed steps to be tried again.
		return
	}
	if r.Outcome == OutcomeOK && len(r.Left) == 0 {
		u.finishUndo(left)
		return
	}
	if r.Outcome == OutcomeUnknown || u.tries < maxRemovals || u.orphan {
		u.retryLater()
		return
	}
	u.finishUndo(left)
}

func (u *undo) hasMoreToUndo() bool {
	return slices.ContainsFunc(u.order, func(key pipeline.StepKey) bool {
		s := u.steps[key]
		return s.Started && !s.Undone && s.GaveUp == "" && !u.hasDefect("skip the unknown step")
	})
}

// finishUndo ends the undoing: everything is gone, or what is left is reported.
func (u *undo) finishUndo(left []string) {
	u.resetRetries()
	u.fresh = u.now
	u.prepared = false
	left = slices.Clone(left)
	for _, key := range u.order {
		if s := u.steps[key]; s.GaveUp != "" {
			left = append(left, fmt.Sprintf("%s step %q: %s", u.undoneKind(key), key, s.GaveUp))
		}
	}
	if !u.orphan && len(left) > 0 {
		u.reportStuck(left)
		return
	}
	u.out = append(u.out, DropSecrets{})
	u.secrets.reset()
	if u.work.Want == wire.WantGone || u.phase == wire.PhaseRemoving {
		u.moveTo(wire.PhaseRemoved, wire.Event{})
	} else {
		e := wire.Event{}
		if u.cause != nil {
			e.Code, e.Message = u.cause.Code, u.cause.Message
		}
		u.moveTo(wire.PhaseFailed, e)
	}
	if u.orphan && u.next == nil {
		u.out = append(u.out, Forget{})
	}
}

// undoneKind names the kind of a step that could not be undone.
func (u *undo) undoneKind(key pipeline.StepKey) string {
	if u.pipelineStep(key).Script != nil {
		return "script"
	}
	return "plugin"
}

func (u *undo) reportStuck(left []string) {
	if u.next != nil {
		// The next goal had its try as well; only a higher generation starts another.
		work := *u.work
		work.Generation = u.next.Generation
		u.recordChange(Record{Work: &work})
	}
	u.moveTo(wire.PhaseStuck, wire.Event{Code: CodeLeftOver, Left: left,
		Message: fmt.Sprintf("%d things could not be removed; remove them by hand or try again",
			len(left))})
}
