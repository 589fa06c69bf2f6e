package engine

import (
	"fmt"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// Codes of approvals that end a run.
const (
	CodeRejected   = "rejected"
	CodeUnanswered = "unanswered"
)

// An approval holds nothing while it waits: no container, no operation, only a
// durable deadline. Its answer comes with the goal, and may come before the
// question, to an agent that lost its memory. See advanceApproval for the order.

// approvals asks people, and waits for their answers.
type approvals struct{ *run }

// advanceApproval does the next thing for an approval whose turn it is: evaluate the
// prompt, wait for an answer, or complete the step with the answer.
func (a *approvals) advanceApproval(key pipeline.StepKey) {
	s := a.steps[key]
	reply, here := a.work.Answers[key]
	switch {
	case s.Status != pipeline.StepWaiting:
		a.current = a.startOperation(StartOperation{Kind: EvaluatePrompt, Step: key})
	case !here:
		a.wakeAt(s.Deadline)
	default:
		a.current = a.startOperation(StartOperation{Kind: EvaluateAnswer, Step: key, Reply: &reply})
	}
}

// failUnapproved fails the run if its approval was rejected or not answered in time. It
// uses this agent's clock only and needs no secrets: the control plane may be unreachable,
// and the deadline must hold all the same.
func (a *approvals) failUnapproved() bool {
	key, left := a.nextStep()
	if !left || a.steps[key].Status != pipeline.StepWaiting {
		return false
	}
	reply, here := a.work.Answers[key]
	late := !a.now.Before(a.steps[key].Deadline) && !a.hasDefect("wait for an answer for ever")
	switch {
	case here && !reply.Approved:
		a.failStep(key, Result{Harmless: true, Code: CodeRejected,
			Message: fmt.Sprintf("%s rejected it", reply.By)})
		return true
	case !here && late:
		a.failStep(key, Result{Harmless: true, Code: CodeUnanswered, Message: fmt.Sprintf(
			"nobody's answer came within %s", quantity.FormatDuration(a.approvalTimeout(key)))})
		return true
	case !here:
		a.wakeAt(a.steps[key].Deadline)
	}
	return false
}

func (a *approvals) approvalTimeout(key pipeline.StepKey) time.Duration {
	return time.Duration(a.pipelineStep(key).Approval.Seconds()) * time.Second
}

// onPromptEvaluated starts waiting for a person. The prompt is sent with the step's new
// status.
func (a *approvals) onPromptEvaluated(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		a.resetRetries()
		deadline := a.now.Add(a.approvalTimeout(key))
		a.changeStep(key, wire.Event{Message: r.Message, Deadline: deadline}, func(s *StepState) {
			s.Status, s.Deadline = pipeline.StepWaiting, deadline
		})
	case OutcomeNo:
		r.Harmless = true
		a.failStep(key, r)
	default:
		a.retryLater()
	}
}

// unansweredEvent explains why a step that waited for a person is skipped.
func unansweredEvent(s *StepState) wire.Event {
	if s.Status != pipeline.StepWaiting {
		return wire.Event{}
	}
	return wire.Event{Code: CodeCanceled, Message: "the run ended before anybody answered"}
}

// onApprovalCompleted completes the approval step, or fails it, after its outputs were
// made.
func (a *approvals) onApprovalCompleted(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		a.completeStep(key, r)
	case OutcomeNo:
		r.Harmless = true
		a.failStep(key, r)
	default:
		a.retryLater()
	}
}
