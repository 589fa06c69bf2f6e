package provision_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/provision"
	"github.com/nullops/nullops/migrations"
)

// patience is for a machine that has much else to do.
const patience = 2 * time.Minute

type world struct {
	t       *testing.T
	url     string
	store   *postgres.Store
	catalog *catalog.Catalog
	nodes   *nodes.Nodes
	config  provision.Config
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, url: pgtest.URL(t, migrations.FS)}
	w.store = pgtest.Open(t, w.url)
	keys := keyringtest.New(t, w.store)
	log := slog.New(slog.DiscardHandler)
	w.catalog = catalog.New(catalog.Config{Store: w.store, Keys: keys, Log: log})
	w.nodes = nodes.New(nodes.Config{Store: w.store, Keys: keys, AllowLoopback: true,
		IssueToken: func() (nodes.IssuedToken, error) {
			return nodes.IssuedToken{Token: controlplane.NewPlain("t"), Kid: "kid",
				Key: []byte(strings.Repeat("k", 32))}, nil
		}})
	listener := postgres.NewListener(w.store, log)
	ctx, stop := context.WithCancel(t.Context())
	heard := make(chan struct{})
	go func() { defer close(heard); _ = listener.Run(ctx) }()
	t.Cleanup(func() { stop(); <-heard })
	w.config = provision.Config{Store: w.store, Nodes: w.nodes, Listener: listener,
		Program: "/bin/true", Build: "test", Holder: "a", Log: log}
	w.define()
	return w
}

func (w *world) define() {
	ctx, me := w.t.Context(), access.System("test")
	_, err := w.catalog.PutEnvironment(ctx, me, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost"})
	if err == nil {
		_, err = w.nodes.AddNode(ctx, me, nodes.Put{Name: "n1", Environment: "qa",
			Address: "127.0.0.1:5001"})
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) begin() controlplane.ProvisionAttempt {
	w.t.Helper()
	a, err := w.nodes.ProvisionNode(w.t.Context(), access.System("test"), "n1", &nodes.SSHPut{
		Host: "127.0.0.1", Port: 2, User: "root", Password: controlplane.NewPlain("a password"),
		HostKey: "SHA256:" + strings.Repeat("a", 43)})
	if err != nil {
		w.t.Fatal(err)
	}
	return a
}

// run works until the test ends or stop is called, which waits.
func (w *world) run() (stop func()) {
	ctx, cancel := context.WithCancel(w.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- provision.New(w.config).Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			w.t.Error(err)
		}
	}
	w.t.Cleanup(stop)
	return stop
}

func (w *world) await(number int, state controlplane.ProvisionState) controlplane.ProvisionAttempt {
	w.t.Helper()
	deadline := time.Now().Add(patience)
	for {
		a, err := w.nodes.GetProvision(w.t.Context(), access.System("test"), "n1", number)
		if err != nil {
			w.t.Fatal(err)
		}
		if a.State == state {
			return a
		}
		if time.Now().After(deadline) {
			w.t.Fatalf("attempt %d is %s, not %s: %s", number, a.State, state, a.Message)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// An attempt whose control plane died is ended by the next one that looks, and one that is stopped
// ends its own. Both can be begun again.
func TestRun_EndsWhatNobodyWorksOn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.begin()
	err := w.store.InTx(t.Context(), func(tx *postgres.Tx) error {
		lost, ok, err := tx.ClaimProvision(t.Context(), "a control plane that died", -time.Second)
		if err != nil {
			return err
		}
		if !ok {
			return errors.New("nothing to claim")
		}
		return tx.InsertProvisionStep(t.Context(), lost, controlplane.ProvisionStep{Seq: 1,
			Key: "connect"})
	})
	if err != nil {
		t.Fatal(err)
	}
	connecting := make(chan struct{}, 16)
	w.config.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
		connecting <- struct{}{}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	stop := w.run()
	lost := w.await(first.Number, controlplane.ProvisionError)
	if lost.Code != "interrupted" || lost.EndedAt == nil ||
		lost.Steps[0].Status != controlplane.ProvisionStepFailed {
		t.Errorf("an attempt of a control plane that died ended as %+v", lost)
	}
	second := w.begin()
	select {
	case <-connecting:
	case <-time.After(patience):
		t.Fatal("the second attempt was not worked on")
	}
	stop()
	stopped := w.await(second.Number, controlplane.ProvisionError)
	if stopped.Code != "interrupted" || second.Number != first.Number+1 {
		t.Errorf("an attempt of a control plane that stopped ended as %+v", stopped)
	}
}

// Addresses that may not be are refused where they are dialed, whatever the name resolved to
// before; the refusal is returned unchanged.
func TestRun_TellsWhyAnAddressIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.config.Connect = func(context.Context, string, string) (net.Conn, error) {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "address_invalid",
			Message: "it belongs to the database", Remedy: "Choose another."}
	}
	w.run()
	a := w.await(w.begin().Number, controlplane.ProvisionError)
	if a.Code != "address_invalid" || a.Message != "it belongs to the database" {
		t.Errorf("ended as %+v", a)
	}
}

// The database allows exactly the moves that the noun allows.
func TestProvisionState_SQLAgrees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.begin()
	pgtest.Exec(t, w.url, `CREATE FUNCTION try_move(a text, b text) RETURNS boolean
		LANGUAGE plpgsql AS $$ BEGIN
			ALTER TABLE provision_attempts DISABLE TRIGGER USER;
			UPDATE provision_attempts SET state = a, lease_until = now(),
				ended_at = CASE WHEN a IN ('ready', 'error') THEN now() END;
			ALTER TABLE provision_attempts ENABLE TRIGGER USER;
			UPDATE provision_attempts SET state = b,
				ended_at = CASE WHEN b IN ('ready', 'error') THEN now() END;
			RETURN true;
		EXCEPTION WHEN check_violation THEN RETURN false;
		END $$`)
	for _, from := range controlplane.ProvisionStates() {
		for _, to := range controlplane.ProvisionStates() {
			got := pgtest.QueryValue[bool](t, w.url, "SELECT try_move($1, $2)", string(from), string(to))
			// promise: Y-11
			if want := from.CanMove(to); got != want {
				t.Errorf("%s to %s: SQL allows %v, Go %v", from, to, got, want)
			}
		}
	}
}
