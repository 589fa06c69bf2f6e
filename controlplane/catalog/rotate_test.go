package catalog_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"log/slog"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/migrations"
)

// Columns of bytes that hold nothing sealed with a master key: hashes, links,
// the certificate, key checks, outputs that are sealed with a run's key, and
// answers kept, which show no secret (see TestOnce_EveryCreate).
var notSealed = []string{
	"api_tokens.hash", "links.hash", "gate_passes.hash",
	"sessions.hash", "idempotency_keys.request", "audit.mac", "audit_head.mac",
	"audit_checkpoints.link", "audit_checkpoints.mac", "identity.certificate", "key_check.sealed",
	"run_steps.sealed", "reach_tickets.digest", "idempotency_keys.answer",
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

// Every place that holds a sealed value has one; the ring changes, everything
// still opens, rotation moves all of it, and only then the old key may go.
//
// fault: F61
func TestRotateKeys(t *testing.T) {
	t.Parallel()
	first, both, second := rings(t)
	w := newWorldWith(t, first)
	ctx, setup := t.Context(), access.System("setup")
	id, run := w.everythingSealed(t)
	old := must(catalog.AuditKey(ctx, setup, w.store, first))(t)

	w.use(both)
	checkRing(t, w, both, "")
	checkRing(t, w, second, "master_key_missing")
	if states := must(w.ListKeys(ctx, w.admin))(t); len(states) != 2 || !states[0].Primary ||
		states[0].Values != 0 || states[1].Key != "k1" || len(states[1].Uses) != 11 {
		t.Errorf("before: %+v", states)
	}
	done, left, err := w.RotateKeys(ctx, w.admin, "")
	if err != nil || done < 10 || left != 0 {
		t.Fatalf("rotated %d, %d left: %v", done, left, err)
	}
	if states := must(w.ListKeys(ctx, w.admin))(t); states[1].Values != 0 ||
		len(states[0].Uses) != 11 {
		t.Errorf("after: %+v", states)
	}
	checkRing(t, w, second, "")

	w.use(second)
	b := must(w.OpenRun(ctx, access.System("fleet"), id, run(w)))(t)
	if b.Values["API_TOKEN"].Reveal() != canary || len(b.Key) != 32 {
		t.Errorf("after the rotation: %v", b.Values)
	}
	node := must(w.GetNode(ctx, w.admin, "n1"))(t)
	_, ssh, err := w.OpenSSH(ctx, access.System("provision"), node.ID)
	if err != nil || ssh.Password.Reveal() != canary {
		t.Errorf("the SSH credential after the rotation: %v", err)
	}
	if served := must(w.OpenCertificates(ctx, w.admin))(t); len(served) != 1 ||
		!strings.Contains(served[0].Key.Reveal(), "PRIVATE KEY") {
		t.Error("the certificate's key after the rotation")
	}
	if _, ok, err := w.OpenAuthority(ctx, w.admin); !ok || err != nil {
		t.Errorf("the authority after the rotation: %v", err)
	}
	if key := must(catalog.AuditKey(ctx, setup, w.store, second))(t); key != old {
		t.Error("rotation broke the audit's chain")
	}
	if done, left, err = w.RotateKeys(ctx, w.admin, ""); done != 0 || left != 0 || err != nil {
		t.Errorf("again: %d rotated, %d left: %v", done, left, err)
	}
}

// A column that someone adds has to be either rotated or named above.
func TestRotateKeys_KnowsEveryColumn(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t, migrations.FS)
	all := pgtest.QueryValue[[]string](t, url, `SELECT array_agg(table_name || '.' || column_name)
		FROM information_schema.columns WHERE table_schema = 'public' AND data_type = 'bytea'`)
	rotated := []string{"secrets.value", "registries.password", "node_tokens.verifier",
		"identity.key", "runs.key_sealed", "deployment_secrets.sealed", "audit_head.sealed_key",
		"node_ssh.credential", "certificates.key", "certificate_authority.key",
		"outward_secrets.value", "acme_settings.dns_secret", "acme_settings.eab_key",
		"acme_accounts.key", "acme_certificates.key", "run_secrets.sealed"}
	for _, column := range all {
		if !slices.Contains(rotated, column) && !slices.Contains(notSealed, column) {
			t.Errorf("%s is neither rotated by RotateKeys nor listed as not sealed", column)
		}
	}
}

func checkRing(t *testing.T, w *world, ring *seal.Keyring, code string) {
	t.Helper()
	err := catalog.CheckKeys(t.Context(), access.System("setup"), w.store, ring)
	if controlplane.CodeOf(err) != code {
		t.Errorf("start with %v: %v, want %q", ring.KeyIDs(), err, code)
	}
}

// everythingSealed stores a value in each place, and returns a run to open.
func (w *world) everythingSealed(
	t *testing.T,
) (controlplane.DeploymentID, func(*world) controlplane.Run) {
	t.Helper()
	w.shop(t)
	ctx := t.Context()
	checkRing(t, w, w.keys, "")
	password := controlplane.NewPlain(canary)
	must(w.PutRegistry(ctx, w.admin, catalog.RegistryPut{Name: "private",
		Host: "registry.example.org", Username: "robot", Password: &password}))(t)
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	w.beginAttempt(t, w.addNode(t).Node)
	_, _, err := catalog.LoadOrCreateIdentity(ctx, access.System("setup"), w.store, w.keys,
		func() ([]byte, []byte, error) { return []byte("c"), []byte(canary), nil })
	if err != nil {
		t.Fatal(err)
	}
	chain, key := certificate(t)
	must(w.PutCertificate(ctx, w.admin, catalog.CertificatePut{Name: "wild", Chain: chain,
		Key: controlplane.NewPlain(key)}))(t)
	must(w.MakeAuthority(ctx, w.admin))(t)
	id, run := w.insertDeployment(t, "cart")
	must(w.OpenRun(ctx, access.System("fleet"), id, run))(t)
	w.exec(t, `INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline,
		key_sealed, started_by) SELECT $1, id, 1, project_id, 1, '{}', $2, 'ada' FROM deployments`,
		string(run.ID), []byte(run.Key))
	return id, func(w *world) controlplane.Run {
		run.Key = pgtest.QueryValue[[]byte](t, w.url, "SELECT key_sealed FROM runs")
		return run
	}
}

// use restarts the catalogue with another ring.
func (w *world) use(ring *seal.Keyring) {
	w.keys = ring
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: ring,
		Log: slog.New(slog.DiscardHandler)})
}

// certificate signs itself.
func certificate(t *testing.T) (chain, key string) {
	t.Helper()
	secret := must(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))(t)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"*.example"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour)}
	raw := must(x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret))(t)
	der := must(x509.MarshalPKCS8PrivateKey(secret))(t)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}
