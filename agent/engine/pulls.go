package engine

import (
	"time"

	"github.com/nullops/nullops/pipeline"
)

// maxPulls is how many images one run pulls at a time: enough to fill a line,
// few enough to leave the first one most of it.
const maxPulls = 3

// imagePulls pulls the images of a run's steps, ahead of their turn.
type imagePulls struct {
	*core
	byStep map[pipeline.StepKey]*pull
}

func (i *imagePulls) reset() { i.byStep = map[pipeline.StepKey]*pull{} }

// pull is the pull of one step's image; op is 0 while it does not run.
type pull struct {
	op     int64
	done   bool
	failed *Result
	wait   time.Time
	tries  int
}

// startPulls keeps up to maxPulls pulls running for the steps that are not done.
func (i *imagePulls) startPulls() {
	busy := 0
	for _, p := range i.byStep {
		if p.op != 0 {
			busy++
		}
	}
	for _, key := range i.order {
		if i.steps[key].Done || busy >= maxPulls || !i.hasImage(key) || i.isLaunched(key) {
			continue
		}
		if i.pullImage(key) {
			busy++
		}
	}
}

// pullImage starts the pull of a step's image unless it runs, is done, has
// failed or must wait.
func (i *imagePulls) pullImage(key pipeline.StepKey) bool {
	p := i.byStep[key]
	if p == nil {
		p = &pull{}
		i.byStep[key] = p
	}
	if p.op != 0 || p.done || p.failed != nil {
		return false
	}
	if i.now.Before(p.wait) {
		i.wakeAt(p.wait)
		return false
	}
	p.op = i.startOperation(StartOperation{Kind: Pull, Step: key}).do.Op
	return true
}

// isPulled reports whether the image of a step is here.
func (i *imagePulls) isPulled(key pipeline.StepKey) bool {
	p := i.byStep[key]
	return p != nil && p.done
}

// setPulled records a pull that was the run's current operation.
func (i *imagePulls) setPulled(key pipeline.StepKey) { i.byStep[key] = &pull{done: true} }

// forgetPull has the image pulled again before it is used.
func (i *imagePulls) forgetPull(key pipeline.StepKey) { delete(i.byStep, key) }

// cancelPulls ends all pulls that run.
func (i *imagePulls) cancelPulls() {
	for _, key := range i.order {
		if p := i.byStep[key]; p != nil && p.op != 0 {
			i.out = append(i.out, CancelOperation{Op: p.op})
			delete(i.byStep, key)
		}
	}
}

// onOperationEnded records the end of a pull, and reports whether the operation was one.
func (i *imagePulls) onOperationEnded(e OperationEnded) bool {
	for _, p := range i.byStep {
		if p.op == e.Op && e.Op != 0 {
			i.onPullEnded(p, e.Result)
			return true
		}
	}
	return false
}

// onPullEnded decides when a pull is tried again, and when its step fails.
func (i *imagePulls) onPullEnded(p *pull, r Result) {
	p.op = 0
	switch r.Outcome {
	case OutcomeOK:
		p.done, p.tries = true, 0
	case OutcomeNo:
		p.failed = &r
	default:
		p.wait = i.now.Add(retryDelay(p.tries))
		p.tries++
	}
}
