package alerts_test

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

const idPrefix = "00000000-0000-4000-8000-0000000000"

// rows are a node with a lease in qa and one deployment on it, for people with different rights.
const rows = `
INSERT INTO environments (id, name, domain) VALUES ('ID10', 'qa', 'localhost');
INSERT INTO projects (id, name, cpu, memory_mib) VALUES ('ID20', 'shop', 2, 1024);
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
VALUES ('ID20', 1, '{"steps": []}', 'sha256:1', 'root');
INSERT INTO nodes (id, name, environment_id, address, status, thumbprint, inventory, vitals)
VALUES ('ID25', 'alpha', 'ID10', 'alpha:5000', 'online', repeat('b', 64), '{"checks": []}',
	'{"disk_free": 99000000000}');
INSERT INTO node_leases (node_id, holder, epoch, expires_at)
VALUES ('ID25', 'h', 1, now() + interval '1 hour');
INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name, created_by,
	status, ready_at, cpu, memory_mib, last_event, last_line)
VALUES ('ID30', 'first', 'ID20', 'ID10', 'ID25', 'alpha', 'full', 'ready', now(), 1, 1, 0, 0);
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by) VALUES ('ID50', 'ID30', 1, 'ID20', 1, '{"steps": []}', '\x01026b31af',
	'ready', 'full');
INSERT INTO jobs (name, every) VALUES ('verify_audit', '1 hour'), ('expire', '1 minute');
DELETE FROM notices; DELETE FROM node_events;
`

func fill(sql string) string { return strings.ReplaceAll(sql, "ID", idPrefix) }

type bed struct {
	*alerts.Alerts
	t   *testing.T
	url string
}

func newBed(t *testing.T, change func(*alerts.Config)) *bed {
	t.Helper()
	b := &bed{t: t, url: pgtest.URL(t, migrations.FS)}
	b.exec(rows)
	limits := alerts.DefaultLimits()
	limits.DiskFloor, limits.Queue, limits.Backup = 1<<30, 10*time.Minute, 48*time.Hour
	c := alerts.Config{Store: pgtest.Open(t, b.url), Limits: limits, URL: "http://nullops.test",
		Log:   slog.New(slog.DiscardHandler),
		Delay: func(controlplane.AlertRule) time.Duration { return 0 }}
	if change != nil {
		change(&c)
	}
	b.Alerts = alerts.New(c)
	return b
}

func (b *bed) exec(sql string) {
	b.t.Helper()
	pgtest.Exec(b.t, b.url, fill(sql))
}

