package api_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// waitFor asks again and again until an answer has a status.
func (w *world) waitFor(status int, ask func() answer) (a answer) {
	w.t.Helper()
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if a = ask(); a.status == status {
			return a
		}
		if time.Now().After(end) {
			w.t.Fatalf("it is %d %s, not %d", a.status, a.body, status)
		}
	}
}

// newCreation is the body that makes a deployment of the shop.
func newCreation(name string) map[string]any {
	return map[string]any{"name": name, "project": "shop", "environment": "qa",
		"versions": map[string]string{"api": "1.0"}}
}

// mustBeAway wants the answer for a database that is away: no fault of the request's, and when
// to come back.
func (a answer) mustBeAway() {
	a.t.Helper()
	if a.status != http.StatusServiceUnavailable || a.field("code") != "database_unavailable" ||
		a.header.Get("Retry-After") == "" || a.field("remedy") == "" {
		a.t.Errorf("without its database the API says %d %s, Retry-After %q", a.status, a.body,
			a.header.Get("Retry-After"))
	}
	// What it is made of is for the log alone.
	if inside := regexp.MustCompile(`(?i)pgx|sqlstate|goroutine|\.go:|dial |\.s\.PGSQL`); inside.Match(
		a.body) {
		a.t.Errorf("the answer shows what is inside: %s", a.body)
	}
}

// A server of its own loses the room on its disk, and then its life: meanwhile the API says when
// to come back, nothing is stored in halves, and soon after it everything is as it was.
//
// fault: F13, F16
func TestDatabase_FullThenKilled(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	disk, server := mountSmallDisk(t), pgtest.NewServer(t)
	w := newWorldWith(t, func(w *world) {
		w.database = server.Database(migrations.FS)
		server.MoveTo(disk, w.database)
		w.store = pgtest.Open(t, w.database)
	})
	w.shop()
	shown, full := "/api/v1/deployments/"+string(w.deploy("stays").ID), w.token("full")
	w.diskFull(full, shown, filepath.Join(disk, "ballast"))

	server.Kill()
	for range 3 {
		w.call("GET", shown, full, nil).mustBeAway()
		w.call("POST", "/api/v1/deployments", full, newCreation("killed")).mustBeAway()
	}
	if !strings.Contains(w.log.String(), "request failed") {
		t.Error("the log does not say that requests failed")
	}
	server.Start()
	began := time.Now()
	w.waitFor(http.StatusOK, func() answer { return w.call("GET", shown, full, nil) })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it answered %s after its database", took)
	}
	a := w.call("POST", "/api/v1/deployments", full, newCreation("killed"))
	if a.status != http.StatusCreated {
		t.Errorf("creating works no more: %d %s", a.status, a.body)
	}
	if n := w.countRows("deployments WHERE name = 'killed'"); n != 1 {
		t.Errorf("%d deployments were made of what was refused and asked again", n)
	}
}

// diskFull fills the disk under the database: a creation fails as a whole, reading works, and with
// room again so does creating.
func (w *world) diskFull(token, shown, ballast string) {
	w.t.Helper()
	fillDisk(w.t, ballast)
	made := 0
	for ; ; made++ {
		name := fmt.Sprintf("late-%d", made)
		a := w.call("POST", "/api/v1/deployments", token, newCreation(name))
		if a.status == http.StatusCreated && made < 200 {
			continue // What has room in pages that are there already is stored.
		}
		a.mustBeAway()
		if n := w.countRows("deployments WHERE name = '" + name + "'"); n != 0 {
			w.t.Errorf("%s was refused, and is there", name)
		}
		break
	}
	if n := w.countRows("runs"); n != int64(made)+1 {
		w.t.Errorf("%d runs of %d deployments", n, made+1)
	}
	if n := w.countRows("runs r WHERE NOT EXISTS (SELECT FROM run_steps WHERE run_id = r.id)"); n > 0 {
		w.t.Errorf("%d runs have no steps", n)
	}
	if a := w.call("GET", shown, token, nil); a.status != http.StatusOK {
		w.t.Errorf("with a full disk reading says %d %s", a.status, a.body)
	}
	if err := os.Remove(ballast); err != nil {
		w.t.Fatal(err)
	}
	w.waitFor(http.StatusCreated, func() answer {
		return w.call("POST", "/api/v1/deployments", token, newCreation("with-room"))
	})
}

func (w *world) countRows(of string) int64 {
	w.t.Helper()
	return pgtest.QueryValue[int64](w.t, w.database, "SELECT count(*) FROM "+of)
}

// The connection breaks in each commit that creating a deployment takes, before or behind
// PostgreSQL's own decision. The same request again ends in one deployment, with one run and
// one entry in the audit log that says that it was made.
//
// fault: F14
func TestDatabase_ConnectionLostInTheCommit(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	var proxy *pgtest.Proxy
	w := newWorldWith(t, func(w *world) {
		var through string
		proxy, through = pgtest.NewProxy(t, w.database)
		w.store = pgtest.Open(t, through)
	})
	w.shop()
	full := w.token("full")
	broken := 0
	for at, cut := range map[string]pgtest.CommitCut{"before": pgtest.CutBeforeCommit,
		"after": pgtest.CutAfterCommit} {
		for nth := 1; ; nth++ {
			name := fmt.Sprintf("%s-%d", at, nth)
			proxy.CutCommit(nth, cut)
			first := w.withKey("POST", "/api/v1/deployments", full, name, newCreation(name))
			if proxy.Waits() {
				break // All commits of a creation were cut, one after the other.
			}
			broken++
			if first.status != http.StatusCreated {
				first.mustBeAway()
			}
			w.createdOnce(full, name)
		}
		proxy.CutCommit(0, pgtest.NoCut)
	}
	if broken < 4 {
		t.Errorf("only %d commits were cut", broken)
	}
}

// createdOnce asks again with the same key, as a client does.
func (w *world) createdOnce(token, name string) {
	w.t.Helper()
	// A process that died holds the key for a minute.
	pgtest.Exec(w.t, w.database, `UPDATE idempotency_keys SET created_at = now() - interval '1 minute'
		WHERE status IS NULL`)
	again := w.waitFor(http.StatusCreated, func() answer {
		return w.withKey("POST", "/api/v1/deployments", token, name, newCreation(name))
	})
	id := again.field("id")
	where := " WHERE deployment_id = '" + id + "'"
	if n := w.countRows("deployments WHERE name = '" + name + "'"); n != 1 {
		w.t.Errorf("%s: %d deployments", name, n)
	}
	if runs, hosts := w.countRows("runs"+where), w.countRows("deployment_hosts"+where); runs != 1 ||
		hosts == 0 {
		w.t.Errorf("%s: %d runs, %d hosts", name, runs, hosts)
	}
	if n := w.countRows("audit WHERE action = 'create deployment' AND result = 'ok' AND " +
		"detail = '' AND object LIKE '%" + name + "'"); n != 1 {
		w.t.Errorf("%s: %d entries say that it was made", name, n)
	}
}

// mountSmallDisk mounts a disk of 64 MiB in memory.
func mountSmallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root mounts disks")
	}
	// PostgreSQL's user has to get there.
	dir, err := os.MkdirTemp("", "nullops-disk-")
	if err == nil {
		err = syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64m,mode=700")
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("unmount: %v", err)
		}
		_ = os.Remove(dir)
	})
	return dir
}

// fillDisk writes a file until nothing more fits beside it.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for size := 1 << 20; size > 0; {
		if _, err := f.Write([]byte(strings.Repeat("x", size))); err != nil {
			size /= 2
		}
	}
}
