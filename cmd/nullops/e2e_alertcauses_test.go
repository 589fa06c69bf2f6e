package main_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// troubled is an installation whose database has a server and a clock of its own: what takes hours
// until it is an alert comes by setting that clock, as a machine that slept does.
type troubled struct {
	*product
	clock clock
	node  *node
	edge  string // the database as the role of the ingress
}

// alertCauses brings about what takes long, what is locked, and what only several processes
// can do to each other; alertsByCause has the rest.
func alertCauses(t *testing.T, w *world) {
	testpart.Rotate(t)
	dir := shortDir(t)
	if err := os.Chmod(dir, 0o755); err != nil { // the database has a user of its own
		t.Fatal(err)
	}
	x := &troubled{clock: newClock(t, dir, "database")}
	server := pgtest.NewServer(t, x.clock.preload(t)...)
	x.product = startProductOn(t, w, server.Database(migrations.FS))
	x.applyShop(t)
	x.define(t, "waits", webStep("web"))
	x.node = x.enrol(t, "alpha", "qa")
	stale := x.ingressLosesRights(t)
	x.nodeFlaps(t)
	x.queueWaits(t)
	x.timePasses(t)
	x.databaseIsLocked(t)
	x.backupsFindNoRoom(t)
	x.processesDiffer(t)
	x.ingressCrashes(t, stale)
}

// fires waits until an alert of each condition is active whose summary holds a text.
func (x *troubled) fires(t *testing.T, causes map[string]string) {
	t.Helper()
	x.awaitAlerts(t, true, causes) // promise: O-02
}

// ends waits until none of them is.
func (x *troubled) ends(t *testing.T, causes map[string]string) {
	t.Helper()
	x.awaitAlerts(t, false, causes) // promise: O-02
}

// ingressLosesRights runs the ingress as a role of its own, and takes the right to read routes from
// it, as somebody does who hardens a database. It serves on with the routes that it has. That
// counts after five minutes, so the caller looks later.
func (x *troubled) ingressLosesRights(t *testing.T) (stale map[string]string) {
	t.Helper()
	pgtest.Exec(t, x.database, "CREATE ROLE edge LOGIN")
	x.edge = strings.Replace(x.database, "postgres@", "edge@", 1)
	key, errs, code := runCommand(t, x.w.binary, nil, "", "keys", "new")
	if code != 0 {
		t.Fatalf("keys new: %s", errs)
	}
	own := "NULLOPS_INGRESS_KEYS=" + strings.TrimSpace(key)
	x.controlPlane.stop(t)
	x.vault = []string{own} // of both processes
	x.startControlPlane(t, "NULLOPS_INGRESS_ROLE=edge")
	x.ingress.stop(t)
	x.startEdge(t)
	eventually(t, "the ingress tells that it is alive", func() string {
		if pgtest.QueryValue[int64](t, x.database, `SELECT count(*) FROM processes
			WHERE role = 'ingress' AND stopped_at IS NULL`) != 1 {
			return "it does not"
		}
		return ""
	})
	pgtest.Exec(t, x.database, "REVOKE SELECT ON route_rows, environments FROM edge")
	return map[string]string{"ingress.stale": "serves routes that are"}
}

// startEdge starts the ingress as its own role, with keys of its own.
func (x *troubled) startEdge(t *testing.T) {
	t.Helper()
	_, args := x.settings()
	env := append([]string{"DATABASE_URL=" + x.edge}, x.vault...)
	x.ingress = startProcess(t, x.w.binary, "ingress", x.dir, env,
		append([]string{"ingress", "--ingress.listen=" + x.ingressAddr}, args...)...)
	x.awaitDoor(t, x.ingress, x.ingressAddr)
}

