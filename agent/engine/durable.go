package engine

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// durableState is what the journal holds of a deployment. Only applyRecord changes it, so that
// a replay reproduces it; its other methods are questions.
type durableState struct {
	next   *wire.Goal
	work   *wire.Goal
	blind  bool
	orphan bool
	phase  wire.Phase
	cause  *Cause
	steps  map[pipeline.StepKey]*StepState
	order  []pipeline.StepKey
}

// applyRecord is the only writer of the durable state.
func (d *durableState) applyRecord(r Record) {
	if r.Next != nil {
		d.next = r.Next
	}
	if r.Work != nil {
		d.work, d.next = r.Work, nil
		d.order = orderOf(r.Work.Pipeline)
		if r.Fresh {
			d.steps = map[pipeline.StepKey]*StepState{}
			d.cause = nil
		}
		for _, key := range d.order {
			if d.steps[key] == nil {
				d.steps[key] = &StepState{Key: key, Status: pipeline.StepPending}
			}
		}
	}
	if r.Blind != nil {
		d.blind = *r.Blind
	}
	if r.Orphan != nil {
		d.orphan = *r.Orphan
	}
	if r.Phase != "" {
		d.phase = r.Phase
	}
	if r.Cause != nil {
		d.cause = r.Cause
	}
	if r.Step != nil {
		s := *r.Step
		d.steps[s.Key] = &s
	}
	if len(r.Answers) > 0 && d.work != nil {
		d.work = withAnswers(d.work, r.Answers)
	}
}

// Snapshot is the shortest list of records that Replay makes this state of.
func (d *durableState) Snapshot() []Record {
	var records []Record
	if d.work != nil {
		records = append(records, Record{Work: d.work, Fresh: true, Blind: &d.blind,
			Orphan: &d.orphan, Phase: d.phase, Cause: d.cause})
	} else {
		records = append(records, Record{Orphan: &d.orphan, Phase: d.phase})
	}
	for _, key := range d.order {
		s := *d.steps[key]
		records = append(records, Record{Step: &s})
	}
	if d.next != nil {
		records = append(records, Record{Next: d.next})
	}
	return records
}

// CurrentGoal is the goal being worked on, nil before the first.
func (d *durableState) CurrentGoal() *wire.Goal { return d.work }

// SealedOutputs returns the sealed outputs of every step that has some.
func (d *durableState) SealedOutputs() map[pipeline.StepKey][]byte {
	all := map[pipeline.StepKey][]byte{}
	for key, s := range d.steps {
		if len(s.Sealed) > 0 {
			all[key] = s.Sealed
		}
	}
	return all
}

// Status is where a step stands.
func (d *durableState) Status(key pipeline.StepKey) pipeline.StepStatus {
	if s := d.steps[key]; s != nil {
		return s.Status
	}
	return pipeline.StepPending
}

func (d *durableState) pipelineStep(key pipeline.StepKey) pipeline.Step {
	s, _ := d.work.Pipeline.Step(key)
	return s
}

func (d *durableState) nextStep() (pipeline.StepKey, bool) {
	for _, key := range d.order {
		if !d.steps[key].Done {
			return key, true
		}
	}
	return "", false
}

func (d *durableState) isNewer(generation int64) bool {
	if d.orphan {
		// The deployment was missing from the goals and is back, possibly with the same generation.
		return d.next == nil
	}
	if d.next != nil {
		return generation > d.next.Generation
	}
	return d.work == nil || generation > d.work.Generation
}

// isIdle reports that nothing exists, and nothing is being done.
func (d *durableState) isIdle() bool {
	switch d.phase {
	case "", wire.PhaseFailed, wire.PhaseRemoved:
		return true
	default:
		return false
	}
}

func (d *durableState) isSameRun(g wire.Goal) bool {
	return d.work != nil && d.work.Want == g.Want && d.work.Run == g.Run
}

func (d *durableState) isJob(key pipeline.StepKey) bool { return d.pipelineStep(key).Job != nil }

// hasDelete reports whether a step created something outside the engine that must be
// deleted.
func (d *durableState) hasDelete(key pipeline.StepKey) bool {
	c := d.pipelineStep(key).Declares()
	return !d.work.Elsewhere && c != nil && c.CanUndo()
}

// hasImage reports whether a step runs a container: an approval and a script do not.
func (d *durableState) hasImage(key pipeline.StepKey) bool {
	s := d.pipelineStep(key)
	return s.Approval == nil && s.Script == nil
}

func (d *durableState) hasAnyDelete() bool {
	return slices.ContainsFunc(d.order, d.hasDelete)
}

// mayEnd reports whether a service that ended was declared to: one that is never
// restarted may be a job, which has done its work when it ends with code 0.
func (d *durableState) mayEnd(key pipeline.StepKey, r Result) bool {
	return d.pipelineStep(key).Service.Restart == pipeline.RestartNever &&
		r.ExitCode != nil && *r.ExitCode == 0
}

// StoppedForCopy lists services with restart "never" that were stopped for the copy: they are
// started again on the node that the deployment ends up on.
func (d *durableState) StoppedForCopy() (keys []pipeline.StepKey) {
	for _, key := range d.order {
		if d.steps[key].Hushed && d.pipelineStep(key).Service.Restart == pipeline.RestartNever {
			keys = append(keys, key)
		}
	}
	return keys
}

func orderOf(p pipeline.Pipeline) []pipeline.StepKey {
	if len(p.Order) == len(p.Steps) {
		return p.Order
	}
	order, err := pipeline.Order(p)
	if err != nil {
		// The control plane never sends a graph that it refused to save.
		return nil
	}
	return order
}
