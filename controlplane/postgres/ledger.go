package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// UsageClock says how far the usage ledger is.
type UsageClock struct {
	// At is the database's time when it was written last, SetBy the sum of all settings of
	// that clock since the ledger began.
	At    time.Time
	SetBy time.Duration
	// MeasuredUntil is up to when traffic is in the ledger.
	MeasuredUntil time.Time
}

// LockClock locks the ledger for its only writer until the transaction ends.
func (t Ledger) LockClock(ctx context.Context) (UsageClock, error) {
	r, err := t.q.LockUsageClock(ctx)
	if err != nil {
		return UsageClock{}, fmt.Errorf("lock the usage ledger: %w", translateError(err))
	}
	return UsageClock{At: r.At, SetBy: secondsOf(r.SetBy), MeasuredUntil: r.MeasuredUntil}, nil
}

func secondsOf(f float64) time.Duration { return time.Duration(f * float64(time.Second)) }

// PutClock stores how far the ledger is now.
func (t Ledger) PutClock(ctx context.Context, c UsageClock) error {
	if err := t.q.PutUsageClock(ctx, c.At, c.SetBy.Seconds(), c.MeasuredUntil); err != nil {
		return fmt.Errorf("store how far the usage ledger is: %w", translateError(err))
	}
	return nil
}

// TakeEvents takes the oldest events out of the outbox.
func (t Ledger) TakeEvents(
	ctx context.Context, most int,
) ([]controlplane.AllocationEvent, error) {
	rows, err := t.q.TakeUsageEvents(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("take events of usage: %w", translateError(err))
	}
	all := make([]controlplane.AllocationEvent, len(rows))
	for i, r := range rows {
		id := controlplane.DeploymentID(r.DeploymentID)
		all[i] = controlplane.AllocationEvent{ID: r.ID, At: r.At, Deployment: id, Held: r.Held}
		if r.Held {
			all[i].Allocation = controlplane.Allocation{Deployment: id, Name: r.Deployment,
				ProjectID:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
				Project:       r.Project,
				EnvironmentID: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
				Environment:   r.Environment, NodeID: emptyIfNull[controlplane.NodeID](r.NodeID),
				Node: r.Node, Team: r.Team, Person: r.Person, Millicores: r.Millicores,
				MemoryMiB: r.MemoryMib, GPUs: r.Gpus}
		}
	}
	return all, nil
}

