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

// RecordEvent stores an event that arrived. Fresh is false if it arrived before,
// not longer ago than this.
func (t Reviews) RecordEvent(
	ctx context.Context, rule controlplane.ReviewRuleID, id string, within time.Duration,
) (fresh bool, err error) {
	n, err := t.q.InsertReviewEvent(ctx, string(rule), id, within.Seconds())
	if err != nil {
		return false, fmt.Errorf("note event: %w", translateError(err))
	}
	return n == 1, nil
}

// DeleteOldEvents deletes at most so many from before the time.
func (t Reviews) DeleteOldEvents(ctx context.Context, before time.Time, most int) (int, error) {
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
		Want: controlplane.Goal(r.Want), Outside: r.Outside,
		Generation: r.Generation, Done: r.Done, Told: r.Told,
		CommentID: r.CommentID, Deployment: r.Deployment,
		DeploymentID: emptyIfNull[controlplane.DeploymentID](r.DeploymentID),
		NextID:       emptyIfNull[controlplane.DeploymentID](r.NextID), Remark: r.Remark,
		HostRecord: r.HostRecord, HostCommit: r.HostCommit,
		Fork: r.Fork, ApprovedCommit: r.ApprovedCommit,
		VerdictWanted: r.VerdictWanted, VerdictTold: r.VerdictTold,
		State: controlplane.ReviewState(r.State), Detail: r.Detail, GiveUpAt: r.GiveUpAt,
		DueAt: r.DueAt, ChangedAt: r.ChangedAt, EventAt: zeroIfNull(r.EventAt),
		WaitsSince: zeroIfNull(r.WaitsSince)}
}

// Put stores a pull request as it is now.
func (t Reviews) Put(ctx context.Context, r controlplane.Review) error {
	err := t.q.PutReview(ctx, dbsqlc.PutReviewParams{ID: string(r.ID), RuleID: string(r.Rule),
		Key: r.Key, Repository: r.Repository, RepositoryID: r.RepositoryID,
		Number: int32(r.Number), Title: r.Title,
		Branch: r.Branch, Commit: r.Commit, Link: r.Link, Tag: r.Tag, Want: string(r.Want),
		Outside: r.Outside, Deployment: r.Deployment, GiveUpAt: r.GiveUpAt,
		EventAt: nullIfZero(r.EventAt), Fork: r.Fork})
	if err != nil {
		return fmt.Errorf("store review: %w", translateError(err))
	}
	return nil
}

// StoreClosed stores a pull request of which nothing but its close is known.
func (t Reviews) StoreClosed(ctx context.Context, r controlplane.Review) error {
	err := t.q.InsertClosedReview(ctx, dbsqlc.InsertClosedReviewParams{ID: string(r.ID),
		RuleID: string(r.Rule), Key: r.Key, Repository: r.Repository,
		RepositoryID: r.RepositoryID, Number: int32(r.Number),
		Title: r.Title, Branch: r.Branch, Commit: r.Commit, Link: r.Link, Tag: r.Tag,
		Outside: r.Outside, Deployment: r.Deployment, GiveUpAt: r.GiveUpAt,
		EventAt: nullIfZero(r.EventAt), Detail: r.Detail, Fork: r.Fork})
	if err != nil {
		return fmt.Errorf("remember a closed review: %w", translateError(err))
	}
	return nil
}

// Close stores that the code host called a pull request closed when it was asked, or showed it
// outside of the rule's filter. The zero time is unknown.
func (t Reviews) Close(ctx context.Context, r controlplane.Review, at time.Time) error {
	err := t.q.CloseReview(ctx, dbsqlc.CloseReviewParams{ID: string(r.ID), Detail: r.Detail,
		Outside: r.Outside, Generation: r.Generation, EventAt: nullIfZero(at)})
	if err != nil {
		return fmt.Errorf("close review: %w", translateError(err))
	}
	return nil
}

// Touch stores how new what is known of a review is.
func (t Reviews) Touch(ctx context.Context, id controlplane.ReviewID, at time.Time) error {
	if at.IsZero() {
		return nil
	}
	if err := t.q.TouchReview(ctx, nullIfZero(at), string(id)); err != nil {
		return fmt.Errorf("store the time of an event: %w", translateError(err))
	}
	return nil
}

