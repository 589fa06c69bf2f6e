package jobs_test

import (
	"bytes"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/jobs"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// The journal was edited outside the program: the next verification says where. Retention later
// cuts it, and the rest still holds.
//
// threat: T9
func TestAuditJobs_SayWhatWasTamperedAndCut(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, os.DirFS("../../migrations"))
	store := pgtest.Open(t, url)
	for range 3 {
		e := controlplane.AuditEntry{Actor: "ada", Action: "put", Object: "x"}
		if err := store.InAuditedTx(t.Context(), &e,
			func(*postgres.Tx) error { return nil }); err != nil {
			t.Fatal(err)
		}
	}
	var said bytes.Buffer
	log := slog.New(slog.NewTextHandler(&said, nil))
	journal := audit.New(store, pgtest.AuditKey())
	do := func(job jobs.Job) string {
		t.Helper()
		said.Reset()
		if err := job.Do(t.Context()); err != nil {
			return said.String() + "failed: " + err.Error()
		}
		return said.String()
	}
	if got := do(jobs.VerifyAudit(journal, log)); strings.Contains(got, "ERROR") ||
		!strings.Contains(got, "entries=3 findings=0 head=3 link=") ||
		strings.Contains(got, "failed") {
		t.Errorf("untouched: %s", got)
	}
	pgtest.Exec(t, url, `ALTER TABLE audit DISABLE TRIGGER USER;
		UPDATE audit SET actor = 'eve' WHERE seq = 2; ALTER TABLE audit ENABLE TRIGGER USER`)
	if got := do(jobs.VerifyAudit(journal, log)); !strings.Contains(got, "level=ERROR") ||
		!strings.Contains(got, "entry=2") ||
		!strings.Contains(got, "failed: the audit was tampered with: entry 2: ") {
		t.Errorf("tampered: %s", got)
	}
	if got := do(jobs.CutAudit(journal, time.Hour, log)); got != "" {
		t.Errorf("young entries were cut: %s", got)
	}
	if got := do(jobs.CutAudit(journal, -time.Hour, log)); strings.Contains(got, "failed") {
		t.Errorf("the cut: %s", got)
	}
	if got := do(jobs.VerifyAudit(journal, log)); !strings.Contains(got, "entries=1 findings=0") {
		t.Errorf("after the cut: %s", got)
	}
}
