// Package keyringtest makes keyrings for tests.
package keyringtest

import (
	"log/slog"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/seal"
)

// New makes a keyring of one new master key, "k1".
func New(t testing.TB, store *postgres.Store) *keyring.Keyring {
	t.Helper()
	return keyring.New(store, NewKeys(t, "k1"), slog.New(slog.DiscardHandler))
}

// NewKeys makes a new master key for each id, the first of which seals.
func NewKeys(t testing.TB, kids ...string) *seal.Keyring {
	t.Helper()
	var all []string
	for _, kid := range kids {
		key, err := seal.NewKey(kid)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, key)
	}
	keys, err := seal.ParseKeyring(strings.Join(all, ","))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
