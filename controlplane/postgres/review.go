package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func reviewRule(r dbsqlc.ReviewRule) controlplane.ReviewRule {
	return controlplane.ReviewRule{ID: controlplane.ReviewRuleID(r.ID), Name: r.Name,
		Source: controlplane.ReviewSource(r.Source), Repository: r.Repository, Project: r.Project,
		Environment: r.Environment, Branch: r.Branch, Tag: r.Tag,
		Wait: time.Duration(r.WaitMinutes) * time.Minute, APIURL: r.ApiUrl, Active: r.Active,
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt}
}

// ReviewRuleByName loads a rule; not found is a *controlplane.Error.
func (t *Tx) ReviewRuleByName(
	ctx context.Context, name string,
) (controlplane.ReviewRule, error) {
	r, err := t.q.GetReviewRule(ctx, name)
	if err != nil {
		return controlplane.ReviewRule{}, fmt.Errorf("load rule: %w", translateMissing(err, "rule", name))
	}
	return reviewRule(r), nil
}

// ReviewRuleByID loads the rule of a review.
func (t *Tx) ReviewRuleByID(
	ctx context.Context, id controlplane.ReviewRuleID,
) (controlplane.ReviewRule, error) {
	r, err := t.q.GetReviewRuleByID(ctx, string(id))
	if err != nil {
		return controlplane.ReviewRule{}, fmt.Errorf("load rule: %w",
			translateMissing(err, "rule", string(id)))
	}
	return reviewRule(r), nil
}

// ListReviewRules returns up to most rules after the name.
func (t *Tx) ListReviewRules(
	ctx context.Context, after string, most int,
) ([]controlplane.ReviewRule, error) {
	rows, err := t.q.ListReviewRules(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list rules: %w", err)
	}
	all := make([]controlplane.ReviewRule, len(rows))
	for i, r := range rows {
		all[i] = reviewRule(r)
	}
	return all, nil
}

// PutReviewRule inserts a rule or replaces the one of that id.
func (t *Tx) PutReviewRule(ctx context.Context, r controlplane.ReviewRule) error {
	err := t.q.PutReviewRule(ctx, dbsqlc.PutReviewRuleParams{ID: string(r.ID), Name: r.Name,
		Source: string(r.Source), Repository: r.Repository, Project: r.Project,
		Environment: r.Environment, Branch: r.Branch, Tag: r.Tag,
		WaitMinutes: int32(r.Wait / time.Minute), ApiUrl: r.APIURL, Active: r.Active,
		CreatedBy: r.CreatedBy})
	if err != nil {
		return fmt.Errorf("store rule: %w", translateError(err))
	}
	return nil
}

// DeleteReviewRule removes it with its reviews.
func (t *Tx) DeleteReviewRule(ctx context.Context, id controlplane.ReviewRuleID) error {
	if err := t.q.DeleteReviewRule(ctx, string(id)); err != nil {
		return fmt.Errorf("delete rule: %w", translateError(err))
	}
	return nil
}

// RecordReviewEvent remembers what came in. Fresh is false when it came before,
// not longer ago than this.
func (t *Tx) RecordReviewEvent(
	ctx context.Context, rule controlplane.ReviewRuleID, id string, within time.Duration,
) (fresh bool, err error) {
	n, err := t.q.InsertReviewEvent(ctx, string(rule), id, within.Seconds())
	if err != nil {
		return false, fmt.Errorf("note event: %w", translateError(err))
	}
	return n == 1, nil
}

// ForgetReviewEvents deletes at most so many from before the time.
func (t *Tx) ForgetReviewEvents(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.ForgetReviewEvents(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget events: %w", err)
	}
	return int(n), nil
}

func toReview(r dbsqlc.Review) controlplane.Review {
	return controlplane.Review{ID: controlplane.ReviewID(r.ID),
		Rule: controlplane.ReviewRuleID(r.RuleID), Key: r.Key, Repository: r.Repository,
		RepositoryID: r.RepositoryID, Number: int(r.Number), Title: r.Title, Branch: r.Branch,
		Commit: r.Commit, Link: r.Link, Tag: r.Tag,
		Want: controlplane.Goal(r.Want), Generation: r.Generation, Done: r.Done, Told: r.Told,
		CommentID: r.CommentID, Deployment: r.Deployment,
		DeploymentID: emptyIfNull[controlplane.DeploymentID](r.DeploymentID),
		State:        controlplane.ReviewState(r.State), Detail: r.Detail, GiveUpAt: r.GiveUpAt,
		DueAt: r.DueAt, ChangedAt: r.ChangedAt, EventAt: zeroIfNull(r.EventAt)}
}

// PutReview stores a pull request as it is now.
func (t *Tx) PutReview(ctx context.Context, r controlplane.Review) error {
	err := t.q.PutReview(ctx, dbsqlc.PutReviewParams{ID: string(r.ID), RuleID: string(r.Rule),
		Key: r.Key, Repository: r.Repository, RepositoryID: r.RepositoryID,
		Number: int32(r.Number), Title: r.Title,
		Branch: r.Branch, Commit: r.Commit, Link: r.Link, Tag: r.Tag, Want: string(r.Want),
		Deployment: r.Deployment, GiveUpAt: r.GiveUpAt, EventAt: nullIfZero(r.EventAt)})
	if err != nil {
		return fmt.Errorf("store review: %w", translateError(err))
	}
	return nil
}