func (b *bed) evaluate() {
	b.t.Helper()
	if err := b.Evaluate(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

var root = access.User(controlplane.User{ID: idPrefix + "01", Name: "root",
	Role: controlplane.RoleAdmin, Active: true}, nil)

// find returns the alert of a condition, and whether it is active.
func (b *bed) find(condition string) (a controlplane.Alert, active bool) {
	b.t.Helper()
	all, err := b.List(b.t.Context(), root, true)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, one := range all {
		if one.Condition == condition {
			return one, one.EndedAt == nil
		}
	}
	return a, false
}

// notices counts what subscribers are told of a condition.
func (b *bed) notices(event, condition string) int64 {
	b.t.Helper()
	return pgtest.QueryValue[int64](b.t, b.url, `SELECT count(*) FROM notices WHERE event = '`+
		event+`' AND data ->> 'condition' = '`+condition+`'`)
}

// cases are what each condition of the database starts and ends by.
func cases() map[string]struct{ start, end, detail string } {
	const process = `INSERT INTO processes (id, role, release, skew, report, seen_at) VALUES `
	const gone = "DELETE FROM processes"
	return map[string]struct{ start, end, detail string }{
		"node.offline": {"UPDATE nodes SET status = 'offline'", "UPDATE nodes SET status = 'online'",
			"alpha"},
		"node.untrusted": {"UPDATE nodes SET status = 'untrusted'",
			"UPDATE nodes SET status = 'offline'; UPDATE nodes SET status = 'online'", "alpha"},
		"node.incompatible": {"UPDATE nodes SET status = 'incompatible', detail = 'it runs v0'",
			"UPDATE nodes SET status = 'online', detail = ''", "it runs v0"},
		"node.flapping": {"DELETE FROM node_events; INSERT INTO node_events (node_id, kind) " +
			"SELECT 'ID25', 'offline' FROM generate_series(1, 4)", "DELETE FROM node_events", "4 times"},
		"node.check": {`UPDATE nodes SET inventory = '{"checks": [{"id": "guard",
			"severity": "critical", "detail": "no rules"}]}'`,
			`UPDATE nodes SET inventory = '{"checks": [{"id": "guard", "severity": "ok"}]}'`, "no rules"},
		"node.disk": {`UPDATE nodes SET vitals = '{"disk_free": 1048576}'`,
			`UPDATE nodes SET vitals = '{"disk_free": 99000000000}'`, "1 MiB free"},
		"node.disk_filling": {`INSERT INTO use_samples (subject, width, at, count, cpu, cpu_max,
			memory, memory_max, disk_free) SELECT 'ID25', 60, now() - n * interval '1 minute', 1, 0, 0,
			0, 0, 1000000 + n * 10000 FROM generate_series(1, 60) n`, "DELETE FROM use_samples",
			"2 hours"},
		"node.no_lease": {"UPDATE node_leases SET expires_at = now() - interval '1 s'",
			"UPDATE node_leases SET expires_at = now() + interval '1 hour'", "alpha"},
		"deployment.degraded": {"UPDATE deployments SET degraded = 'api is unhealthy.'",
			"UPDATE deployments SET degraded = ''", "api is unhealthy."},
		"deployment.stuck": {"UPDATE deployments SET status = 'removing'; " +
			"UPDATE deployments SET status = 'stuck', detail = 'a volume is left'",
			"UPDATE deployments SET status = 'removing'", "a volume is left"},
		"queue.slow": {"INSERT INTO queue (run_id, deployment_id, scope, queued_at) VALUES " +
			"('ID50', 'ID30', 'ID10', now() - interval '11 minutes')", "DELETE FROM queue", "1 run "},
		"certificate.order": {`INSERT INTO acme_certificates (id, environment_id, subject, names,
			wanted, next_try, failures, error) VALUES ('ID60', 'ID10', '*.qa', '{}', true, now(), 2,
			'no such zone')`, "UPDATE acme_certificates SET failures = 0, error = ''", "no such zone"},
		"backup.failed": {"INSERT INTO backups (error) VALUES ('no room')",
			"INSERT INTO backups (error) VALUES ('')", "no room"},
		"backup.old": {"INSERT INTO backups (error, at) VALUES ('', now() - interval '50 hours')",
			"INSERT INTO backups (error) VALUES ('')", "50 hours"},
		"audit.broken": {"UPDATE jobs SET failures = 1, failed_because = '" +
			controlplane.AlertTampered + ": entry 2' WHERE name = 'verify_audit'",
			"UPDATE jobs SET failures = 0, failed_because = ''", "entry 2"},
		"job.failing": {"UPDATE jobs SET failures = 3, failed_because = 'no disk' " +
			"WHERE name = 'expire'", "UPDATE jobs SET failures = 0, failed_because = ''", "no disk"},
		"events.late": {"INSERT INTO notices (event, at) VALUES ('node.online', " +
			"now() - interval '3 minutes')", "DELETE FROM notices WHERE event = 'node.online'",
			"180 seconds"},
		"process.lost": {process + "('host/1', 'controlplane', 'v1', 0, '{}', " +
			"now() - interval '1 minute')", "UPDATE processes SET seen_at = now()", "controlplane host"},
		"process.clock": {process + "('host/2', 'ingress', 'v1', -9, '{}', now())",
			"UPDATE processes SET skew = 0", "-9.0 seconds"},
		"database.pool": {process + `('host/3', 'controlplane', 'v1', 0, '{"pool_waits": 70,
			"pool_exhausted": true}', now())`, gone, "70 waits"},
		"key.missing": {process + `('host/6', 'controlplane', 'v1', 0, '{"missing_keys": {"k0": 3}}',
			now())`, gone, "k0 of the controlplane host is missing: 3 values"},
		"ingress.stale": {process + `('host/4', 'ingress', 'v1', 0, '{"routes_age": 400}', now())`,
			gone, "400 seconds"},
		"ingress.errors": {process + `('host/5', 'ingress', 'v1', 0, '{"answers": {"qa":
			{"answers": 100, "errors": 20}, "other": {"answers": 9, "errors": 9}}}', now())`, gone,
			"20 of 100"},
	}
}

// Each condition's alert starts with what it is found by, and ends with it; each is told once. Each
// has a database of its own: what one leaves behind, such as a deployment that is being removed,
// may not decide about another. What it is found by is written here; the stories AlertCauses,
// OtherCommands, NodeTrust and others, and TestAlerts of fleet, bring about what causes it.
func TestEvaluate_StartsAndEndsWithTheCause(t *testing.T) {
	t.Parallel()
	known := cases()
	for condition, c := range known {
		t.Run(condition, func(t *testing.T) {
			t.Parallel()
			b := newBed(t, nil)
			b.evaluate()
			if _, active := b.find(condition); active {
				t.Errorf("it is active without a cause")
			}
			b.exec(c.start)
			b.evaluate()
			b.evaluate()
			a, active := b.find(condition)
			if !active || !strings.Contains(a.Summary(), c.detail) || a.Remedy() == "" ||
				strings.Contains(a.Summary(), "{") {
				t.Errorf("it has its cause: active is %v, %q", active, a.Summary())
			}
			b.exec(c.end)
			b.evaluate()
			b.evaluate()
			if _, active := b.find(condition); active {
				t.Error("it is active after its cause is gone")
			}
			started, ended := b.notices("alert.started", condition), b.notices("alert.ended", condition)
			if started != 1 || ended != 1 {
				t.Errorf("it is told %d times at its start and %d at its end", started, ended)
			}
		})
	}
	for _, r := range controlplane.AlertRules() {
		_, stored := known[r.Condition]
		elsewhere := r.Condition == "database.size" || strings.HasPrefix(r.Condition, "certificate.") ||
			r.Condition == "registry.failing" ||
			// Of these, the tests of their packages bring about the cause itself: TestSources_… of the
			// API, TestSchedule_… and TestReport_ARefusalIsAnAlert of review.
			r.Condition == "source.failing" || strings.HasPrefix(r.Condition, "rule.")
		if !stored && !elsewhere {
			t.Errorf("%s is tested nowhere", r.Condition)
		}
	}
}

// What is found outside the database's tables starts and ends alike; what could not be looked for
// stays as it was.
func TestEvaluate_AsksItsSources(t *testing.T) {
	t.Parallel()
	now := time.Now()
	failing, broken := map[string]string{"hub": "it does not answer"}, error(nil)
	b := newBed(t, func(c *alerts.Config) {
		c.Now = func() time.Time { return now }
		c.Limits.Database = 1
		c.Sources = []alerts.Source{
			alerts.Registries(func(context.Context) (map[string]string, error) {
				return failing, broken
			}),
			alerts.Certificates(c.Store, c.Now),
		}
	})
	expect := func(when string, want bool, conditions ...string) {
		t.Helper()
		b.evaluate()
		for _, condition := range conditions {
			if a, active := b.find(condition); active != want {
				t.Errorf("%s: %s is active: %v, %q", when, condition, active, a.Summary())
			}
		}
	}
	b.putCertificate(now.Add(24 * time.Hour))
	expect("at the start", true, "registry.failing", "certificate.expiring", "database.size")
	b.Limits.Database = 0
	expect("with no limit", false, "database.size")
	failing = nil
	expect("before it is looked for again", true, "registry.failing")
	broken = errors.New("no network")
	now = now.Add(2 * time.Minute)
	expect("when it is not known", true, "registry.failing")
	broken = nil
	now = now.Add(24 * time.Hour)
	expect("once it is gone", false, "registry.failing", "certificate.expiring")
	expect("a day later", true, "certificate.expired")
	b.putCertificate(now.Add(90 * 24 * time.Hour))
	now = now.Add(time.Hour)
	expect("once it is renewed", false, "certificate.expired")
}

// A source that never answers holds up nothing: sources are asked side by side, each for a while.
func TestEvaluate_SourcesHoldUpNothing(t *testing.T) {
	t.Parallel()
	asked, bounded := make(chan struct{}), false
	b := newBed(t, func(c *alerts.Config) {
		c.Sources = []alerts.Source{
			{Conditions: []string{"registry.failing"}, Every: time.Minute,
				Find: func(ctx context.Context) ([]controlplane.AlertCause, error) {
					end, ok := ctx.Deadline()
					bounded = ok && time.Until(end) < 30*time.Second
					<-asked
					return nil, errors.New("it does not answer")
				}},
			{Conditions: []string{"source.failing"}, Every: time.Minute,
				Find: func(context.Context) ([]controlplane.AlertCause, error) {
					close(asked)
					return nil, nil
				}},
		}
	})
	b.exec("UPDATE nodes SET status = 'offline'")
	b.evaluate()
	if _, active := b.find("node.offline"); !active || !bounded {
		t.Errorf("the node's alert is active: %v; the source that hangs has an end: %v", active, bounded)
	}
}

// What comes from outside and is too long, too much or twice the same keeps no other alert from
// being stored: neither an agent that lies about its checks nor a registry that says a lot.
func TestEvaluate_CausesFromOutside(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *alerts.Config) {
		c.Sources = []alerts.Source{alerts.Registries(
			func(context.Context) (map[string]string, error) {
				return map[string]string{"hub": strings.Repeat("no \x00", 10_000)}, nil
			})}
	})
	b.exec(`UPDATE nodes SET inventory = jsonb_build_object('checks', (SELECT jsonb_agg(
			jsonb_build_object('id', repeat('x', 5000) || n % 500, 'severity', 'critical',
			'detail', repeat('y', 5000))) FROM generate_series(1, 1000) n));
		UPDATE deployments SET degraded = 'api is gone'`)
	for range 3 {
		b.evaluate()
	}
	for _, condition := range []string{"node.check", "registry.failing", "deployment.degraded"} {
		if _, active := b.find(condition); !active || b.notices("alert.started", condition) != 1 {
			t.Errorf("%s is active: %v, and told %d times", condition, active,
				b.notices("alert.started", condition))
		}
	}
}