// valueOf is what a pointer points to, or the zero value.
func valueOf[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// ListOpen returns the open intervals of some deployments.
func (t Ledger) ListOpen(ctx context.Context, ids []controlplane.DeploymentID,
) ([]controlplane.OpenAllocation, error) {
	rows, err := t.q.ListOpenUsageOf(ctx, toStrings(ids))
	return openAllocations(rows), wrapLedger("list open intervals", err)
}

// ListOpenBefore returns some of the open intervals that began before a moment.
func (t Ledger) ListOpenBefore(ctx context.Context, before time.Time, most int,
) ([]controlplane.OpenAllocation, error) {
	rows, err := t.q.ListOpenUsageBefore(ctx, before, int32(most))
	return openAllocations(rows), wrapLedger("list open intervals", err)
}

func wrapLedger(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s of the usage ledger: %w", what, translateError(err))
}

func openAllocations(rows []dbsqlc.UsageOpen) []controlplane.OpenAllocation {
	all := make([]controlplane.OpenAllocation, len(rows))
	for i, r := range rows {
		all[i] = openAllocation(r)
	}
	return all
}

func openAllocation(r dbsqlc.UsageOpen) controlplane.OpenAllocation {
	return controlplane.OpenAllocation{Since: r.Since, Allocation: controlplane.Allocation{
		Deployment: controlplane.DeploymentID(r.DeploymentID), Name: r.Deployment,
		ProjectID: controlplane.ProjectID(r.ProjectID), Project: r.Project,
		EnvironmentID: controlplane.EnvironmentID(r.EnvironmentID), Environment: r.Environment,
		NodeID: emptyIfNull[controlplane.NodeID](r.NodeID), Node: r.Node, Team: r.Team,
		Person: r.Person, Millicores: r.Millicores, MemoryMiB: r.MemoryMib, GPUs: r.Gpus,
		VolumeMiB: r.VolumeMib}}
}

// PutOpen begins an interval, or replaces the deployment's.
func (t Ledger) PutOpen(ctx context.Context, o controlplane.OpenAllocation) error {
	var node *string
	if o.NodeID != "" {
		id := string(o.NodeID)
		node = &id
	}
	return wrapLedger("begin an interval", t.q.PutOpenUsage(ctx, dbsqlc.PutOpenUsageParams{
		DeploymentID: string(o.Deployment), Since: o.Since, Deployment: o.Name,
		ProjectID: string(o.ProjectID), Project: o.Project,
		EnvironmentID: string(o.EnvironmentID), Environment: o.Environment, NodeID: node,
		Node: o.Node, Team: o.Team, Person: o.Person, Millicores: o.Millicores,
		MemoryMib: o.MemoryMiB, Gpus: o.GPUs, VolumeMib: o.VolumeMiB}))
}

// EndOpen ends a deployment's interval; what it came to is a row of the ledger already.
func (t Ledger) EndOpen(ctx context.Context, id controlplane.DeploymentID) error {
	return wrapLedger("end an interval", t.q.EndOpenUsage(ctx, string(id)))
}

// Shift moves what began before the database's clock was set: open intervals, and the events
// of a stretch of time.
func (t Ledger) Shift(ctx context.Context, by time.Duration, since, until time.Time) error {
	if err := t.q.ShiftOpenUsage(ctx, by.Seconds()); err != nil {
		return wrapLedger("shift intervals", err)
	}
	if err := t.q.ShiftBudgetRemovals(ctx, by.Seconds()); err != nil {
		return wrapLedger("shift removals", err)
	}
	return wrapLedger("shift events", t.q.ShiftUsageEvents(ctx, by.Seconds(), since, until))
}

// Insert writes a row, and returns its number.
func (t Ledger) Insert(ctx context.Context, r controlplane.LedgerRow) (int64, error) {
	p := dbsqlc.InsertLedgerRowParams{Kind: string(r.Kind), DeploymentID: string(r.Deployment),
		Deployment: r.Name, ProjectID: string(r.ProjectID), Project: r.Project,
		EnvironmentID: string(r.EnvironmentID), Environment: r.Environment, Node: r.Node,
		Team: r.Team, Person: r.Person, FromAt: r.From, UntilAt: r.Until,
		MillicoreSeconds: r.Amounts.MillicoreSeconds, MemoryMibSeconds: r.Amounts.MemoryMiBSeconds,
		GpuSeconds: r.Amounts.GPUSeconds, VolumeMibSeconds: r.Amounts.VolumeMiBSeconds,
		TrafficBytes: r.Amounts.TrafficBytes, Reason: r.Reason, WrittenBy: r.WrittenBy}
	if r.Corrects != 0 {
		p.Corrects = &r.Corrects
	}
	id, err := t.q.InsertLedgerRow(ctx, p)
	return id, wrapLedger("write a row", err)
}

// InsertTraffic writes what deployments sent and received in some hours. A measured mean
// counts for every.
func (t Ledger) InsertTraffic(ctx context.Context, since, until time.Time, every time.Duration,
	by string) (int64, error) {
	n, err := t.q.InsertTraffic(ctx, dbsqlc.InsertTrafficParams{WrittenBy: by,
		EverySeconds: every.Seconds(), Since: since, Until: until})
	return n, wrapLedger("write traffic", err)
}

// GetWithCorrections returns a row, and its corrections after it.
func (t Ledger) GetWithCorrections(
	ctx context.Context, id int64,
) ([]controlplane.LedgerRow, error) {
	rows, err := t.q.GetLedgerRows(ctx, id)
	return convertLedgerRows(rows), wrapLedger("read a row", err)
}

// LedgerScope is what a person may see.
type LedgerScope struct {
	Everything   bool
	Projects     []controlplane.ProjectID
	Environments []controlplane.EnvironmentID
}

// List returns rows after one, oldest first, that begin in a stretch of time.
func (t Ledger) List(ctx context.Context, scope LedgerScope, since, until time.Time,
	after int64, most int) ([]controlplane.LedgerRow, error) {
	rows, err := t.q.ListLedger(ctx, dbsqlc.ListLedgerParams{After: after, Since: since,
		Until: until, Everything: scope.Everything, Projects: toStrings(scope.Projects),
		Environments: toStrings(scope.Environments), Most: int32(most)})
	return convertLedgerRows(rows), wrapLedger("list rows", err)
}

func convertLedgerRows(rows []dbsqlc.UsageLedger) []controlplane.LedgerRow {
	all := make([]controlplane.LedgerRow, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LedgerRow{ID: r.ID, Kind: controlplane.LedgerKind(r.Kind),
			Allocation: controlplane.Allocation{
				Deployment: controlplane.DeploymentID(r.DeploymentID), Name: r.Deployment,
				ProjectID: controlplane.ProjectID(r.ProjectID), Project: r.Project,
				EnvironmentID: controlplane.EnvironmentID(r.EnvironmentID),
				Environment:   r.Environment, Node: r.Node, Team: r.Team, Person: r.Person},
			From: r.FromAt, Until: r.UntilAt,
			Amounts: controlplane.UsageAmounts{MillicoreSeconds: r.MillicoreSeconds,
				MemoryMiBSeconds: r.MemoryMibSeconds, GPUSeconds: r.GpuSeconds,
				VolumeMiBSeconds: r.VolumeMibSeconds, TrafficBytes: r.TrafficBytes},
			Corrects: valueOf(r.Corrects), Reason: r.Reason, WrittenBy: r.WrittenBy,
			WrittenAt: r.WrittenAt}
	}
	return all
}

// BalanceFilter selects what is summed up.
type BalanceFilter struct {
	LedgerScope
	Since, Until                       time.Time
	By                                 []controlplane.UsageGroup
	Team, Project, Person, Environment string
	Most                               int
}

// Sum returns balances, those with the most processor time first. Nothing of them is stored:
// each is the sum of its rows, and of what is open until now.
func (t Ledger) Sum(ctx context.Context, f BalanceFilter) ([]controlplane.UsageBalance, error) {
	wanted := map[controlplane.UsageGroup]bool{}
	for _, by := range f.By {
		wanted[by] = true
	}
	rows, err := t.q.SumLedger(ctx, dbsqlc.SumLedgerParams{Since: f.Since, Until: f.Until,
		ByTeam: wanted[controlplane.ByTeam], ByProject: wanted[controlplane.ByProject],
		ByPerson: wanted[controlplane.ByPerson], ByEnvironment: wanted[controlplane.ByEnvironment],
		ByNode: wanted[controlplane.ByNode], ByDeployment: wanted[controlplane.ByDeployment],
		ByDay: wanted[controlplane.ByDay], Everything: f.Everything,
		Projects: toStrings(f.Projects), Environments: toStrings(f.Environments), TeamIs: f.Team,
		ProjectIs: f.Project, PersonIs: f.Person, EnvironmentIs: f.Environment,
		Most: int32(f.Most)})
	if err != nil {
		return nil, wrapLedger("sum up rows", err)
	}
	all := make([]controlplane.UsageBalance, len(rows))
	for i, r := range rows {
		keys := map[controlplane.UsageGroup]string{controlplane.ByTeam: r.Team,
			controlplane.ByProject: r.Project, controlplane.ByPerson: r.Person,
			controlplane.ByEnvironment: r.Environment, controlplane.ByNode: r.Node,
			controlplane.ByDeployment: r.Deployment, controlplane.ByDay: r.Day}
		for _, by := range f.By {
			all[i].Key = append(all[i].Key, keys[by])
		}
		all[i].Amounts = controlplane.UsageAmounts{MillicoreSeconds: r.MillicoreSeconds,
			MemoryMiBSeconds: r.MemoryMibSeconds, GPUSeconds: r.GpuSeconds,
			VolumeMiBSeconds: r.VolumeMibSeconds, TrafficBytes: r.TrafficBytes}
	}
	return all, nil
}

// ListIdle returns deployments that nobody used since a moment, those that hold most first.
func (t Ledger) ListIdle(ctx context.Context, scope LedgerScope, idleSince, month time.Time,
	most int) ([]controlplane.IdleDeployment, error) {
	rows, err := t.q.ListIdle(ctx, dbsqlc.ListIdleParams{Month: month, IdleSince: idleSince,
		Everything: scope.Everything, Projects: toStrings(scope.Projects),
		Environments: toStrings(scope.Environments), Most: int32(most)})
	all := make([]controlplane.IdleDeployment, len(rows))
	for i, r := range rows {
		all[i] = controlplane.IdleDeployment{Allocation: openAllocation(r.UsageOpen).Allocation,
			ActiveAt: r.ActiveAt, Cores: r.Cores, Spent: controlplane.UsageAmounts{
				MillicoreSeconds: r.MillicoreSeconds, MemoryMiBSeconds: r.MemoryMibSeconds,
				GPUSeconds: r.GpuSeconds}}
	}
	return all, wrapLedger("list what is idle", err)
}

// Prices returns the prices; without any, the zero value.
func (t Ledger) Prices(ctx context.Context) (p controlplane.UsagePrices, err error) {
	rows, err := t.q.GetUsagePrices(ctx)
	if err != nil || len(rows) == 0 {
		return p, wrapLedger("read the prices", err)
	}
	r := rows[0]
	return controlplane.UsagePrices{Currency: r.Currency, CPUHour: r.CpuHour,
		MemoryGiBHour: r.MemoryGibHour, GPUHour: r.GpuHour, TrafficGiB: r.TrafficGib}, nil
}

// PutPrices stores the prices; without a currency there are none any more.
func (t Ledger) PutPrices(ctx context.Context, p controlplane.UsagePrices) error {
	if p.Currency == "" {
		return wrapLedger("delete the prices", t.q.DeleteUsagePrices(ctx))
	}
	return wrapLedger("store the prices", t.q.PutUsagePrices(ctx, dbsqlc.PutUsagePricesParams{
		Currency: p.Currency, CpuHour: p.CPUHour, MemoryGibHour: p.MemoryGiBHour,
		GpuHour: p.GPUHour, TrafficGib: p.TrafficGiB}))
}
