package backup_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// volumeWorld is a database with one deployment that has two volumes, on a node that a test can
// have fail.
type volumeWorld struct {
	*backup.VolumeCopier

	t      *testing.T
	url    string
	folder string
	nodes  *fakeNodes
}

// fakeNodes holds volumes by name. What is named in fail fails in its middle.
type fakeNodes struct {
	content map[string][]byte
	fail    string
	reads   []string
}

func (f *fakeNodes) Volumes(context.Context, controlplane.NodeID, controlplane.DeploymentID,
	bool) (controlplane.VolumesState, error) {
	return controlplane.VolumesState{Still: true}, nil
}

func (f *fakeNodes) ReadVolume(_ context.Context, _ controlplane.NodeID,
	_ controlplane.DeploymentID, v controlplane.VolumeName, _ bool, to io.Writer) error {
	f.reads = append(f.reads, v.Name)
	if f.fail == v.Name {
		_, err := to.Write(f.content[v.Name][:100])
		return errors.Join(err, errors.New("the disk is broken"))
	}
	_, err := to.Write(f.content[v.Name])
	return err
}

func (f *fakeNodes) WriteVolume(_ context.Context, _ controlplane.NodeID,
	_ controlplane.RelocationAttempt, v controlplane.VolumeName, from io.Reader) (string, error) {
	f.content[v.Name] = nil
	if f.fail == v.Name {
		return "", errors.New("the disk is full")
	}
	all, err := io.ReadAll(from)
	f.content[v.Name] = all
	return "", err
}

func newVolumeWorld(t *testing.T) *volumeWorld {
	t.Helper()
	t.Parallel()
	w := &volumeWorld{t: t, url: pgtest.NewFilledDatabase(t, migrations.FS),
		folder: filepath.Join(t.TempDir(), "backup"),
		nodes: &fakeNodes{content: map[string][]byte{"data": packFile(t, "data"),
			"own": packFile(t, "own")}}}
	pgtest.Exec(t, w.url, `DELETE FROM relocations; DELETE FROM volume_holds;
		DELETE FROM unknown_deployments;
		UPDATE runs SET pipeline = '{"steps": [{"key": "web", "service": {"name": "web",
			"volumes": [{"name": "data", "path": "/data"}, {"name": "own", "path": "/own"},
				{"name": "cache", "path": "/cache", "stays": true}]}}]}'
		WHERE deployment_id = (SELECT id FROM deployments WHERE name = 'first')`)
	store := pgtest.Open(t, w.url)
	log := slog.New(slog.DiscardHandler)
	w.VolumeCopier = &backup.VolumeCopier{Nodes: w.nodes, Holder: "this process", Log: log,
		Source: backup.Source{Store: store, Migrations: migrations.FS, Keys: newRing(t, "k1")},
		Deployments: lifecycle.New(lifecycle.Config{Store: store, Log: log,
			IngressURL: &url.URL{Scheme: "http", Host: "localhost"}})}
	return w
}

// packFile returns an archive as the engine makes it.
func packFile(t *testing.T, content string) []byte {
	t.Helper()
	var all bytes.Buffer
	w := tar.NewWriter(&all)
	err := w.WriteHeader(&tar.Header{Name: "volume/file", Mode: 0o600, Size: int64(len(content))})
	_, wrote := w.Write([]byte(content))
	if err = errors.Join(err, wrote, w.Close()); err != nil {
		t.Fatal(err)
	}
	return all.Bytes()
}

func (w *volumeWorld) backUp(running bool) (states []string, err error) {
	w.t.Helper()
	results, err := w.Backup(w.t.Context(), system, backup.BackupOptions{Folder: w.folder,
		Running: running, VolumeSelection: lifecycle.VolumeSelection{Environment: "qa"}})
	return statesOf(results), err
}

func (w *volumeWorld) restore() (states []string, err error) {
	w.t.Helper()
	f, err := backup.OpenFolder(w.folder, w.Keys)
	if err != nil {
		return nil, err
	}
	results, err := w.Restore(w.t.Context(), system, f, backup.RestoreOptions{})
	return statesOf(results), err
}

func statesOf(results []backup.VolumeResult) (states []string) {
	for _, r := range results {
		states = append(states, r.Volume.Name+" "+r.State)
	}
	return states
}

// holds counts the deployments whose services are stopped.
func (w *volumeWorld) holds() int64 {
	w.t.Helper()
	return pgtest.QueryValue[int64](w.t, w.url,
		`SELECT count(*) FROM node_goals WHERE still AND NOT elsewhere`)
}

func (w *volumeWorld) expectError(err error, parts ...string) {
	w.t.Helper()
	for _, p := range parts {
		if err == nil || !strings.Contains(err.Error(), p) {
			w.t.Errorf("the error does not say %q: %v", p, err)
		}
	}
}

