package gate_test

import (
	"crypto/sha256"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// Rows of the world. The last two digits of an id are unique within it.
const (
	idPrefix   = "00000000-0000-4000-8000-0000000000"
	qa         = controlplane.EnvironmentID(idPrefix + "10")
	vault      = controlplane.EnvironmentID(idPrefix + "11")
	first      = controlplane.DeploymentID(idPrefix + "30")
	second     = controlplane.DeploymentID(idPrefix + "31")
	locked     = controlplane.DeploymentID(idPrefix + "32")
	firstHost  = "api.first.qa.localhost"
	secondHost = "api.second.qa.localhost"
	lockedHost = "api.locked.vault.localhost"
)

// rows are two deployments in an environment that follows the grants on the project,
// and one in a restricted environment. Everyone has a session until 2030-01-02 00:00.
const rows = `
INSERT INTO users (id, name, display_name, role, password_hash)
SELECT ('ID' || n)::uuid, name, name, role,
	'$argon2id$v=19$m=65536,t=1,p=2$c2FsdA$aGFzaA' FROM (VALUES ('01', 'root', 'admin'),
	('02', 'full', 'user'), ('03', 'reader', 'user'), ('04', 'stranger', 'user')) v (n, name, role);
INSERT INTO sessions (id, user_id, hash, created_at, last_used_at, expires_at)
SELECT ('ID5' || n)::uuid, ('ID0' || n)::uuid, decode(repeat('0' || n, 32), 'hex'),
	'2030-01-01T00:00:00Z', '2030-01-01T00:00:00Z', '2030-01-02T00:00:00Z'
FROM generate_series(1, 4) n;
INSERT INTO environments (id, name, domain, restricted) VALUES ('ID10', 'qa', 'localhost', false),
	('ID11', 'vault', 'localhost', true);
INSERT INTO projects (id, name, cpu, memory_mib) VALUES ('ID20', 'shop', 2, 1024);
INSERT INTO teams (id, name) VALUES ('ID40', 'full'), ('ID41', 'readers');
INSERT INTO memberships (team_id, user_id) VALUES ('ID40', 'ID02'), ('ID41', 'ID03');
INSERT INTO grants (team_id, project_id, level) VALUES ('ID40', 'ID20', 'full'),
	('ID41', 'ID20', 'read');
INSERT INTO deployments (id, name, project_id, environment_id, node_name, created_by, status,
	ready_at, cpu, memory_mib, last_event, last_line)
SELECT ('ID' || n)::uuid, name, 'ID20', ('ID' || e)::uuid, 'node-1', 'full', 'failed', NULL, 1,
	1, 0, 0
FROM (VALUES ('30', 'first', '10'), ('31', 'second', '10'), ('32', 'locked', '11')) v (n, name, e);
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
VALUES ('ID20', 1, '{"steps": []}', 'sha256:1', 'root');
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by, ended_at)
SELECT ('ID6' || n)::uuid, ('ID3' || n)::uuid, 1, 'ID20', 1, '{"steps": []}', '\x01026b31af',
	'failed', 'full', now() FROM generate_series(0, 2) n;
INSERT INTO deployment_hosts VALUES ('api.first.qa.localhost', 'ID30', 'api', 'http', 80, true),
	('web.first.qa.localhost', 'ID30', 'web', 'http', 80, true),
	('api.second.qa.localhost', 'ID31', 'api', 'http', 80, true),
	('api.locked.vault.localhost', 'ID32', 'api', 'http', 80, true);
`

// world is a gate with a clock that the test moves, on a database of its own.
type world struct {
	*gate.Gate
	t     *testing.T
	store *postgres.Store
	url   string
	clock atomic.Pointer[time.Time]
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, url: pgtest.URL(t, os.DirFS("../../migrations"))}
	w.execSQL(strings.ReplaceAll(rows, "'ID", "'"+idPrefix))
	w.store = pgtest.Open(t, w.url)
	start := time.Date(2030, 1, 1, 1, 0, 0, 0, time.UTC)
	w.clock.Store(&start)
	w.Gate = gate.New(w.store, w.currentTime)
	return w
}

func (w *world) currentTime() time.Time { return *w.clock.Load() }

func (w *world) advanceClock(by time.Duration) {
	at := w.currentTime().Add(by)
	w.clock.Store(&at)
}

func (w *world) execSQL(sql string) {
	w.t.Helper()
	pgtest.Exec(w.t, w.url, sql)
}

var (
	system = access.System("test")
	names  = []string{"root", "full", "reader", "stranger"}
)

// loadActor loads a user with their grants and their session, as the API does.
func (w *world) loadActor(name string) (a access.Actor) {
	w.t.Helper()
	session := ""
	for i, n := range names {
		if n == name {
			session = idPrefix + "5" + string(rune('1'+i))
		}
	}
	return w.withoutSession(name).InSession(controlplane.SessionID(session))
}

// withoutSession is the same person with an API token.
func (w *world) withoutSession(name string) (a access.Actor) {
	w.t.Helper()
	err := w.store.Read(w.t.Context(), func(tx *postgres.Tx) error {
		u, err := tx.Users().ByName(w.t.Context(), name)
		if err != nil {
			return err
		}
		grants, err := tx.Teams().ListGrants(w.t.Context(), u.ID)
		a = access.User(u.User, grants)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// signInAtHost signs a person in at a host, and returns their pass.
func (w *world) signInAtHost(name, host string) controlplane.Plain {
	w.t.Helper()
	code, err := w.CreateSignInCode(w.t.Context(), w.loadActor(name), host)
	if err != nil {
		w.t.Fatal(err)
	}
	pass, _, ok, err := w.Redeem(w.t.Context(), system, host, code)
	if err != nil || !ok {
		w.t.Fatalf("redeem: %v %v", ok, err)
	}
	return pass
}

func (w *world) createGuestLink(id controlplane.DeploymentID, life time.Duration) (
	controlplane.Pass, controlplane.Plain) {
	w.t.Helper()
	p, _, token, err := w.CreateGuestLink(
		w.t.Context(),
		system,
		id,
		gate.GuestLinkRequest{Label: "ACME", Life: life},
	)
	if err != nil {
		w.t.Fatal(err)
	}
	return p, token
}

func (w *world) addRobotPass(environment string) (controlplane.Pass, controlplane.Plain) {
	w.t.Helper()
	p, token, err := w.AddRobot(w.t.Context(), system, environment,
		gate.GuestLinkRequest{Label: "CI", Life: 24 * time.Hour})
	if err != nil {
		w.t.Fatal(err)
	}
	return p, token
}

// checkPasses returns the passes that are valid now.
func (w *world) checkPasses(carried ...controlplane.Plain) []gate.ValidPass {
	w.t.Helper()
	all, err := w.Check(w.t.Context(), system, carried)
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

func hashOf(p controlplane.Plain) []byte {
	sum := sha256.Sum256([]byte(p.Reveal()))
	return sum[:]
}
