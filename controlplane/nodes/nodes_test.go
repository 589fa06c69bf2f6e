package nodes_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

const canary = "canary-7c1f-secret-value"

type world struct {
	*nodes.Nodes
	*catalog.Catalog
	url   string
	store *postgres.Store
	keys  *keyring.Keyring
	admin access.Actor
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t, migrations.FS)}
	w.store = pgtest.Open(t, w.url)
	w.keys = keyringtest.New(t, w.store)
	w.admin = access.User(controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: "ada", Role: controlplane.RoleAdmin,
	}, nil).WithOrigin("10.0.0.1", "req-1")
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: w.keys,
		Log: slog.New(slog.DiscardHandler)})
	issued := 0
	w.Nodes = nodes.New(nodes.Config{Store: w.store, Keys: w.keys,
		IssueToken: func() (nodes.IssuedToken, error) {
			issued++
			return nodes.IssuedToken{
				Token: controlplane.NewPlain(fmt.Sprintf("token-%d-%s", issued, canary)),
				Kid:   fmt.Sprintf("kid%07d", issued),
				Key:   []byte(fmt.Sprintf("key-%d-%s", issued, canary)),
			}, nil
		},
	})
	return w
}

// must is for steps of a story that are not what the test is about.
func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (w *world) query(t *testing.T, sql string, args ...any) int {
	t.Helper()
	return pgtest.QueryValue[int](t, w.url, sql, args...)
}

func (w *world) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	pgtest.Exec(t, w.url, sql, args...)
}

func (w *world) addNode(t *testing.T) nodes.Enrolment {
	t.Helper()
	must(w.PutEnvironment(t.Context(), w.admin, catalog.EnvironmentPut{
		Name: "qa", Domain: "localhost",
	}))(t)
	return must(w.AddNode(t.Context(), w.admin, nodes.Put{
		Name: "n1", Environment: "qa", Address: "10.0.0.5:5000",
	}))(t)
}

func print(c string) controlplane.Thumbprint {
	return controlplane.Thumbprint(strings.Repeat(c, 64))
}

// note does what a link does to a node.
func (w *world) note(t *testing.T, fn func(*postgres.Tx) error) {
	t.Helper()
	if err := w.store.InTx(t.Context(), fn); err != nil {
		t.Fatal(err)
	}
}

func (w *world) online(t *testing.T, id controlplane.NodeID) {
	t.Helper()
	w.note(t, func(tx *postgres.Tx) error {
		if _, err := tx.NodeTrust().Trust(t.Context(), id, print("a")); err != nil {
			return err
		}
		_, err := tx.Nodes().Move(t.Context(), id, controlplane.NodeOnline, "")
		return err
	})
}

func TestAddNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.addNode(t)
	if e.Token.IsEmpty() || e.Node.Status != controlplane.NodeEnrolled || e.Node.TokenKid == "" {
		t.Fatalf("enrolment %+v", e.Node)
	}
	// promise: N-213, V-16
	if n := w.query(t, `SELECT count(*) FROM node_tokens WHERE node_tokens::text LIKE '%canary%'
		OR position('canary'::bytea in verifier) > 0`); n != 0 {
		t.Error("the token or its key is readable in the database")
	}
	token := must(w.token(t, e.Node.ID))(t)
	key, err := w.keys.OpenNodeKey(token)
	if err != nil || !strings.HasPrefix(string(key), "key-1-") {
		t.Errorf("key: %v", err)
	}
	token.Node = controlplane.NewID[controlplane.NodeID]()
	if _, err := w.keys.OpenNodeKey(token); err == nil {
		t.Error("a token moved to another node opens")
	}
}

func (w *world) token(
	t *testing.T, id controlplane.NodeID,
) (token controlplane.NodeToken, err error) {
	t.Helper()
	err = w.store.Read(t.Context(), func(tx *postgres.Tx) error {
		var ok bool
		if token, ok, err = tx.NodeTokens().GetActive(t.Context(), id); err == nil && !ok {
			err = errors.New("no active token")
		}
		return err
	})
	return token, err
}

