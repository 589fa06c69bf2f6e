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

// Expire removes deployments that nobody showed interest in for as long as
// their project, or else their environment, allows. Creating and retrying is
// interest. It says how many it removed; one that somebody is busy with is
// left for the next round.
func (l *Lifecycle) Expire(ctx context.Context, actor access.Actor) (removed int, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	var ids []controlplane.DeploymentID
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		ids, err = tx.Expired(ctx, expireAtOnce)
		return err
	})
	if err != nil {
		return 0, err
	}
	var failed error
	for _, id := range ids {
		_, err := l.change(ctx, actor, "expire deployment", access.WriteDeployment, id, expire)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("expire deployment %s: %w", id, err))
			continue
		}
		removed++
	}
	return removed, failed
}

// expire removes, unless interest came between the look and the lock.
func expire(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	expiries, err := tx.Expiries(ctx, d.ID)
	if err != nil {
		return err
	}
	now, err := tx.Time(ctx)
	if err != nil {
		return err
	}
	if at, ok := expiries[d.ID]; !ok || at.After(now) {
		return nil
	}
	return remove(ctx, tx, d)
}
