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

func toVerdict(r dbsqlc.Verdict) controlplane.Verdict {
	return controlplane.Verdict{ID: controlplane.VerdictID(r.ID),
		Deployment: controlplane.DeploymentID(r.DeploymentID), Run: int(r.Run),
		Outcome: controlplane.VerdictOutcome(r.Outcome), Remarks: r.Remarks,
		DigestSet: r.DigestSet, User: emptyIfNull[controlplane.UserID](r.UserID),
		Author: r.Author, At: r.At, Bundle: r.Bundle,
		Review: emptyIfNull[controlplane.ReviewID](r.ReviewID), Commit: r.Commit,
		VoidedAt: r.VoidedAt, VoidedReason: r.VoidedReason}
}

// Insert stores a verdict, in the place of the one that stood. Its images are to be attached.
func (t Verdicts) Insert(ctx context.Context, v controlplane.Verdict) error {
	if err := t.q.ReplaceVerdicts(ctx, string(v.Deployment)); err != nil {
		return fmt.Errorf("replace verdict: %w", err)
	}
	err := t.q.InsertVerdict(ctx, dbsqlc.InsertVerdictParams{ID: string(v.ID),
		DeploymentID: string(v.Deployment), Run: int32(v.Run), Outcome: string(v.Outcome),
		Remarks: v.Remarks, DigestSet: v.DigestSet, UserID: nullIfEmpty(v.User), Author: v.Author,
		At: v.At, Bundle: v.Bundle})
	if err != nil {
		return fmt.Errorf("store verdict: %w", translateError(err))
	}
	for _, i := range v.Images {
		if err := t.q.InsertVerdictImage(ctx, string(v.ID), i.Image, i.Digest); err != nil {
			return fmt.Errorf("store image of a verdict: %w", translateError(err))
		}
	}
	return nil
}

// Get loads a verdict of a deployment.
func (t Verdicts) Get(
	ctx context.Context, deployment controlplane.DeploymentID, id controlplane.VerdictID,
) (controlplane.Verdict, error) {
	r, err := t.q.GetVerdict(ctx, string(id), string(deployment))
	if err != nil {
		return controlplane.Verdict{}, fmt.Errorf("load verdict: %w",
			translateMissing(err, "verdict", string(id)))
	}
	all, err := t.addImages(ctx, []controlplane.Verdict{toVerdict(r)})
	if err != nil {
		return controlplane.Verdict{}, err
	}
	return all[0], nil
}

// List returns up to most verdicts of a deployment, the newest first.
func (t Verdicts) List(
	ctx context.Context, deployment controlplane.DeploymentID, most int,
) ([]controlplane.Verdict, error) {
	rows, err := t.q.ListVerdicts(ctx, string(deployment), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list verdicts: %w", err)
	}
	return t.addImages(ctx, toVerdicts(rows))
}

// ListLatest returns what was said last of each deployment, without images.
func (t Verdicts) ListLatest(ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.Verdict, error) {
	rows, err := t.q.ListLatestVerdicts(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list verdicts: %w", err)
	}
	all := make(map[controlplane.DeploymentID]controlplane.Verdict, len(rows))
	for _, v := range toVerdicts(rows) {
		all[v.Deployment] = v
	}
	return all, nil
}

// OfCommit returns what was said last about what was built from a pull request's commit; ok is
// false if nothing was.
func (t Verdicts) OfCommit(ctx context.Context, review controlplane.ReviewID, commit string) (
	v controlplane.Verdict, ok bool, err error) {
	r, err := t.q.GetVerdictOfCommit(ctx, nullIfEmpty(review), commit)
	if errors.Is(err, pgx.ErrNoRows) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("load the verdict of a commit: %w", err)
	}
	return toVerdict(r), true, nil
}

func toVerdicts(rows []dbsqlc.Verdict) []controlplane.Verdict {
	all := make([]controlplane.Verdict, len(rows))
	for i, r := range rows {
		all[i] = toVerdict(r)
	}
	return all
}

