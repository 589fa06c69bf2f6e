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

// advanceUndo undoes what was started, in reverse order, and then removes all objects with
// the deployment's label.
func (m *Machine) advanceUndo() {
	if m.current != nil || m.ahead != nil || m.isBackingOff() {
		return
	}
	if m.blind && !m.orphan && m.hasAnyDelete() && !m.requireSecrets() {
		// Only the bundle says which plugins ran.
		if m.secrets != secretsRefused {
			return
		}
		m.assumeAllPluginsRan()
	}
	for _, key := range m.undoOrder() {
		s := m.steps[key]
		if m.hasDefect("skip the unknown step") && !s.Done {
			continue
		}
		if s.Started && !s.Undone && s.GaveUp == "" {
			m.undoStep(key)
			return
		}
	}
	m.current = m.startOperation(StartOperation{Kind: RemoveAll})
}

// assumeAllPluginsRan treats every plugin as if it had run: there is no record, and the control
// plane refuses the secrets that would tell. Effects that cannot be undone are then listed for
// people.
func (m *Machine) assumeAllPluginsRan() {
	for _, key := range m.order {
		if m.hasDelete(key) && !m.steps[key].Started {
			m.changeStep(key, wire.Event{}, func(s *StepState) { s.Started = true })
		}
	}
}

// undoOrder is last to first.
func (m *Machine) undoOrder() []pipeline.StepKey {
	order := slices.Clone(m.order)
	if !m.hasDefect("undo in forward order") {
		slices.Reverse(order)
	}
	return order
}

func (m *Machine) hasAnyDelete() bool {
	return slices.ContainsFunc(m.order, m.hasDelete)
}

// hasDelete reports whether a step created something outside the engine that must be
// deleted.
func (m *Machine) hasDelete(key pipeline.StepKey) bool {
	c := m.pipelineStep(key).Declares()
	return !m.work.Elsewhere && c != nil && c.CanUndo()
}

// undoStep removes the container first: a step that may still run must not run beside its own undo.
func (m *Machine) undoStep(key pipeline.StepKey) {
	if m.steps[key].Status != pipeline.StepUndoing {
		m.changeStep(key, wire.Event{}, func(s *StepState) { s.Status = pipeline.StepUndoing })
	}
	switch {
	case m.killed != key && !m.hasDefect("delete beside the plugin"):
		m.current = m.startOperation(StartOperation{Kind: Remove, Step: key, Action: "create"})
	case !m.hasDelete(key):
		m.recordStepUndone(key, Result{})
	default:
		m.deletePlugin(key)
	}
}

// deletePlugin gets what the delete action needs, then runs it.
func (m *Machine) deletePlugin(key pipeline.StepKey) {
	if m.orphan && m.secrets == secretsUnknown {
		m.secrets, m.refusal = secretsRefused, "the control plane does not know the deployment"
	}
	if m.secrets == secretsRefused {
		m.recordGiveUp(key, Result{Code: CodeSecretsRefused,
			Message: "its secrets were refused: " + m.refusal})
		return
	}
	if !m.requireSecrets() {
		return
	}
	plugin := m.pipelineStep(key).Plugin
	if plugin != nil && plugin.Networked() && !m.prepared {
		m.current = m.startOperation(StartOperation{Kind: Prepare, Step: key})
		return
	}
	if p := m.pulls[key]; m.hasImage(key) && (p == nil || !p.done) {
		m.current = m.startOperation(StartOperation{Kind: Pull, Step: key})
		return
	}
	if m.steps[key].Deletes >= maxAttempts {
		m.recordGiveUp(key, Result{Code: CodeUnknownOutcome,
			Message: fmt.Sprintf("its delete did not answer %d times", maxAttempts)})
		return
	}
	m.changeStep(key, wire.Event{}, func(s *StepState) { s.Deletes++ })
	m.current = m.startOperation(
		StartOperation{Kind: Run, Step: key, Action: "delete", Attempt: m.steps[key].Deletes},
	)
}

// onUndoEnded handles the end of an operation while undoing.
func (m *Machine) onUndoEnded(o operation, r Result) {
	key := o.do.Step
	if r.Outcome == OutcomeOK {
		m.resetRetries()
	}
	switch o.do.Kind {
	case Remove:
		m.onContainerRemoved(key, r)
	case Pull:
		m.onDeletePulled(key, r)
	case Run:
		m.onDeleteEnded(key, r)
	case RemoveAll:
		m.onAllRemoved(r)
	default:
	}
}

