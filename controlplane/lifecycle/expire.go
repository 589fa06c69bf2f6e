package lifecycle

import (
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// expireAtOnce bounds one round: removing costs the nodes more than us.
const expireAtOnce = 50

// Expire removes deployments that were not used for as long as their project, or else
// their environment, allows. Creating and retrying count as use. It returns how many
// it removed; a locked deployment is left for the next round.
func (l *Lifecycle) Expire(ctx context.Context, actor access.Actor) (removed int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	var ids []controlplane.DeploymentID
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		ids, err = tx.Lifetimes().ListExpired(ctx, expireAtOnce)
		return err
	})
	if err != nil {
		return 0, err
	}
	var failed error
	for _, id := range ids {
		_, err := l.changeDeployment(
			ctx,
			actor,
			"expire deployment",
			access.WriteDeployment,
			id,
			expireDeployment,
		)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("expire deployment %s: %w", id, err))
			continue
		}
		removed++
	}
	return removed, failed
}

// expireDeployment removes d, unless it was used after it was listed and before it was
// locked.
func expireDeployment(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	expiries, err := tx.Lifetimes().ListExpiryTimes(ctx, d.ID)
	if err != nil {
		return err
	}
	now, err := tx.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	at, ok := expiries[d.ID]
	if !ok || at.After(now) {
		return nil
	}
	if now.Sub(at) < StayFor {
		visitors, err := tx.Presence().ListOf(ctx, d.ID)
		if err != nil || len(controlplane.KnownVisitors(visitors[d.ID])) > 0 {
			return err // they get some time to leave
		}
	}
	if disputed, err := isDisputed(ctx, tx, d); err != nil || disputed {
		return err
	}
	if err := recordRemover(ctx, tx, d, "cleanup"); err != nil {
		return err
	}
	return removeDeployment(ctx, tx, d)
}

// NotifyExpiries notifies once of each deployment that ends within a day, and once within an
// hour. It returns how many notifications it stored.
func (l *Lifecycle) NotifyExpiries(ctx context.Context, actor access.Actor) (told int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	var soon []controlplane.ExpiryNotice
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		soon, err = tx.Lifetimes().ListExpiring(ctx, expireAtOnce)
		return err
	})
	for _, e := range soon {
		err = errors.Join(err, l.store.InTx(ctx, func(tx *postgres.Tx) error {
			d, err := tx.Deployments().Lock(ctx, e.Deployment)
			if err != nil {
				return err
			}
			news, err := tx.Lifetimes().RecordExpiryNotice(ctx, e)
			if err != nil || !news {
				return err
			}
			told++
			_, err = tx.History().Add(ctx, d, controlplane.History{
				Kind: controlplane.HistoryExpiring, Expiring: e})
			return err
		}))
	}
	return told, err
}

// forgetAtOnce bounds one transaction, since deleting a deployment deletes its logs, too.
const forgetAtOnce = 20

// DeleteRemovedDeployments deletes what has been gone for as long as tombstones are kept.
func (l *Lifecycle) DeleteRemovedDeployments(
	ctx context.Context,
	actor access.Actor,
) (gone int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil || l.keep <= 0 {
		return 0, err
	}
	for deleted := forgetAtOnce; err == nil && deleted == forgetAtOnce; gone += deleted {
		err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
			now, err := tx.DatabaseTime(ctx)
			if err != nil {
				return err
			}
			deleted, err = tx.Deployments().DeleteRemoved(ctx, now.Add(-l.keep), forgetAtOnce)
			return err
		})
	}
	return gone, err
}
