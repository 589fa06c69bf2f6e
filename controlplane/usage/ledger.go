package usage

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// ledgerWriter is who writes the rows that nobody asked for.
	ledgerWriter = "system:usage-ledger"
	// eventsAtOnce and daysAtOnce bound one transaction.
	eventsAtOnce = 500
	daysAtOnce   = 500
	// clockDrift is how far the database's clock may run from ours between two looks before
	// it counts as set, not as running.
	clockDrift = 10 * time.Minute
	// longestGap is how long no control plane may have run. After a longer one, with nothing
	// to compare the database's clock with, a clock that was set is the likelier reason, and
	// the gap counts for nobody.
	longestGap = 7 * 24 * time.Hour
	// lateEvents is how much older than the last look an event may be: its transaction was
	// under way then.
	lateEvents = time.Minute
	// trafficAfter is how old an hour is before its traffic is written: nodes keep for an
	// hour what they could not send.
	trafficAfter = 2 * time.Hour
	// measuredEvery is how often agents measure; each mean stands for so long.
	measuredEvery = 5 * time.Second
)

// WriteLedger turns what happened to deployments into rows of the ledger, and cuts open
// intervals at midnight. One caller at a time does it, whatever died before: events, intervals
// and rows change in one transaction.
//
// Times are those of the database's clock. If that was set, intervals that had begun are
// shifted as far, so that nobody pays for the difference; clockSet says by how much.
func (u *Usage) WriteLedger(
	ctx context.Context, actor access.Actor,
) (clockSet time.Duration, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return 0, err
	}
	for {
		more, set, err := u.writeLedgerOnce(ctx)
		clockSet += set
		if err != nil || !more {
			return clockSet, err
		}
	}
}

func (u *Usage) writeLedgerOnce(ctx context.Context) (more bool, set time.Duration, err error) {
	var looked clockLook
	err = u.store.InTx(ctx, func(tx *postgres.Tx) error {
		clock, err := tx.Ledger().LockClock(ctx)
		if err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		here := time.Now()
		set = u.ledgerLook.compare(clock, now, here)
		if set != 0 {
			err := tx.Ledger().Shift(ctx, set, clock.At.Add(-lateEvents), now.Add(-set))
			if err != nil {
				return err
			}
			clock.SetBy += set
		}
		looked = clockLook{wall: now.Add(-clock.SetBy), here: here}
		if more, err = writeEvents(ctx, tx); err != nil {
			return err
		}
		cut, err := cutDays(ctx, tx, now)
		if err != nil {
			return err
		}
		more = more || cut
		clock.At = now
		if clock.MeasuredUntil, err = writeTraffic(ctx, tx, clock.MeasuredUntil, now); err != nil {
			return err
		}
		return tx.Ledger().PutClock(ctx, clock)
	})
	if err == nil {
		u.ledgerLook = looked
	}
	return more, set, err
}

// clockLook is one look at two clocks: the database's, without what it was set by, and this
// process's, which cannot be set. The zero value has not looked yet.
type clockLook struct{ wall, here time.Time }

// compare returns by how much the database's clock was set since the ledger was written last.
// A process that has not looked yet only knows what the ledger says, which is older.
func (c clockLook) compare(clock postgres.UsageClock, now, here time.Time) time.Duration {
	if !c.here.IsZero() {
		by := now.Add(-clock.SetBy).Sub(c.wall) - here.Sub(c.here)
		if by.Abs() > clockDrift {
			return by.Round(time.Second)
		}
		return 0
	}
	if by := now.Sub(clock.At); by > longestGap || by < -clockDrift {
		return by.Round(time.Second)
	}
	return 0
}

func writeEvents(ctx context.Context, tx *postgres.Tx) (more bool, err error) {
	events, err := tx.Ledger().TakeEvents(ctx, eventsAtOnce)
	if err != nil || len(events) == 0 {
		return false, err
	}
	var ids []controlplane.DeploymentID
	for _, e := range events {
		ids = append(ids, e.Deployment)
	}
	open, err := tx.Ledger().ListOpen(ctx, ids)
	if err != nil {
		return false, err
	}
	b := newLedgerBook(open)
	for _, e := range events {
		b.apply(e)
	}
	return len(events) == eventsAtOnce, b.write(ctx, tx)
}

// cutDays ends intervals at midnight and begins them again, so that no row is of two days.
func cutDays(ctx context.Context, tx *postgres.Tx, now time.Time) (more bool, err error) {
	midnight := startOfDay(now)
	open, err := tx.Ledger().ListOpenBefore(ctx, midnight, daysAtOnce)
	if err != nil || len(open) == 0 {
		return false, err
	}
	b := newLedgerBook(open)
	for _, o := range open {
		b.cut(o.Deployment, midnight)
	}
	return len(open) == daysAtOnce, b.write(ctx, tx)
}

