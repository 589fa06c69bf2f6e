package vault_test

import (
	"bytes"
	"encoding/pem"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/controlplane/vault"
	"github.com/nullops/nullops/controlplane/vault/vaulttest"
)

func writeFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(content+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func appRole(t *testing.T) vault.Auth {
	t.Helper()
	return vault.Auth{AppRole: &vault.RoleAuth{Mount: "approle", Role: vaulttest.RoleID,
		File: writeFile(t, vaulttest.SecretID)}}
}

// newClient makes a client, and returns what it logs.
func newClient(t *testing.T, c vault.Config) (*vault.Client, *bytes.Buffer) {
	t.Helper()
	out := &bytes.Buffer{}
	c.Log = slog.New(slog.NewTextHandler(out, nil))
	client, err := vault.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return client, out
}

func newLocation() seal.Location {
	return seal.Location{Table: "secrets", Row: "r1", Column: "value", Label: "secret DB_PASSWORD"}
}

// transitRing is a ring with a transit key, whose data keys are cached for the time.
func transitRing(t *testing.T, c *vault.Client, keep time.Duration) *seal.Keyring {
	t.Helper()
	transit, err := vault.NewTransit(t.Context(), c, "transit", vaulttest.TransitKey)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := seal.NewKeyring(seal.NewCache(transit, keep))
	if err != nil {
		t.Fatal(err)
	}
	return ring
}

// sealAndOpen fails unless the value opens again.
func sealAndOpen(t *testing.T, ring *seal.Keyring, plain string) []byte {
	t.Helper()
	out, err := ring.Seal(newLocation(), []byte(plain))
	if err != nil {
		t.Fatal(err)
	}
	expectOpens(t, ring, out, plain)
	return out
}

func expectOpens(t *testing.T, ring *seal.Keyring, sealed []byte, want string) {
	t.Helper()
	if got, err := ring.Open(newLocation(), sealed); err != nil || string(got) != want {
		t.Errorf("opens as %q, %v; want %q", got, err, want)
	}
}

func TestTransit_WrapsInVaultAndBindsToThePlace(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	c, _ := newClient(t, vault.Config{Address: server.URL, Auth: appRole(t)})
	ring := transitRing(t, c, 0)
	value := sealAndOpen(t, ring, "hunter2-canary")
	if kid, err := seal.KidOf(value); kid != "vault1" || err != nil {
		t.Errorf("sealed under %q, %v", kid, err)
	}
	other := newLocation()
	other.Row = "r2"
	if _, err := ring.Open(other, value); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("moved to another row: %v", err)
	}
	for i := range value {
		bad := bytes.Clone(value)
		bad[i] ^= 1
		if _, err := ring.Open(newLocation(), bad); !errors.Is(err, seal.ErrUnopened) {
			t.Fatalf("byte %d changed: %v", i, err)
		}
	}
	server.AddTransitKey("signing", "ed25519")
	if _, err := vault.NewTransit(t.Context(), c, "transit", "signing"); !errors.Is(err,
		seal.ErrRefused) || !strings.Contains(err.Error(), "aes256-gcm96") {
		t.Errorf("a key of another type: %v", err)
	}
}

// A version that Vault gets is used by the next value, is the one to rotate to, and is
// learned by a ring that meets a value under it.
func TestTransit_Rotates(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	c, _ := newClient(t, vault.Config{Address: server.URL, Auth: appRole(t)})
	ring, replica := transitRing(t, c, time.Hour), transitRing(t, c, time.Hour)
	old := sealAndOpen(t, ring, "value")
	server.RotateTransit()
	if err := ring.Refresh(t.Context()); err != nil || ring.PrimaryKeyID() != "vault2" {
		t.Fatalf("after a rotation: %s, %v", ring.PrimaryKeyID(), err)
	}
	moved, changed, err := ring.Rewrap(newLocation(), old)
	if err != nil || !changed {
		t.Fatal(changed, err)
	}
	expectOpens(t, replica, moved, "value")
	server.RetireTransit(2)
	expectOpens(t, ring, moved, "value")
	if err := ring.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := transitRing(t, c, 0).Open(newLocation(), old); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("a value under a retired version: %v", err)
	}
}

