package lifecycle

import (
	"context"
	"time"

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

// Changes is what happened after a position, and the state now.
type Changes struct {
	View     View
	History  []controlplane.History
	Lines    []controlplane.LogLine
	Progress []controlplane.Progress
	// More is set if there are more changes after Next.
	More bool
	Next Position
}

// batch limits one read, in events and in lines each.
const batch = 500

// CurrentPosition is the position of now, for a watcher that begins with the state.
// Its lines begin at the latest run's first.
func (l *Lifecycle) CurrentPosition(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (p Position, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		p.Event = d.Revision
		return err
	})
	return p, err
}

// ChangesSince returns what happened to a deployment after the position, in order and
// each once. It checks access every time, so a watcher that lost access learns nothing
// more.
func (l *Lifecycle) ChangesSince(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, from Position) (c Changes, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		views, err := l.buildViews(ctx, tx, actor, []controlplane.Deployment{d})
		if err != nil {
			return err
		}
		c = Changes{View: views[0], Next: from}
		if c.History, err = tx.History().List(ctx, id, from.Event, batch); err != nil {
			return err
		}
		if c.Lines, err = tx.LogLines().ListAfter(ctx, id, from.Line, batch); err != nil {
			return err
		}
		c.Progress, err = tx.Steps().ListProgress(ctx, id)
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

// ListMark is the position from which to follow the list from now on.
func (l *Lifecycle) ListMark(ctx context.Context, actor access.Actor) (mark int64, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return 0, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		mark, err = tx.History().GetCommittedMark(ctx)
		return err
	})
	return mark, err
}

// ChangedSince returns the deployments that changed after the mark and that the actor
// may see, and the new mark. The result is not older than asOf.
func (l *Lifecycle) ChangedSince(
	ctx context.Context, actor access.Actor, mark int64, asOf time.Time,
) (all []View, next int64, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, mark, err
	}
	news, err := l.feed.readSince(ctx, mark, asOf, l.readFeed)
	if err != nil {
		return nil, mark, err
	}
	for _, c := range news.changed {
		d := c.view.Deployment
		if c.mark > mark && access.Check(actor, access.ReadDeployment, accessObject(d)) == nil {
			all = append(all, c.forActor(actor))
		}
	}
	return all, news.next, nil
}

// readFeed reads what changed, for all actors.
func (l *Lifecycle) readFeed(ctx context.Context, after int64) (n changeSet, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		changed, next, err := tx.History().ListChangedSince(ctx, after)
		if err != nil || len(changed) == 0 {
			n = changeSet{next: next}
			return err
		}
		found := make([]controlplane.Deployment, len(changed))
		for i, c := range changed {
			found[i] = c.Deployment
		}
		views, err := l.readShown(ctx, tx, found)
		n = changeSet{next: next}
		for i, v := range views {
			n.changed = append(n.changed, change{sharedView: v, mark: changed[i].Mark})
		}
		return err
	})
	return n, err
}