// A process that crashed is missed, until one is started again on its machine: that has another id.
func TestProcesses_StartedAgain(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.exec(`INSERT INTO processes (id, role, release, started_at, seen_at) VALUES
		('host/1', 'ingress', 'v1', now() - interval '1 hour', now() - interval '1 minute'),
		('host/2', 'controlplane', 'v1', now(), now()),
		('other/3', 'ingress', 'v1', now() - interval '1 hour', now())`)
	for range 2 {
		b.evaluate()
	}
	if a, active := b.find("process.lost"); !active || a.Subject != "host/1" {
		t.Errorf("another role, or another machine, stands for it: %+v", a)
	}
	b.exec(`INSERT INTO processes (id, role, release) VALUES ('host/4', 'ingress', 'v1')`)
	for range 2 {
		b.evaluate()
	}
	if _, active := b.find("process.lost"); active {
		t.Error("it is missed although it was started again")
	}
}

// A cause that does not last is nothing; nobody is told.
func TestEvaluate_WaitsForTheDelay(t *testing.T) {
	t.Parallel()
	b := newBed(t, func(c *alerts.Config) { c.Delay = nil })
	b.exec("UPDATE nodes SET status = 'offline'")
	b.evaluate()
	if _, active := b.find("node.offline"); active {
		t.Error("a node that has just gone is an alert")
	}
	b.exec("UPDATE alerts SET active_at = now()")
	b.evaluate()
	if _, active := b.find("node.offline"); !active ||
		b.notices("alert.started", "node.offline") != 1 {
		t.Error("a node that stays away is no alert")
	}
	b.exec("UPDATE nodes SET status = 'online'")
	b.evaluate()
	b.exec("UPDATE nodes SET status = 'offline'")
	b.evaluate()
	b.exec("UPDATE nodes SET status = 'online'")
	b.evaluate()
	if n := pgtest.QueryValue[int64](t, b.url, "SELECT count(*) FROM alerts"); n != 1 {
		t.Errorf("%d alerts are left of one", n)
	}
}

