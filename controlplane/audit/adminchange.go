package audit

import (
	"context"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ChangeAsAdmin runs an admin's change in one transaction with its audit entry. A
// refusal is written down too.
func ChangeAsAdmin(ctx context.Context, store *postgres.Store, actor access.Actor,
	action, object string, change func(*postgres.Tx) error) error {
	return store.InAuditedTx(ctx, actor.NewAuditEntry(action, object),
		func(tx *postgres.Tx) error {
			if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
				return err
			}
			return change(tx)
		})
}

// RequireAdmin checks the actor before work that comes ahead of a transaction, and
// writes a refusal down.
func RequireAdmin(
	ctx context.Context, store *postgres.Store, actor access.Actor, action, object string,
) error {
	return RecordRefusal(ctx, store, actor, action, object,
		access.Check(actor, access.Admin, access.Object{}))
}

// RecordRefusal writes down an attempt that ended with an error before its transaction began,
// and returns that error. Nil is no refusal.
func RecordRefusal(ctx context.Context, store *postgres.Store, actor access.Actor,
	action, object string, err error) error {
	if err == nil {
		return nil
	}
	if failed := store.RecordRefusal(ctx, *actor.NewAuditEntry(action, object), err); failed != nil {
		return failed
	}
	return err
}