func TestAddNode_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addNode(t)
	for _, address := range []string{
		"", "10.0.0.1", "10.0.0.1:0", "10.0.0.1:99999", "127.0.0.1:5000", "[::1]:5000",
		"localhost:5000", "x.localhost:5000", "169.254.1.1:5000", "0.0.0.0:5000",
		"[::ffff:127.0.0.1]:5000", "2130706433:5000", "127.1:5000", "0x7f000001:5000",
		"224.0.0.1:5000", "http://x:5000", "a b:5000", "[fe80::1]:5000",
		"10.0.0.1:-1", "10.0.0.1:65536", "10.0.0.1:5e3", "10.0.0.1:", ":5000", "10.0.0.1:05000x",
		"255.255.255.255:5000", "0.1.2.3:5000", "169.254.169.254:80", "[fd00:ec2::254]:80",
		"[fe80::1%eth0]:5000", "10.0.0.1:5000/path", "user@10.0.0.1:5000", "10.0.0.1:http",
		"https://x:5000/", "wss://", "wss:///path", "wss:x:5000", "wss://127.0.0.1/a", "ws://localhost/",
		"wss://169.254.169.254/latest", "wss://x:0/", "wss://x:99999/", "wss://x/?token=1", "wss://x/#a",
		"wss://me:password@x/", "wss://2130706433/",
	} {
		_, err := w.AddNode(t.Context(), w.admin, nodes.Put{
			Name: "n2", Environment: "qa", Address: address,
		})
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Field != "address" || said.Remedy == "" {
			t.Errorf("%q: %v", address, err)
		}
		if strings.Contains(said.Message, "password") {
			t.Errorf("the error repeats a password: %s", said.Message)
		}
	}
	for field, bad := range map[string]nodes.Put{
		"address": {Name: "n2", Environment: "qa", Address: "10.0.0.6:5000",
			Connect: controlplane.ConnectAgent},
		"connect":     {Name: "n2", Environment: "qa", Connect: "both"},
		"name":        {Name: "N2", Environment: "qa", Address: "10.0.0.6:5000"},
		"environment": {Name: "n2", Environment: "nowhere", Address: "10.0.0.6:5000"},
		"thumbprint":  {Name: "n2", Environment: "qa", Address: "10.0.0.6:5000", Thumbprint: "xyz"},
	} {
		_, err := w.AddNode(t.Context(), w.admin, bad)
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Field != field {
			t.Errorf("%s: %v", field, err)
		}
	}
	_, err := w.AddNode(t.Context(), w.admin, nodes.Put{
		Name: "n2", Environment: "qa", Address: "10.0.0.5:5000",
	})
	if controlplane.KindOf(err) != controlplane.Conflict {
		t.Errorf("the address of another node: %v", err)
	}
	if n := w.query(t, `SELECT count(*) FROM nodes`); n != 1 {
		t.Errorf("%d nodes", n)
	}
}