func (t Verdicts) addImages(
	ctx context.Context, all []controlplane.Verdict,
) ([]controlplane.Verdict, error) {
	ids := make([]string, len(all))
	at := map[string]int{}
	for i, v := range all {
		ids[i], at[string(v.ID)] = string(v.ID), i
	}
	rows, err := t.q.ListVerdictImages(ctx, ids)
	if err != nil {
		return nil, fmt.Errorf("list images of verdicts: %w", err)
	}
	for _, r := range rows {
		v := &all[at[r.VerdictID]]
		v.Images = append(v.Images, controlplane.VerdictImage{Image: r.Image, Digest: r.Digest,
			AttachedAt: r.AttachedAt, Problem: r.Problem})
	}
	return all, nil
}

// ClaimImages returns up to most statements that are to be attached, of those that were tried less
// than so often. Until the time of the claim is over or they are recorded, nobody else gets one
// that is to be attached to the same image.
func (t Verdicts) ClaimImages(
	ctx context.Context, claim time.Duration, attempts, most int,
) ([]controlplane.PendingAttachment, error) {
	if err := t.q.LockVerdictImages(ctx); err != nil {
		return nil, fmt.Errorf("lock statements to attach: %w", translateError(err))
	}
	rows, err := t.q.ClaimVerdictImages(ctx, claim.Seconds(), int32(attempts), int32(most))
	if err != nil {
		return nil, fmt.Errorf("claim statements to attach: %w", translateError(err))
	}
	all := make([]controlplane.PendingAttachment, len(rows))
	for i, r := range rows {
		all[i] = controlplane.PendingAttachment{Verdict: controlplane.VerdictID(r.VerdictID),
			Image: r.Image, Digest: r.Digest, Attempts: int(r.Attempts), Bundle: r.Bundle, At: r.At}
	}
	return all, nil
}

// RecordAttachment stores that a statement is attached, or why not and when it is tried again.
func (t Verdicts) RecordAttachment(ctx context.Context, p controlplane.PendingAttachment,
	problem string, again time.Time) error {
	err := t.q.RecordAttachment(ctx, dbsqlc.RecordAttachmentParams{VerdictID: string(p.Verdict),
		Image: p.Image, Digest: p.Digest, Problem: problem, DueAt: again})
	if err != nil {
		return fmt.Errorf("store how a statement was attached: %w", translateError(err))
	}
	return nil
}

// Key returns the sealed key that signs statements, and what is known of its public one; nil before
// the first statement. Nobody ends it until the transaction ends; with lock, nobody makes one.
func (t Verdicts) Key(
	ctx context.Context, lock bool,
) (key controlplane.Sealed, public controlplane.VerdictKey, err error) {
	if lock {
		if err := t.q.LockVerdictKey(ctx); err != nil {
			return nil, public, fmt.Errorf("lock the key of verdicts: %w", err)
		}
	}
	r, err := t.q.GetVerdictKey(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, public, nil
	}
	if err != nil {
		return nil, public, fmt.Errorf("load the key of verdicts: %w", err)
	}
	return r.Key, controlplane.VerdictKey{PublicKey: r.PublicKey, CreatedAt: r.CreatedAt}, nil
}

// InsertKey stores the key that signs statements.
func (t Verdicts) InsertKey(ctx context.Context, key controlplane.Sealed, public string) error {
	if err := t.q.InsertVerdictKey(ctx, key, public); err != nil {
		return fmt.Errorf("store the key of verdicts: %w", translateError(err))
	}
	return nil
}

// EndKey forgets the key that signs statements, and keeps its public one.
func (t Verdicts) EndKey(ctx context.Context) error {
	if err := t.q.EndVerdictKey(ctx); err != nil {
		return fmt.Errorf("end the key of verdicts: %w", translateError(err))
	}
	return nil
}

// ListFormerKeys returns the public keys that signed statements before, newest first.
func (t Verdicts) ListFormerKeys(ctx context.Context) ([]controlplane.VerdictKey, error) {
	rows, err := t.q.ListFormerVerdictKeys(ctx)
	if err != nil {
		return nil, fmt.Errorf("list former keys of verdicts: %w", err)
	}
	all := make([]controlplane.VerdictKey, len(rows))
	for i, r := range rows {
		all[i] = controlplane.VerdictKey{PublicKey: r.PublicKey, CreatedAt: r.CreatedAt,
			EndedAt: &r.EndedAt}
	}
	return all, nil
}
