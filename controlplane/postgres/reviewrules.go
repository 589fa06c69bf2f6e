package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func reviewRule(r dbsqlc.ReviewRule) (controlplane.ReviewRule, error) {
	out := controlplane.ReviewRule{ID: controlplane.ReviewRuleID(r.ID), Name: r.Name,
		Source: controlplane.ReviewSource(r.Source), Repository: r.Repository, Project: r.Project,
		Environment: r.Environment, Branch: r.Branch, Tag: r.Tag,
		Wait: time.Duration(r.WaitMinutes) * time.Minute, APIURL: r.ApiUrl, Active: r.Active,
		Updates: controlplane.ReviewUpdates(r.Updates), Aliases: r.Aliases,
		Forks: r.Forks, Data: controlplane.ReviewData(r.Data),
		NextRun: zeroIfNull(r.NextRunAt), CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		Refusal: r.Refusal}
	err := errors.Join(decodeJSON(r.Input, &out.Input), decodeJSON(r.Filter, &out.Filter),
		decodeJSON(r.Schedule, &out.Schedule))
	if len(out.Input) == 0 {
		out.Input = nil
	}
	return out, err
}

// ByName loads a rule; not found is a *controlplane.Error.
func (t ReviewRules) ByName(
	ctx context.Context, name string,
) (controlplane.ReviewRule, error) {
	r, err := t.q.GetReviewRule(ctx, name)
	if err != nil {
		return controlplane.ReviewRule{}, fmt.Errorf("load rule: %w", translateMissing(err, "rule", name))
	}
	return reviewRule(r)
}

// ByID loads the rule of a review.
func (t ReviewRules) ByID(
	ctx context.Context, id controlplane.ReviewRuleID,
) (controlplane.ReviewRule, error) {
	r, err := t.q.GetReviewRuleByID(ctx, string(id))
	if err != nil {
		return controlplane.ReviewRule{}, fmt.Errorf("load rule: %w",
			translateMissing(err, "rule", string(id)))
	}
	return reviewRule(r)
}

// List returns up to most rules after the name.
func (t ReviewRules) List(
	ctx context.Context, after string, most int,
) ([]controlplane.ReviewRule, error) {
	rows, err := t.q.ListReviewRules(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	all := make([]controlplane.ReviewRule, len(rows))
	for i, r := range rows {
		if all[i], err = reviewRule(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts a rule or replaces the one of that id.
func (t ReviewRules) Put(ctx context.Context, r controlplane.ReviewRule) error {
	input, err := encodeInput(r.Input)
	if err != nil {
		return err
	}
	filter, err := encodeJSON(r.Filter)
	if err != nil {
		return err
	}
	schedule, err := encodeJSON(r.Schedule)
	if err != nil {
		return err
	}
	err = t.q.PutReviewRule(ctx, dbsqlc.PutReviewRuleParams{ID: string(r.ID), Name: r.Name,
		Source: string(r.Source), Repository: r.Repository, Project: r.Project,
		Environment: r.Environment, Branch: r.Branch, Tag: r.Tag,
		WaitMinutes: int32(r.Wait / time.Minute), ApiUrl: r.APIURL, Active: r.Active,
		CreatedBy: r.CreatedBy, Input: input, Filter: filter, Updates: string(r.Updates),
		Aliases: r.Aliases, Forks: r.Forks, Data: string(r.Data),
		Schedule: schedule, NextRunAt: nullIfZero(r.NextRun)})
	if err != nil {
		return fmt.Errorf("store rule: %w", translateError(err))
	}
	return nil
}

// ClaimDue returns rules whose time has come, and locks them until the transaction ends.
func (t ReviewRules) ClaimDue(ctx context.Context, most int) ([]controlplane.ReviewRule, error) {
	rows, err := t.q.ClaimDueRules(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim rules that are due: %w", translateError(err))
	}
	all := make([]controlplane.ReviewRule, len(rows))
	for i, r := range rows {
		if all[i], err = reviewRule(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// SetNextRun stores when a rule deploys next; zero is never.
func (t ReviewRules) SetNextRun(
	ctx context.Context, id controlplane.ReviewRuleID, next time.Time,
) error {
	if err := t.q.SetNextRun(ctx, nullIfZero(next), string(id)); err != nil {
		return fmt.Errorf("store when a rule deploys next: %w", translateError(err))
	}
	return nil
}

// SetRefusal stores what a rule's code host refused; empty if it took what it was told.
func (t ReviewRules) SetRefusal(
	ctx context.Context, id controlplane.ReviewRuleID, refusal string,
) error {
	if err := t.q.SetRuleRefusal(ctx, refusal, string(id)); err != nil {
		return fmt.Errorf("store what a code host refused: %w", translateError(err))
	}
	return nil
}

// Delete removes it with its reviews.
func (t ReviewRules) Delete(ctx context.Context, id controlplane.ReviewRuleID) error {
	if err := t.q.DeleteReviewRule(ctx, string(id)); err != nil {
		return fmt.Errorf("delete rule: %w", translateError(err))
	}
	return nil
}