// A node has an address, a URL that leads to it, or an agent that connects. It can change.
func TestPutNode_ChangesHowANodeIsReached(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.addNode(t)
	way := func(name, address string, connect controlplane.NodeConnect) (n controlplane.Node) {
		saved, err := w.PutNode(t.Context(), w.admin, nodes.Put{Name: name, Environment: "qa",
			Address: address, Connect: connect})
		if err != nil {
			t.Fatalf("%q, %q: %v", address, connect, err)
		}
		if !saved.Changed {
			t.Errorf("%q, %q changed nothing", address, connect)
		}
		return saved.Object
	}
	for given, want := range map[string]string{
		"WSS://Proxy.example.org/Node-7":      "wss://proxy.example.org:443/Node-7",
		" ws://10.0.0.9:81/a/b ":              "ws://10.0.0.9:81/a/b",
		"wss://[2001:db8::1]/a":               "wss://[2001:db8::1]:443/a",
		"10.0.0.9:5000":                       "10.0.0.9:5000",
		"wss://proxy.example.org:8443/a%20b/": "wss://proxy.example.org:8443/a%20b/",
	} {
		if n := way("n", given, ""); n.Address != want || n.Connect != controlplane.ConnectControlPlane {
			t.Errorf("%q became %q, %s", given, n.Address, n.Connect)
		}
	}
	for _, name := range []string{"n", "n2"} { // none has an address that the other could take
		if n := way(name, "", controlplane.ConnectAgent); n.Address != "" ||
			n.Connect != controlplane.ConnectAgent {
			t.Errorf("%s is reached at %q, %s", name, n.Address, n.Connect)
		}
	}
	_, err := w.ProvisionNode(t.Context(), w.admin, "n2", overSSH())
	if controlplane.CodeOf(err) != "provision_needs_port" {
		t.Errorf("set up over SSH: %v", err)
	}
	way("n", "10.0.0.9:5000", controlplane.ConnectControlPlane)
}

// A changed certificate needs a person, who can approve exactly what proved
// the token and nothing else.
func TestApproveNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	e := w.addNode(t)
	w.online(t, e.Node.ID)
	distrust := func(p controlplane.Thumbprint, proven bool) {
		w.note(t, func(tx *postgres.Tx) error {
			if err := tx.NodeTrust().SetPending(ctx, e.Node.ID, p, proven); err != nil {
				return err
			}
			_, err := tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeUntrusted, "changed")
			return err
		})
	}
	approve := func(p controlplane.Thumbprint) (controlplane.Node, error) {
		return w.ApproveNode(ctx, w.admin, "n1", string(p))
	}
	if _, err := approve(print("b")); controlplane.CodeOf(err) != "nothing_to_approve" {
		t.Errorf("nothing pending: %v", err)
	}
	distrust(print("b"), false)
	if _, err := approve(print("b")); controlplane.CodeOf(err) != "proof_invalid" {
		t.Errorf("no proof: %v", err)
	}
	distrust(print("b"), true)
	if _, err := approve(print("c")); controlplane.CodeOf(err) != "thumbprint_changed" {
		t.Errorf("another certificate: %v", err)
	}
	n, err := approve(print("b"))
	if err != nil || n.Thumbprint != print("b") || n.Pending != "" ||
		n.Status != controlplane.NodeOffline {
		t.Errorf("approved: %+v %v", n, err)
	}
	if got := w.query(t, `SELECT count(*) FROM audit WHERE action = 'approve node'
		AND result = 'refused'`); got != 3 {
		t.Errorf("%d refusals in the journal, want 3", got)
	}
}

func TestRotateToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	first := w.addNode(t)
	second := must(w.RotateToken(ctx, w.admin, "n1"))(t)
	if second.Token.Reveal() == first.Token.Reveal() || second.Node.TokenKid == first.Node.TokenKid {
		t.Fatal("the token did not change")
	}
	if second.Node.RevocationPending {
		t.Error("pending although the agent was never met")
	}
	w.online(t, first.Node.ID)
	third := must(w.RotateToken(ctx, w.admin, "n1"))(t)
	if !third.Node.RevocationPending || third.Node.Status != controlplane.NodeOnline {
		t.Errorf("after rotating under a link: %+v", third.Node)
	}
	if n := w.query(t, `SELECT count(*) FROM node_tokens WHERE revoked_at IS NULL`); n != 1 {
		t.Errorf("%d active tokens", n)
	}
	n := must(w.RevokeToken(ctx, w.admin, "n1"))(t)
	if n.TokenKid != "" || !n.RevocationPending {
		t.Errorf("revoked: %+v", n)
	}
	w.note(t, func(tx *postgres.Tx) error {
		pending, err := tx.NodeTokens().ListPendingRevocations(ctx, n.ID)
		if err != nil {
			return err
		}
		for _, p := range pending {
			if err := tx.NodeTokens().ConfirmRevocation(ctx, n.ID, p.Kid); err != nil {
				return err
			}
		}
		return nil
	})
	if n = must(w.GetNode(ctx, w.admin, "n1"))(t); n.RevocationPending {
		t.Error("still pending after the agent confirmed")
	}
}

