package api_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// An admin sees how backups ended and where they go, and makes the next one due. Without a
// target, that is refused.
func TestBackups_AreListedAndStarted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	if a := w.call("POST", "/api/v1/backups", w.token("root"), nil); a.status !=
		http.StatusConflict || a.field("code") != "no_backup_target" {
		t.Errorf("without a target: %d %s", a.status, a.body)
	}
	target, err := backup.NewTarget(t.TempDir(), backup.S3Access{})
	if err != nil {
		t.Fatal(err)
	}
	w = newWorldWith(t, func(*world) {}, func(c *api.Config) {
		c.Backups = &backup.Schedule{Source: c.Backups.Source, Target: target, Keep: 3,
			Every: 24 * time.Hour}
	})
	w.people()
	root := w.token("root")
	err = w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		if err := tx.Jobs().Put(t.Context(), backup.JobName, time.Hour); err != nil {
			return err
		}
		return tx.Processes().RecordBackup(t.Context(), controlplane.BackupRecord{
			Name: "nullops-20300102T150405Z.backup", Bytes: 42, Error: "the disk is full"})
	})
	if err != nil {
		t.Fatal(err)
	}
	var got api.BackupList
	text := w.expect(http.StatusOK, "GET", "/backups", root, nil, &got).body
	if got.Schedule == nil || got.Schedule.Target != target.String() ||
		got.Schedule.EveryHours != 24 || len(got.Items) != 1 ||
		*got.Items[0].Error != "the disk is full" || *got.Items[0].Bytes != 42 {
		t.Errorf("%s", text)
	}
	pgtest.Exec(t, w.database, "UPDATE jobs SET next_at = now() + interval '1 day'")
	w.expect(http.StatusAccepted, "POST", "/backups", root, nil, nil)
	if !pgtest.QueryValue[bool](t, w.database, "SELECT next_at <= now() FROM jobs WHERE name = $1",
		backup.JobName) {
		t.Error("no backup is due")
	}
}
