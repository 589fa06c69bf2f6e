package usage_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/usage"
)

var ledgerWriter = access.System("usage-ledger")

// writeLedger has two control planes write at once, of which one is killed at some time.
func (r *rig) writeLedger(t *testing.T) {
	t.Helper()
	other := r.restarted()
	ctx, kill := context.WithTimeout(t.Context(), 3*time.Millisecond)
	defer kill()
	var both sync.WaitGroup
	both.Go(func() { _, _ = other.WriteLedger(ctx, ledgerWriter) })
	_, err := r.WriteLedger(t.Context(), ledgerWriter)
	both.Wait()
	if err != nil {
		t.Fatal(err)
	}
}

// restarted is another process on the same database.
func (r *rig) restarted() *usage.Usage {
	return usage.New(r.store, slog.New(slog.DiscardHandler))
}

// balance is what the deployment came to, by the reader's rights.
func (r *rig) balance(t *testing.T, actor access.Actor) controlplane.UsageAmounts {
	t.Helper()
	b, err := r.Balances(t.Context(), actor, usage.BalanceQuery{
		From: time.Now().AddDate(0, 0, -300),
		By:   []controlplane.UsageGroup{controlplane.ByDeployment}})
	if err != nil {
		t.Fatal(err)
	}
	var sum controlplane.UsageAmounts
	for _, row := range b.Rows {
		sum = sum.Add(row.Amounts)
	}
	return sum
}

// age moves what the ledger knows into the past, as if so much time had gone by.
func (r *rig) age(t *testing.T, seconds int) {
	t.Helper()
	pgtest.Exec(t, r.url, fmt.Sprintf(`
		UPDATE usage_events SET at = at - interval '%[1]d seconds';
		UPDATE usage_open SET since = since - interval '%[1]d seconds';
		UPDATE usage_clock SET at = at - interval '%[1]d seconds'`, seconds))
}

// A deployment's whole life through the real trigger: created, resized, moved away and removed,
// with a writer that is killed again and again. The rows come to what was held, an interval that
// is open counts up to now, and nothing is counted twice.
//
// promise: G-20
func TestLedger_ALife(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	r.age(t, 3600)
	if got := r.balance(t, fleet).MillicoreSeconds; got < 3600_000 || got > 3660_000 {
		t.Errorf("an open hour of one core: %d", got)
	}
	pgtest.Exec(t, r.url, `UPDATE deployments SET cpu = 2, memory_mib = 10`)
	r.writeLedger(t)
	r.age(t, 1800)
	pgtest.Exec(t, r.url, `UPDATE deployments SET want = 'gone', status = 'undoing';
		UPDATE deployments SET status = 'canceled'`)
	for range 3 {
		r.writeLedger(t)
	}
	got := r.balance(t, fleet)
	// A core for an hour, two for half of it; the test itself takes some seconds.
	if got.MillicoreSeconds < 7200_000 || got.MillicoreSeconds > 7320_000 ||
		got.MemoryMiBSeconds < 3600+18000 || got.MemoryMiBSeconds > 3660+18600 {
		t.Errorf("a life came to %+v", got)
	}
	r.age(t, 3600)
	if again := r.balance(t, fleet); again != got {
		t.Errorf("what is gone goes on counting: %+v, then %+v", got, again)
	}
}

