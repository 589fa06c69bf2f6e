package usage

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Rule is how long rows of a width are kept.
type Rule struct {
	Width time.Duration
	Keep  time.Duration
}

// Rules are the finest first. Single measurements are kept for longer than an
// agent keeps what it could not send, which is an hour.
func Rules() []Rule {
	return []Rule{{Raw, 2 * time.Hour}, {Minutely, 48 * time.Hour}, {Hourly, 92 * 24 * time.Hour}}
}

// Cutoff is when the oldest row that is kept may begin.
func (r Rule) Cutoff(now time.Time) time.Time { return now.Add(-r.Keep) }

// trimAtOnce rows are deleted in one transaction.
const trimAtOnce = 10_000

// Trim deletes what is too old, in portions, and says how many rows that were.
func (u *Usage) Trim(ctx context.Context, actor access.Actor, now time.Time) (int64, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	total := int64(0)
	for _, r := range Rules() {
		for {
			n, err := u.dropOld(ctx, r, now)
			total += n
			if err != nil {
				return total, err
			}
			if n < trimAtOnce {
				break
			}
		}
	}
	return total, u.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Usage().DeleteMarks(ctx)
	})
}

func (u *Usage) dropOld(ctx context.Context, r Rule, now time.Time) (n int64, err error) {
	err = u.store.InTx(ctx, func(tx *postgres.Tx) (err error) {
		n, err = tx.Usage().DeleteOldest(ctx, r.Width, r.Cutoff(now), trimAtOnce)
		return err
	})
	return n, err
}
