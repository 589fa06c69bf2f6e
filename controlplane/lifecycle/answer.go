package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// ApprovalReply is what a person answers to a question.
type ApprovalReply struct {
	Run      int
	Step     pipeline.StepKey
	Approved bool
	Fields   map[string]any
}

// QuestionView is what a deployment waits for, as one person sees it.
type QuestionView struct {
	controlplane.Question
	// Refused is why this person may not answer; nil if they may.
	Refused error
}

// AnswerQuestion answers a run's question, once: a second answer fails and names the first
// one's author. The row notifies the node's session, which informs the agent.
func (l *Lifecycle) AnswerQuestion(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, r ApprovalReply) (controlplane.Deployment, error) {
	entry := actor.NewAuditEntry("answer approval", "deployment "+string(id))
	err := l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := access.Check(actor, access.ReadDeployment, accessObject(d)); err != nil {
			return err
		}
		entry.Object = fmt.Sprintf("deployment %s, step %s", d.Name, r.Step)
		entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
		entry.Detail = "rejected"
		if r.Approved {
			entry.Detail = "approved"
		}
		return recordAnswer(ctx, tx, actor, d, r)
	})
	if err != nil {
		return controlplane.Deployment{}, err
	}
	return l.Get(ctx, actor, id)
}

func recordAnswer(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, r ApprovalReply) error {
	q, err := tx.Approvals().GetQuestion(ctx, d.ID, r.Run, r.Step)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return notAskedError(ctx, tx, actor, d, r)
	}
	if err != nil {
		return err
	}
	a := q.Approval
	if err := access.CheckAnswer(actor, accessObject(d), a.Teams, a.Users); err != nil {
		return err
	}
	if !q.Open() {
		return closedQuestionError(q)
	}
	if d.Status != controlplane.Applying || d.RunID != q.RunID {
		// Its node has not received the decision of the people yet.
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_waiting",
			Message: fmt.Sprintf("step %s waits for no answer any more: deployment %s is %s",
				q.Step, d.Name, d.Status),
			Remedy: "There is nothing to answer."}
	}
	fields, problems := a.Answers(r.Approved, r.Fields)
	if len(problems) > 0 {
		return wrongFields(problems)
	}
	given, err := tx.Approvals().AnswerQuestion(ctx, q,
		controlplane.Answer{Approved: r.Approved, Fields: fields, By: actor.Name()})
	if err != nil {
		return err
	}
	if !given {
		// An answer was written although we hold the row lock of the deployment. It counts;
		// read it.
		if q, err = tx.Approvals().GetQuestion(ctx, d.ID, r.Run, r.Step); err != nil {
			return err
		}
		return closedQuestionError(q)
	}
	if err := tx.Deployments().SetDetail(ctx, d.ID, answeredDetail(q, r, actor)); err != nil {
		return err
	}
	tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	_, err = tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

func answeredDetail(q controlplane.Question, r ApprovalReply, actor access.Actor) string {
	verb := "rejected"
	if r.Approved {
		verb = "approved"
	}
	return fmt.Sprintf("%s %s by %s", q.Step, verb, actor.Name())
}

// notAskedError distinguishes a step that has not asked yet or never did, a step that is
// no question, and one that does not exist.
func notAskedError(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, r ApprovalReply) error {
	run, err := tx.Runs().Get(ctx, d.ID, r.Run)
	if err != nil {
		return err
	}
	s, ok := run.Pipeline.Step(r.Step)
	if !ok {
		return controlplane.NewNotFoundError("step", string(r.Step))
	}
	var who pipeline.ApprovalStep
	if s.Approval != nil {
		who = *s.Approval
	}
	if err := access.CheckAnswer(actor, accessObject(d), who.Teams, who.Users); err != nil {
		return err
	}
	if s.Approval == nil {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "no_question",
			Field: "step", Message: fmt.Sprintf("step %s asks nothing", r.Step),
			Remedy: "Only a step of kind approval is answered."}
	}
	if d.Run == run.Number && (d.Status == controlplane.Queued ||
		d.Status == controlplane.Applying) {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_asked",
			Message: fmt.Sprintf("step %s has not asked yet", r.Step),
			Remedy:  "Wait until the steps before it are done."}
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_waiting",
		Message: fmt.Sprintf("run %d ended before step %s asked", r.Run, r.Step),
		Remedy:  "There is nothing to answer."}
}

// closedQuestionError says why a question takes no answer now.
func closedQuestionError(q controlplane.Question) error {
	if q.Answer != nil {
		verb := "rejected"
		if q.Answer.Approved {
			verb = "approved"
		}
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "answered",
			Message: fmt.Sprintf("%s %s step %s at %s", q.Answer.By, verb, q.Step,
				q.Answer.At.UTC().Format(time.RFC3339)),
			Remedy: "An answer is given once; retry the deployment to be asked again."}
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_waiting",
		Message: fmt.Sprintf("step %s waits for no answer any more; it is %s", q.Step, q.Status),
		Remedy:  "Retry the deployment to be asked again."}
}

func wrongFields(problems []pipeline.Problem) error {
	e := &controlplane.Error{Kind: controlplane.Invalid, Code: "fields_invalid",
		Field: problems[0].Field, Message: problems[0].Message,
		Remedy: "Fill the fields in as the question declares them."}
	for _, p := range problems {
		e.Problems = append(e.Problems, controlplane.Problem{Field: p.Field, Code: p.Code,
			Message: p.Message})
	}
	return e
}

// askPeople stores what an approval step waits for, so that people see it.
func askPeople(ctx context.Context, tx *postgres.Tx, run controlplane.Run,
	step controlplane.StepRow, r Report) error {
	s, ok := run.Pipeline.Step(step.Key)
	if step.Status != pipeline.StepWaiting || !ok || s.Approval == nil {
		return nil
	}
	return tx.Approvals().PutQuestion(ctx, controlplane.Question{RunID: run.ID, Step: step.Key,
		Prompt: step.Message, AskedAt: r.At, Deadline: r.Deadline, Approval: *s.Approval})
}

// openQuestions returns the open questions of the deployments, for whichever person may answer.
func openQuestions(ctx context.Context, tx *postgres.Tx, found []cachedDeployment,
) (map[controlplane.DeploymentID]controlplane.Question, error) {
	ids := idsOf(found, func(d controlplane.Deployment) bool {
		return d.Status == controlplane.Applying
	})
	if len(ids) == 0 {
		return nil, nil
	}
	open, err := tx.Approvals().ListOpenQuestions(ctx, ids...)
	for _, k := range found {
		d := k.deployment
		if q, ok := open[d.ID]; ok && q.RunID != d.RunID {
			delete(open, d.ID)
		}
	}
	return open, err
}

// newQuestionView is a question as the actor sees it.
func newQuestionView(
	actor access.Actor,
	d controlplane.Deployment,
	q controlplane.Question,
) *QuestionView {
	v := &QuestionView{Question: q, Refused: access.CheckAnswer(actor, accessObject(d),
		q.Approval.Teams, q.Approval.Users)}
	if v.Refused == nil && q.Answer != nil {
		v.Refused = closedQuestionError(q)
	}
	return v
}
