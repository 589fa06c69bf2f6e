package server

import (
	"context"
	"crypto/ecdsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"log/slog"
	"net"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
)

// theft is a control plane with one node, whose agent runs, and what a thief reads of its
// database.
type theft struct {
	plane *serverBase
	url   string
	token wire.Token
	node  controlplane.Node
	// stored is the token as the database has it, dump every row of every table.
	stored controlplane.NodeToken
	dump   string
}

// A database without the master key commands no agent. What the token and the control
// plane's certificate prove is in no row, nothing that is in a row proves it, and who knows
// the token's key from elsewhere still lacks the private key of the certificate.
//
// threat: T6
func TestNode_AStolenDatabaseCommandsNoAgent(t *testing.T) {
	t.Parallel()
	s := newTheft(t)
	s.findsNoKey(t)
	ring, err := seal.ParseKeyring(newTestKey(t, "k1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := keyring.New(s.plane.store, ring, s.plane.log).OpenNodeKey(s.stored); err == nil {
		t.Error("another master key opened the token")
	}
	if err := s.dial(t, s.plane.identity, s.token.Key()); err != nil {
		t.Fatalf("the control plane itself: %v", err)
	}
	stranger := wiretest.NewIdentity(t)
	if err := s.dial(t, stranger, s.token.Key()); err == nil {
		t.Error("the token's key alone was let in, without the control plane's certificate")
	}
	verifier := s.stored.Verifier
	whole, kid := sha256.Sum256(verifier), sha256.Sum256([]byte(s.token.Kid))
	for name, key := range map[string][]byte{"hash": whole[:], "kid": kid[:],
		"begin": verifier[:32], "end": verifier[len(verifier)-32:]} {
		guess, err := wire.KeyFromBytes(key)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.dial(t, s.plane.identity, guess); err == nil {
			t.Errorf("the stored token's %s was let in", name)
		}
	}
}

func newTheft(t *testing.T) *theft {
	t.Helper()
	s := &theft{url: pgtest.URL(t, migrations.FS)}
	settings := defaultSettings()
	settings.Database.URL, settings.Master.Keys = s.url, newTestKey(t, "k1")
	settings.HTTP.URL, settings.Ingress.URL = "http://localhost:8080", "http://localhost:8081"
	plane, err := openBase(t.Context(), settings, slog.New(slog.DiscardHandler), false)
	if err != nil {
		t.Fatal(err)
	}
	s.plane = plane
	t.Cleanup(s.plane.close)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addNode(t, l.Addr().String())
	startDummyAgent(t, l, s.token)
	s.read(t)
	return s
}

func (s *theft) addNode(t *testing.T, address string) {
	t.Helper()
	ctx, system := t.Context(), access.System("test")
	_, err := s.plane.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost"})
	if err != nil {
		t.Fatal(err)
	}
	enrolment, err := s.plane.nodes.AddNode(ctx, system, nodes.Put{Name: "n", Environment: "qa",
		Address: address})
	if err != nil {
		t.Fatal(err)
	}
	s.node = enrolment.Node
	if s.token, err = wire.ParseToken(enrolment.Token.Reveal()); err != nil {
		t.Fatal(err)
	}
}

// startDummyAgent runs a real agent, on a runtime without containers, until the test ends.
func startDummyAgent(t *testing.T, l net.Listener, token wire.Token) *agent.Agent {
	t.Helper()
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
	return a
}

// read takes every row of every table.
func (s *theft) read(t *testing.T) {
	t.Helper()
	tables := pgtest.QueryValue[[]string](t, s.url, `SELECT array_agg(tablename::text)
		FROM pg_tables WHERE schemaname = 'public'`)
	for _, table := range tables {
		s.dump += pgtest.QueryValue[string](t, s.url,
			"SELECT coalesce(string_agg(t::text, E'\\n'), '') FROM "+table+" t")
	}
	err := s.plane.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
		s.stored, _, err = tx.NodeTokens().GetActive(t.Context(), s.node.ID)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// findsNoKey looks for the token's key and the certificate's private key in all rows, in the
// encodings in which they could be there.
func (s *theft) findsNoKey(t *testing.T) {
	t.Helper()
	if !strings.Contains(s.dump, s.token.Kid) {
		t.Fatal("the token's public part is not in the dump: this test reads the wrong tables")
	}
	block, rest := pem.Decode(s.plane.identity.PEM())
	for block != nil && block.Type != "PRIVATE KEY" {
		block, rest = pem.Decode(rest)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	private, err := parsed.(*ecdsa.PrivateKey).Bytes()
	if err != nil {
		t.Fatal(err)
	}
	for name, key := range map[string][]byte{"token": s.token.Key().Bytes(), "certificate": private} {
		for _, form := range []string{hex.EncodeToString(key), base64.StdEncoding.EncodeToString(key),
			base64.RawURLEncoding.EncodeToString(key)} {
			if strings.Contains(s.dump, form) {
				t.Errorf("the key of the %s is in the database", name)
			}
		}
	}
	if strings.Contains(s.dump, s.token.Reveal()) {
		t.Error("the token is in the database")
	}
}

// dial tries to be the control plane.
func (s *theft) dial(t *testing.T, identity *wire.Identity, key wire.Key) error {
	t.Helper()
	conn, err := wire.Dial(t.Context(), wire.DialConfig{Address: s.node.Address, Identity: identity,
		NodeID: string(s.node.ID), Kid: s.token.Kid, Key: key, Epoch: 1, Build: wire.Build(release)})
	if err != nil {
		return err
	}
	return conn.Close()
}
