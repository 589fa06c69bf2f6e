package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// forgetEvery is often enough: rows that are kept longer are harmless.
	forgetEvery = 10 * time.Minute
	// forgetAtOnce bounds one transaction.
	forgetAtOnce = 500
	// keysLast is how long an idempotency key counts; the API promises a day.
	keysLast = 24 * time.Hour
)

// ForgetSessions deletes sessions that no longer open anything.
func ForgetSessions(people *accounts.Accounts) Job {
	return Job{Name: "forget_sessions", Every: forgetEvery,
		Do: func(ctx context.Context) error {
			return people.DeleteExpired(ctx, access.System("forget-sessions"))
		}}
}

// ForgetKeys deletes idempotency keys that no longer count.
func ForgetKeys(store *postgres.Store) Job {
	return Job{Name: "forget_keys", Every: forgetEvery, Do: func(ctx context.Context) error {
		for deleted := forgetAtOnce; deleted == forgetAtOnce; {
			err := store.InTx(ctx, func(tx *postgres.Tx) error {
				now, err := tx.DatabaseTime(ctx)
				if err != nil {
					return err
				}
				deleted, err = tx.IdempotencyKeys().DeleteOld(ctx, now.Add(-keysLast), forgetAtOnce)
				return err
			})
			if err != nil {
				return err
			}
		}
		return nil
	}}
}

// ForgetOffers deletes offers to nodes that a control plane left behind when it died.
func ForgetOffers(deployments *lifecycle.Lifecycle, log *slog.Logger) Job {
	return Job{Name: "forget_offers", Every: forgetEvery, Do: func(ctx context.Context) error {
		n, err := deployments.ForgetOffers(ctx, access.System("forget-offers"))
		if n > 0 {
			log.InfoContext(ctx, "offers of requests that came to nothing were deleted", "count", n)
		}
		return err
	}}
}
