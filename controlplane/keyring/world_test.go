package keyring_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
	"github.com/nullops/nullops/pipeline"
)

const canary = "canary-7c1f-secret-value"

// world is all packages that have values sealed and opened, on one database.
type world struct {
	*catalog.Catalog
	*nodes.Nodes
	*certificates.Certificates
	ring  *keyring.Keyring
	keys  *seal.Keyring
	url   string
	store *postgres.Store
	admin access.Actor
	log   *slog.Logger
}

func newWorld(t *testing.T) *world {
	t.Helper()
	return newWorldWith(t, keyringtest.NewKeys(t, "k1"))
}

func newWorldWith(t *testing.T, keys *seal.Keyring) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t, migrations.FS), log: slog.New(slog.DiscardHandler)}
	w.store = pgtest.Open(t, w.url)
	w.admin = access.User(controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: "ada", Role: controlplane.RoleAdmin,
	}, nil)
	w.use(keys)
	return w
}

// use restarts everything with other master keys.
func (w *world) use(keys *seal.Keyring) {
	w.keys, w.ring = keys, keyring.New(w.store, keys, w.log)
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: w.ring, Log: w.log})
	w.Certificates = certificates.New(certificates.Config{Store: w.store, Keys: w.ring})
	w.Nodes = nodes.New(nodes.Config{Store: w.store, Keys: w.ring,
		IssueToken: func() (nodes.IssuedToken, error) {
			return nodes.IssuedToken{Token: controlplane.NewPlain("token"), Kid: "kid0000001",
				Key: bytes.Repeat([]byte{7}, 32)}, nil
		}})
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

// shop defines what the tests build on.
func (w *world) shop(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must(w.PutEnvironment(ctx, w.admin, catalog.EnvironmentPut{Name: "qa", Domain: "localhost"}))(t)
	must(w.PutProject(ctx, w.admin, catalog.ProjectPut{
		Name: "shop", Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024},
	}))(t)
	value := controlplane.NewPlain(canary)
	must(w.PutSecret(ctx, w.admin, catalog.SecretPut{
		Project: "shop", Name: "API_TOKEN", Value: &value,
	}))(t)
	must(w.PutSecret(ctx, w.admin, catalog.SecretPut{
		Project: "shop", Name: "DB_PASSWORD",
		Rule: &controlplane.SecretRule{Length: 24, Alphabet: controlplane.Hex},
	}))(t)
}

// addNode adds a node, and begins to set up its machine with the canary as password.
func (w *world) addNode(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	must(w.AddNode(ctx, w.admin, nodes.Put{
		Name: "n1", Environment: "qa", Address: "10.0.0.5:5000",
	}))(t)
	must(w.ProvisionNode(ctx, w.admin, "n1", &nodes.SSHPut{Host: "10.0.0.5", User: "root",
		Password: controlplane.NewPlain(canary), HostKey: "SHA256:" + strings.Repeat("a", 43)}))(t)
}

// deployed puts a deployment into the database, as lifecycle does, and returns it with a run
// that uses both secrets of the project.
func (w *world) deployed(t *testing.T, name string) (controlplane.DeploymentID, controlplane.Run) {
	t.Helper()
	id := controlplane.NewID[controlplane.DeploymentID]()
	run := controlplane.Run{
		ID:      controlplane.NewID[controlplane.RunID](),
		Project: must(w.GetProject(t.Context(), w.admin, "shop"))(t).ID,
		Pipeline: pipeline.Pipeline{Steps: []pipeline.Step{{Key: "api",
			Service: &pipeline.ServiceStep{Name: "api", Env: map[string]string{
				"TOKEN": "${{ secrets.API_TOKEN }}", "PASSWORD": "${{ secrets.DB_PASSWORD }}",
			}}}}},
	}
	run.Key = must(w.ring.NewRunKey(run.ID))(t)
	w.exec(t, `INSERT INTO deployments (id, name, project_id, environment_id, node_name, created_by,
		cpu, memory_mib, status) SELECT $1, $2, p.id, e.id, 'n1', 'ada', 0, 0, 'failed'
		FROM projects p, environments e WHERE p.name = 'shop' AND e.name = 'qa'`, string(id), name)
	return id, run
}

// rings returns a ring of one new key, and one that has another in front of it.
func rings(t *testing.T) (first, both, second *seal.Keyring) {
	t.Helper()
	parse := func(settings ...string) *seal.Keyring {
		ring, err := seal.ParseKeyring(strings.Join(settings, ","))
		if err != nil {
			t.Fatal(err)
		}
		return ring
	}
	k1, err1 := seal.NewKey("k1")
	k2, err2 := seal.NewKey("k2")
	if err1 != nil || err2 != nil {
		t.Fatal(err1, err2)
	}
	return parse(k1), parse(k2, k1), parse(k2)
}

// selfSigned makes a certificate that signs itself.
func selfSigned(t *testing.T) (chain, key string) {
	t.Helper()
	secret := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"*.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw := must(x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret))(t)
	der := must(x509.MarshalPKCS8PrivateKey(secret))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
