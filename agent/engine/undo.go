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
func (m *Machine) undoing() {
	if m.current != nil || m.ahead != nil || m.waiting() {
		return
	}
	if m.blind && !m.orphan && m.anyDelete() && !m.haveSecrets() {
		// Only the bundle says which plugins ran.
		if m.secrets != secretsRefused {
			return
		}
		m.suspectAll()
	}
	for _, key := range m.undoOrder() {
		s := m.steps[key]
		if m.has("skip the unknown step") && !s.Done {
			continue
		}
		if s.Started && !s.Undone && s.GaveUp == "" {
			m.undoStep(key)
			return
		}
	}
	m.current = m.do(Do{Kind: RemoveAll})
}

// assumeAllPluginsRan treats every plugin as if it had run: there is no record, and the
// control plane refuses the secrets that would tell. What cannot be undone is then listed
// for people.
func (m *Machine) suspectAll() {
	for _, key := range m.order {
		if m.deletes(key) && !m.steps[key].Started {
			m.change(key, wire.Event{}, func(s *StepState) { s.Started = true })
		}
	}
}

// undoOrder is last to first.
func (m *Machine) undoOrder() []pipeline.StepKey {
	order := slices.Clone(m.order)
	if !m.has("undo in forward order") {
		slices.Reverse(order)
	}
	return order
}

func (m *Machine) anyDelete() bool {
	return slices.ContainsFunc(m.order, m.deletes)
}

// hasDelete reports whether a step created something outside the engine that must be
// deleted.
func (m *Machine) deletes(key pipeline.StepKey) bool {
	s := m.step(key)
	return !m.work.Elsewhere && s.Plugin != nil && s.Plugin.Component != nil &&
		s.Plugin.Component.CanUndo()
}

// undoStep removes the container first: what may still run must not run beside
// its own undoing.
func (m *Machine) undoStep(key pipeline.StepKey) {
	if m.steps[key].Status != pipeline.StepUndoing {
		m.change(key, wire.Event{}, func(s *StepState) { s.Status = pipeline.StepUndoing })
	}
	switch {
	case m.killed != key && !m.has("delete beside the plugin"):
		m.current = m.do(Do{Kind: Remove, Step: key, Action: "create"})
	case !m.deletes(key):
		m.stepUndone(key, Result{})
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
		m.gaveUp(key, Result{Code: CodeSecretsRefused,
			Message: "its secrets were refused: " + m.refusal})
		return
	}
	if !m.haveSecrets() {
		return
	}
	if m.step(key).Plugin.Networked() && !m.prepared {
		m.current = m.do(Do{Kind: Prepare, Step: key})
		return
	}
	if p := m.pulls[key]; p == nil || !p.done {
		m.current = m.do(Do{Kind: Pull, Step: key})
		return
	}
	if m.steps[key].Deletes >= maxAttempts {
		m.gaveUp(key, Result{Code: CodeUnknownOutcome,
			Message: fmt.Sprintf("its delete did not answer %d times", maxAttempts)})
		return
	}
	m.change(key, wire.Event{}, func(s *StepState) { s.Deletes++ })
	m.current = m.do(Do{Kind: Run, Step: key, Action: "delete", Attempt: m.steps[key].Deletes})
}

// onUndoEnded handles the end of an operation while undoing.
func (m *Machine) undone(o operation, r Result) {
	key := o.do.Step
	if r.Outcome == OK {
		m.calm()
	}
	switch o.do.Kind {
	case Remove:
		m.containerGone(key, r)
	case Pull:
		m.pulledForDelete(key, r)
	case Run:
		m.deleted(key, r)
	case RemoveAll:
		m.removedAll(r)
	default:
	}
}

func (m *Machine) containerGone(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OK:
		m.killed = key
	case r.Outcome == Unknown:
		m.retryLater()
	case m.refusals < maxRemovals:
		m.refusals++
		m.retryLater()
	case m.deletes(key):
		// It may still run, so its undoing must not.
		m.gaveUp(key, Result{Message: "its container could not be removed: " + r.Message})
	default:
		// RemoveAll tries once more, and what it leaves is listed there.
		m.calm()
		m.killed = key
	}
}

func (m *Machine) pulledForDelete(key pipeline.StepKey, r Result) {
	switch {
	case r.Outcome == OK:
		m.pulls[key] = &pull{done: true}
	case r.Outcome == Unknown || m.tries < maxAttempts:
		m.retryLater()
	default:
		m.gaveUp(key, r)
	}
}

func (m *Machine) deleted(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OK:
		m.stepUndone(key, r)
	case No:
		m.gaveUp(key, r)
	default:
		m.killed = ""
		m.retryLater()
	}
}

func (m *Machine) stepUndone(key pipeline.StepKey, r Result) {
	m.killed = ""
	m.calm()
	m.change(key, eventOf(r), func(s *StepState) {
		s.Undone, s.Status = true, pipeline.StepUndone
	})
}

// recordGiveUp records that a step could not be undone; the others are still tried.
func (m *Machine) gaveUp(key pipeline.StepKey, r Result) {
	m.killed = ""
	m.calm()
	m.change(key, wire.Event{Code: CodeUndoFailed, Message: r.Message, ExitCode: r.ExitCode},
		func(s *StepState) {
			s.GaveUp = cmp.Or(r.Message, r.Code, "unknown")
			s.Status = pipeline.StepFailed
		})
}

func (m *Machine) removedAll(r Result) {
	m.left = r.Left
	if r.Outcome != OK && len(r.Left) == 0 {
		m.left = []string{cmp.Or(r.Message, "the container engine could not be asked")}
	}
	if m.undoAgain() {
		// A newer goal arrived in the meantime, and marked failed steps to be tried again.
		return
	}
	if r.Outcome == OK && len(r.Left) == 0 {
		m.finish()
		return
	}
	if r.Outcome == Unknown || m.tries < maxRemovals || m.orphan {
		m.retryLater()
		return
	}
	m.finish()
}

func (m *Machine) undoAgain() bool {
	return slices.ContainsFunc(m.order, func(key pipeline.StepKey) bool {
		s := m.steps[key]
		return s.Started && !s.Undone && s.GaveUp == "" && !m.has("skip the unknown step")
	})
}

// finishUndo ends the undoing: everything is gone, or what is left is reported.
func (m *Machine) finish() {
	m.calm()
	m.fresh = m.now
	m.prepared = false
	left := slices.Clone(m.left)
	for _, key := range m.order {
		if s := m.steps[key]; s.GaveUp != "" {
			left = append(left, fmt.Sprintf("plugin step %q: %s", key, s.GaveUp))
		}
	}
	if !m.orphan && len(left) > 0 {
		m.stuck(left)
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

func (m *Machine) stuck(left []string) {
	if m.next != nil {
		// The next goal had its try as well; only a higher generation starts another.
		work := *m.work
		work.Generation = m.next.Generation
		m.record(Record{Work: &work})
	}
	m.moveTo(wire.PhaseStuck, wire.Event{Code: CodeLeftOver, Left: left,
		Message: fmt.Sprintf("%d things could not be removed; remove them by hand or try again",
			len(left))})
}