// ByKey loads a review of a rule; ok is false when there is none.
func (t Reviews) ByKey(ctx context.Context, rule controlplane.ReviewRuleID, key string) (
	r controlplane.Review, ok bool, err error) {
	row, err := t.q.GetReview(ctx, string(rule), key)
	return loadedReview(row, err)
}

// ByRepository loads a rule's review of a pull request by its host's own id
// of the repository; ok is false when there is none.
func (t Reviews) ByRepository(
	ctx context.Context, rule controlplane.ReviewRuleID, repository string, number int,
) (r controlplane.Review, ok bool, err error) {
	row, err := t.q.GetReviewOfRepository(ctx, string(rule), repository, int32(number))
	return loadedReview(row, err)
}

// ByTag loads a rule's review of a pushed tag; ok is false when there is
// none.
func (t Reviews) ByTag(ctx context.Context, rule controlplane.ReviewRuleID, tag string) (
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

// IsNameFree reports whether no review's deployment has the name.
func (t Reviews) IsNameFree(ctx context.Context, name string) (bool, error) {
	n, err := t.q.CountReviewsNamed(ctx, name)
	if err != nil {
		return false, fmt.Errorf("look for reviews named %s: %w", name, err)
	}
	return n == 0, nil
}

// HasOtherOwner reports whether a review other than this one made a deployment.
func (t Reviews) HasOtherOwner(
	ctx context.Context, d controlplane.DeploymentID, id controlplane.ReviewID,
) (bool, error) {
	n, err := t.q.CountOtherOwners(ctx, nullIfEmpty(d), string(id))
	if err != nil {
		return false, fmt.Errorf("look for the review of a deployment: %w", err)
	}
	return n > 0, nil
}

// List returns a rule's reviews, the last changed first.
func (t Reviews) List(
	ctx context.Context, rule controlplane.ReviewRuleID, most int,
) ([]controlplane.Review, error) {
	rows, err := t.q.ListReviews(ctx, string(rule), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list reviews: %w", err)
	}
	return toReviews(rows), nil
}

// ListPullRequests returns the pull requests that deployments were made for.
func (t Reviews) ListPullRequests(ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.PullRequest, error) {
	rows, err := t.q.ListPullRequests(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list pull requests: %w", err)
	}
	all := map[controlplane.DeploymentID]controlplane.PullRequest{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.DeploymentID)] = controlplane.PullRequest{
			Repository: r.Repository, Number: int(r.Number), Title: r.Title, Link: r.Link,
			Remark: r.Remark}
	}
	return all, nil
}

// Approve lets the commit of a fork be deployed. It reports false if another one came meanwhile.
func (t Reviews) Approve(
	ctx context.Context, r controlplane.Review, giveUpAt time.Time,
) (bool, error) {
	n, err := t.q.ApproveReview(ctx, dbsqlc.ApproveReviewParams{ID: string(r.ID),
		Generation: r.Generation, Commit: r.Commit, GiveUpAt: giveUpAt})
	if err != nil {
		return false, fmt.Errorf("approve a commit: %w", translateError(err))
	}
	return n == 1, nil
}

// Claim takes what is to be looked at for as long as that may last.
func (t Reviews) Claim(
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

// Save stores the state of a review and releases its claim. Fields that an event
// changed meanwhile are not overwritten.
func (t Reviews) Save(ctx context.Context, r controlplane.Review) error {
	err := t.q.SaveReview(ctx, dbsqlc.SaveReviewParams{ID: string(r.ID),
		State: string(r.State), Detail: r.Detail, Done: r.Done, Told: r.Told,
		CommentID: r.CommentID, DeploymentID: nullIfEmpty(r.DeploymentID), DueAt: r.DueAt,
		NextID: nullIfEmpty(r.NextID), Remark: r.Remark, HostRecord: r.HostRecord,
		HostCommit: r.HostCommit, VerdictTold: r.VerdictTold, Generation: r.Generation,
		WaitsSince: nullIfZero(r.WaitsSince)})
	if err != nil {
		return fmt.Errorf("save review: %w", translateError(err))
	}
	err = t.q.ReleaseReview(ctx, dbsqlc.ReleaseReviewParams{ID: string(r.ID),
		CommentID: r.CommentID, DeploymentID: nullIfEmpty(r.DeploymentID),
		NextID: nullIfEmpty(r.NextID), Generation: r.Generation})
	if err != nil {
		return fmt.Errorf("release review: %w", translateError(err))
	}
	return nil
}