func (m *Machine) onContainerRemoved(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeOK:
		m.killed = key
	case r.Outcome == OutcomeUnknown:
		m.retryLater()
	case m.refusals < maxRemovals:
		m.refusals++
		m.retryLater()
	case m.hasDelete(key):
		// It may still run, so its undoing must not.
		m.recordGiveUp(key, Result{Message: "its container could not be removed: " + r.Message})
	default:
		// RemoveAll tries again and lists what it leaves.
		m.resetRetries()
		m.killed = key
	}
}

func (m *Machine) onDeletePulled(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OutcomeOK:
		m.pulls[key] = &pull{done: true}
	case r.Outcome == OutcomeUnknown || m.tries < maxAttempts:
		m.retryLater()
	default:
		m.recordGiveUp(key, r)
	}
}

func (m *Machine) onDeleteEnded(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		m.recordStepUndone(key, r)
	case OutcomeNo:
		m.recordGiveUp(key, r)
	default:
		m.killed = ""
		m.retryLater()
	}
}

func (m *Machine) recordStepUndone(key pipeline.StepKey, r Result) {
	m.killed = ""
	m.resetRetries()
	m.changeStep(key, eventOf(r), func(s *StepState) {
		s.Undone, s.Status = true, pipeline.StepUndone
	})
}

// recordGiveUp records that a step could not be undone; the others are still tried.
func (m *Machine) recordGiveUp(key pipeline.StepKey, r Result) {
	m.killed = ""
	m.resetRetries()
	m.changeStep(key, wire.Event{Code: CodeUndoFailed, Message: r.Message, ExitCode: r.ExitCode},
		func(s *StepState) {
			s.GaveUp = cmp.Or(r.Message, r.Code, "unknown")
			s.Status = pipeline.StepFailed
		})
}

func (m *Machine) onAllRemoved(r Result) {
	m.left = r.Left
	if r.Outcome != OutcomeOK && len(r.Left) == 0 {
		m.left = []string{cmp.Or(r.Message, "the container engine could not be asked")}
	}
	if m.hasMoreToUndo() {
		// A newer goal arrived in the meantime, and marked failed steps to be tried again.
		return
	}
	if r.Outcome == OutcomeOK && len(r.Left) == 0 {
		m.finishUndo()
		return
	}
	if r.Outcome == OutcomeUnknown || m.tries < maxRemovals || m.orphan {
		m.retryLater()
		return
	}
	m.finishUndo()
}

func (m *Machine) hasMoreToUndo() bool {
	return slices.ContainsFunc(m.order, func(key pipeline.StepKey) bool {
		s := m.steps[key]
		return s.Started && !s.Undone && s.GaveUp == "" && !m.hasDefect("skip the unknown step")
	})
}

// finishUndo ends the undoing: everything is gone, or what is left is reported.
func (m *Machine) finishUndo() {
	m.resetRetries()
	m.fresh = m.now
	m.prepared = false
	left := slices.Clone(m.left)
	for _, key := range m.order {
		if s := m.steps[key]; s.GaveUp != "" {
			left = append(left, fmt.Sprintf("%s step %q: %s", m.undoneKind(key), key, s.GaveUp))
		}
	}
	if !m.orphan && len(left) > 0 {
		m.reportStuck(left)
		return
	}
	m.out = append(m.out, DropSecrets{})
	m.secrets, m.refusal = secretsUnknown, ""
	if m.work.Want == wire.WantGone || m.phase == wire.PhaseRemoving {
		m.moveTo(wire.PhaseRemoved, wire.Event{})
	} else {
		e := wire.Event{}
		if m.cause != nil {
			e.Code, e.Message = m.cause.Code, m.cause.Message
		}
		m.moveTo(wire.PhaseFailed, e)
	}
	if m.orphan && m.next == nil {
		m.out = append(m.out, Forget{})
	}
}

// undoneKind names the kind of a step that could not be undone.
func (m *Machine) undoneKind(key pipeline.StepKey) string {
	if m.pipelineStep(key).Script != nil {
		return "script"
	}
	return "plugin"
}

func (m *Machine) reportStuck(left []string) {
	if m.next != nil {
		// The next goal had its try as well; only a higher generation starts another.
		work := *m.work
		work.Generation = m.next.Generation
		m.recordChange(Record{Work: &work})
	}
	m.moveTo(wire.PhaseStuck, wire.Event{Code: CodeLeftOver, Left: left,
		Message: fmt.Sprintf("%d things could not be removed; remove them by hand or try again",
			len(left))})
}
