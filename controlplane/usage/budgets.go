package usage

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

const (
	// allOfIt is the share at which removals are announced.
	allOfIt = 100
	// removalNotice is how long people have before something of theirs is removed.
	removalNotice = 24 * time.Hour
	// removedAtOnce bounds what one look at the budgets removes.
	removedAtOnce = 50
	// mostShare is far beyond what anybody wants to be told of.
	mostShare = 1000
)

// Budgets returns all budgets, with what this month came to so far.
func (u *Usage) Budgets(
	ctx context.Context, actor access.Actor,
) (all []controlplane.Budget, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = u.store.Read(ctx, func(tx *postgres.Tx) error {
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		all, err = listBudgets(ctx, tx, now)
		return err
	})
	return all, err
}

func listBudgets(
	ctx context.Context, tx *postgres.Tx, now time.Time,
) ([]controlplane.Budget, error) {
	month := startOfMonth(now)
	all, err := tx.Ledger().ListBudgets(ctx, month)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	prices, err := tx.Ledger().Prices(ctx)
	if err != nil {
		return nil, err
	}
	for i, b := range all {
		sums, err := tx.Ledger().Sum(ctx, balanceOfBudget(b, month))
		if err != nil {
			return nil, err
		}
		for _, s := range sums {
			all[i].Used += measured(b.Measure, s.Amounts, prices)
		}
	}
	return all, nil
}

func balanceOfBudget(b controlplane.Budget, month time.Time) postgres.BalanceFilter {
	f := postgres.BalanceFilter{LedgerScope: postgres.LedgerScope{Everything: true},
		Since: month, Until: month.AddDate(0, 1, 0), Most: 1}
	switch b.Scope {
	case controlplane.ByTeam:
		f.Team = b.Subject
	case controlplane.ByProject:
		f.Project = b.Subject
	case controlplane.ByPerson:
		f.Person = b.Subject
	default:
		f.Environment = b.Subject
	}
	return f
}

func measured(
	m controlplane.BudgetMeasure, a controlplane.UsageAmounts, p controlplane.UsagePrices,
) float64 {
	cpu, memory, gpu := a.Hours()
	switch m {
	case controlplane.MeasureCPUHours:
		return cpu
	case controlplane.MeasureMemoryGiBHours:
		return memory
	case controlplane.MeasureGPUHours:
		return gpu
	default:
		return p.CostOf(a)
	}
}

// PutBudget creates or changes a budget. What was said of it this month is forgotten: a notice
// of another amount is none of this one.
func (u *Usage) PutBudget(ctx context.Context, actor access.Actor, b controlplane.Budget) error {
	return u.store.InAuditedTx(ctx, actor.NewAuditEntry("put budget", "budget "+b.Name),
		func(tx *postgres.Tx) error {
			if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
				return err
			}
			b, err := checkBudget(b)
			if err != nil {
				return err
			}
			b.CreatedBy = actor.Name()
			return tx.Ledger().PutBudget(ctx, b)
		})
}

// checkBudget refuses what can never be told, and puts the shares in order.
func checkBudget(b controlplane.Budget) (controlplane.Budget, error) {
	if b.Amount <= 0 {
		return b, controlplane.NewInvalidError("amount", "amount_invalid",
			"a budget of nothing is always used up", "Give an amount above zero.")
	}
	for _, share := range b.Shares {
		if share < 1 || share > mostShare {
			return b, controlplane.NewInvalidError("shares", "share_invalid",
				quantity.FormatPercent(float64(share)/100)+" is no share that can be reached",
				fmt.Sprintf("Use percentages from 1 to %d.", mostShare))
		}
	}
	if b.Remove || len(b.Shares) == 0 {
		b.Shares = append(b.Shares, allOfIt)
	}
	slices.Sort(b.Shares)
	b.Shares = slices.Compact(b.Shares)
	return b, nil
}

// DeleteBudget deletes a budget; what was used stays in the ledger.
func (u *Usage) DeleteBudget(ctx context.Context, actor access.Actor, name string) error {
	return u.store.InAuditedTx(ctx, actor.NewAuditEntry("delete budget", "budget "+name),
		func(tx *postgres.Tx) error {
			if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
				return err
			}
			found, err := tx.Ledger().DeleteBudget(ctx, name)
			if err == nil && !found {
				return controlplane.NewNotFoundError("budget", name)
			}
			return err
		})
}

// CheckBudgets gives the notices that are due, and returns the deployments that are removed now:
// those of budgets for which an admin chose that, a day after the notice. The ledger comes first:
// it sees whether the database's clock was set, which must not shorten that day. Like WriteLedger,
// nobody calls it twice at once.
func (u *Usage) CheckBudgets(
	ctx context.Context, actor access.Actor,
) (remove []controlplane.DeploymentID, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	if _, err := u.WriteLedger(ctx, actor); err != nil {
		return nil, err
	}
	err = u.store.InTx(ctx, func(tx *postgres.Tx) error {
		remove = nil
		now, err := tx.DatabaseTime(ctx)
		if err != nil {
			return err
		}
		all, err := listBudgets(ctx, tx, now)
		if err != nil {
			return err
		}
		for _, b := range all {
			if err := noticeShares(ctx, tx, b, now); err != nil {
				return err
			}
			if !b.Remove || b.RemoveAt == nil || b.RemoveAt.After(now) || b.Used < b.Amount {
				continue
			}
			ids, err := tx.Ledger().ListHeldOf(ctx, b, removedAtOnce)
			if err != nil {
				return err
			}
			remove = append(remove, ids...)
		}
		return nil
	})
	return remove, err
}

// noticeShares tells of each share once, and of the largest only, if several are reached at once.
func noticeShares(
	ctx context.Context, tx *postgres.Tx, b controlplane.Budget, now time.Time,
) error {
	largest := 0
	var removeAt *time.Time
	for _, share := range b.Shares {
		if b.Used < b.Amount*float64(share)/100 {
			break
		}
		var at *time.Time
		if share == allOfIt && b.Remove {
			then := now.Add(removalNotice)
			at = &then
		}
		news, err := tx.Ledger().AddBudgetNotice(ctx, b.Name, startOfMonth(now), share, at)
		if err != nil {
			return err
		}
		if news {
			largest = share
			if at != nil {
				removeAt = at
			}
		}
	}
	if largest == 0 {
		return nil
	}
	event, data := budgetNotice(b, largest, removeAt)
	return tx.Ledger().InsertNotice(ctx, event, data)
}

func budgetNotice(
	b controlplane.Budget, share int, removeAt *time.Time,
) (event string, data map[string]any) {
	reason := fmt.Sprintf("%s %s has used %s of %s %s of this month.", b.Scope, b.Subject,
		quantity.FormatNumber(b.Used), quantity.FormatNumber(b.Amount), b.Measure)
	event = "budget.reached"
	data = map[string]any{"budget": b.Name, "scope": b.Scope, "subject": b.Subject,
		"measure": b.Measure, "share": share, "used": b.Used, "amount": b.Amount}
	if removeAt != nil {
		event = "budget.removing"
		data["remove_at"] = removeAt.UTC().Format(time.RFC3339)
		reason += " Its deployments are removed from " +
			removeAt.UTC().Format("2006-01-02 15:04 UTC") + " on, unless the budget is changed."
	}
	data["reason"] = reason
	return event, data
}
