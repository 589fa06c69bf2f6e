package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// overdueAtOnce bounds one round; the next is two seconds later.
const overdueAtOnce = 50

// endOverdue ends runs that were not ready by their deadline. Runs without a deadline
// are left alone.
func (l *Lifecycle) endOverdue(ctx context.Context) error {
	var all []controlplane.QueueEntry
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Queue().ListOverdue(ctx, overdueAtOnce)
		return err
	})
	for _, e := range all {
		one := l.store.InTx(ctx, func(tx *postgres.Tx) error { return undoOverdue(ctx, tx, e) })
		if one != nil {
			err = errors.Join(err, fmt.Errorf("end run %s at its deadline: %w", e.Run, one))
		}
	}
	return err
}

// undoOverdue undoes a run like a canceled one, unless it became ready or ended before
// its row was locked. It ends failed, and can be retried.
func undoOverdue(ctx context.Context, tx *postgres.Tx, e controlplane.QueueEntry) error {
	d, err := tx.Deployments().Lock(ctx, e.Deployment)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil
	}
	if err != nil || d.RunID != e.Run {
		return err
	}
	why := fmt.Sprintf("it was not ready by its deadline, %s (%s after it was asked for)",
		e.Deadline.UTC().Format(time.RFC3339),
		quantity.FormatDuration(e.Deadline.Sub(e.QueuedAt).Round(time.Second)))
	return undoUnderWay(ctx, tx, d, why, controlplane.Failure{Code: "deadline", Message: why})
}

// undoUnderWay undoes a run that is not ready yet. It ends failed, and can be retried.
func undoUnderWay(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, why string,
	f controlplane.Failure) error {
	underWay := d.Status == controlplane.Queued || d.Status == controlplane.Applying
	if !underWay || d.Goal != controlplane.GoalPresent {
		return nil
	}
	if disputed, err := isDisputed(ctx, tx, d); err != nil || disputed {
		return err
	}
	if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalGone, false); err != nil {
		return err
	}
	detail := why
	if d.NodeStatus != controlplane.NodeOnline {
		detail += "; waiting for node " + d.Node
	}
	if err := moveStatus(ctx, tx, d, controlplane.Undoing, detail, nil); err != nil {
		return err
	}
	return tx.Runs().Move(ctx, d.RunID, controlplane.Undoing, false, &f)
}
