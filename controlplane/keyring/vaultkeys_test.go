package keyring_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/seal"
	"github.com/nullops/nullops/controlplane/vault"
	"github.com/nullops/nullops/controlplane/vault/vaulttest"
	"github.com/nullops/nullops/internal/testpart"
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

// ringOf is a ring of a transit key and a local one; the first seals new values.
func ringOf(t *testing.T, first, second seal.Wrapper) *seal.Keyring {
	t.Helper()
	return must(seal.NewKeyring(first, second))(t)
}

// Every kind of value moves from a local key to Vault and back. A move that breaks off in the
// middle has lost nothing, and the next call finishes it.
func TestRotateKeys_MovesToVaultAndBack(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	server := vaulttest.New(t)
	client := vaultClient(t, server)
	transit := must(vault.NewTransit(t.Context(), client, "transit", vaulttest.TransitKey))(t)
	local := must(seal.ParseLocalKeys(must(seal.NewKey("k1"))(t)))(t)
	w := newWorldWith(t, must(seal.NewKeyring(local))(t))
	ctx := t.Context()
	id, run := w.everythingSealed(t)
	for i := range 130 {
		value := controlplane.NewPlain(fmt.Sprintf("%s-%d", canary, i))
		must(w.PutSecret(ctx, w.admin, catalog.SecretPut{Project: "shop",
			Name: fmt.Sprintf("MANY_%d", i), Value: &value}))(t)
	}

	toVault := ringOf(t, seal.NewCache(transit, time.Hour), local)
	w.use(toVault)
	checkRing(t, w, toVault, "")
	_, _, err := w.ring.RotateKeys(ctx, w.admin, "local")
	if controlplane.CodeOf(err) != "key_elsewhere" {
		t.Errorf("a move to where new values do not go: %v", err)
	}
	moved := w.breakMoveOff(t, server)
	done, left, err := w.ring.RotateKeys(ctx, w.admin, "vault")
	if err != nil || left != 0 || done == 0 || done+moved < 140 {
		t.Fatalf("rotated %d before and %d after the break, %d left: %v", moved, done, left, err)
	}
	onlyVault := must(seal.NewKeyring(seal.NewCache(transit, 0)))(t)
	checkRing(t, w, onlyVault, "")
	w.use(onlyVault)
	opensCanary(t, w, id, run)
	if states := must(w.ring.ListKeys(ctx, w.admin))(t); len(states) != 1 ||
		states[0].Key != "vault1" || states[0].Source != "vault transit nullops" {
		t.Errorf("only Vault: %+v", states)
	}

	back := ringOf(t, local, transit)
	w.use(back)
	if _, left, err := w.ring.RotateKeys(ctx, w.admin, "local"); left != 0 || err != nil {
		t.Fatalf("back: %d left, %v", left, err)
	}
	server.SetCut(true)
	onlyLocal := must(seal.NewKeyring(local))(t)
	checkRing(t, w, onlyLocal, "")
	w.use(onlyLocal)
	opensCanary(t, w, id, run)
}

// breakMoveOff cuts Vault off in the middle of a rotation, and returns how many values had
// moved by then.
func (w *world) breakMoveOff(t *testing.T, server *vaulttest.Server) int64 {
	t.Helper()
	server.CutAfter(120)
	done, _, err := w.ring.RotateKeys(t.Context(), w.admin, "vault")
	problem, ok := errors.AsType[*controlplane.Error](err)
	if done == 0 || !ok || problem.Kind != controlplane.Unavailable ||
		!strings.Contains(problem.Message, "waits for its sealing key") || problem.Remedy == "" {
		t.Fatalf("cut off after %d: %v", done, err)
	}
	server.SetCut(false)
	// Calls rest for a second after a failure.
	for start := time.Now(); err != nil && time.Since(start) < 10*time.Second; {
		time.Sleep(50 * time.Millisecond)
		_, err = w.keys.Seal(seal.Location{Table: "none"}, nil)
	}
	return done
}

func opensCanary(
	t *testing.T, w *world, id controlplane.DeploymentID, run func(*world) controlplane.Run,
) {
	t.Helper()
	b := must(w.OpenRun(t.Context(), access.System("fleet"), id, run(w)))(t)
	if b.Values["API_TOKEN"].Reveal() != canary || len(b.Key) != 32 {
		t.Errorf("the run's values: %v", b.Values)
	}
}

// While Vault is away, a value whose key is in memory opens, and one whose key is not is
// named, with what to do.
func TestOpenRun_SaysWhichValueWaits(t *testing.T) {
	t.Parallel()
	server := vaulttest.New(t)
	client := vaultClient(t, server)
	transit := must(vault.NewTransit(t.Context(), client, "transit", vaulttest.TransitKey))(t)
	w := newWorldWith(t, must(seal.NewKeyring(seal.NewCache(transit, time.Hour)))(t))
	w.shop(t)
	id, run := w.insertDeployment(t, "cart")
	fleet := access.System("fleet")
	must(w.OpenRun(t.Context(), fleet, id, run))(t)
	server.SetSealed(true)
	b := must(w.OpenRun(t.Context(), fleet, id, run))(t)
	if b.Values["API_TOKEN"].Reveal() != canary {
		t.Errorf("cached: %v", b.Values)
	}
	w.use(must(seal.NewKeyring(transit))(t))
	_, err := w.OpenRun(t.Context(), fleet, id, run)
	problem, ok := errors.AsType[*controlplane.Error](err)
	if !ok || problem.Kind != controlplane.Unavailable || problem.RetryAfter == 0 ||
		!strings.Contains(problem.Message, "the key of run "+string(run.ID)+" waits") ||
		!strings.Contains(problem.Remedy, "unsealed") {
		t.Errorf("not cached: %v", err)
	}
	password := controlplane.NewPlain("another-password")
	_, err = w.PutSecret(t.Context(), w.admin, catalog.SecretPut{Project: "shop", Name: "DB_PASSWORD",
		Value: &password})
	if err == nil || !strings.Contains(err.Error(), "secret DB_PASSWORD waits") {
		t.Errorf("a new value: %v", err)
	}
}
