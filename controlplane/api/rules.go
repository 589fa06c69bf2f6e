package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/review"
)

func (s *server) ListRules(
	ctx context.Context, r ListRulesRequestObject,
) (ListRulesResponseObject, error) {
	all, next, err := s.Reviews.ListRules(ctx, actorOf(ctx), toPage(r.Params.Cursor,
		r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListRules200JSONResponse{Items: convertAll(all, toRule), NextCursor: ptrOrNil(next)}, nil
}

func (s *server) GetRule(
	ctx context.Context, r GetRuleRequestObject,
) (GetRuleResponseObject, error) {
	found, reviews, err := s.Reviews.GetRule(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetRule200JSONResponse{Rule: toRule(found), Reviews: convertAll(reviews, toReview)}, nil
}

func (s *server) PutRule(
	ctx context.Context, r PutRuleRequestObject,
) (PutRuleResponseObject, error) {
	b := r.Body
	saved, err := s.Reviews.PutRule(ctx, actorOf(ctx), review.RulePut{
		Rule: controlplane.ReviewRule{Name: r.Name, Source: controlplane.ReviewSource(b.Source),
			Repository: valueOr(b.Repository, ""), Project: b.Project, Environment: b.Environment,
			Branch: valueOr(b.Branch, ""), Filter: filterOf(b.Filter), Tag: b.Tag,
			APIURL:  valueOr(b.ApiUrl, ""),
			Updates: controlplane.ReviewUpdates(valueOr(b.Updates, RuleUpdatesAside)),
			Data:    controlplane.ReviewData(valueOr(b.Data, RuleDataFresh)),
			Aliases: valueOr(b.Aliases, false), Forks: valueOr(b.Forks, false),
			Schedule: scheduleOf(b.Schedule),
			Input:    valueOr(b.Input, nil),
			Wait:     time.Duration(valueOr(b.WaitMinutes, 30)) * time.Minute,
			Active:   valueOr(b.Active, true)},
		Secret: secretValue(b.Secret), Token: secretValue(b.Token)})
	if err != nil {
		return nil, err
	}
	out := PutRule200JSONResponse{Created: saved.Created, Changed: &saved.Changed,
		Rule: toRule(saved.Rule)}
	if !saved.Made.IsEmpty() {
		out.Secret = ptrOrNil(saved.Made.Reveal())
	}
	return out, nil
}

func (s *server) DeleteRule(
	ctx context.Context, r DeleteRuleRequestObject,
) (DeleteRuleResponseObject, error) {
	if err := s.Reviews.DeleteRule(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteRule204Response{}, nil
}

func (s *server) ApproveCommit(
	ctx context.Context, r ApproveCommitRequestObject,
) (ApproveCommitResponseObject, error) {
	x, err := s.Reviews.ApproveCommit(ctx, actorOf(ctx), r.Name, r.Body.Key, r.Body.Commit)
	if err != nil {
		return nil, err
	}
	return ApproveCommit200JSONResponse(toReview(x)), nil
}

func toRule(r controlplane.ReviewRule) Rule {
	return Rule{Name: r.Name, Source: RuleSource(r.Source), Repository: ptrOrNil(r.Repository),
		Project: r.Project, Environment: r.Environment, Branch: ptrOrNil(r.Branch),
		Filter: toRuleFilter(r.Filter), Tag: r.Tag,
		Input: inputOf(r.Input), WaitMinutes: int(r.Wait / time.Minute), ApiUrl: ptrOrNil(r.APIURL),
		Updates:   ptrOrNil(RuleUpdates(r.Updates)),
		Data:      ptrOrNil(RuleData(r.Data)),
		Aliases:   ptrOrNil(r.Aliases),
		Forks:     ptrOrNil(r.Forks),
		Schedule:  toRuleSchedule(r.Schedule),
		NextRunAt: ptrOrNil(r.NextRun),
		Active:    r.Active,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, Refusal: ptrOrNil(r.Refusal)}
}

func filterOf(f *RuleFilter) (out controlplane.ReviewFilter) {
	if f == nil {
		return out
	}
	return controlplane.ReviewFilter{Target: valueOr(f.Target, ""), SkipDrafts: valueOr(f.SkipDrafts,
		false), Labels: fromStrings[string](f.Labels), Authors: fromStrings[string](f.Authors),
		Paths: fromStrings[string](f.Paths)}
}

func toRuleFilter(f controlplane.ReviewFilter) *RuleFilter {
	if f.IsEmpty() {
		return nil
	}
	return &RuleFilter{Target: ptrOrNil(f.Target), SkipDrafts: ptrOrNil(f.SkipDrafts),
		Labels: toStrings(f.Labels), Authors: toStrings(f.Authors), Paths: toStrings(f.Paths)}
}

func scheduleOf(s *RuleSchedule) (out controlplane.ReviewSchedulePlan) {
	if s == nil {
		return out
	}
	out = controlplane.ReviewSchedulePlan{At: s.At, TimeZone: s.TimeZone,
		Hours: valueOr(s.LifetimeHours, 0)}
	if s.Until != nil {
		until := s.Until.UTC()
		out.Until = &until
	}
	return out
}

func toRuleSchedule(s controlplane.ReviewSchedulePlan) *RuleSchedule {
	if s == (controlplane.ReviewSchedulePlan{}) {
		return nil
	}
	return &RuleSchedule{At: s.At, TimeZone: s.TimeZone, LifetimeHours: ptrOrNil(s.Hours),
		Until: s.Until}
}

func toReview(r controlplane.Review) Review {
	return Review{Key: r.Key, Number: ptrOrNil(r.Number), Title: ptrOrNil(r.Title),
		Branch: r.Branch,
		Commit: ptrOrNil(r.Commit), Link: ptrOrNil(r.Link), Tag: r.Tag, Deployment: r.Deployment,
		DeploymentId: ptrOrNil(string(r.DeploymentID)), State: ReviewState(r.State),
		NextDeploymentId: ptrOrNil(string(r.NextID)), Remark: ptrOrNil(r.Remark),
		AwaitsApproval: ptrOrNil(r.AwaitsApproval()),
		Detail:         ptrOrNil(r.Detail), ChangedAt: r.ChangedAt}
}