// A silence holds notifications back, always ends, and what is active then is told.
func TestSilence(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.exec("UPDATE deployments SET degraded = 'api is gone'")
	b.exec(`INSERT INTO alert_silences (condition, subject, until, created_by)
		VALUES ('deployment.degraded', 'ID30', now() + interval '1 hour', 'root')`)
	b.evaluate()
	a, active := b.find("deployment.degraded")
	if !active || b.notices("alert.started", a.Condition) != 0 {
		t.Error("a silent alert is told, or not there")
	}
	for name, until := range map[string]time.Time{"none": {}, "past": time.Now().Add(-time.Hour),
		"far": time.Now().Add(31 * 24 * time.Hour)} {
		_, err := b.Silence(t.Context(), root, a.ID, until, "")
		if controlplane.CodeOf(err) != "silence_without_end" {
			t.Errorf("a silence with the end %s: %v", name, err)
		}
	}
	got, err := b.Silence(t.Context(), root, a.ID, time.Now().Add(time.Hour), "maintenance")
	if err != nil || got.Silence.Until == nil || got.Silence.Reason != "maintenance" ||
		got.Silence.By != "root" {
		t.Errorf("it is silenced: %+v, %v", got.Silence, err)
	}
	b.evaluate()
	b.exec("UPDATE alert_silences SET until = now() - interval '1 s'")
	b.evaluate()
	if b.notices("alert.started", a.Condition) != 1 {
		t.Error("it is active when the silence ends, and nobody is told")
	}
	if n := pgtest.QueryValue[int64](t, b.url, "SELECT count(*) FROM alert_silences"); n != 0 {
		t.Error("a silence that is over is kept")
	}
}

