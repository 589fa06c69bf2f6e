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
	all, next, err := s.Reviews.ListRules(ctx, actorOf(ctx), page(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListRules200JSONResponse{Items: each(all, rule), NextCursor: some(next)}, nil
}

func (s *server) GetRule(
	ctx context.Context, r GetRuleRequestObject,
) (GetRuleResponseObject, error) {
	found, reviews, err := s.Reviews.GetRule(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetRule200JSONResponse{Rule: rule(found), Reviews: each(reviews, reviewed)}, nil
}

func (s *server) PutRule(
	ctx context.Context, r PutRuleRequestObject,
) (PutRuleResponseObject, error) {
	b := r.Body
	saved, err := s.Reviews.PutRule(ctx, actorOf(ctx), review.RulePut{
		Rule: controlplane.ReviewRule{Name: r.Name, Source: controlplane.ReviewSource(b.Source),
			Repository: or(b.Repository, ""), Project: b.Project, Environment: b.Environment,
			Branch: or(b.Branch, ""), Tag: b.Tag, APIURL: or(b.ApiUrl, ""),
			Wait:   time.Duration(or(b.WaitMinutes, 30)) * time.Minute,
			Active: or(b.Active, true)},
		Secret: secretValue(b.Secret), Token: secretValue(b.Token)})
	if err != nil {
		return nil, err
	}
	out := PutRule200JSONResponse{Created: saved.Created, Changed: &saved.Changed,
		Rule: rule(saved.Rule)}
	if !saved.Made.Empty() {
		out.Secret = some(saved.Made.Reveal())
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

func rule(r controlplane.ReviewRule) Rule {
	return Rule{Name: r.Name, Source: RuleSource(r.Source), Repository: some(r.Repository),
		Project: r.Project, Environment: r.Environment, Branch: some(r.Branch), Tag: r.Tag,
		WaitMinutes: int(r.Wait / time.Minute), ApiUrl: some(r.APIURL), Active: r.Active,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
}

func reviewed(r controlplane.Review) Review {
	return Review{Key: r.Key, Number: some(r.Number), Title: some(r.Title), Branch: r.Branch,
		Commit: some(r.Commit), Link: some(r.Link), Tag: r.Tag, Deployment: r.Deployment,
		DeploymentId: some(string(r.DeploymentID)), State: ReviewState(r.State),
		Detail: some(r.Detail), ChangedAt: r.ChangedAt}
}