// Rows never change: the database refuses it, and a correction is a new row that names the old
// one, once.
//
// promise: G-22
func TestLedger_OnlyGrows(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	r.age(t, 600)
	pgtest.Exec(t, r.url, `UPDATE deployments SET cpu = 0`)
	r.writeLedger(t)
	for _, change := range []string{"UPDATE usage_ledger SET millicore_seconds = 0",
		"DELETE FROM usage_ledger", "TRUNCATE usage_ledger"} {
		if reason := pgtest.RefusedExec(t, r.url, change); !strings.Contains(reason, "only grows") {
			t.Errorf("%s: %s", change, reason)
		}
	}
	rows, err := r.ListLedger(t.Context(), fleet, usage.LedgerPage{
		From: time.Now().AddDate(0, 0, -2), Most: 10})
	if err != nil || len(rows) == 0 {
		t.Fatalf("rows: %v, %v", rows, err)
	}
	for _, row := range rows {
		c, err := r.CorrectRow(t.Context(), fleet, row.ID, "a test")
		if err != nil || c.Corrects != row.ID || c.Amounts != row.Amounts.Negate() {
			t.Errorf("correct %+v: %+v, %v", row, c, err)
		}
		_, err = r.CorrectRow(t.Context(), fleet, row.ID, "once more")
		if controlplane.KindOf(err) != controlplane.Conflict {
			t.Errorf("corrected twice: %v", err)
		}
		_, err = r.CorrectRow(t.Context(), fleet, c.ID, "of a correction")
		if controlplane.KindOf(err) != controlplane.Invalid {
			t.Errorf("a correction was corrected: %v", err)
		}
	}
	if got := r.balance(t, fleet).MillicoreSeconds; got != 0 {
		t.Errorf("%d is left after all was taken back", got)
	}
}

// A clock that is ten years ahead when the control plane starts counts for nobody, and neither
// does one that is set back again.
func TestLedger_ClockTenYearsAhead(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	pgtest.Exec(t, r.url, `UPDATE usage_open SET since = since - interval '10 years';
		UPDATE usage_clock SET at = at - interval '10 years'`)
	set, err := r.restarted().WriteLedger(t.Context(), ledgerWriter)
	if err != nil || set < 9*365*24*time.Hour {
		t.Fatalf("clock set by %s, %v", set, err)
	}
	if got := r.balance(t, fleet).MillicoreSeconds; got > 300_000 {
		t.Errorf("ten years came to %d", got)
	}
	pgtest.Exec(t, r.url, `UPDATE usage_open SET since = since + interval '10 years';
		UPDATE usage_clock SET at = at + interval '10 years'`)
	set, err = r.restarted().WriteLedger(t.Context(), ledgerWriter)
	if err != nil || set > -9*365*24*time.Hour {
		t.Fatalf("clock set back by %s, %v", set, err)
	}
	if got := r.balance(t, fleet).MillicoreSeconds; got > 300_000 {
		t.Errorf("ten years, and back, came to %d", got)
	}
}

// Who may read a deployment may read what it came to, and nobody else.
func TestLedger_Rights(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	r.age(t, 600)
	project := controlplane.ProjectID(pgtest.QueryValue[string](t, r.url,
		"SELECT project_id::text FROM deployments"))
	ada := controlplane.User{Name: "ada", Role: controlplane.RoleUser}
	reader := access.User(ada, []controlplane.Grant{
		{Project: project, Level: controlplane.LevelRead}})
	if got := r.balance(t, reader); got.MillicoreSeconds == 0 {
		t.Error("a reader of the project sees nothing")
	}
	if got := r.balance(t, access.User(ada, nil)); got != (controlplane.UsageAmounts{}) {
		t.Errorf("a stranger sees %+v", got)
	}
}

// Traffic of the hours that are complete is written once, to whom the deployment belonged.
func TestLedger_Traffic(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	r.age(t, 6*3600)
	pgtest.Exec(t, r.url, fmt.Sprintf(`
		UPDATE usage_clock SET measured_until = date_trunc('hour', now()) - interval '5 hours';
		INSERT INTO use_samples (subject, step, width, at, count, cpu, cpu_max, memory, memory_max,
			disk_free, net_in, net_out)
		VALUES ('%[1]s', 'web', 3600, date_trunc('hour', now()) - interval '4 hours',
				10, 0, 0, 0, 0, 0, 900, 100),
			('%[1]s', 'web', 3600, date_trunc('hour', now()), 10, 0, 0, 0, 0, 0, 1, 1)`,
		r.deployment))
	for range 2 {
		r.writeLedger(t)
	}
	if got := r.balance(t, fleet).TrafficBytes; got != 5000 {
		t.Errorf("traffic %d, want 5000: ten means of five seconds", got)
	}
}