// A node that lost its trust for good enrols again with a new token.
func TestRotateToken_UntrustedEnrolsAnew(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	e := w.addNode(t)
	w.online(t, e.Node.ID)
	w.note(t, func(tx *postgres.Tx) error {
		if err := tx.NodeTrust().SetPending(t.Context(), e.Node.ID, print("b"), false); err != nil {
			return err
		}
		_, err := tx.Nodes().Move(t.Context(), e.Node.ID, controlplane.NodeUntrusted, "changed")
		return err
	})
	out := must(w.RotateToken(t.Context(), w.admin, "n1"))(t)
	if n := out.Node; n.Status != controlplane.NodeEnrolled || n.Thumbprint != "" || n.Pending != "" {
		t.Errorf("after a new token: %+v", n)
	}
}

func TestEnableDisableRemove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	e := w.addNode(t)
	w.online(t, e.Node.ID)
	for range 2 {
		n, err := w.DisableNode(ctx, w.admin, "n1")
		if err != nil || n.Status != controlplane.NodeDisabled || n.IsEnabled() {
			t.Errorf("disable: %+v %v", n, err)
		}
	}
	w.note(t, func(tx *postgres.Tx) error {
		moved, err := tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeOnline, "")
		if moved {
			t.Error("a disabled node came online by itself")
		}
		return err
	})
	for range 2 {
		n, err := w.EnableNode(ctx, w.admin, "n1")
		if err != nil || n.Status != controlplane.NodeOffline {
			t.Errorf("enable: %+v %v", n, err)
		}
	}
	must(w.PutProject(ctx, w.admin, catalog.ProjectPut{Name: "shop"}))(t)
	w.exec(t, `INSERT INTO deployments (id, name, project_id, environment_id, node_id, node_name,
		created_by, cpu, memory_mib, status) SELECT $1, 'cart', p.id, n.environment_id, n.id, 'n1',
		'ada', 0.5, 256, 'ready' FROM projects p, nodes n`,
		string(controlplane.NewID[controlplane.DeploymentID]()))
	n := must(w.GetNode(ctx, w.admin, "n1"))(t)
	if n.Deployments != 1 || n.Allocated.CPU != 0.5 || n.Allocated.MemoryMiB != 256 {
		t.Errorf("allocated %+v on %d", n.Allocated, n.Deployments)
	}
	err := w.RemoveNode(ctx, w.admin, "n1")
	var said *controlplane.Error
	// promise: N-236
	if !errors.As(err, &said) || fmt.Sprint(said.Users) != "[deployment cart]" {
		t.Errorf("remove in use: %v", err)
	}
	for name, err := range map[string]error{
		"project":     w.DeleteProject(ctx, w.admin, "shop"),
		"environment": w.DeleteEnvironment(ctx, w.admin, "qa"),
	} {
		if controlplane.KindOf(err) != controlplane.Conflict {
			t.Errorf("%s in use: %v", name, err)
		}
	}
	w.exec(t, `ALTER TABLE deployments DISABLE TRIGGER USER`)
	w.exec(t, `UPDATE deployments SET status = 'removed'`)
	w.exec(t, `ALTER TABLE deployments ENABLE TRIGGER USER`)
	// promise: N-236
	if err := w.RemoveNode(ctx, w.admin, "n1"); err != nil {
		t.Errorf("remove empty: %v", err)
	}
	if err := w.DeleteEnvironment(ctx, w.admin, "qa"); err != nil {
		t.Errorf("delete an environment with history only: %v", err)
	}
}

