package keyring_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/seal"
)

// The wrong key is noticed at the start, and says what to do.
func TestCheckKeys(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, setup := t.Context(), access.System("setup")
	for range 2 {
		if err := w.ring.CheckKeys(ctx, setup); err != nil {
			t.Fatalf("the right key: %v", err)
		}
	}
	// promise: N-119
	for name, ring := range map[string]*seal.Keyring{
		"same name, other key": keyringtest.NewKeys(t, "k1"),
		"other name":           keyringtest.NewKeys(t, "k9"),
	} {
		err := keyring.New(w.store, ring, w.log).CheckKeys(ctx, setup)
		if controlplane.CodeOf(err) != "master_key_wrong" {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := w.query(t, `SELECT count(*) FROM key_check`); n != 1 {
		t.Errorf("%d key checks", n)
	}
}

// promise: G-07
func TestIdentity_MadeOnceAndSealed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := 0
	load := func() (string, string) {
		t.Helper()
		certificate, key, err := w.ring.LoadOrCreateIdentity(
			t.Context(),
			access.System("setup"),
			func() ([]byte, []byte, error) {
				made++
				return []byte("certificate"), []byte(canary), nil
			},
		)
		if err != nil {
			t.Fatal(err)
		}
		return string(certificate), string(key)
	}
	load()
	certificate, key := load()
	if made != 1 || certificate != "certificate" || key != canary {
		t.Errorf("made %d times: %s", made, certificate)
	}
	if n := w.query(t, `SELECT count(*) FROM identity
		WHERE position('canary'::bytea in key) > 0`); n != 0 {
		t.Error("the private key is readable")
	}
}
