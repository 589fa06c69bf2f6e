package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
)

// ingressWorld is a control plane and an ingress of its own key and role, on a database with
// rows in every table.
type ingressWorld struct {
	url, role   string
	plane, edge *serverBase
	node        nodes.Enrolment
}

func newIngressWorld(t *testing.T, agentAddress string) *ingressWorld {
	t.Helper()
	w := &ingressWorld{url: pgtest.NewFilledDatabase(t, migrations.FS),
		role: "ingress_" + strings.ReplaceAll(uuid.NewString(), "-", "")}
	// What the rows hold was sealed with no key at all.
	pgtest.Exec(t, w.url, `DELETE FROM key_check; DELETE FROM identity; DELETE FROM ingress_values;
		DELETE FROM certificates; DELETE FROM acme_certificates; DELETE FROM certificate_authority;
		UPDATE audit_head SET sealed_key = NULL; CREATE ROLE `+w.role)
	s := defaultSettings()
	s.Database.URL, s.Ingress.Role = w.url, w.role
	s.HTTP.URL, s.Ingress.URL = "http://localhost:8080", "http://localhost:8081"
	s.Master.Keys, s.Ingress.Keys = newTestKey(t, "k1"), newTestKey(t, "i1")
	log := slog.New(slog.DiscardHandler)
	var err error
	if w.plane, err = openBase(t.Context(), s, log, false); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.plane.close)
	w.fill(t, agentAddress)
	own := s
	own.Master.Keys, own.Ingress.Role = "", ""
	own.Database.URL = asRole(t, w.url, w.role)
	if err := own.checkIngress(); err != nil {
		t.Fatal(err)
	}
	if w.edge, err = openIngress(t.Context(), own, log); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.edge.close)
	return w
}