// Rejecting keeps the trusted certificate, whatever answers; a new token has
// people asked again.
func TestRejectNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	e := w.addNode(t)
	w.online(t, e.Node.ID)
	reject := func(p controlplane.Thumbprint) (controlplane.Node, error) {
		return w.RejectNode(ctx, w.admin, "n1", string(p))
	}
	if _, err := reject(print("b")); controlplane.CodeOf(err) != "nothing_to_reject" {
		t.Errorf("nothing pending: %v", err)
	}
	w.note(t, func(tx *postgres.Tx) error {
		if err := tx.NodeTrust().SetPending(ctx, e.Node.ID, print("b"), true); err != nil {
			return err
		}
		_, err := tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeUntrusted, "changed")
		return err
	})
	if _, err := reject(print("c")); controlplane.CodeOf(err) != "thumbprint_changed" {
		t.Errorf("another certificate: %v", err)
	}
	n, err := reject(print("b"))
	if err != nil || n.Thumbprint != print("a") || n.Pending != "" || n.Rejected != print("b") ||
		n.Status != controlplane.NodeOffline {
		t.Errorf("rejected: %+v %v", n, err)
	}
	if n := must(w.RotateToken(ctx, w.admin, "n1"))(t).Node; n.Rejected != "" {
		t.Errorf("after a new token %s is still rejected", n.Rejected)
	}
	events, _, err := w.NodeEvents(ctx, w.admin, "n1", 0, 0)
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Kind))
	}
	if got := strings.Join(kinds, " "); err != nil ||
		got != "token_rotated offline rejected untrusted online added" {
		t.Errorf("what happened: %s, %v", got, err)
	}
}

func TestDrainNode(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	w.addNode(t)
	for _, at := range []time.Time{time.Now().Add(-time.Minute), time.Now().AddDate(2, 0, 0)} {
		_, err := w.DrainNode(ctx, w.admin, "n1", &at)
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Field != "deadline" || said.Remedy == "" {
			t.Errorf("deadline %v: %v", at, err)
		}
	}
	for range 2 {
		d, err := w.DrainNode(ctx, w.admin, "n1", nil)
		if err != nil || d.Node.Drain == nil || d.Node.Drain.Status != controlplane.Drained {
			t.Errorf("an empty node: %+v %v", d.Node.Drain, err)
		}
	}
	for range 2 {
		if n, err := w.UndrainNode(ctx, w.admin, "n1"); err != nil || n.Drain != nil {
			t.Errorf("undrained: %+v %v", n.Drain, err)
		}
	}
}

// Every mutation is refused to a person who is no admin, and each attempt is in the journal.
func TestMutations_AdminOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	eve := access.User(controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: "eve", Role: controlplane.RoleUser,
	}, nil)
	for action, do := range map[string]func() error{
		"add node": func() error {
			_, err := w.AddNode(ctx, eve, nodes.Put{Name: "x"})
			return err
		},
		"remove node":  func() error { return w.RemoveNode(ctx, eve, "x") },
		"disable node": func() error { _, err := w.DisableNode(ctx, eve, "x"); return err },
		"enable node":  func() error { _, err := w.EnableNode(ctx, eve, "x"); return err },
		"approve node": func() error { _, err := w.ApproveNode(ctx, eve, "x", ""); return err },
		"rotate token": func() error { _, err := w.RotateToken(ctx, eve, "x"); return err },
		"revoke token": func() error { _, err := w.RevokeToken(ctx, eve, "x"); return err },
	} {
		// promise: N-006
		if err := do(); controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s: %v", action, err)
		}
		n := w.query(t, `SELECT count(*) FROM audit WHERE actor = 'eve' AND action = $1
			AND result = 'refused' AND detail = 'forbidden'`, action)
		if n != 1 {
			t.Errorf("%s: %d entries in the journal", action, n)
		}
	}
}