// nodeFlaps kills the agent again and again.
func (x *troubled) nodeFlaps(t *testing.T) {
	t.Helper()
	for range 4 {
		x.node.agent.kill()
		x.node.await(t, apiclient.NodeStatusOffline)
		x.node.start(t)
		x.node.await(t, apiclient.NodeStatusOnline)
	}
	x.fires(t, map[string]string{"node.flapping": "alpha went offline 4 times"})
}

// queueWaits deploys while the only node is away, and waits for longer than is allowed.
func (x *troubled) queueWaits(t *testing.T) {
	t.Helper()
	x.controlPlane.stop(t)
	x.startControlPlane(t, "NULLOPS_ALERTS_QUEUE=1", "NULLOPS_ALERTS_BACKUP=1")
	slow := map[string]string{"queue.slow": "In qa, 1 run waited"}
	x.node.agent.stop(t)
	x.node.await(t, apiclient.NodeStatusOffline)
	var d apiclient.Deployment
	x.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", object{"name": "waits",
		"project": "waits", "environment": "qa", "wait": true}, &d)
	x.fires(t, slow)
	x.node.start(t)
	x.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	x.ends(t, slow)
}

// timePasses sets the database's clock: the clocks of the others differ then, the last backup is
// old, and what flapped has been quiet since. A certificate ends meanwhile.
func (x *troubled) timePasses(t *testing.T) {
	t.Helper()
	x.putCertificate(t, "ended", time.Now().Add(5*time.Second))
	if said, code := x.backsUpTo(t, filepath.Join(x.dir, "first.backup")); code != 0 {
		t.Errorf("the backup fails: %s", said)
	}
	x.ends(t, map[string]string{"backup.old": "", "process.clock": "", "certificate.expired": ""})
	time.Sleep(6 * time.Second) // until the certificate has ended
	x.controlPlane.stop(t)      // it looks at certificates every five minutes, and at its start
	x.clock.set(t, 2*time.Hour)
	x.startControlPlane(t, "NULLOPS_ALERTS_BACKUP=1")
	x.fires(t, map[string]string{"backup.old": "2 hours", "process.clock": "-7200",
		"certificate.expired": "ended"})
	x.ends(t, map[string]string{"node.flapping": ""})
	x.does(t, "certificate", "delete", "ended")
	if said, code := x.backsUpTo(t, filepath.Join(x.dir, "second.backup")); code != 0 {
		t.Errorf("the backup fails: %s", said)
	}
	x.clock.set(t, 0)
	x.controlPlane.stop(t)
	x.startControlPlane(t)
	x.ends(t, map[string]string{"backup.old": "", "process.clock": "", "certificate.expired": ""})
}

// databaseIsLocked holds two tables, as a session does that forgot to commit: no control plane can
// keep a node's lease, and nothing can be handed out of what people are to be told.
func (x *troubled) databaseIsLocked(t *testing.T) {
	t.Helper()
	bell := x.watchAlarms(t, "alert.started", "alert.ended")
	free := x.lock(t, "node_leases, deliveries", "SHARE")
	x.node.agent.kill() // somebody is to be told of that
	x.fires(t, map[string]string{"node.offline": "alpha"})
	x.clock.set(t, 3*time.Minute)
	causes := map[string]string{"node.no_lease": "alpha", "events.late": "seconds late"}
	x.fires(t, causes)
	eventually(t, "people are to be told of both", func() string {
		if pgtest.QueryValue[int64](t, x.database, `SELECT count(*) FROM notices WHERE
			event = 'alert.started' AND data ->> 'condition' IN ('node.no_lease', 'events.late')`) < 2 {
			return "not yet"
		}
		return ""
	})
	free()
	x.clock.set(t, 0)
	x.node.start(t)
	x.ends(t, causes)
	for _, text := range []string{"holds the lease of node alpha", "seconds late"} {
		bell.rings(t, "alert.started", text, func() {})
		bell.rings(t, "alert.ended", text, func() {})
	}
}

