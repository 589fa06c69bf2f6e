package engine

import (
	"slices"

	"github.com/nullops/nullops/pipeline"
)

// sandboxesAtOnce is how many sandboxes of a run are prepared at the same time: a container engine
// on few processors does not do more any sooner.
const sandboxesAtOnce = 2

// sandboxes prepares the containers of plugins, services and jobs while an earlier step runs: they
// are created and started, and wait for the go signal that comes with their step's Run or Start.
// Nothing of an image runs before that. One that could not be prepared is made when its step runs.
type sandboxes struct {
	*core
	pulls *imagePulls
	// limit is how many may wait at a time. It is the node's setting, and not forgotten with a run.
	limit int
	// asked has an entry for each that was asked for, which is true until it was used or has failed.
	asked map[sandbox]bool
}

// sandbox is the container of one action of a plugin, or of a service or a job, whose action is
// create.
type sandbox struct {
	step   pipeline.StepKey
	action string
}

func (s *sandboxes) reset() { s.asked = map[sandbox]bool{} }

// prepareForRun prepares those of the steps after the current one, up to the next approval: while a
// person is waited for, nothing is held.
func (s *sandboxes) prepareForRun(current pipeline.StepKey) {
	if !s.steps[current].Started {
		return
	}
	next := s.order[slices.Index(s.order, current)+1:]
	question := slices.IndexFunc(next, func(key pipeline.StepKey) bool {
		return s.pipelineStep(key).Approval != nil
	})
	if question >= 0 && !s.hasDefect("prepare sandboxes behind a question") {
		next = next[:question]
	}
	s.prepare(next, "create")
}

// prepareForUndo prepares those of the deletes after the current one.
func (s *sandboxes) prepareForUndo(order []pipeline.StepKey, current pipeline.StepKey) {
	for box := range s.asked {
		// What the run left unused is removed with everything else.
		s.asked[box] = s.asked[box] && box.action == "delete"
	}
	next := slices.Clone(order[slices.Index(order, current)+1:])
	s.prepare(slices.DeleteFunc(next, func(key pipeline.StepKey) bool {
		is, plugin := s.steps[key], s.pipelineStep(key).Plugin
		return !is.Started || is.Undone || is.GaveUp != "" || !s.hasDelete(key) ||
			plugin != nil && plugin.Networked() && !s.prepared
	}), "delete")
}

func (s *sandboxes) prepare(steps []pipeline.StepKey, action string) {
	for _, key := range steps {
		if s.countWaiting() >= s.limit || len(s.ahead) >= sandboxesAtOnce {
			return
		}
		box := sandbox{key, action}
		_, asked := s.asked[box]
		if asked || !s.mayPrepare(key, action) || !s.pulls.isPulled(key) {
			continue
		}
		s.asked[box] = true
		s.ahead = append(s.ahead, s.startOperation(
			StartOperation{Kind: Precreate, Step: key, Action: action, Attempt: 1}))
	}
}

// mayPrepare reports whether the container of a step can be made before its turn. A service or a
// job that has been started in this run has its container already.
func (s *sandboxes) mayPrepare(key pipeline.StepKey, action string) bool {
	step := s.pipelineStep(key)
	if step.Plugin != nil {
		return true
	}
	return action == "create" && s.prepared && !s.steps[key].Started && !s.steps[key].Done &&
		isPreparable(step.Container())
}

// isPreparable reports whether all that a container is made from is known before its turn. The
// values of variables and the contents of files may come with the go signal; arguments cannot. An
// image's own health check would run before the turn. A volume that others share is filled from the
// image when the container is made, and only if nobody has written to it yet, so that its turn
// matters. GPUs are taken when they are needed.
func isPreparable(c *pipeline.ServiceStep) bool {
	return c != nil && (c.Ready == nil || !c.Ready.Image) && c.GPUs == nil &&
		!slices.ContainsFunc(c.Volumes, func(v pipeline.Volume) bool { return v.Shared != "" }) &&
		!slices.ContainsFunc(slices.Concat(c.Entrypoint, c.Command), pipeline.RefersToOutputs)
}

func (s *sandboxes) countWaiting() (n int) {
	for _, waits := range s.asked {
		if waits {
			n++
		}
	}
	return n
}

// use ends the wait of one: it is used once, and none is prepared for the action again.
func (s *sandboxes) use(key pipeline.StepKey, action string) {
	s.asked[sandbox{key, action}] = false
}

// isWaiting reports whether one is there, or is being made.
func (s *sandboxes) isWaiting(key pipeline.StepKey, action string) bool {
	return s.asked[sandbox{key, action}]
}

// isPreparing reports whether the step's is just being made: running it now would race.
func (s *sandboxes) isPreparing(key pipeline.StepKey) bool {
	return slices.ContainsFunc(s.ahead, func(o *operation) bool { return o.do.Step == key })
}

// hasCanceled reports whether an operation of the run has not ended that was cancelled.
func (s *sandboxes) hasCanceled() bool {
	return slices.ContainsFunc(s.ahead, func(o *operation) bool { return o.canceled })
}

// onOperationEnded records the end of a preparation, and reports whether the operation was one.
func (s *sandboxes) onOperationEnded(e OperationEnded) bool {
	i := slices.IndexFunc(s.ahead, func(o *operation) bool { return o.do.Op == e.Op })
	if i < 0 {
		return false
	}
	if do := s.ahead[i].do; e.Result.Outcome != OutcomeOK {
		s.use(do.Step, do.Action)
	}
	s.ahead = slices.Delete(s.ahead, i, i+1)
	return true
}
