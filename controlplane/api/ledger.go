package api

import (
	"bytes"
	"context"
	"encoding/csv"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/usage"
)

func (s *server) GetUsage(
	ctx context.Context, r GetUsageRequestObject,
) (GetUsageResponseObject, error) {
	p := r.Params
	from, to, err := readDays(p.From, p.To)
	if err != nil {
		return nil, err
	}
	b, err := s.Usage.Balances(ctx, actorOf(ctx), usage.BalanceQuery{From: from, To: to,
		By:   readGroups(p.By),
		Team: valueOr(p.Team, ""), Project: valueOr(p.Project, ""),
		Person: valueOr(p.Person, ""), Environment: valueOr(p.Environment, "")})
	if err != nil {
		return nil, err
	}
	out := GetUsage200JSONResponse{From: b.From.Format(time.DateOnly),
		To:       b.To.Format(time.DateOnly),
		Currency: ptrOrNil(b.Prices.Currency), Items: []UsageBalance{}}
	for _, group := range b.By {
		out.By = append(out.By, string(group))
	}
	for _, row := range b.Rows {
		out.Items = append(out.Items, toUsageBalance(b, row))
	}
	return out, nil
}

func toUsageBalance(b usage.Balances, row controlplane.UsageBalance) UsageBalance {
	item := UsageBalance{Key: row.Key, Amounts: toUsageAmounts(row.Amounts)}
	if b.Prices.Currency != "" {
		item.Cost = &row.Cost
	}
	return item
}

// readGroups reads the names that usage is summed up by.
func readGroups(names *string) (by []controlplane.UsageGroup) {
	for name := range strings.SplitSeq(valueOr(names, ""), ",") {
		if name != "" {
			by = append(by, controlplane.UsageGroup(name))
		}
	}
	return by
}

// readDays reads two days, of which each may be missing.
func readDays(from, to *Day) (since, until time.Time, err error) {
	for field, day := range map[string]struct {
		text *Day
		into *time.Time
	}{"from": {from, &since}, "to": {to, &until}} {
		if day.text == nil {
			continue
		}
		if *day.into, err = time.Parse(time.DateOnly, *day.text); err != nil {
			return since, until, controlplane.NewInvalidError(field, "day_invalid",
				"there is no day "+*day.text, "Give a day of the calendar, as 2026-11-01.")
		}
	}
	return since, until, nil
}

func toUsageAmounts(a controlplane.UsageAmounts) UsageAmounts {
	return UsageAmounts{CpuSeconds: float64(a.MillicoreSeconds) / 1000,
		MemoryByteSeconds: float64(a.MemoryMiBSeconds) * (1 << 20),
		GpuSeconds:        float64(a.GPUSeconds),
		VolumeByteSeconds: float64(a.VolumeMiBSeconds) * (1 << 20),
		TrafficBytes:      float64(a.TrafficBytes)}
}

func (s *server) ExportUsage(
	ctx context.Context, r ExportUsageRequestObject,
) (ExportUsageResponseObject, error) {
	actor := actorOf(ctx)
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	p := r.Params
	from, to, err := readDays(p.From, p.To)
	if err != nil {
		return nil, err
	}
	format := valueOr(p.Format, ExportUsageParamsFormatCsv)
	if p.By != nil || format == ExportUsageParamsFormatPrometheus {
		b, err := s.Usage.Balances(ctx, actor, usage.BalanceQuery{From: from, To: to,
			By: readGroups(p.By)})
		if err != nil {
			return nil, err
		}
		return exportBalances(b, format)
	}
	asLines := format == ExportUsageParamsFormatJsonl
	pages := &exportPages[controlplane.LedgerRow]{write: writeJSONLines(toUsageRow),
		idOf: func(r controlplane.LedgerRow) int64 { return r.ID }}
	if !asLines {
		pages.write = writeLedgerCSV
		pages.ready.WriteString(ledgerColumns + "\n")
	}
	pages.next = func(after int64) ([]controlplane.LedgerRow, error) {
		return s.Usage.ListLedger(ctx, actor, usage.LedgerPage{From: from, To: to, After: after,
			Most: exportPage})
	}
	// A stretch of time that is refused must be refused before the file begins.
	if err := pages.fetchPage(); err != nil {
		return nil, err
	}
	if asLines {
		return ExportUsage200ApplicationxNdjsonResponse{Body: pages,
			Headers: usageFileHeaders("jsonl")}, nil
	}
	return ExportUsage200TextcsvResponse{Body: pages, Headers: usageFileHeaders("csv")}, nil
}

func usageFileHeaders(ending string) ExportUsage200ResponseHeaders {
	return ExportUsage200ResponseHeaders{
		ContentDisposition: ptrOrNil(`attachment; filename="nullops-usage.` + ending + `"`)}
}

const ledgerColumns = "id,kind,deployment_id,deployment,project,environment,node,team,person," +
	"from,until,cpu_seconds,memory_byte_seconds,gpu_seconds,volume_byte_seconds,traffic_bytes," +
	"corrects,reason,written_by,written_at"

func writeLedgerCSV(to *bytes.Buffer, all []controlplane.LedgerRow) error {
	rows := csv.NewWriter(to)
	for _, r := range all {
		a := toUsageAmounts(r.Amounts)
		row := []string{strconv.FormatInt(r.ID, 10), string(r.Kind), string(r.Deployment)}
		for _, name := range []string{r.Name, r.Project, r.Environment, r.Node, r.Team, r.Person} {
			row = append(row, escapeFormula(name))
		}
		row = append(row, formatInstant(r.From), formatInstant(r.Until))
		for _, amount := range []float64{a.CpuSeconds, a.MemoryByteSeconds, a.GpuSeconds,
			a.VolumeByteSeconds, a.TrafficBytes} {
			row = append(row, formatAmount(amount))
		}
		corrects := ""
		if r.Corrects != 0 {
			corrects = strconv.FormatInt(r.Corrects, 10)
		}
		row = append(row, corrects, escapeFormula(r.Reason), escapeFormula(r.WrittenBy),
			formatInstant(r.WrittenAt))
		if err := rows.Write(row); err != nil {
			return err
		}
	}
	rows.Flush()
	return rows.Error()
}

