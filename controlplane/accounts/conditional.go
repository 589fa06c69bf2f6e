package accounts

import (
	"context"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// serials bounds how many connections wait with a lock held, so that there are
// always some left for what is done under it.
const serials = 2

// RunSerialized runs fn while no conditional request for the same object runs, on any
// control plane.
func (a *Accounts) RunSerialized(
	ctx context.Context, actor access.Actor, object string, fn func() error,
) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	select {
	case a.serial <- struct{}{}:
		defer func() { <-a.serial }()
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// Not InTx: that one may run a function twice.
	return a.store.Read(ctx, func(tx *postgres.Tx) error {
		if err := tx.LockObject(ctx, object); err != nil {
			return err
		}
		return fn()
	})
}