func startOfDay(t time.Time) time.Time { return t.UTC().Truncate(24 * time.Hour) }

func startOfMonth(t time.Time) time.Time {
	y, m, _ := t.UTC().Date()
	return time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
}

// writeTraffic writes the hours that are complete, and returns until when that is.
func writeTraffic(
	ctx context.Context, tx *postgres.Tx, since, now time.Time,
) (time.Time, error) {
	until := now.Add(-trafficAfter).UTC().Truncate(time.Hour)
	if since.After(now) {
		return until, nil // The clock was set back: hours that were written are not written again.
	}
	if !until.After(since) {
		return since, nil
	}
	_, err := tx.Ledger().InsertTraffic(ctx, since, until, measuredEvery, ledgerWriter)
	return until, err
}

// RecordVolumes notes what a deployment's volumes take from now on.
func (u *Usage) RecordVolumes(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID, bytes int64,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	mib := min(max(bytes, 0), mostBytes)/(1<<20) + 1
	if bytes <= 0 {
		mib = 0
	}
	return u.store.InTx(ctx, func(tx *postgres.Tx) error {
		if _, err := tx.Ledger().LockClock(ctx); err != nil {
			return err
		}
		open, err := tx.Ledger().ListOpen(ctx, []controlplane.DeploymentID{id})
		if err != nil || len(open) == 0 || open[0].VolumeMiB == mib {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		b := newLedgerBook(open)
		b.cut(id, now.UTC().Truncate(time.Second))
		b.open[id].VolumeMiB = mib
		return b.write(ctx, tx)
	})
}

// ledgerBook collects what events come to: rows, and the intervals that are open after them.
// It is pure until write.
type ledgerBook struct {
	open map[controlplane.DeploymentID]*controlplane.OpenAllocation
	// touched are deployments whose interval was begun or ended.
	touched map[controlplane.DeploymentID]bool
	rows    []controlplane.LedgerRow
}

func newLedgerBook(open []controlplane.OpenAllocation) *ledgerBook {
	b := &ledgerBook{open: map[controlplane.DeploymentID]*controlplane.OpenAllocation{},
		touched: map[controlplane.DeploymentID]bool{}}
	for _, o := range open {
		b.open[o.Deployment] = &o
	}
	return b
}

// apply ends the deployment's interval at an event, and begins one if it holds something.
func (b *ledgerBook) apply(e controlplane.AllocationEvent) {
	since := e.At
	old := b.open[e.Deployment]
	if old != nil {
		b.cut(e.Deployment, e.At)
		since = old.Since
	}
	b.touched[e.Deployment] = true
	if !e.Held {
		delete(b.open, e.Deployment)
		return
	}
	o := &controlplane.OpenAllocation{Allocation: e.Allocation, Since: since}
	if old != nil {
		o.VolumeMiB = old.VolumeMiB
	}
	b.open[e.Deployment] = o
}

// cut writes a deployment's open interval into rows of one day each, up to a moment. A moment
// before its beginning changes nothing: a clock that ran back takes nothing away, and nothing
// is counted twice.
func (b *ledgerBook) cut(id controlplane.DeploymentID, at time.Time) {
	o := b.open[id]
	if o == nil || !at.After(o.Since) {
		return
	}
	b.touched[id] = true
	for from := o.Since; from.Before(at); {
		until := startOfDay(from).Add(24 * time.Hour)
		if at.Before(until) {
			until = at
		}
		seconds := int64(until.Sub(from) / time.Second)
		b.rows = append(b.rows, controlplane.LedgerRow{Kind: controlplane.LedgerAllocated,
			Allocation: o.Allocation, From: from, Until: until,
			Amounts: o.AmountsOver(seconds), WrittenBy: ledgerWriter})
		from = until
	}
	o.Since = at
}

// write stores the rows and the intervals.
func (b *ledgerBook) write(ctx context.Context, tx *postgres.Tx) error {
	slices.SortStableFunc(b.rows, func(x, y controlplane.LedgerRow) int {
		return cmp.Or(x.From.Compare(y.From), cmp.Compare(x.Deployment, y.Deployment))
	})
	for _, r := range b.rows {
		if _, err := tx.Ledger().Insert(ctx, r); err != nil {
			return err
		}
	}
	for id := range b.touched {
		var err error
		if o := b.open[id]; o != nil {
			err = tx.Ledger().PutOpen(ctx, *o)
		} else {
			err = tx.Ledger().EndOpen(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