// People see, and change, what is about deployments and environments of theirs; others see
// nothing, and readers change nothing. Everything is in the audit.
func TestPeople(t *testing.T) {
	t.Parallel()
	b := newBed(t, nil)
	b.exec(`UPDATE deployments SET degraded = 'api is gone'; UPDATE nodes SET status = 'untrusted';
		INSERT INTO queue (run_id, deployment_id, scope, queued_at) VALUES
		('ID50', 'ID30', 'ID10', now() - interval '11 minutes')`)
	b.exec("UPDATE nodes SET status = 'offline'; UPDATE nodes SET status = 'online'")
	b.exec(`UPDATE nodes SET vitals = '{"disk_free": 1}'`)
	b.evaluate()
	person := func(grants ...controlplane.Grant) access.Actor {
		return access.User(controlplane.User{ID: idPrefix + "02", Name: "ada",
			Role: controlplane.RoleUser, Active: true}, grants)
	}
	project := controlplane.Grant{Project: idPrefix + "20", Level: controlplane.LevelRead}
	environment := controlplane.Grant{Environment: idPrefix + "10", Level: controlplane.LevelFull}
	for name, c := range map[string]struct {
		actor access.Actor
		want  string
	}{
		"admin":       {root, "deployment.degraded node.disk queue.slow"},
		"project":     {person(project), "deployment.degraded"},
		"environment": {person(environment), "deployment.degraded queue.slow"},
		"stranger":    {person(), ""},
	} {
		all, err := b.List(t.Context(), c.actor, false)
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]bool{}
		for _, a := range all {
			got[a.Condition] = true
		}
		if want := strings.Fields(c.want); len(got) != len(want) {
			t.Errorf("%s sees %v, want %s", name, got, c.want)
		}
	}
	a, _ := b.find("deployment.degraded")
	for want, actor := range map[controlplane.Kind]access.Actor{
		controlplane.NotFound: person(), controlplane.Forbidden: person(project)} {
		if _, err := b.Acknowledge(t.Context(), actor, a.ID); controlplane.KindOf(err) != want {
			t.Errorf("acknowledged by who may not: %v", err)
		}
	}
	for _, actor := range []access.Actor{person(environment), root} {
		if got, err := b.Acknowledge(t.Context(), actor, a.ID); err != nil ||
			got.AcknowledgedBy != "ada" || got.AcknowledgedAt == nil {
			t.Errorf("acknowledged: %q, %v", got.AcknowledgedBy, err)
		}
	}
	disk, _ := b.find("node.disk")
	if _, err := b.Acknowledge(t.Context(), person(environment), disk.ID); controlplane.KindOf(err) !=
		controlplane.NotFound {
		t.Errorf("a node's alert is somebody's: %v", err)
	}
	entries := pgtest.QueryValue[int64](t, b.url,
		"SELECT count(*) FROM audit WHERE action = 'acknowledge alert'")
	if entries != 5 {
		t.Errorf("%d entries are in the audit", entries)
	}
}

// A dead man's switch hears of us once a minute, and an address that fails is an error without
// the address in it.
func TestHeartbeat(t *testing.T) {
	t.Parallel()
	var beats atomic.Int64
	status := http.StatusOK
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		beats.Add(1)
		w.WriteHeader(status)
	}))
	defer server.Close()
	now := time.Now()
	beat := alerts.NewHeartbeat(server.URL+"/secret", func() time.Time { return now })
	b := newBed(t, func(c *alerts.Config) { c.Beat = beat })
	b.evaluate()
	b.evaluate()
	if beats.Load() != 1 {
		t.Errorf("%d beats within a minute", beats.Load())
	}
	now, status = now.Add(time.Minute), http.StatusBadGateway
	err := b.Evaluate(t.Context())
	if err == nil || !strings.Contains(err.Error(), "alerts.heartbeat") ||
		strings.Contains(err.Error(), "secret") || beats.Load() != 2 {
		t.Errorf("after %d beats: %v", beats.Load(), err)
	}
	if alerts.NewHeartbeat("", time.Now) != nil {
		t.Error("without an address there is a switch")
	}
}

// putCertificate stores an uploaded certificate that ends then.
func (b *bed) putCertificate(end time.Time) {
	b.t.Helper()
	err := pgtest.Open(b.t, b.url).InTx(b.t.Context(), func(tx *postgres.Tx) error {
		return tx.Certificates().Put(b.t.Context(), controlplane.Certificate{ID: idPrefix + "70",
			Name: "wild", Chain: selfSigned(b.t, end), Key: controlplane.Sealed("\x01\x02k1x"),
			CreatedBy: "root", CreatedAt: time.Now()})
	})
	if err != nil {
		b.t.Fatal(err)
	}
}
