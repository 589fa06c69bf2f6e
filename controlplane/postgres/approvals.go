package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// PutQuestion stores what an agent asks.
func (t Approvals) PutQuestion(ctx context.Context, q controlplane.Question) error {
	spec, err := encodeJSON(q.Approval)
	if err != nil {
		return err
	}
	err = t.q.PutQuestion(ctx, dbsqlc.PutQuestionParams{RunID: string(q.RunID),
		Step: string(q.Step), Prompt: q.Prompt, AskedAt: q.AskedAt, Deadline: q.Deadline,
		Approval: spec})
	if err != nil {
		return fmt.Errorf("put question of step %s: %w", q.Step, translateError(err))
	}
	return nil
}

// GetQuestion reads one question of a deployment's run, answered or not.
func (t Approvals) GetQuestion(ctx context.Context, id controlplane.DeploymentID, run int,
	step pipeline.StepKey) (controlplane.Question, error) {
	r, err := t.q.GetQuestion(ctx, string(id), int32(run), string(step))
	if err != nil {
		return controlplane.Question{}, translateMissing(err, "question", string(step))
	}
	return toQuestion(r.Approval, r.DeploymentID, r.Run, r.Status)
}

// ListOpenQuestions returns, by deployment, the open question of its latest run.
func (t Approvals) ListOpenQuestions(ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.Question, error) {
	rows, err := t.q.ListOpenQuestions(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list open questions: %w", err)
	}
	all := map[controlplane.DeploymentID]controlplane.Question{}
	for _, r := range rows {
		q, err := toQuestion(r.Approval, r.DeploymentID, r.Run, r.Status)
		if err != nil {
			return nil, err
		}
		if _, newer := all[q.Deployment]; !newer {
			all[q.Deployment] = q
		}
	}
	return all, nil
}

func toQuestion(
	a dbsqlc.Approval, deployment string, run int32, status string,
) (controlplane.Question, error) {
	q := controlplane.Question{Deployment: controlplane.DeploymentID(deployment),
		RunID: controlplane.RunID(a.RunID), Run: int(run), Step: pipeline.StepKey(a.Step),
		Prompt: a.Prompt, AskedAt: a.AskedAt, Deadline: a.Deadline,
		Status: pipeline.StepStatus(status)}
	if a.Approved != nil && a.AnsweredBy != nil && a.AnsweredAt != nil {
		q.Answer = &controlplane.Answer{Approved: *a.Approved, By: *a.AnsweredBy,
			At: *a.AnsweredAt}
		if err := decodeJSON(a.Fields, &q.Answer.Fields); err != nil {
			return q, err
		}
	}
	return q, decodeJSON(a.Approval, &q.Approval)
}

// AnswerQuestion stores an answer, and reports whether it did: of two concurrent
// answers only one is stored.
func (t Approvals) AnswerQuestion(
	ctx context.Context, q controlplane.Question, a controlplane.Answer,
) (bool, error) {
	fields, err := encodeJSON(a.Fields)
	if err != nil {
		return false, err
	}
	n, err := t.q.AnswerQuestion(ctx, dbsqlc.AnswerQuestionParams{Approved: a.Approved,
		Fields: fields, AnsweredBy: a.By, RunID: string(q.RunID), Step: string(q.Step)})
	if err != nil {
		return false, fmt.Errorf("answer step %s: %w", q.Step, translateError(err))
	}
	return n > 0, nil
}

// readAnswers returns the answers to the questions of runs.
func (t Approvals) readAnswers(ctx context.Context, runs []controlplane.RunID,
) (map[controlplane.RunID]map[pipeline.StepKey]controlplane.Answer, error) {
	rows, err := t.q.ListAnswers(ctx, toStrings(runs))
	if err != nil {
		return nil, fmt.Errorf("list answers: %w", err)
	}
	all := map[controlplane.RunID]map[pipeline.StepKey]controlplane.Answer{}
	for _, r := range rows {
		q, err := toQuestion(dbsqlc.Approval{Approved: r.Approved, Fields: r.Fields,
			AnsweredBy: r.AnsweredBy, AnsweredAt: r.AnsweredAt}, "", 0, "")
		if err != nil {
			return nil, err
		}
		run := controlplane.RunID(r.RunID)
		if all[run] == nil {
			all[run] = map[pipeline.StepKey]controlplane.Answer{}
		}
		all[run][pipeline.StepKey(r.Step)] = *q.Answer
	}
	return all, nil
}
