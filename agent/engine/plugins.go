package engine

import (
	"fmt"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxAttempts bounds the runs of an idempotent plugin whose outcome is lost,
// and of deletes: an agent that is killed again and again must still end.
const maxAttempts = 3

// plugins runs the create actions of plugins.
type plugins struct {
	*run
	sandboxes *sandboxes
}

// runPlugin runs it once, and again only if that is harmless.
func (p *plugins) runPlugin(key pipeline.StepKey) {
	s := p.steps[key]
	if s.Started && !p.mayRepeat(key) {
		p.failUnknown(key, "")
		return
	}
	if s.Started && p.killed != key && !p.hasDefect("use a sandbox twice") {
		// A container left from an earlier run must not run beside the new one.
		p.current = p.startOperation(StartOperation{Kind: Remove, Step: key, Action: "create"})
		return
	}
	p.killed = ""
	p.sandboxes.use(key, "create")
	p.changeStep(key, wire.Event{}, func(s *StepState) {
		s.Started, s.Status = !p.hasDefect("effect before intent"), pipeline.StepRunning
		s.Attempt++
	})
	p.current = p.startOperation(
		StartOperation{Kind: Run, Step: key, Action: "create", Attempt: p.steps[key].Attempt},
	)
	p.sandboxes.prepareForRun(key)
}

func (p *plugins) mayRepeat(key pipeline.StepKey) bool {
	c := p.pipelineStep(key).Declares()
	repeatable := c != nil && (c.Idempotent || p.hasDefect("repeat every plugin"))
	return repeatable && p.steps[key].Attempt < maxAttempts
}

func (p *plugins) onPluginEnded(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		p.completeStep(key, r)
	case OutcomeNo:
		p.failStep(key, r)
	default:
		p.killed = ""
		if !p.mayRepeat(key) {
			p.failUnknown(key, r.Message)
			return
		}
		p.retryLater()
	}
}

// failUnknown fails a step that may have done its work or not, with the reason if there is one.
func (p *plugins) failUnknown(key pipeline.StepKey, why string) {
	message := fmt.Sprintf("it is not known whether step %q completed (attempt %d), and it may not "+
		"run twice", key, p.steps[key].Attempt)
	if why != "" {
		message += ": " + why
	}
	p.failStep(key, Result{Code: CodeUnknownOutcome, Message: message})
}

// recordLateResult records the result of a cancelled create. A plugin that succeeded
// nevertheless must receive its outputs when its delete runs.
func (p *plugins) recordLateResult(o operation, r Result) {
	if o.do.Kind != Run || o.do.Action != "create" {
		return
	}
	e := eventOf(r)
	e.Outputs, e.Sealed = r.Outputs, r.Sealed
	p.changeStep(o.do.Step, e, func(s *StepState) {
		s.Outputs, s.Sealed = r.Outputs, r.Sealed
		s.Done, s.Status = r.Outcome == OutcomeOK, pipeline.StepFailed
		if s.Done {
			s.Status = pipeline.StepDone
		}
	})
}
