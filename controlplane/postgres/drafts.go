package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Get loads a user's draft of a project; without one, its revision is 0.
func (t Drafts) Get(
	ctx context.Context, project controlplane.ProjectID, user controlplane.UserID,
) (controlplane.Draft, error) {
	r, err := t.q.GetDraft(ctx, string(project), string(user))
	return toDraft(r, err)
}

// Save stores a draft if d.Revision is still the stored revision; otherwise ok is
// false and nothing changes.
func (t Drafts) Save(
	ctx context.Context, d controlplane.Draft,
) (saved controlplane.Draft, ok bool, err error) {
	var r dbsqlc.Draft
	if d.Revision == 0 {
		r, err = t.q.InsertDraft(ctx, dbsqlc.InsertDraftParams{ProjectID: string(d.Project),
			UserID: string(d.User), BaseVersion: int32(d.Base), Content: d.Content})
	} else {
		r, err = t.q.UpdateDraft(ctx, dbsqlc.UpdateDraftParams{ProjectID: string(d.Project),
			UserID: string(d.User), BaseVersion: int32(d.Base), Content: d.Content,
			Revision: d.Revision})
	}
	saved, err = toDraft(r, err)
	return saved, saved.Revision != 0, err
}

// Delete removes a draft of that revision, or of any when it is 0, and
// reports whether there was one.
func (t Drafts) Delete(
	ctx context.Context, project controlplane.ProjectID, user controlplane.UserID, revision int64,
) (bool, error) {
	n, err := t.q.DeleteDraft(ctx, string(project), string(user), revision)
	if err != nil {
		return false, fmt.Errorf("delete draft: %w", translateError(err))
	}
	return n > 0, nil
}

func toDraft(r dbsqlc.Draft, err error) (controlplane.Draft, error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return controlplane.Draft{}, nil
	}
	if err != nil {
		return controlplane.Draft{}, fmt.Errorf("draft: %w", translateError(err))
	}
	return controlplane.Draft{Project: controlplane.ProjectID(r.ProjectID),
		User: controlplane.UserID(r.UserID), Base: int(r.BaseVersion), Revision: r.Revision,
		Content: r.Content, SavedAt: r.SavedAt}, nil
}