// A budget tells of each share once, announces removals a day before they begin, and removes
// only where an admin chose that.
//
// promise: G-21
func TestBudgets_NoticesAndRemovals(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	put := func(b controlplane.Budget) {
		t.Helper()
		b.Name, b.Scope, b.Subject = "shop", controlplane.ByProject, "shop"
		b.Measure = controlplane.MeasureCPUHours
		if err := r.PutBudget(t.Context(), fleet, b); err != nil {
			t.Fatal(err)
		}
	}
	check := func() (removed int, notices string) {
		t.Helper()
		for range 2 { // What was said is not said again.
			ids, err := r.CheckBudgets(t.Context(), access.System("budget"))
			if err != nil {
				t.Fatal(err)
			}
			removed = len(ids)
		}
		return removed, pgtest.QueryValue[string](t, r.url, `WITH taken AS (
			DELETE FROM notices WHERE event LIKE 'budget.%' RETURNING event, data)
			SELECT coalesce(string_agg(event || ' ' || (data->>'share'), ',' ORDER BY event), '')
			FROM taken`)
	}
	pgtest.Exec(t, r.url, `UPDATE usage_open SET millicores = 3600 * 1000`) // An hour each second.
	r.age(t, 60)
	put(controlplane.Budget{Amount: 100, Shares: []int{50, 200}})
	if n, said := check(); n != 0 || said != "budget.reached 50" {
		t.Errorf("half of it: %d removed, notices %q", n, said)
	}
	put(controlplane.Budget{Amount: 10, Shares: []int{50, 80}})
	if n, said := check(); n != 0 || said != "budget.reached 80" {
		t.Errorf("all of it: %d removed, notices %q", n, said)
	}
	put(controlplane.Budget{Amount: 10, Shares: []int{50}, Remove: true})
	if n, said := check(); n != 0 || said != "budget.removing 100" {
		t.Errorf("all of it, to be removed: %d removed, notices %q", n, said)
	}
	notice := pgtest.QueryValue[float64](t, r.url, `SELECT extract(epoch FROM remove_at - now())
		/ 3600 FROM budget_notices WHERE remove_at IS NOT NULL`)
	if notice < 23.9 || notice > 24 {
		t.Errorf("people have %.1f hours' notice", notice)
	}
	const aDayLater = `UPDATE budget_notices SET remove_at = now() WHERE remove_at IS NOT NULL`
	pgtest.Exec(t, r.url, aDayLater)
	if n, said := check(); n != 1 || said != "" {
		t.Errorf("a day later: %d removed, notices %q", n, said)
	}
	// Whoever raises the amount in time keeps everything.
	put(controlplane.Budget{Amount: 1e6, Shares: []int{50}, Remove: true})
	pgtest.Exec(t, r.url, aDayLater)
	if n, said := check(); n != 0 || said != "" {
		t.Errorf("with a larger amount: %d removed, notices %q", n, said)
	}
}

// The day between the notice and the first removal is a day, also if the database's clock is set by
// ten years meanwhile.
func TestBudgets_DayOutlivesAJump(t *testing.T) {
	r := newRig(t)
	r.writeLedger(t)
	pgtest.Exec(t, r.url, `UPDATE usage_open SET millicores = 3600 * 1000`) // An hour each second.
	r.age(t, 60)
	err := r.PutBudget(t.Context(), fleet, controlplane.Budget{Name: "shop",
		Scope: controlplane.ByProject, Subject: "shop", Measure: controlplane.MeasureCPUHours,
		Amount: 10, Remove: true})
	if err == nil {
		_, err = r.CheckBudgets(t.Context(), access.System("budget"))
	}
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, r.url, `UPDATE usage_open SET since = since - interval '10 years';
		UPDATE usage_clock SET at = at - interval '10 years';
		UPDATE budget_notices SET remove_at = remove_at - interval '10 years'`)
	ids, err := r.restarted().CheckBudgets(t.Context(), access.System("budget"))
	left := pgtest.QueryValue[float64](t, r.url, `SELECT extract(epoch FROM remove_at - now())
		/ 3600 FROM budget_notices WHERE remove_at IS NOT NULL`)
	// promise: G-21
	if err != nil || len(ids) != 0 || left < 23 || left > 24.1 {
		t.Errorf("after a jump, %d are removed, %.1f hours are left, error %v", len(ids), left, err)
	}
}
