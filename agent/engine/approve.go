package engine

import (
	"fmt"
	"maps"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// Codes of approvals that end a run.
const (
	CodeRejected   = "rejected"
	CodeUnanswered = "unanswered"
)

// An approval holds nothing while it waits: no container, no operation, only a
// durable deadline. Its answer comes with the goal, and may come before the
// question, to an agent that lost its memory. See approve for the order.

// mergeAnswers stores the answers in a goal of the current run, even if the goal is
// outdated: an answer is a fact that is never withdrawn.
func (m *Machine) mergeAnswers(g wire.Goal) {
	if g.Deployment != m.id || m.work == nil || g.Run != m.work.Run ||
		g.Want != wire.WantPresent {
		return
	}
	news := map[pipeline.StepKey]wire.Answer{}
	for key, a := range g.Answers {
		if _, known := m.work.Answers[key]; !known {
			news[key] = a
		}
	}
	if len(news) > 0 {
		m.recordChange(Record{Answers: news})
	}
}

// withAnswers is a copy of a goal that knows more answers. The first one to a
// step counts.
func withAnswers(g *wire.Goal, news map[pipeline.StepKey]wire.Answer) *wire.Goal {
	next := *g
	next.Answers = maps.Clone(news)
	maps.Copy(next.Answers, g.Answers)
	return &next
}

// advanceApproval does the next thing for an approval whose turn it is: evaluate the
// prompt, wait for an answer, or complete the step with the answer.
func (m *Machine) advanceApproval(key pipeline.StepKey) {
	s := m.steps[key]
	reply, here := m.work.Answers[key]
	switch {
	case s.Status != pipeline.StepWaiting:
		m.current = m.startOperation(StartOperation{Kind: EvaluatePrompt, Step: key})
	case !here:
		m.wakeAt(s.Deadline)
	default:
		m.current = m.startOperation(StartOperation{Kind: EvaluateAnswer, Step: key, Reply: &reply})
	}
}

// failUnapproved fails the run if its approval was rejected or not answered in time. It
// uses this agent's clock only and needs no secrets: the control plane may be unreachable,
// and the deadline must hold all the same.
func (m *Machine) failUnapproved() bool {
	key, left := m.nextStep()
	if !left || m.steps[key].Status != pipeline.StepWaiting {
		return false
	}
	reply, here := m.work.Answers[key]
	late := !m.now.Before(m.steps[key].Deadline) && !m.hasDefect("wait for an answer for ever")
	switch {
	case here && !reply.Approved:
		m.failStep(key, Result{Harmless: true, Code: CodeRejected,
			Message: fmt.Sprintf("%s rejected it", reply.By)})
		return true
	case !here && late:
		m.failStep(key, Result{Harmless: true, Code: CodeUnanswered, Message: fmt.Sprintf(
			"nobody's answer came within %s", m.approvalTimeout(key))})
		return true
	case !here:
		m.wakeAt(m.steps[key].Deadline)
	}
	return false
}

func (m *Machine) approvalTimeout(key pipeline.StepKey) time.Duration {
	return time.Duration(m.pipelineStep(key).Approval.Seconds()) * time.Second
}

// onPromptEvaluated starts waiting for a person. The prompt is sent with the step's new
// status.
func (m *Machine) onPromptEvaluated(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		m.resetRetries()
		deadline := m.now.Add(m.approvalTimeout(key))
		m.changeStep(key, wire.Event{Message: r.Message, Deadline: deadline}, func(s *StepState) {
			s.Status, s.Deadline = pipeline.StepWaiting, deadline
		})
	case OutcomeNo:
		r.Harmless = true
		m.failStep(key, r)
	default:
		m.retryLater()
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
func (m *Machine) onApprovalCompleted(key pipeline.StepKey, r Result) {
	switch r.Outcome {
	case OutcomeOK:
		m.completeStep(key, r)
	case OutcomeNo:
		r.Harmless = true
		m.failStep(key, r)
	default:
		m.retryLater()
	}
}