// StoreClosedReview stores a pull request of which nothing but its close is known.
func (t *Tx) StoreClosedReview(ctx context.Context, r controlplane.Review) error {
	err := t.q.InsertClosedReview(ctx, dbsqlc.InsertClosedReviewParams{ID: string(r.ID),
		RuleID: string(r.Rule), Key: r.Key, Repository: r.Repository,
		RepositoryID: r.RepositoryID, Number: int32(r.Number),
		Title: r.Title, Branch: r.Branch, Commit: r.Commit, Link: r.Link, Tag: r.Tag,
		Deployment: r.Deployment, GiveUpAt: r.GiveUpAt, EventAt: nullIfZero(r.EventAt),
		Detail: r.Detail})
	if err != nil {
		return fmt.Errorf("remember a closed review: %w", translateError(err))
	}
	return nil
}

// CloseReview stores that the code host called a pull request closed when it was
// asked. The zero time is unknown.
func (t *Tx) CloseReview(ctx context.Context, r controlplane.Review, at time.Time) error {
	err := t.q.CloseReview(ctx, dbsqlc.CloseReviewParams{ID: string(r.ID), Detail: r.Detail,
		Generation: r.Generation, EventAt: nullIfZero(at)})
	if err != nil {
		return fmt.Errorf("close review: %w", translateError(err))
	}
	return nil
}

// TouchReview stores how new what is known of a review is.
func (t *Tx) TouchReview(ctx context.Context, id controlplane.ReviewID, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	if err := t.q.TouchReview(ctx, nullIfZero(at), string(id)); err != nil {
		return fmt.Errorf("store the time of an event: %w", translateError(err))
	}
	return nil
}

// ReviewByKey loads a review of a rule; ok is false when there is none.
func (t *Tx) ReviewByKey(ctx context.Context, rule controlplane.ReviewRuleID, key string) (
	r controlplane.Review, ok bool, err error) {
	row, err := t.q.GetReview(ctx, string(rule), key)
	return loadedReview(row, err)
}

// ReviewOfRepository loads a rule's review of a pull request by its host's own id
// of the repository; ok is false when there is none.
func (t *Tx) ReviewOfRepository(
	ctx context.Context, rule controlplane.ReviewRuleID, repository string, number int,
) (r controlplane.Review, ok bool, err error) {
	row, err := t.q.GetReviewOfRepository(ctx, string(rule), repository, int32(number))
	return loadedReview(row, err)
}

// ReviewOfTag loads a rule's review of a pushed tag; ok is false when there is
// none.
func (t *Tx) ReviewOfTag(ctx context.Context, rule controlplane.ReviewRuleID, tag string) (
	r controlplane.Review, ok bool, err error) {
	row, err := t.q.GetReviewOfTag(ctx, string(rule), tag)
	return loadedReview(row, err)
}

func loadedReview(row dbsqlc.Review, err error) (r controlplane.Review, ok bool, _ error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("load review: %w", err)
	}
	return toReview(row), true, nil
}

// IsReviewNameFree reports whether no review's deployment has the name.
func (t *Tx) IsReviewNameFree(ctx context.Context, name string) (bool, error) {
	n, err := t.q.CountReviewsNamed(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look for reviews named %s: %w", name, err)
	}
	return n == 0, nil
}

// HasOtherOwner reports whether a review other than this one made a deployment.
func (t *Tx) HasOtherOwner(
	ctx context.Context, d controlplane.DeploymentID, id controlplane.ReviewID,
) (bool, error) {
	n, err := t.q.CountOtherOwners(ctx, nullIfEmpty(d), string(id))
	if err != nil {
		return false, fmt.Errorf("look for the review of a deployment: %w", err)
	}
	return n > 0, nil
}

// ListReviews returns a rule's reviews, the last changed first.
func (t *Tx) ListReviews(
	ctx context.Context, rule controlplane.ReviewRuleID, most int,
) ([]controlplane.Review, error) {
	rows, err := t.q.ListReviews(ctx, string(rule), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list reviews: %w", err)
	}
	return toReviews(rows), nil
}

// ClaimReviews takes what is to be looked at for as long as that may last.
func (t *Tx) ClaimReviews(
	ctx context.Context, hold time.Duration, most int,
) ([]controlplane.Review, error) {
	rows, err := t.q.ClaimReviews(ctx, hold.Seconds(), int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim reviews: %w", err)
	}
	return toReviews(rows), nil
}

func toReviews(rows []dbsqlc.Review) []controlplane.Review {
	all := make([]controlplane.Review, len(rows))
	for i, r := range rows {
		all[i] = toReview(r)
	}
	return all
}

// SaveReview stores the state of a review and releases its claim. Fields that an event
// changed meanwhile are not overwritten.
func (t *Tx) SaveReview(ctx context.Context, r controlplane.Review) error {
	err := t.q.SaveReview(ctx, dbsqlc.SaveReviewParams{ID: string(r.ID),
		State: string(r.State), Detail: r.Detail, Done: r.Done, Told: r.Told,
		CommentID: r.CommentID, DeploymentID: nullIfEmpty(r.DeploymentID), DueAt: r.DueAt,
		Generation: r.Generation})
	if err != nil {
		return fmt.Errorf("save review: %w", translateError(err))
	}
	err = t.q.ReleaseReview(ctx, dbsqlc.ReleaseReviewParams{ID: string(r.ID),
		CommentID: r.CommentID, DeploymentID: nullIfEmpty(r.DeploymentID), Generation: r.Generation})
	if err != nil {
		return fmt.Errorf("release review: %w", translateError(err))
	}
	return nil
}
