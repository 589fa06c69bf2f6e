package postgres

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// ListBudgets returns all budgets, with when removals begin in the month, if they do.
func (t Ledger) ListBudgets(
	ctx context.Context, month time.Time,
) ([]controlplane.Budget, error) {
	rows, err := t.q.ListBudgets(ctx, month)
	all := make([]controlplane.Budget, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Budget{Name: r.Budget.Name,
			Scope: controlplane.UsageGroup(r.Budget.Scope), Subject: r.Budget.Subject,
			Measure: controlplane.BudgetMeasure(r.Budget.Measure), Amount: r.Budget.Amount,
			Remove: r.Budget.Remove, CreatedBy: r.Budget.CreatedBy,
			CreatedAt: r.Budget.CreatedAt, RemoveAt: r.RemoveAt}
		for _, share := range r.Budget.Shares {
			all[i].Shares = append(all[i].Shares, int(share))
		}
	}
	return all, wrapLedger("list budgets", err)
}

// PutBudget creates or changes a budget, and forgets what was said of it.
func (t Ledger) PutBudget(ctx context.Context, b controlplane.Budget) error {
	var shares []int32
	for _, share := range b.Shares {
		shares = append(shares, int32(share))
	}
	err := t.q.PutBudget(ctx, dbsqlc.PutBudgetParams{Name: b.Name, Scope: string(b.Scope),
		Subject: b.Subject, Measure: string(b.Measure), Amount: b.Amount, Shares: shares,
		Remove: b.Remove, CreatedBy: b.CreatedBy})
	if err != nil {
		return wrapLedger("store a budget", err)
	}
	return wrapLedger("forget notices", t.q.ForgetBudgetNotices(ctx, b.Name))
}

// DeleteBudget deletes a budget, and reports whether there was one.
func (t Ledger) DeleteBudget(ctx context.Context, name string) (bool, error) {
	n, err := t.q.DeleteBudget(ctx, name)
	return n > 0, wrapLedger("delete a budget", err)
}

// AddBudgetNotice notes that a share of a budget is used, and reports whether that is news.
func (t Ledger) AddBudgetNotice(ctx context.Context, budget string, month time.Time, share int,
	removeAt *time.Time) (bool, error) {
	n, err := t.q.InsertBudgetNotice(ctx, dbsqlc.InsertBudgetNoticeParams{Budget: budget,
		Month: month, Share: int32(share), RemoveAt: removeAt})
	return n > 0, wrapLedger("note what a budget came to", err)
}

// ListHeldOf returns deployments of a budget's subject that hold something.
func (t Ledger) ListHeldOf(ctx context.Context, b controlplane.Budget, most int,
) ([]controlplane.DeploymentID, error) {
	ids, err := t.q.ListHeldOf(ctx, string(b.Scope), b.Subject, int32(most))
	return fromStrings[controlplane.DeploymentID](ids), wrapLedger("list what is held", err)
}

// InsertNotice tells subscribers of an event that no trigger writes.
func (t Ledger) InsertNotice(ctx context.Context, event string, data map[string]any) error {
	b, err := encodeJSON(data)
	if err != nil {
		return err
	}
	return wrapLedger("write a notice", t.q.InsertNotice(ctx, event, b, ""))
}