// While Vault is away, cached values open, and others say who waits for what.
func TestTransit_OutageNamesWhatWaits(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	c, logged := newClient(t, vault.Config{Address: server.URL, Auth: appRole(t)})
	ring := transitRing(t, c, time.Hour)
	cached := sealAndOpen(t, ring, "value")
	for name, breaks := range map[string]func(bool){
		"unreachable": server.SetCut, "sealed": server.SetSealed,
	} {
		other := sealAndOpen(t, transitRing(t, c, 0), "other")
		breaks(true)
		expectOpens(t, ring, cached, "value")
		_, err := ring.Open(newLocation(), other)
		waiting, ok := errors.AsType[*seal.WaitingError](err)
		if !ok || !errors.Is(err, seal.ErrUnavailable) || waiting.Key != "vault1" ||
			!strings.Contains(err.Error(), "secret DB_PASSWORD waits") {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ring.Seal(newLocation(), []byte("new")); !errors.Is(err, seal.ErrUnavailable) {
			t.Errorf("%s: seal: %v", name, err)
		}
		before := server.Count("transit/")
		for range 20 {
			_, _ = ring.Open(newLocation(), other)
		}
		if n := server.Count("transit/") - before; n > 2 {
			t.Errorf("%s: %d requests in an outage; calls should fail at once", name, n)
		}
		breaks(false)
		// Calls rest for a second after a failure.
		for start := time.Now(); time.Since(start) < 10*time.Second; {
			if _, err = ring.Open(newLocation(), other); err == nil {
				break
			}
			time.Sleep(50 * time.Millisecond)
		}
		expectOpens(t, ring, other, "other")
	}
	if !strings.Contains(logged.String(), "Vault is available again") {
		t.Errorf("the log: %s", logged)
	}
}

func TestKVKeys_AreReadAndRefreshed(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	k1, _ := seal.NewKey("k1")
	k2, _ := seal.NewKey("k2")
	server.PutKV("nullops", map[string]any{"keys": k1})
	c, _ := newClient(t, vault.Config{Address: server.URL, Auth: appRole(t)})
	keys, err := vault.NewKVKeys(t.Context(), c, "secret", "nullops", "keys")
	if err != nil {
		t.Fatal(err)
	}
	ring, err := seal.NewKeyring(keys)
	if err != nil {
		t.Fatal(err)
	}
	sealAndOpen(t, ring, "value")
	server.PutKV("nullops", map[string]any{"keys": k2 + "," + k1})
	both, err := seal.ParseKeyring(k2)
	if err != nil {
		t.Fatal(err)
	}
	expectOpens(t, ring, sealAndOpen(t, both, "value of a replica that knows k2"),
		"value of a replica that knows k2")
	if ring.PrimaryKeyID() != "k2" {
		t.Errorf("seals under %s", ring.PrimaryKeyID())
	}
	for name, field := range map[string]any{"no key": "changeme", "no text": 7} {
		server.PutKV("bad", map[string]any{"keys": field})
		_, err := vault.NewKVKeys(t.Context(), c, "secret", "bad", "keys")
		if !errors.Is(err, seal.ErrRefused) || strings.Contains(err.Error(), "changeme") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := vault.NewKVKeys(t.Context(), c, "secret", "gone", "keys"); !errors.Is(err,
		vault.ErrNotFound) {
		t.Errorf("a path that is not there: %v", err)
	}
}

func TestClient_SignsIn(t *testing.T) {
	t.Parallel()
	server := vaulttest.NewTLS(t)
	server.Namespace = "team/qa"
	server.PutKV("app", map[string]any{"password": "value"})
	ca := writeFile(t, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: server.Certificate().Raw})))
	kubernetes := func(jwt string) vault.Auth {
		return vault.Auth{Kubernetes: &vault.RoleAuth{Mount: "kubernetes",
			Role: vaulttest.JWTRole, File: writeFile(t, jwt)}}
	}
	wrongRole := appRole(t)
	wrongRole.AppRole.File = writeFile(t, "wrong-secret-canary")
	for name, test := range map[string]struct {
		auth          vault.Auth
		ca, namespace string
		want          error
	}{
		"AppRole":         {appRole(t), ca, "team/qa/", nil},
		"Kubernetes":      {kubernetes(vaulttest.JWT), ca, "team/qa", nil},
		"token file":      {vault.Auth{Token: writeFile(t, server.NewToken())}, ca, "team/qa", nil},
		"wrong secret id": {wrongRole, ca, "team/qa", seal.ErrRefused},
		"wrong account":   {kubernetes("wrong-jwt-canary"), ca, "team/qa", seal.ErrRefused},
		"wrong token": {vault.Auth{Token: writeFile(t, "wrong-token-canary")}, ca, "team/qa",
			seal.ErrRefused},
		"no such file":      {vault.Auth{Token: "/nonexistent"}, ca, "team/qa", seal.ErrRefused},
		"unknown authority": {appRole(t), "", "team/qa", seal.ErrUnavailable},
		"other namespace":   {appRole(t), ca, "other", seal.ErrRefused},
	} {
		c, logged := newClient(t, vault.Config{Address: server.URL, Namespace: test.namespace,
			CAFile: test.ca, Auth: test.auth})
		value, err := c.ReadKV(t.Context(), "secret", "app", "password")
		if !errors.Is(err, test.want) || err == nil && value != "value" {
			t.Errorf("%s: %q, %v; want %v", name, value, err, test.want)
		}
		if err != nil && strings.Contains(err.Error()+logged.String(), "canary") {
			t.Errorf("%s: a secret is in the error %v or in the log %s", name, err, logged)
		}
	}
}

