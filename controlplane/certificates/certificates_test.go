package certificates_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

var system = access.System("test")

type world struct {
	*certificates.Certificates
	url   string
	store *postgres.Store
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t, os.DirFS("../../migrations"))}
	w.store = pgtest.Open(t, w.url)
	w.Certificates = certificates.New(certificates.Config{Store: w.store,
		Keys: keyringtest.New(t, w.store)})
	return w
}

func failOnError(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// selfSigned makes a certificate for hosts that expires after a time, and its key.
func selfSigned(t *testing.T, life time.Duration, hosts ...string) (chain, key string) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	failOnError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: hosts,
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(life)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	failOnError(t, err)
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	failOnError(t, err)
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

// The key of an uploaded certificate is sealed, and opened for the ingress with an entry in
// the audit.
func TestPutCertificate_SealsTheKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	chain, key := selfSigned(t, time.Hour, "*.example")
	put := certificates.Put{Name: "wild", Chain: chain, Key: controlplane.NewPlain(key)}
	first, err := w.PutCertificate(ctx, system, put)
	failOnError(t, err)
	again, err := w.PutCertificate(ctx, system, put)
	if err != nil || again.ID != first.ID {
		t.Errorf("the same name again is %s, not %s: %v", again.ID, first.ID, err)
	}
	if pgtest.QueryValue[int](t, w.url, `SELECT count(*) FROM certificates
		WHERE position('PRIVATE KEY'::bytea in key) > 0`) != 0 {
		t.Error("the private key is readable in the database")
	}
	served, err := w.OpenCertificates(ctx, system)
	if err != nil || len(served) != 1 || served[0].Key.Reveal() != key {
		t.Errorf("served %d: %v", len(served), err)
	}
	if n := pgtest.QueryValue[int](t, w.url, `SELECT count(*) FROM audit
		WHERE action = 'open certificate keys' AND result = 'ok'`); n != 1 {
		t.Errorf("%d openings in the audit", n)
	}
}

func TestPutCertificate_Refuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	chain, key := selfSigned(t, time.Hour, "a.example")
	other, otherKey := selfSigned(t, time.Hour, "b.example")
	expired, expiredKey := selfSigned(t, -time.Hour, "a.example")
	nameless, namelessKey := selfSigned(t, time.Hour)
	for code, put := range map[string]certificates.Put{
		"certificate_unreadable": {Chain: "no certificate", Key: controlplane.NewPlain(key)},
		"certificate_key":        {Chain: chain, Key: controlplane.NewPlain(otherKey)},
		"certificate_expired":    {Chain: expired, Key: controlplane.NewPlain(expiredKey)},
		"certificate_hosts":      {Chain: nameless, Key: controlplane.NewPlain(namelessKey)},
		"certificate_order":      {Chain: chain + other, Key: controlplane.NewPlain(key)},
	} {
		put.Name = "wild"
		_, err := w.PutCertificate(t.Context(), system, put)
		var problem *controlplane.Error
		if !errors.As(err, &problem) || problem.Code != code || problem.Remedy == "" ||
			strings.Contains(problem.Message, "PRIVATE KEY") {
			t.Errorf("want %s: %v", code, err)
		}
	}
}

// There is one internal authority; its key is opened for the ingress only.
func TestMakeAuthority_Once(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	made, err := w.MakeAuthority(ctx, system)
	if err != nil || made.Key != nil || made.Certificate == "" {
		t.Fatalf("made %+v, %v", made, err)
	}
	if _, err := w.MakeAuthority(ctx, system); controlplane.CodeOf(err) != "authority_exists" {
		t.Errorf("a second one: %v", err)
	}
	if shown, err := w.Authority(ctx, access.Nobody()); err != nil || shown.Key != nil ||
		shown.Fingerprint != made.Fingerprint {
		t.Errorf("shown to people: %+v, %v", shown, err)
	}
	served, ok, err := w.OpenAuthority(ctx, system)
	if err != nil || !ok || !strings.Contains(served.Key.Reveal(), "PRIVATE KEY") {
		t.Errorf("opened: %v, %v", ok, err)
	}
	failOnError(t, w.DeleteAuthority(ctx, system))
	if err := w.DeleteAuthority(ctx, system); controlplane.KindOf(err) != controlplane.NotFound {
		t.Errorf("deleted twice: %v", err)
	}
}

// A name server's secret is only ever sent to the server it was given for.
func TestPutACME_ForgetsTheSecretOfAnotherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	qa := controlplane.Environment{ID: controlplane.NewID[controlplane.EnvironmentID](),
		Name: "qa", Domain: "localhost"}
	failOnError(t, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.PutEnvironment(ctx, qa)
	}))
	secret := controlplane.NewPlain("a secret of a name server")
	put := certificates.ACMEPut{Secret: &secret, ACME: controlplane.ACME{
		Challenge: controlplane.ChallengeDNS, Directory: "https://acme.invalid/directory",
		DNS: controlplane.NameServerWebhook, DNSServer: "https://hook.invalid", DNSUser: "u"}}
	failOnError(t, w.PutACME(ctx, system, "qa", put))
	put.Secret = nil
	failOnError(t, w.PutACME(ctx, system, "qa", put))
	order, ok, err := w.OpenACME(ctx, system, qa.ID)
	if err != nil || !ok || !order.Secret.Equal(secret) {
		t.Errorf("after a change of nothing: %v, %v", ok, err)
	}
	put.DNSServer = "https://other.invalid"
	if err := w.PutACME(ctx, system, "qa", put); controlplane.CodeOf(err) != "acme_dns_secret" {
		t.Errorf("another server without its secret: %v", err)
	}
}

// Every mutation is refused to a person who is no admin, and each attempt is in the audit.
func TestMutations_AdminOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx := t.Context()
	eve := access.User(controlplane.User{
		ID: controlplane.NewID[controlplane.UserID](), Name: "eve", Role: controlplane.RoleUser,
	}, nil)
	for action, do := range map[string]func() error{
		"put certificate": func() error {
			_, err := w.PutCertificate(ctx, eve, certificates.Put{Name: "x"})
			return err
		},
		"delete certificate":         func() error { return w.DeleteCertificate(ctx, eve, "x") },
		"make certificate authority": func() error { _, err := w.MakeAuthority(ctx, eve); return err },
		"delete certificate authority": func() error {
			return w.DeleteAuthority(ctx, eve)
		},
		"open certificate keys": func() error { _, err := w.OpenCertificates(ctx, eve); return err },
		"open authority key":    func() error { _, _, err := w.OpenAuthority(ctx, eve); return err },
		"set certificate orders": func() error {
			return w.PutACME(ctx, eve, "qa", certificates.ACMEPut{})
		},
		"end certificate orders":   func() error { return w.DeleteACME(ctx, eve, "qa") },
		"retry certificate orders": func() error { return w.RetryACME(ctx, eve, "qa") },
	} {
		if err := do(); controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("%s: %v", action, err)
		}
		if n := pgtest.QueryValue[int](t, w.url, `SELECT count(*) FROM audit WHERE actor = 'eve'
			AND action = $1 AND result = 'refused'`, action); n != 1 {
			t.Errorf("%s: %d entries in the audit", action, n)
		}
	}
}
