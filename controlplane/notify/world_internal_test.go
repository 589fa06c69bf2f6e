package notify

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

const (
	idPrefix = "00000000-0000-4000-8000-0000000000"
	first    = controlplane.DeploymentID(idPrefix + "30")
	locked   = controlplane.DeploymentID(idPrefix + "31")
	nodeID   = controlplane.NodeID(idPrefix + "25")
	secret   = "canary-hook-51ce9b"
)

// rows are a deployment in qa and one in the restricted vault, and people with
// different rights to see them.
const rows = `
INSERT INTO users (id, name, display_name, role, password_hash)
SELECT ('ID' || n)::uuid, name, name, role,
	'$argon2id$v=19$m=65536,t=1,p=2$c2FsdA$aGFzaA' FROM (VALUES ('01', 'root', 'admin'),
	('02', 'full', 'user'), ('03', 'reader', 'user'), ('04', 'stranger', 'user')) v (n, name, role);
INSERT INTO environments (id, name, domain, restricted) VALUES ('ID10', 'qa', 'localhost', false),
	('ID11', 'vault', 'localhost', true);
INSERT INTO projects (id, name, cpu, memory_mib) VALUES ('ID20', 'shop', 2, 1024);
INSERT INTO pipeline_versions (project_id, version, pipeline, digest, created_by)
VALUES ('ID20', 1, '{"steps": []}', 'sha256:1', 'root');
INSERT INTO teams (id, name) VALUES ('ID40', 'full'), ('ID41', 'readers');
INSERT INTO memberships (team_id, user_id) VALUES ('ID40', 'ID02'), ('ID41', 'ID03');
INSERT INTO grants (team_id, project_id, level) VALUES ('ID40', 'ID20', 'full'),
	('ID41', 'ID20', 'read');
INSERT INTO nodes (id, name, environment_id, address, status, thumbprint)
VALUES ('ID25', 'alpha', 'ID10', 'alpha.example:5000', 'online', repeat('b', 64));
INSERT INTO deployments (id, name, project_id, environment_id, node_name, created_by, status,
	ready_at, cpu, memory_mib, last_event, last_line)
VALUES ('ID30', 'first', 'ID20', 'ID10', 'alpha', 'full', 'failed', NULL, 1, 1, 0, 0),
	('ID31', 'locked', 'ID20', 'ID11', 'alpha', 'root', 'failed', NULL, 1, 1, 0, 0);
INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline, key_sealed,
	status, started_by, ended_at, failure_step, failure_code,
	failure_message)
SELECT ('ID5' || n)::uuid, ('ID3' || n)::uuid, 1, 'ID20', 1, '{"steps": []}', '\x01026b31af',
	'failed', 'full', now(), 'api', 'start', 'port 8080 is taken' FROM generate_series(0, 1) n;
INSERT INTO deployment_hosts VALUES ('api.first.qa.localhost', 'ID30', 'api', 'http', 80, true),
	('alias.localhost', 'ID30', 'api', 'http', 80, false);
DELETE FROM notices;
`

var root = access.User(controlplane.User{ID: idPrefix + "01", Name: "root",
	Role: controlplane.RoleAdmin, Active: true}, nil)

// plainVault seals by a prefix: what is tested here is who opens what, not how.
type plainVault struct{}

func (plainVault) SealWebhookSecret(
	_ access.Actor, id string, p controlplane.Plain,
) (controlplane.Sealed, error) {
	return controlplane.Sealed(id + "|" + p.Reveal()), nil
}

func (plainVault) OpenWebhookSecret(
	_ access.Actor, id string, s controlplane.Sealed,
) (controlplane.Plain, error) {
	value, ok := strings.CutPrefix(string(s), id+"|")
	if !ok {
		return controlplane.Plain{}, fmt.Errorf("%s is not sealed under this id", id)
	}
	return controlplane.NewPlain(value), nil
}

// world is a Notify that nothing runs but the test.
type world struct {
	*Notifier
	t   *testing.T
	url string
}

func newConfig() Config {
	return Config{Vault: plainVault{}, Off: controlplane.OffLimits{Loopback: true},
		URL: "http://nullops.test", Log: slog.New(slog.DiscardHandler),
		Addresses: func(hosts []controlplane.Host) []string {
			urls := []string{}
			for _, h := range hosts {
				if h.Main {
					urls = append(urls, "http://"+h.Host)
				}
			}
			return urls
		},
		Pause: func(int) time.Duration { return 0 }}
}

func newWorld(t *testing.T, change ...func(*Config)) *world {
	t.Helper()
	w := &world{t: t, url: pgtest.URL(t, os.DirFS("../../migrations"))}
	w.execSQL(rows)
	w.Notifier = w.newReplica(change...)
	return w
}

// newReplica returns the notifier of another control plane on the same database.
func (w *world) newReplica(change ...func(*Config)) *Notifier {
	w.t.Helper()
	c := newConfig()
	for _, f := range change {
		f(&c)
	}
	c.Store = pgtest.Open(w.t, w.url)
	n := New(c)
	w.t.Cleanup(n.client.CloseIdleConnections)
	return n
}

func (w *world) execSQL(sql string) {
	w.t.Helper()
	pgtest.Exec(w.t, w.url, strings.ReplaceAll(sql, "'ID", "'"+idPrefix))
}

// hook stores a webhook, active for all events of failed deployments unless changed.
func (w *world) hook(name, address string, change ...func(*WebhookPut)) WebhookSaved {
	w.t.Helper()
	plain := controlplane.NewPlain(address)
	p := WebhookPut{Name: name, Kind: controlplane.WebhookJSON, URL: &plain, Active: true,
		Events: []string{"deployment.failed"}}
	for _, f := range change {
		f(&p)
	}
	saved, err := w.PutWebhook(w.t.Context(), root, p)
	if err != nil {
		w.t.Fatal(err)
	}
	return saved
}

// insertNotice stores an event of a deployment.
func (w *world) insertNotice(event string, id controlplane.DeploymentID) {
	w.t.Helper()
	w.execSQL(fmt.Sprintf("INSERT INTO notices (event, deployment_id) VALUES ('%s', '%s')", event, id))
}

// run hands out and sends until nothing is due.
func (w *world) run() {
	w.t.Helper()
	later := time.Now().Add(time.Hour)
	if err := w.runOnce(w.t.Context(), &later); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) listDeliveries(name string) []controlplane.Delivery {
	w.t.Helper()
	all, _, err := w.ListDeliveries(w.t.Context(), root, name, controlplane.Page{})
	if err != nil {
		w.t.Fatal(err)
	}
	return all
}

// receiver keeps what it was sent, and answers as the test says.
type receiver struct {
	*httptest.Server
	mu      sync.Mutex
	headers []http.Header
	bodies  []string
	answer  func(http.ResponseWriter, int)
}

func newReceiver(t *testing.T, answer func(w http.ResponseWriter, number int)) *receiver {
	t.Helper()
	r := &receiver{answer: answer}
	r.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.headers, r.bodies = append(r.headers, req.Header), append(r.bodies, string(body))
		if r.answer != nil {
			r.answer(w, len(r.bodies))
		}
	}))
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) receivedRequests() ([]http.Header, []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.headers, r.bodies
}

func runInTx(t *testing.T, s *postgres.Store, fn func(*postgres.Tx) error) {
	t.Helper()
	if err := s.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}
