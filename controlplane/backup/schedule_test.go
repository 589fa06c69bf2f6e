package backup_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/servertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// newBucket is a bucket on an S3 server that checks signatures.
func newBucket(t *testing.T) backup.Target {
	t.Helper()
	server := servertest.NewS3(t, "127.0.0.1")
	client, err := minio.New(strings.TrimPrefix(server.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(servertest.AccessKey, servertest.SecretKey, "")})
	if err == nil {
		err = client.MakeBucket(t.Context(), "backups", minio.MakeBucketOptions{})
	}
	if err != nil {
		t.Fatal(err)
	}
	server.Put("backups", "other/thing", "somebody else's")
	target, err := backup.NewTarget("s3://backups/nullops", backup.S3Access{Endpoint: server.URL,
		Region: "us-east-1", Key: servertest.AccessKey,
		Secret: controlplane.NewPlain(servertest.SecretKey)})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

func newFolder(t *testing.T) backup.Target {
	t.Helper()
	target, err := backup.NewTarget(filepath.Join(t.TempDir(), "backups"), backup.S3Access{})
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// Every target keeps what is whole, and nothing of what failed.
func TestTarget(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	for name, open := range map[string]func(*testing.T) backup.Target{
		"folder": newFolder, "bucket": newBucket} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to := open(t)
			// More than two parts of an upload.
			text := strings.Repeat("0123456789abcdef", 40<<16)
			n, err := to.Write(t.Context(), "one", func(w io.Writer) error {
				_, err := io.WriteString(w, text)
				return err
			})
			if err != nil || n != int64(len(text)) {
				t.Fatalf("%d bytes, %v", n, err)
			}
			broken := errors.New("the database is away")
			_, err = to.Write(t.Context(), "two", func(w io.Writer) error {
				_, _ = io.WriteString(w, text)
				return broken
			})
			if !errors.Is(err, broken) {
				t.Errorf("a backup that breaks: %v", err)
			}
			names, err := to.List(t.Context())
			if err != nil || !slices.Equal(names, []string{"one"}) {
				t.Errorf("it has %v, %v", names, err)
			}
			file, err := to.Open(t.Context(), "one")
			if err != nil {
				t.Fatal(err)
			}
			defer file.Close()
			if got, err := io.ReadAll(file); err != nil || string(got) != text {
				t.Errorf("it returns %d bytes, %v", len(got), err)
			}
			if err := to.Delete(t.Context(), "one"); err != nil {
				t.Error(err)
			}
			if names, err := to.List(t.Context()); err != nil || len(names) != 0 {
				t.Errorf("after removing it: %v, %v", names, err)
			}
		})
	}
}

// What cannot be a target is refused at the start, and not by the first backup at night.
func TestTarget_RefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	for where, says := range map[string]string{"backups": "no absolute path",
		"ftp://host/backups": "neither a folder nor s3://BUCKET", "s3://": "names no bucket",
		"s3://backups": "needs an access key"} {
		_, err := backup.NewTarget(where, backup.S3Access{Endpoint: "https://s3.example.org"})
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v", where, err)
		}
	}
}

func newSchedule(t *testing.T, to backup.Target) (s *backup.Schedule, url string) {
	t.Helper()
	store, url := fillDatabase(t)
	store.ChainAudit(pgtest.AuditKey())
	return &backup.Schedule{Target: to, Keep: 2, Every: time.Hour, Log: slog.New(slog.DiscardHandler),
		Source: backup.Source{Store: store, Migrations: migrations.FS, Keys: newRing(t, "k1"),
			Build: "test"}}, url
}

func databaseName(t *testing.T, database string) string {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimPrefix(u.Path, "/")
}

