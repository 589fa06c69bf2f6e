package catalog_test

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/vault"
	"github.com/nullops/nullops/controlplane/vault/vaulttest"
)

// vaultClient signs in to the server by AppRole.
func vaultClient(t *testing.T, server *vaulttest.Server) *vault.Client {
	t.Helper()
	file := filepath.Join(t.TempDir(), "secret-id")
	if err := os.WriteFile(file, []byte(vaulttest.SecretID), 0o600); err != nil {
		t.Fatal(err)
	}
	return must(vault.New(vault.Config{Address: server.URL, Auth: vault.Auth{AppRole: &vault.RoleAuth{
		Mount: "approle", Role: vaulttest.RoleID, File: file}}}))(t)
}

// withVault restarts the catalogue with a Vault from which projects may read below apps.
func withVault(t *testing.T) (*world, *vaulttest.Server) {
	t.Helper()
	server := vaulttest.New(t)
	w := newWorld(t)
	w.shop(t)
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: w.keys,
		Log:   slog.New(slog.DiscardHandler),
		Vault: &vault.Secrets{Client: vaultClient(t, server), Mount: "secret", Root: "apps"}})
	return w, server
}

func (w *world) putVault(t *testing.T, path, field string) (controlplane.Secret, error) {
	t.Helper()
	out, err := w.PutSecret(t.Context(), w.admin, catalog.SecretPut{Project: "shop",
		Name: "API_TOKEN", Vault: &controlplane.VaultPath{Path: path, Field: field}})
	return out.Object, err
}

// A run reads the value once and keeps it; the project stores the path only; the next run
// reads again.
func TestVaultSecret_IsReadByTheRun(t *testing.T) {
	t.Parallel()
	w, server := withVault(t)
	ctx, fleet := t.Context(), access.System("fleet")
	first, second := canary+"-first", canary+"-second"
	server.PutKV("apps/shop", map[string]any{"token": first})
	s, err := w.putVault(t, "apps/shop", "token")
	if err != nil || s.Vault == nil || s.Vault.Path != "apps/shop" || s.Vault.Field != "token" {
		t.Fatalf("%+v, %v", s, err)
	}
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.deployed(t, "cart")
	for range 2 {
		b := must(w.OpenRun(ctx, fleet, id, run))(t)
		if got := b.Values["API_TOKEN"].Reveal(); got != first {
			t.Errorf("the run has %q", got)
		}
		server.PutKV("apps/shop", map[string]any{"token": second})
	}
	if n := w.query(t, `SELECT count(*) FROM secrets WHERE name = 'API_TOKEN' AND value IS NULL
		AND vault_path = 'apps/shop'`); n != 1 {
		t.Error("the project stores more than the path")
	}
	w.noCanary(t)
	other, again := w.deployed(t, "cart2")
	b := must(w.OpenRun(ctx, fleet, other, again))(t)
	if got := b.Values["API_TOKEN"].Reveal(); got != second {
		t.Errorf("the next run has %q", got)
	}
}

// Each reason why a value is not there names the secret and its path, and shows no value.
func TestVaultSecret_SaysWhyItIsNotThere(t *testing.T) {
	t.Parallel()
	w, server := withVault(t)
	fleet := access.System("fleet")
	must(w.putVault(t, "apps/shop", "token"))(t)
	must(w.SavePipeline(t.Context(), w.admin, "shop", graph(), ""))(t)
	id, run := w.deployed(t, "cart")
	for _, test := range []struct {
		why  string
		make func()
		kind controlplane.Kind
		says string
	}{
		{"nothing there", func() {}, controlplane.Conflict, "is not there"},
		{"no such field", func() {
			server.PutKV("apps/shop", map[string]any{"other": canary})
		}, controlplane.Conflict, "no such field"},
		{"too short", func() {
			server.PutKV("apps/shop", map[string]any{"token": "c4n4ry"})
		}, controlplane.Conflict, "at least 8 bytes"},
		{"no policy", func() { server.SetPolicy(`path "secret/data/x" { capabilities = ["read"] }`) },
			controlplane.Conflict, "may not be read"},
		{"sealed", func() { server.SetSealed(true) }, controlplane.Unavailable, "waits for its value"},
	} {
		test.make()
		_, err := w.OpenRun(t.Context(), fleet, id, run)
		problem, ok := errors.AsType[*controlplane.Error](err)
		if !ok || problem.Kind != test.kind || !strings.Contains(problem.Message, test.says) ||
			!strings.Contains(problem.Message, "API_TOKEN") || problem.Remedy == "" ||
			!strings.Contains(problem.Message, "apps/shop") || strings.Contains(err.Error(), "c4n4ry") {
			t.Errorf("%s: %v", test.why, err)
		}
	}
}

// Projects read below the path that the operator opened, and nothing else: the sealing
// keys may be in the same engine.
func TestVaultSecret_RefusesOtherPaths(t *testing.T) {
	t.Parallel()
	w, server := withVault(t)
	for _, path := range []string{"nullops", "apps", "apps/", "/apps/shop", "apps/../nullops",
		"apps/./shop", "apps//shop", "appsx/shop", "apps/shop?version=1", "apps/%2e%2e/nullops",
		"apps/shop#x", "apps/*", "apps/shop\n", strings.Repeat("apps/", 120) + "shop"} {
		if _, err := w.putVault(t, path, "token"); controlplane.CodeOf(err) != "vault_path" {
			t.Errorf("%q: %v", path, err)
		}
	}
	if _, err := w.putVault(t, "apps/shop", "a b"); controlplane.CodeOf(err) != "vault_field" {
		t.Errorf("a field with a space: %v", err)
	}
	if n := server.Count("secret/"); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: w.keys,
		Log: slog.New(slog.DiscardHandler)})
	if _, err := w.putVault(t, "apps/shop", "token"); controlplane.CodeOf(err) != "vault_off" {
		t.Errorf("without Vault: %v", err)
	}
}
