package usage

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// longestBalance bounds what one answer looks at.
	longestBalance = 400 * 24 * time.Hour
	// mostBalances bounds an answer.
	mostBalances = 10_000
	// usuallyIdle is how long nobody used what counts as idle, unless asked otherwise.
	usuallyIdle = 3 * 24 * time.Hour
)

// BalanceQuery selects days, and what their rows are summed up by. Zero times are the month
// so far.
type BalanceQuery struct {
	From, To                           time.Time
	By                                 []controlplane.UsageGroup
	Team, Project, Person, Environment string
}

// Balances is what was used, as far as the reader may see it.
type Balances struct {
	From, To time.Time
	By       []controlplane.UsageGroup
	Prices   controlplane.UsagePrices
	Rows     []controlplane.UsageBalance
}

// Balances sums up the ledger.
func (u *Usage) Balances(
	ctx context.Context, actor access.Actor, q BalanceQuery,
) (b Balances, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return b, err
	}
	if b, err = planBalances(q, time.Now()); err != nil {
		return b, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		if b.Prices, err = tx.Ledger().Prices(ctx); err != nil {
			return err
		}
		b.Rows, err = tx.Ledger().Sum(ctx, postgres.BalanceFilter{LedgerScope: ledgerScope(actor),
			Since: b.From, Until: b.To, By: b.By, Team: q.Team, Project: q.Project,
			Person: q.Person, Environment: q.Environment, Most: mostBalances})
		return err
	})
	for i := range b.Rows {
		b.Rows[i].Cost = b.Prices.CostOf(b.Rows[i].Amounts)
	}
	return b, err
}

func ledgerScope(actor access.Actor) postgres.LedgerScope {
	s := access.ReadableScope(actor)
	return postgres.LedgerScope{Everything: s.All, Projects: s.Projects,
		Environments: s.Environments}
}

// planBalances fills in what a query leaves open. It is pure.
func planBalances(q BalanceQuery, now time.Time) (b Balances, err error) {
	b.By = q.By
	if len(b.By) == 0 {
		b.By = []controlplane.UsageGroup{controlplane.ByTeam}
	}
	for i, by := range b.By {
		if !slices.Contains(controlplane.UsageGroups(), by) || slices.Contains(b.By[:i], by) {
			return b, controlplane.NewInvalidError("by", "group_invalid",
				fmt.Sprintf("%q is not what usage can be summed up by", by),
				"Use each of these at most once: "+groupNames()+".")
		}
	}
	b.From, b.To, err = planDays(q.From, q.To, now)
	return b, err
}

func groupNames() string {
	var names []string
	for _, by := range controlplane.UsageGroups() {
		names = append(names, string(by))
	}
	return strings.Join(names, ", ")
}

// planDays returns whole days: the month so far, unless some are given.
func planDays(from, to, now time.Time) (time.Time, time.Time, error) {
	if to.IsZero() {
		to = now.Add(24 * time.Hour)
	}
	if from.IsZero() {
		from = startOfMonth(earlier(now, to.Add(-time.Second)))
	}
	from, to = startOfDay(from), startOfDay(to)
	if span := to.Sub(from); span <= 0 || span > longestBalance {
		return from, to, controlplane.NewInvalidError("from", "range_invalid",
			fmt.Sprintf("from must be before to, and at most %s",
				quantity.FormatDuration(longestBalance)),
			"Ask for fewer days; 'to' is the first day that is not meant.")
	}
	return from, to, nil
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// LedgerPage selects rows of the ledger.
type LedgerPage struct {
	From, To time.Time
	// After is the number of the last row that the reader has.
	After int64
	Most  int
}

// ListLedger returns rows as they were written, oldest first, as far as the reader may see them.
func (u *Usage) ListLedger(ctx context.Context, actor access.Actor, p LedgerPage,
) (rows []controlplane.LedgerRow, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	from, to, err := planDays(p.From, p.To, time.Now())
	if err != nil {
		return nil, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		rows, err = tx.Ledger().List(ctx, ledgerScope(actor), from, to, p.After, p.Most)
		return err
	})
	return rows, err
}

// CorrectRow takes back what is left of a row, with a new row that names it.
func (u *Usage) CorrectRow(
	ctx context.Context, actor access.Actor, id int64, reason string,
) (r controlplane.LedgerRow, err error) {
	entry := actor.NewAuditEntry("correct usage", fmt.Sprintf("usage row %d", id))
	err = u.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		// Corrections of the same row wait for each other here.
		if _, err := tx.Ledger().LockClock(ctx); err != nil {
			return err
		}
		rows, err := tx.Ledger().GetWithCorrections(ctx, id)
		if err != nil {
			return err
		}
		if len(rows) == 0 {
			return controlplane.NewNotFoundError("usage row", fmt.Sprint(id))
		}
		if r, err = correctionOf(rows, actor.Name(), reason); err != nil {
			return err
		}
		r.ID, err = tx.Ledger().Insert(ctx, r)
		return err
	})
	return r, err
}

// correctionOf takes back what is left of a row, which comes before its corrections.
func correctionOf(
	rows []controlplane.LedgerRow, by, reason string,
) (r controlplane.LedgerRow, err error) {
	if rows[0].Kind == controlplane.LedgerCorrection {
		return r, controlplane.NewInvalidError("row", "row_is_correction",
			fmt.Sprintf("row %d is a correction itself", rows[0].ID),
			"Correct the row that it names.")
	}
	var left controlplane.UsageAmounts
	for _, x := range rows {
		left = left.Add(x.Amounts)
	}
	if left == (controlplane.UsageAmounts{}) {
		return r, &controlplane.Error{Kind: controlplane.Conflict, Code: "row_corrected",
			Message: fmt.Sprintf("nothing is left of row %d", rows[0].ID),
			Remedy:  "It was corrected before; nothing needs to be done."}
	}
	r = rows[0]
	r.ID, r.Kind, r.Corrects, r.Amounts = 0, controlplane.LedgerCorrection, rows[0].ID, left.Negate()
	r.Reason, r.WrittenBy, r.WrittenAt = reason, by, time.Now().UTC()
	return r, nil
}

// Idle returns deployments that nobody used for some time, those that hold most first.
func (u *Usage) Idle(ctx context.Context, actor access.Actor, idle time.Duration, most int,
) (all []controlplane.IdleDeployment, prices controlplane.UsagePrices, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, prices, err
	}
	if idle <= 0 {
		idle = usuallyIdle
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		if prices, err = tx.Ledger().Prices(ctx); err != nil {
			return err
		}
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		all, err = tx.Ledger().ListIdle(ctx, ledgerScope(actor), now.Add(-idle),
			startOfMonth(now), most)
		return err
	})
	for i, d := range all {
		all[i].Cost = prices.CostOf(d.Spent)
		all[i].CostPerDay = prices.CostOf(d.AmountsOver(24 * 3600))
	}
	return all, prices, err
}

// Prices returns the prices; without any, the zero value.
func (u *Usage) Prices(
	ctx context.Context, actor access.Actor,
) (p controlplane.UsagePrices, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return p, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err = tx.Ledger().Prices(ctx)
		return err
	})
	return p, err
}

// PutPrices replaces the prices. The ledger has amounts only, so new prices count for the past
// as well.
func (u *Usage) PutPrices(
	ctx context.Context, actor access.Actor, p controlplane.UsagePrices,
) error {
	return u.store.InAuditedTx(ctx, actor.NewAuditEntry("put usage prices", "usage prices"),
		func(tx *postgres.Tx) error {
			if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
				return err
			}
			return tx.Ledger().PutPrices(ctx, p)
		})
}