// A token that has expired is replaced by a new sign-in; Run renews it before that, and
// signs in again near the end of its longest time.
func TestClient_KeepsItsSession(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		longest                     time.Duration
		run                         bool
		minSignIns, maxSignIns, min int
	}{
		"no renewal":     {time.Second, false, 2, 2, 0},
		"renewal":        {time.Hour, true, 1, 1, 2},
		"longest is met": {time.Second, true, 2, 6, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := vaulttest.New(t)
			server.PutKV("app", map[string]any{"password": "value"})
			server.SetTTL(time.Second, test.longest)
			c, _ := newClient(t, vault.Config{Address: server.URL, Auth: appRole(t)})
			if test.run {
				go func() { _ = c.Run(t.Context()) }()
			}
			for range 2 {
				if v, err := c.ReadKV(t.Context(), "secret", "app", "password"); err != nil || v != "value" {
					t.Fatalf("%q, %v", v, err)
				}
				time.Sleep(1600 * time.Millisecond)
			}
			n, renewals := server.Count("approle/login"), server.Count("renew-self")
			if n < test.minSignIns || n > test.maxSignIns || renewals < test.min {
				t.Errorf("%d sign-ins, %d renewals", n, renewals)
			}
		})
	}
}

// A token file that something else renews is read again when Vault refuses its token.
func TestClient_ReadsAReplacedToken(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	server.PutKV("app", map[string]any{"password": "value"})
	path := writeFile(t, server.NewToken())
	c, _ := newClient(t, vault.Config{Address: server.URL, Auth: vault.Auth{Token: path}})
	if _, err := c.ReadKV(t.Context(), "secret", "app", "password"); err != nil {
		t.Fatal(err)
	}
	vault.SetClock(c, func() time.Time { return time.Now().Add(time.Minute) })
	server.RevokeTokens()
	if err := os.WriteFile(path, []byte(server.NewToken()), 0o600); err != nil {
		t.Fatal(err)
	}
	if v, err := c.ReadKV(t.Context(), "secret", "app", "password"); err != nil || v != "value" {
		t.Errorf("after the token was replaced: %q, %v", v, err)
	}
}
