package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Position is how far a watcher of one deployment has come.
type Position struct {
	// Event is a history number, Line a line's id.
	Event int64
	Line  int64
}

// Changes is what happened behind a position, and the state now.
type Changes struct {
	View     View
	History  []controlplane.History
	Lines    []controlplane.LogLine
	Progress []controlplane.Progress
	// More says that there is more behind Next already.
	More bool
	Next Position
}

// batch limits what one look brings, in events and in lines each.
const batch = 500

// Present is the position of now, for a watcher that begins with the state.
// Its lines begin at the latest run's first.
func (l *Lifecycle) Present(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (p Position, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readable(ctx, tx, actor, id)
		p.Event = d.Revision
		return err
	})
	return p, err
}

// ChangesSince gives what happened to a deployment behind the position, in
// order and each once. It checks access every time, so that a watcher who lost
// it learns nothing more.
func (l *Lifecycle) ChangesSince(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, from Position) (c Changes, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readable(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		views, err := l.views(ctx, tx, actor, []controlplane.Deployment{d})
		if err != nil {
			return err
		}
		c = Changes{View: views[0], Next: from}
		if c.History, err = tx.History(ctx, id, from.Event, batch); err != nil {
			return err
		}
		if c.Lines, err = tx.Lines(ctx, id, from.Line, batch); err != nil {
			return err
		}
		c.Progress, err = tx.Progress(ctx, id)
		return err
	})
	if n := len(c.History); n > 0 {
		c.Next.Event = c.History[n-1].Seq
	}
	if n := len(c.Lines); n > 0 {
		c.Next.Line = c.Lines[n-1].ID
	}
	c.More = len(c.History) == batch || len(c.Lines) == batch
	return c, err
}

// ChangedSince gives the deployments that changed behind the mark and that the
// actor may see, and the new mark. Mark zero gives only the mark of now.
func (l *Lifecycle) ChangedSince(
	ctx context.Context, actor access.Actor, mark int64,
) (all []View, next int64, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, mark, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		ids, now, err := tx.ChangedSince(ctx, mark)
		if err != nil {
			return err
		}
		next = now
		var found []controlplane.Deployment
		for _, id := range ids {
			d, err := tx.Deployment(ctx, id)
			if controlplane.KindOf(err) == controlplane.NotFound {
				continue
			}
			if err != nil {
				return err
			}
			if access.Check(actor, access.ReadDeployment, object(d)) == nil {
				found = append(found, d)
			}
		}
		all, err = l.views(ctx, tx, actor, found)
		return err
	})
	return all, next, err
}