// lock holds tables until it is called off.
func (x *troubled) lock(t *testing.T, tables, mode string) (free func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), x.database)
	if err == nil {
		_, err = conn.Exec(t.Context(), "BEGIN; LOCK TABLE "+tables+" IN "+mode+" MODE")
	}
	if err != nil {
		t.Fatal(err)
	}
	free = sync.OnceFunc(func() { _ = conn.Close(context.WithoutCancel(t.Context())) })
	t.Cleanup(free)
	return free
}

// backupsFindNoRoom has backups made where there is no room: a job fails again and again.
func (x *troubled) backupsFindNoRoom(t *testing.T) {
	t.Helper()
	folder := mountDisk(t, "16m")
	ballast := filepath.Join(folder, "ballast")
	fillDisk(t, ballast)
	x.controlPlane.stop(t)
	x.startControlPlane(t, "NULLOPS_BACKUP_TO="+folder)
	hurry := func() { // a job that failed is due again in a minute
		pgtest.Exec(t, x.database, "UPDATE jobs SET next_at = now() WHERE name = 'back_up'")
	}
	eventually(t, "the job has failed three times", func() string {
		hurry()
		n := pgtest.QueryValue[int32](t, x.database,
			"SELECT failures FROM jobs WHERE name = 'back_up'")
		if n < 3 {
			return formatNumber(int(n)) + " failures"
		}
		return ""
	})
	causes := map[string]string{"job.failing": "no space left", "backup.failed": "no space left"}
	x.fires(t, causes)
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	hurry()
	x.ends(t, causes)
}

// processesDiffer starts a second control plane with a new key, which the first does not have, and
// keeps all connections of the first one busy. The second one shows both.
func (x *troubled) processesDiffer(t *testing.T) {
	t.Helper()
	x.controlPlane.stop(t)
	x.startControlPlane(t)
	first, old := x.admin, x.key
	fresh, errs, code := runCommand(t, x.w.binary, nil, "", "keys", "new")
	if code != 0 {
		t.Fatalf("keys new: %s", errs)
	}
	x.key = strings.Replace(strings.TrimSpace(fresh), "k1:", "k2:", 1) + "," + old
	x.admin = x.startReplica(t, "controlplane-2").admin
	x.admin.put(t, "/projects/waits/secrets/NEW", object{"value": "sealed with it"}, nil)
	missing := map[string]string{"key.missing": "of the controlplane"}
	x.fires(t, missing)

	free := x.lock(t, "services", "ACCESS EXCLUSIVE")
	asking, stop := context.WithCancel(t.Context())
	var people sync.WaitGroup
	for range 20 {
		people.Go(func() { first.keepAsking(asking, "/services") })
	}
	exhausted := map[string]string{"database.pool": "controlplane"}
	x.fires(t, exhausted)
	stop()
	free()
	people.Wait()
	x.ends(t, exhausted)

	x.controlPlane.stop(t)
	x.startControlPlane(t)
	x.ends(t, missing)
}

// keepAsking asks for a list again and again, whatever the answer is.
func (who *person) keepAsking(ctx context.Context, path string) {
	for ctx.Err() == nil {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, who.p.url+"/api/v1"+path, nil)
		if err != nil {
			return
		}
		r.Header.Set("Authorization", "Bearer "+who.token)
		if a, err := http.DefaultClient.Do(r); err == nil {
			_ = a.Body.Close()
		}
	}
}

// ingressCrashes waits until the routes of the ingress are too old. Then it crashes, and is gone
// until somebody starts it again, which gives it its rights back too.
func (x *troubled) ingressCrashes(t *testing.T, stale map[string]string) {
	t.Helper()
	x.fires(t, stale)
	lost := map[string]string{"process.lost": "The ingress"}
	x.ingress.kill()
	x.ends(t, stale)
	x.fires(t, lost)
	pgtest.Exec(t, x.database, "GRANT SELECT ON route_rows, environments TO edge")
	x.startEdge(t)
	x.ends(t, lost)
	x.ends(t, stale)
}