func formatInstant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func toUsageRow(r controlplane.LedgerRow) UsageRow {
	return UsageRow{Id: r.ID, Kind: UsageRowKind(r.Kind), DeploymentId: string(r.Deployment),
		Deployment: r.Name, Project: r.Project, Environment: r.Environment, Node: r.Node,
		Team: r.Team, Person: r.Person, From: r.From.UTC(), Until: r.Until.UTC(),
		Amounts: toUsageAmounts(r.Amounts), Corrects: ptrOrNil(r.Corrects),
		Reason: ptrOrNil(r.Reason), WrittenBy: r.WrittenBy, WrittenAt: r.WrittenAt.UTC()}
}

func (s *server) CorrectUsage(
	ctx context.Context, r CorrectUsageRequestObject,
) (CorrectUsageResponseObject, error) {
	row, err := s.Usage.CorrectRow(ctx, actorOf(ctx), r.Row, r.Body.Reason)
	if err != nil {
		return nil, err
	}
	return CorrectUsage200JSONResponse(toUsageRow(row)), nil
}

func (s *server) ListIdleDeployments(
	ctx context.Context, r ListIdleDeploymentsRequestObject,
) (ListIdleDeploymentsResponseObject, error) {
	all, prices, err := s.Usage.Idle(ctx, actorOf(ctx),
		time.Duration(valueOr(r.Params.Hours, 72))*time.Hour, valueOr(r.Params.Limit, 50))
	if err != nil {
		return nil, err
	}
	out := ListIdleDeployments200JSONResponse{Currency: ptrOrNil(prices.Currency),
		Items: []IdleDeployment{}}
	for _, d := range all {
		item := IdleDeployment{Id: string(d.Deployment), Name: d.Name, Project: d.Project,
			Environment: d.Environment, Node: d.Node, Team: d.Team, Person: d.Person,
			ActiveAt: d.ActiveAt, Cpu: float64(d.Millicores) / 1000, MemoryMib: d.MemoryMiB,
			Gpus: d.GPUs, Cores: d.Cores, Month: toUsageAmounts(d.Spent)}
		if prices.Currency != "" {
			item.Cost, item.CostPerDay = &d.Cost, &d.CostPerDay
		}
		out.Items = append(out.Items, item)
	}
	return out, nil
}

func (s *server) GetUsagePrices(
	ctx context.Context, _ GetUsagePricesRequestObject,
) (GetUsagePricesResponseObject, error) {
	p, err := s.Usage.Prices(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return GetUsagePrices200JSONResponse(toUsagePrices(p)), nil
}

func toUsagePrices(p controlplane.UsagePrices) UsagePrices {
	return UsagePrices{Currency: p.Currency, CpuHour: &p.CPUHour,
		MemoryGibHour: &p.MemoryGiBHour, GpuHour: &p.GPUHour, TrafficGib: &p.TrafficGiB}
}

func (s *server) PutUsagePrices(
	ctx context.Context, r PutUsagePricesRequestObject,
) (PutUsagePricesResponseObject, error) {
	p := controlplane.UsagePrices{Currency: r.Body.Currency, CPUHour: valueOr(r.Body.CpuHour, 0),
		MemoryGiBHour: valueOr(r.Body.MemoryGibHour, 0), GPUHour: valueOr(r.Body.GpuHour, 0),
		TrafficGiB: valueOr(r.Body.TrafficGib, 0)}
	if err := s.Usage.PutPrices(ctx, actorOf(ctx), p); err != nil {
		return nil, err
	}
	return PutUsagePrices200JSONResponse(toUsagePrices(p)), nil
}

func (s *server) ListBudgets(
	ctx context.Context, _ ListBudgetsRequestObject,
) (ListBudgetsResponseObject, error) {
	all, err := s.Usage.Budgets(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListBudgets200JSONResponse{Items: convertAll(all, toBudget)}, nil
}

func toBudget(b controlplane.Budget) Budget {
	return Budget{Name: b.Name, Scope: BudgetScope(b.Scope), Subject: b.Subject,
		Measure: BudgetMeasure(b.Measure), Amount: b.Amount, Shares: b.Shares, Remove: b.Remove,
		Used: b.Used, RemoveAt: b.RemoveAt, CreatedBy: b.CreatedBy, CreatedAt: b.CreatedAt}
}

func (s *server) PutBudget(
	ctx context.Context, r PutBudgetRequestObject,
) (PutBudgetResponseObject, error) {
	err := s.Usage.PutBudget(ctx, actorOf(ctx), controlplane.Budget{Name: r.Name,
		Scope: controlplane.UsageGroup(r.Body.Scope), Subject: r.Body.Subject,
		Measure: controlplane.BudgetMeasure(r.Body.Measure), Amount: r.Body.Amount,
		Shares: valueOr(r.Body.Shares, nil), Remove: valueOr(r.Body.Remove, false)})
	if err != nil {
		return nil, err
	}
	return PutBudget204Response{}, nil
}

func (s *server) DeleteBudget(
	ctx context.Context, r DeleteBudgetRequestObject,
) (DeleteBudgetResponseObject, error) {
	if err := s.Usage.DeleteBudget(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteBudget204Response{}, nil
}