func newTestKey(t *testing.T, kid string) string {
	t.Helper()
	key, err := seal.NewKey(kid)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// asRole connects with the rights of a role, as if it had signed in.
func asRole(t *testing.T, dsn, role string) string {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("options", "-c role="+role)
	u.RawQuery = strings.ReplaceAll(q.Encode(), "+", "%20")
	return u.String()
}

// fill adds a node and an authority, and has the control plane publish for the ingress.
func (w *ingressWorld) fill(t *testing.T, address string) {
	t.Helper()
	ctx, system := t.Context(), access.System("test")
	environment := pgtest.QueryValue[string](t, w.url, "SELECT name FROM environments LIMIT 1")
	var err error
	w.node, err = w.plane.nodes.AddNode(ctx, system, nodes.Put{Name: "tunneled",
		Environment: environment, Address: address})
	if err != nil {
		t.Fatal(err)
	}
	pgtest.Exec(t, w.url, `INSERT INTO node_leases (node_id, holder, epoch, expires_at)
		VALUES ($1, 'test', 1, now())`, string(w.node.Node.ID))
	if _, err = w.plane.certificates.MakeAuthority(ctx, system); err != nil {
		t.Fatal(err)
	}
	f := &ingressFeed{certificates: catalogCertificates{w.plane.certificates}}
	if err = w.plane.publishIfChanged(ctx, f); err != nil {
		t.Fatal(err)
	}
}

// Everything that the process of the ingress holds opens no secret and sends no order: its
// keys, its role in the database, and what it opens there.
//
// promise: N-333
// threat: T53
func TestIngress_OpensNoSecretAndCommandsNoAgent(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := newIngressWorld(t, l.Addr().String())
	w.readsRoutesAndWritesVisits(t)
	w.hasNoOtherRights(t)
	w.opensNoSecret(t)
	w.commandsNoAgent(t, l)
}

// A control plane runs as a role that changes no table, after another one has migrated, and
// says what to do while a migration is missing.
func TestControlPlane_RunsAsARoleThatDoesNotMigrate(t *testing.T) {
	t.Parallel()
	dsn, log := pgtest.URL(t, migrations.FS), slog.New(slog.DiscardHandler)
	role := "server_" + strings.ReplaceAll(uuid.NewString(), "-", "")
	pgtest.Exec(t, dsn, "CREATE ROLE "+role)
	s := defaultSettings()
	s.Database.URL, s.Database.Role, s.Master.Keys = dsn, role, newTestKey(t, "k1")
	s.HTTP.URL, s.Ingress.URL = "http://localhost:8080", "http://localhost:8081"
	if err := migrateUp(t.Context(), s, log); err != nil {
		t.Fatal(err)
	}
	s.Database.URL, s.Database.Migrate = asRole(t, dsn, role), "off"
	b, err := openBase(t.Context(), s, log, false)
	if err != nil {
		t.Fatal(err)
	}
	defer b.close()
	if _, err = b.certificates.MakeAuthority(t.Context(), access.System("test")); err != nil {
		t.Errorf("the role cannot write: %v", err)
	}
	if pgtest.QueryValue[bool](t, dsn, "SELECT has_schema_privilege($1, 'public', 'CREATE')", role) {
		t.Error("the role makes tables")
	}
	pgtest.Exec(t, dsn, `DELETE FROM goose_db_version
		WHERE version_id = (SELECT max(version_id) FROM goose_db_version)`)
	if _, err = openBase(t.Context(), s, log, false); err == nil ||
		!strings.Contains(err.Error(), "nullops migrate up") {
		t.Errorf("with a migration missing it starts: %v", err)
	}
}

// readsRoutesAndWritesVisits uses everything that the ingress does, with its role.
func (w *ingressWorld) readsRoutesAndWritesVisits(t *testing.T) {
	t.Helper()
	ctx, e := t.Context(), w.edge
	routes, err := e.lifecycle.Routes(ctx, ingressTask)
	if err != nil || len(routes) == 0 {
		t.Fatalf("%d routes, %v", len(routes), err)
	}
	deployment, node := routes[0].Deployment, w.node.Node.ID
	pgtest.Exec(t, w.url, fmt.Sprintf(`ALTER TABLE deployments DISABLE TRIGGER USER;
		UPDATE deployments SET want = 'present', status = 'ready', ready_at = now(),
			node_id = (SELECT id FROM nodes WHERE environment_id = deployments.environment_id LIMIT 1)
			WHERE id = '%s';
		UPDATE environments SET ignore_visits = false;
		ALTER TABLE deployments ENABLE TRIGGER USER`, deployment))
	user := pgtest.QueryValue[string](t, w.url, "SELECT id::text FROM users LIMIT 1")
	pass := pgtest.QueryValue[string](t, w.url, "SELECT id::text FROM gate_passes LIMIT 1")
	served, failed := e.newCertificateSource().openServed(ctx)
	if failed != nil || served.Authority == nil || !strings.Contains(served.Authority.Key, "PRIVATE") {
		t.Errorf("the authority did not arrive: %v", failed)
	}
	_, _, err = e.lifecycle.RoutesOf(ctx, ingressTask, []string{string(deployment)},
		[]string{string(node)})
	_, front := e.gate.IngressConfig(ctx, ingressTask)
	_, checked := e.gate.CheckHashes(ctx, ingressTask, [][]byte{make([]byte, 32)})
	_, _, _, redeemed := e.gate.Redeem(ctx, ingressTask, routes[0].Host,
		controlplane.NewPlain("nogc_"+strings.Repeat("a", 26)))
	_, _, challenged := e.answerChallenge(ctx, routes[0].Host, "token")
	_, linked := e.nodeTable.GetLink(ctx, node)
	reviewed := pgtest.QueryValue[string](t, w.url, "SELECT deployment_id::text FROM reviews LIMIT 1")
	facts, described := e.lifecycle.BuildFacts(ctx, ingressTask,
		controlplane.DeploymentID(reviewed))
	if facts.Review == nil || facts.Review.Branch != "feature/a" || facts.CreatedBy == "" {
		t.Errorf("what it runs, and why: %+v", facts)
	}
	_, spelled := e.lifecycle.BuildHeaders(ctx, ingressTask)
	for name, err := range map[string]error{"routes": err, "gates": front, "passes": checked,
		"codes": redeemed, "challenges": challenged, "nodes": linked,
		"builds": described, "headers": spelled,
		"visits": e.lifecycle.RecordVisit(ctx, ingressTask, deployment),
		"uses":   e.gate.TouchPass(ctx, ingressTask, controlplane.PassID(pass)),
		"people": e.store.Read(ctx, func(tx *postgres.Tx) error {
			_, err := tx.Users().ForAccess(ctx, controlplane.UserID(user))
			_, granted := tx.Teams().ListGrants(ctx, controlplane.UserID(user))
			_, leased := tx.Leases().GetEpoch(ctx, node)
			return errors.Join(err, granted, leased)
		})} {
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := pgtest.QueryValue[int64](t, w.url, `SELECT count(*) FROM deployment_activity
		WHERE kind = 'visited' AND at > now() - interval '1 minute'`); n == 0 {
		t.Error("the visit was not written")
	}
}

// hasNoOtherRights lists what the role may read of bytes, where secrets are, and write at all.
func (w *ingressWorld) hasNoOtherRights(t *testing.T) {
	t.Helper()
	readable := pgtest.QueryValue[[]string](t, w.url, `SELECT array_agg(c.relname || '.' || a.attname)
		FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
		WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'v') AND a.attnum > 0 AND
		(a.atttypid = 'bytea'::regtype OR a.attname = 'password_hash') AND
		has_column_privilege($1, a.attrelid, a.attnum, 'SELECT')`, w.role)
	want := []string{"gate_passes.hash", "ingress_values.sealed"}
	if slices.Sort(readable); !slices.Equal(readable, want) {
		t.Errorf("the role reads %v, want %v", readable, want)
	}
	written := pgtest.QueryValue[[]string](t, w.url, `SELECT array_agg(relname::text ORDER BY relname)
		FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r', 'v') AND (
		has_any_column_privilege($1, oid, 'INSERT, UPDATE') OR
		has_table_privilege($1, oid, 'DELETE, TRUNCATE, TRIGGER'))`, w.role)
	want = []string{"deployment_activity", "deployment_visitors", "deployments", "gate_passes",
		"processes", "support_parts"}
	if !slices.Equal(written, want) {
		t.Errorf("the role writes %v, want %v", written, want)
	}
	columns := pgtest.QueryValue[[]string](t, w.url, `SELECT array_agg(attname::text) FROM pg_attribute
		WHERE attrelid = 'deployments'::regclass AND attnum > 0 AND NOT attisdropped AND
		has_column_privilege($1, attrelid, attnum, 'UPDATE, INSERT')`, w.role)
	if !slices.Equal(columns, []string{"active_at"}) {
		t.Errorf("of a deployment the role writes %v", columns)
	}
	if pgtest.QueryValue[bool](t, w.url,
		"SELECT has_schema_privilege($1, 'public', 'CREATE')", w.role) {
		t.Error("the role makes tables")
	}
}

// opensNoSecret tries every value of the database with the ingress's keys, as the owner of the
// database even.
func (w *ingressWorld) opensNoSecret(t *testing.T) {
	t.Helper()
	ring, err := seal.ParseKeyring(w.edge.settings.Ingress.Keys)
	if err != nil {
		t.Fatal(err)
	}
	stolen := keyring.New(w.plane.store, ring, w.plane.log)
	ctx, system := t.Context(), access.System("test")
	if err := stolen.CheckKeys(ctx, system); err == nil {
		t.Error("a control plane starts with the ingress's keys")
	}
	var token controlplane.NodeToken
	err = w.plane.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		token, _, err = tx.NodeTokens().GetActive(ctx, w.node.Node.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if key, err := stolen.OpenNodeKey(token); err == nil {
		t.Errorf("the ingress's keys opened a node's token of %d bytes", len(key))
	}
	used, err := stolen.ListKeys(ctx, system)
	if err != nil || len(used) < 2 {
		t.Fatalf("the keys in use are %+v, %v", used, err)
	}
	for _, k := range used {
		if k.Present && k.Values > 0 {
			t.Errorf("%d values are sealed with the ingress's key %s: %v", k.Values, k.Key, k.Uses)
		}
	}
	if w.edge.keys != nil || w.edge.settings.Master.Keys != "" || w.edge.catalog != nil {
		t.Error("the process holds the master key")
	}
	if w.edge.identity.SPKI() == w.plane.identity.SPKI() {
		t.Error("the ingress shows agents the control plane's certificate")
	}
}

// commandsNoAgent connects to a real agent with what the ingress has.
func (w *ingressWorld) commandsNoAgent(t *testing.T, l net.Listener) {
	t.Helper()
	token, err := wire.ParseToken(w.node.Token.Reveal())
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Data: t.TempDir(), Token: &token, Build: wire.Build(release),
		Listener: l, Log: slog.New(slog.DiscardHandler)}, dummy.New(dummy.Hooks{}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
	})
	w.tellAgent(t, l.Addr().String(), token)
	node := w.node.Node.ID
	thumbprint := a.Thumbprint()
	pgtest.Exec(t, w.url, `UPDATE nodes SET status = 'online', thumbprint = $2 WHERE id = $1`,
		string(node), fmt.Sprintf("%x", thumbprint[:]))
	_, err = w.edge.dialer.OpenTunnel(ctx, node, wire.Target{Deployment: "d", Service: "s", Port: 80})
	if no, ok := errors.AsType[*wire.TunnelError](err); !ok || no.Status != 404 {
		t.Errorf("a tunnel to what is not there: %v", err)
	}
	conn, err := w.edge.dialer.Dial(ctx, node)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := wire.OpenSession(ctx, conn); !errors.Is(err, wire.ErrNoSession) {
		t.Errorf("the agent takes orders of the ingress: %v", err)
	}
	_, err = w.edge.dialer.OpenInside(ctx, node, "d", "s")
	if err == nil || !strings.Contains(err.Error(), wire.ErrTunnelsOnly.Error()) {
		t.Errorf("the agent runs commands of the ingress: %v", err)
	}
}

// tellAgent names the ingress in a session, as the fleet does, and waits for an answer to what
// was sent behind it.
func (w *ingressWorld) tellAgent(t *testing.T, address string, token wire.Token) {
	t.Helper()
	ctx := t.Context()
	conn, err := wire.Dial(ctx, wire.DialConfig{Address: address, Identity: w.plane.identity,
		NodeID: string(w.node.Node.ID), Kid: token.Kid, Key: token.Key(), Epoch: 1,
		Build: wire.Build(release)})
	if err != nil {
		t.Fatal(err)
	}
	s, err := wire.OpenSession(ctx, conn)
	if err != nil {
		t.Fatal(err)
	}
	err = s.Send(ctx, wire.NewTunnelAccess(w.plane.dialing.Ingress, token.Kid))
	err = errors.Join(err, s.Send(ctx, wire.RefuseToken{Kid: "0123456789"}))
	for err == nil {
		var r wire.Report
		if r, err = s.Receive(ctx); err == nil {
			if _, done := r.(wire.TokenRefused); done {
				return
			}
		}
	}
	t.Fatal(err)
}
