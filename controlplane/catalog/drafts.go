package catalog

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Drafts are for admins, who may publish. They change nothing that others see, so the
// audit has the published version and not each save.

// Draft loads the actor's own draft of a project; without one, its revision is 0.
func (c *Catalog) Draft(
	ctx context.Context, actor access.Actor, project string,
) (d controlplane.Draft, err error) {
	err = c.withDraftProject(ctx, actor, project, c.store.Read,
		func(tx *postgres.Tx, p controlplane.Project) error {
			d, err = tx.Drafts().Get(ctx, p.ID, actor.UserID())
			return err
		})
	return d, err
}

// SaveDraft stores the actor's draft if revision is still the stored one, 0 for none.
// Saving identical content succeeds with any revision: an editor that lost the answer
// sends it again.
func (c *Catalog) SaveDraft(
	ctx context.Context, actor access.Actor, project string, d controlplane.Draft,
) (saved controlplane.Draft, err error) {
	err = c.withDraftProject(ctx, actor, project, c.store.InTx,
		func(tx *postgres.Tx, p controlplane.Project) error {
			d.Project, d.User = p.ID, actor.UserID()
			var ok bool
			if saved, ok, err = tx.Drafts().Save(ctx, d); err != nil || ok {
				return err
			}
			if saved, err = tx.Drafts().Get(ctx, p.ID, d.User); err != nil || sameDraft(saved, d) {
				return err
			}
			return staleDraft(project)
		})
	return saved, err
}

// DeleteDraft deletes the actor's draft of that revision, or of any revision if revision is 0. A
// missing draft is not an error.
func (c *Catalog) DeleteDraft(
	ctx context.Context, actor access.Actor, project string, revision int64,
) error {
	return c.withDraftProject(ctx, actor, project, c.store.InTx,
		func(tx *postgres.Tx, p controlplane.Project) error {
			deleted, err := tx.Drafts().Delete(ctx, p.ID, actor.UserID(), revision)
			if err != nil || deleted {
				return err
			}
			left, err := tx.Drafts().Get(ctx, p.ID, actor.UserID())
			if err == nil && left.Revision != 0 {
				err = staleDraft(project)
			}
			return err
		})
}

func (c *Catalog) withDraftProject(
	ctx context.Context, actor access.Actor, project string,
	in func(context.Context, func(*postgres.Tx) error) error,
	fn func(*postgres.Tx, controlplane.Project) error,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return in(ctx, func(tx *postgres.Tx) error {
		p, err := tx.Projects().ByName(ctx, project)
		if err != nil {
			return err
		}
		return fn(tx, p)
	})
}

// sameDraft compares the meaning and not the bytes, since the database formats JSON in its own way.
func sameDraft(a, b controlplane.Draft) bool {
	x, errX := plainJSON(a.Content)
	y, errY := plainJSON(b.Content)
	return errX == nil && errY == nil && a.Base == b.Base && bytes.Equal(x, y)
}

func plainJSON(data []byte) ([]byte, error) {
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, fmt.Errorf("read a draft: %w", err)
	}
	return json.Marshal(v)
}

func staleDraft(project string) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "draft_changed",
		Field:   "If-Match",
		Message: "your draft of " + project + " was saved from another window meanwhile",
		Remedy:  "Load it, and merge what you drew into it."}
}