// A backup that failed is continued. Volumes that have to fit each other are copied at one time;
// others are not copied again.
func TestVolumes_BackupContinues(t *testing.T) {
	for _, running := range []bool{false, true} {
		t.Run(map[bool]string{false: "stopped", true: "running"}[running], func(t *testing.T) {
			w := newVolumeWorld(t)
			w.nodes.fail = "own"
			_, err := w.backUp(running)
			w.expectError(err, "deployment first: volume own of service web: the disk is broken",
				"not complete")
			w.nodes.fail = ""
			states, err := w.backUp(running)
			want := map[bool][]string{
				false: {"web/cache not copied: it stays on its node", "data copied", "own copied"},
				true:  {"web/cache not copied: it stays on its node", "data copied before", "own copied"},
			}[running]
			if err != nil || !slices.Equal(states, want) {
				t.Errorf("continued: %q, %v", states, err)
			}
			reads := map[bool][]string{false: {"data", "own", "data", "own"},
				true: {"data", "own", "own"}}[running]
			if !slices.Equal(w.nodes.reads, reads) || w.holds() != 0 {
				t.Errorf("it read %q, and %d deployments are held", w.nodes.reads, w.holds())
			}
			_, err = w.backUp(running)
			w.expectError(err, "is complete")
		})
	}
}

// An archive that was cut off, as when a file shrinks while it is read, is no copy.
func TestVolumes_BackupRefusesCutArchives(t *testing.T) {
	testpart.Rotate(t)
	w := newVolumeWorld(t)
	whole := w.nodes.content["data"]
	for _, end := range []int{len(whole) - 1024, 600, 512, 0} {
		w.nodes.content["data"] = whole[:end]
		_, err := w.backUp(true)
		w.expectError(err, "volume data of service web", "what was read is not whole")
	}
	_, err := w.restore()
	w.expectError(err, "its copy is not complete")
}

// A restore that fails in the middle says what is in. The services do not start with half of
// their data, and the next restore continues at once.
func TestVolumes_HalfRestoredStaysStopped(t *testing.T) {
	w := newVolumeWorld(t)
	if _, err := w.backUp(false); err != nil {
		t.Fatal(err)
	}
	w.nodes.content["data"], w.nodes.fail = []byte("newer"), "own"
	states, err := w.restore()
	w.expectError(err, "volume own of service web: the disk is full; restored: web/data; "+
		"not restored: web/own")
	if !slices.Equal(states, []string{"data restored on node alpha"}) || w.holds() != 1 {
		t.Errorf("half restored: %q, %d held", states, w.holds())
	}
	first := controlplane.DeploymentID(pgtest.QueryValue[string](t, w.url,
		`SELECT id::text FROM deployments WHERE name = 'first'`))
	d, err := w.Deployments.Get(t.Context(), system, first)
	if err != nil || !strings.Contains(d.Detail, "only partly restored") {
		t.Errorf("it says %q: %v", d.Detail, err)
	}
	if err := w.Deployments.EndLostVolumeHolds(t.Context(), system); err != nil || w.holds() != 1 {
		t.Errorf("nobody restores it, and %d are held: %v", w.holds(), err)
	}
	w.nodes.fail = ""
	if states, err = w.restore(); err != nil || len(states) != 2 || w.holds() != 0 {
		t.Errorf("again: %q, %d held: %v", states, w.holds(), err)
	}
	if !bytes.Equal(w.nodes.content["data"], packFile(t, "data")) {
		t.Error("the volume has something else")
	}
}

// A backup whose process died lets the services start again. Until they had their time to start,
// nobody is told that they do not work.
func TestVolumes_DeadBackupLetsServicesStart(t *testing.T) {
	w := newVolumeWorld(t)
	all, err := w.Deployments.ListVolumes(t.Context(), system, lifecycle.VolumeSelection{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%v: %v", all, err)
	}
	id := all[0].ID
	start := func(holder string) error {
		_, err := w.Deployments.StartVolumeBackup(t.Context(), system, id, holder, false)
		return err
	}
	if err := start("dies"); err != nil {
		t.Fatal(err)
	}
	w.expectError(start("another"), "are being copied into a backup")
	sweep := func() {
		t.Helper()
		if err := w.Deployments.EndLostVolumeHolds(t.Context(), system); err != nil {
			t.Fatal(err)
		}
	}
	if sweep(); w.holds() != 1 {
		t.Error("a backup that lives is ended")
	}
	pgtest.Exec(t, w.url, `UPDATE service_health SET health = 'stopped';
		UPDATE volume_holds SET seen_at = now() - interval '1 minute'`)
	const degraded = `SELECT degraded_reason(id) FROM deployments WHERE name = 'first'`
	if sweep(); w.holds() != 0 || pgtest.QueryValue[string](t, w.url, degraded) != "" {
		t.Errorf("%d held, degraded: %s", w.holds(), pgtest.QueryValue[string](t, w.url, degraded))
	}
	pgtest.Exec(t, w.url, `UPDATE volume_holds SET ended_at = now() - interval '10 minutes'`)
	sweep()
	if n := pgtest.QueryValue[int64](t, w.url, `SELECT count(*) FROM volume_holds`); n != 0 ||
		!strings.Contains(pgtest.QueryValue[string](t, w.url,
			`SELECT degraded FROM deployments WHERE name = 'first'`), "not running") {
		t.Errorf("%d holds are left, or nobody is told that the service does not start", n)
	}
}
