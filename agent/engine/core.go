package engine

import (
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// core is what all parts of a Machine share: what is known of the deployment, the operation in
// progress, and the effects of the Step that is being taken.
type core struct {
	id string
	durableState
	progress
	effects
	planted
}

// progress is how far the current work is. It is lost in a crash.
type progress struct {
	// current is the one operation that advances the run; ahead prepare sandboxes of later steps
	// at the same time.
	current *operation
	ahead   []*operation
	// prepared: the network and the relay are there.
	prepared bool
	// fresh is when the network was last created or the run became ready: older listings are
	// out of date.
	fresh time.Time
	// killed is the step whose container was removed, so that its plugin may run.
	killed pipeline.StepKey
	// tries and wait pace what is repeated; the next good answer resets them.
	tries int
	wait  time.Time
	// refusals counts how often a container was not removed, with a reason.
	refusals int
}

// effects collects what follows from one event. Only lastOp and timings outlive the Step.
type effects struct {
	now  time.Time
	out  []Effect
	wake time.Time
	// lastOp is never reset while the agent lives: a late Ended must not be taken for one of a
	// new operation.
	lastOp  int64
	timings timings
}

// recordChange changes the durable state.
func (c *core) recordChange(r Record) {
	c.applyRecord(r)
	c.out = append(c.out, r)
}

// reportEvent reports an event of the deployment to the control plane.
func (c *core) reportEvent(e wire.Event) {
	if c.work == nil || c.work.Run == "" || c.orphan {
		// The control plane does not know this deployment, or does not want reports of it.
		return
	}
	e.Deployment, e.Generation, e.Run = c.id, c.work.Generation, c.work.Run
	e.At = c.now
	c.out = append(c.out, Report{Event: e})
}

// moveTo changes the phase and reports it.
func (c *core) moveTo(phase wire.Phase, e wire.Event) {
	c.recordChange(Record{Phase: phase})
	e.Phase = phase
	c.reportEvent(e)
}

// changeStep changes a step's durable state, and reports it if the status changed.
func (c *core) changeStep(key pipeline.StepKey, e wire.Event, edit func(*StepState)) {
	s := *c.steps[key]
	was := s.Status
	edit(&s)
	c.recordChange(Record{Step: &s})
	if s.Status != was {
		e.Step, e.Status = key, s.Status
		c.takeParts(&e)
		c.reportEvent(e)
	}
}

// recordFoundPlugins records plugins that have started and whose result is unknown.
func (c *core) recordFoundPlugins(keys []pipeline.StepKey) {
	for _, key := range keys {
		c.recordEarlierRun(StepState{Key: key, Status: pipeline.StepRunning, Started: true, Attempt: 1})
	}
}

// recordEarlierRun records a plugin or script step that ran before the journal's records begin.
func (c *core) recordEarlierRun(is StepState) {
	s := c.steps[is.Key]
	if s == nil || s.Started || c.pipelineStep(is.Key).Declares() == nil {
		return
	}
	c.recordChange(Record{Step: &is})
}

// isLaunched reports whether the engine has confirmed the start of a job.
func (c *core) isLaunched(key pipeline.StepKey) bool {
	return c.isJob(key) && !c.steps[key].Deadline.IsZero() &&
		!c.hasDefect("forget that a job was started")
}

// undoOrder is last to first.
func (c *core) undoOrder() []pipeline.StepKey {
	order := slices.Clone(c.order)
	if !c.hasDefect("undo in forward order") {
		slices.Reverse(order)
	}
	return order
}

// retryLater spaces repeats of the current work: 1, 2, 4 … 60 seconds.
func (c *core) retryLater() {
	c.wait = c.now.Add(retryDelay(c.tries))
	c.tries++
}

func (c *core) resetRetries() { c.tries, c.refusals, c.wait = 0, 0, time.Time{} }

// isBackingOff reports whether the current work waits before its next attempt.
func (c *core) isBackingOff() bool {
	if c.now.Before(c.wait) {
		c.wakeAt(c.wait)
		return true
	}
	return false
}

// retryDelay doubles from 1 second to 60 seconds.
func retryDelay(tries int) time.Duration {
	if tries > 6 {
		tries = 6
	}
	return min(time.Second<<tries, time.Minute)
}

type operation struct {
	do       StartOperation
	canceled bool
}

// startOperation starts an operation.
func (c *core) startOperation(d StartOperation) *operation {
	c.lastOp++
	d.Op = c.lastOp
	c.timings.begin(d, c.phase, c.now)
	c.out = append(c.out, d)
	return &operation{do: d}
}

func (e *effects) cancelOperation(o *operation) {
	if o != nil && !o.canceled {
		o.canceled = true
		e.out = append(e.out, CancelOperation{Op: o.do.Op})
	}
}

// wakeAt requests a Tick at the given time, unless an earlier one is due.
func (e *effects) wakeAt(until time.Time) {
	if e.wake.IsZero() || until.Before(e.wake) {
		e.wake = until
	}
}

func eventOf(r Result) wire.Event {
	return wire.Event{Code: r.Code, Message: r.Message, ExitCode: r.ExitCode,
		Metadata: r.Metadata, Tests: r.Tests}
}