func listRecords(t *testing.T, store *postgres.Store) []controlplane.BackupRecord {
	t.Helper()
	var all []controlplane.BackupRecord
	err := store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
		all, err = tx.Processes().ListBackups(t.Context())
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// A scheduled backup is read back from its target and restored before it counts, can be restored
// by 'nullops restore', and makes room: the newest are kept, and what is no backup is never
// removed.
func TestSchedule_ProvesEachBackupAndKeepsTheNewest(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	s, url := newSchedule(t, newBucket(t))
	for _, name := range []string{"nullops-20010101T000000Z.backup",
		"nullops-20020101T000000Z.backup", "notes.txt"} {
		if _, err := s.Write(t.Context(), name, func(w io.Writer) error {
			_, err := io.WriteString(w, "x")
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
	last := listRecords(t, s.Store)[0]
	if last.Error != "" || last.VerifiedAt == nil || last.Bytes < 1000 {
		t.Errorf("the backup is noted as %+v", last)
	}
	names, err := s.List(t.Context())
	slices.Sort(names)
	if want := []string{"notes.txt", "nullops-20020101T000000Z.backup", last.Name}; err != nil ||
		!slices.Equal(names, want) {
		t.Errorf("kept %v, %v, want %v", names, err, want)
	}
	file, err := s.Open(t.Context(), last.Name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := io.ReadAll(file)
	if err != nil || strings.Contains(string(text), canary) {
		t.Errorf("it is not encrypted, or cannot be read: %v", err)
	}
	if err := restoreBackup(t, pgtest.NewEmptyDatabase(t), s.Keys, text); err != nil {
		t.Errorf("restored by hand: %v", err)
	}
	scratch := strings.Replace(url, databaseName(t, url), databaseName(t, url)+"_scratch", 1)
	if n := pgtest.QueryValue[int](t, scratch,
		"SELECT count(*)::int FROM pg_tables WHERE schemaname = 'public'"); n != 0 {
		t.Errorf("%d tables are left in the scratch database", n)
	}
}

// forgetfulTarget returns something else than it was given, as a disk that fails does.
type forgetfulTarget struct{ backup.Target }

func (f forgetfulTarget) Write(ctx context.Context, name string, write func(io.Writer) error) (
	int64, error,
) {
	n, err := f.Target.Write(ctx, name, write)
	if err == nil {
		path := filepath.Join(f.String(), name)
		err = os.Truncate(path, n-10)
	}
	return n, err
}

// A backup that cannot be restored has failed, says so where alerts look, and removes no older one.
func TestSchedule_ABackupThatCannotBeRestoredHasFailed(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	s, _ := newSchedule(t, forgetfulTarget{newFolder(t)})
	s.Keep = 1
	older := filepath.Join(s.String(), "nullops-20010101T000000Z.backup")
	if err := errors.Join(os.MkdirAll(s.String(), 0o700),
		os.WriteFile(older, []byte("x"), 0o600)); err != nil {
		t.Fatal(err)
	}
	err := s.Run(t.Context())
	if err == nil || !strings.Contains(err.Error(), "not proven by restoring it") {
		t.Fatalf("it says %v", err)
	}
	for _, b := range listRecords(t, s.Store) {
		if b.VerifiedAt != nil || !strings.Contains(b.Error, "cut off") {
			t.Errorf("noted as %+v", b)
		}
	}
	if names, err := s.List(t.Context()); err != nil || len(names) != 2 {
		t.Errorf("left are %v, %v", names, err)
	}
}

// A database that is called like the scratch database and holds something is never emptied, and
// two backups never share it.
func TestSchedule_LeavesOthersDatabasesAlone(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	s, url := newSchedule(t, newFolder(t))
	if err := s.Store.EnsureScratch(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	scratch := strings.Replace(url, databaseName(t, url), databaseName(t, url)+"_scratch", 1)
	pgtest.Exec(t, scratch, "CREATE TABLE precious (x int)")
	if err := s.Run(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "holds something else") {
		t.Errorf("over a table of somebody: %v", err)
	}
	pgtest.Exec(t, scratch, "DROP TABLE precious")
	first, err := s.Store.OpenScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "is being verified") {
		t.Errorf("beside another one: %v", err)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(t.Context()); err != nil {
		t.Error(err)
	}
}
