package main_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/vault/vaulttest"
	"github.com/nullops/nullops/internal/testpart"
)

// documentedPolicy is a policy that docs/vault.md tells people to create.
func documentedPolicy(t *testing.T, names ...string) (all string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/vault.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		found := regexp.MustCompile("# policy: " + name + "\n([^`]+)```").FindSubmatch(text)
		if found == nil {
			t.Fatalf("docs/vault.md has no policy %s", name)
		}
		all += string(found[1])
	}
	return all
}

// vaultKeys runs an installation whose sealing key never leaves Vault, from its first start,
// through an outage, to a local key.
func vaultKeys(t *testing.T, w *world) {
	testpart.Rotate(t)
	server := vaulttest.New(t)
	server.SetPolicy(documentedPolicy(t, "transit", "secrets"))
	secretID := filepath.Join(t.TempDir(), "secret-id")
	if err := os.WriteFile(secretID, []byte(vaulttest.SecretID), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &product{w: w, dir: shortDir(t), database: pgtest.NewEmptyDatabase(t),
		http: dockertest.FreeAddress(t), ingressAddr: dockertest.FreeAddress(t),
		vault: []string{"NULLOPS_VAULT_ADDRESS=" + server.URL, "NULLOPS_VAULT_TRANSIT_KEY=nullops",
			"NULLOPS_VAULT_APPROLE_ROLE=" + vaulttest.RoleID, "NULLOPS_VAULT_SECRETS_PATH=apps",
			"NULLOPS_VAULT_APPROLE_FILE=" + secretID}}
	p.url, p.ingressURL = "http://localhost:"+portOf(p.http), "http://localhost:"+portOf(p.ingressAddr)

	p.startsWithVault(t, server)
	p.admin.put(t, "/projects/shop", object{"resources": object{"cpu": 1, "memory_mib": 64}}, nil)
	p.admin.put(t, "/projects/shop/secrets/TOKEN", object{"value": "a-value-of-the-project"}, nil)
	p.readsSecretsFromVault(t)
	p.servesWithoutVault(t, server)
	p.movesToLocal(t, server)

	log, err := os.ReadFile(p.controlPlane.log)
	if err != nil || strings.Contains(string(log), "canary") {
		t.Errorf("the log holds a token or a secret id, %v:\n%s", err, log)
	}
}

// startsWithVault starts the control plane before Vault, and signs in.
func (p *product) startsWithVault(t *testing.T, server *vaulttest.Server) {
	t.Helper()
	server.SetCut(true)
	p.startControlPlane(t)
	anonymous := &person{p: p}
	eventually(t, "the start waits for Vault", func() string {
		a := p.askProbe(t, "/readyz")
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, `"for":"vault"`) {
			return a.String()
		}
		return ""
	})
	if a := anonymous.ask(t, http.MethodGet, "/version", nil); a.status != 503 ||
		!strings.Contains(a.body, "waiting_for_vault") {
		t.Errorf("the API meanwhile: %s", a)
	}
	server.SetCut(false)
	eventually(t, "it starts", func() string {
		if a := p.askProbe(t, "/readyz"); a.status != http.StatusOK {
			return a.String()
		}
		return ""
	})
	p.password = p.firstPassword(t)
	p.admin = p.signIn(t, "admin", p.password)
	environ, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", p.controlPlane.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	keys, _, _ := p.admin.cli(t, "keys", "list")
	inVault := regexp.MustCompile(`vault1\s+vault transit nullops\s+seals new values\s+[1-9]`)
	// promise: N-321
	if strings.Contains(string(environ), "MASTER_KEYS") || !inVault.MatchString(keys) ||
		server.Count("transit/encrypt/nullops") == 0 {
		t.Errorf("the key is not in Vault:\n%s", keys)
	}
}

// readsSecretsFromVault defines a secret by its path in a document, and finds it in an export.
func (p *product) readsSecretsFromVault(t *testing.T) {
	t.Helper()
	file := settingsFile(t, "kind: project\nname: shop\n"+
		"resources: {cpu: 1, memory_mib: 64}\nsecrets:\n"+
		"  DB_PASSWORD: {vault: {path: apps/shop/database, field: password}}\n")
	if out, errs, code := p.admin.cli(t, "apply", "-f", file); code != 0 {
		t.Fatalf("apply: %d, %s%s", code, out, errs)
	}
	out, _, _ := p.admin.cli(t, "export")
	if !regexp.MustCompile(`path: apps/shop/database`).MatchString(out) {
		t.Errorf("the export:\n%s", out)
	}
	p.admin.expectProblem(t, http.StatusBadRequest, http.MethodPut, "/projects/shop/secrets/KEYS",
		object{"vault": object{"path": "nullops", "field": "keys"}}, "vault_path")
}

func (p *product) askProbe(t *testing.T, path string) answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sendRequest(t, &http.Client{Timeout: patience}, r)
}

// servesWithoutVault seals Vault, and finds the API working and the value named that waits.
func (p *product) servesWithoutVault(t *testing.T, server *vaulttest.Server) {
	t.Helper()
	server.SetSealed(true)
	a := p.admin.ask(t, http.MethodPut, "/projects/shop/secrets/OTHER",
		object{"value": "another-value-of-it"})
	for _, say := range []string{"sealing_key_unavailable", "Secret OTHER waits", "unsealed"} {
		if a.status != http.StatusServiceUnavailable || !strings.Contains(a.body, say) {
			t.Errorf("a new value while Vault is sealed does not say %q: %s", say, a)
		}
	}
	p.admin.get(t, "/projects/shop", nil)
	server.SetSealed(false)
}

// movesToLocal seals everything under a local key, and starts without Vault.
func (p *product) movesToLocal(t *testing.T, server *vaulttest.Server) {
	t.Helper()
	key, _, _ := runCommand(t, p.w.binary, nil, "", "keys", "new")
	p.key = strings.TrimSpace(key)
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_MASTER_PRIMARY=local")
	if _, errs, code := p.admin.cli(t, "keys", "move", "vault"); code == 0 ||
		!strings.Contains(errs, "master.primary") {
		t.Errorf("a move to where new values do not go: %d, %s", code, errs)
	}
	if out, errs, code := p.admin.cli(t, "keys", "move", "local"); code != 0 ||
		!strings.Contains(out, " 0 left") {
		t.Errorf("move: %d, %s%s", code, out, errs)
	}
	p.controlPlane.stop(t)
	server.SetCut(true)
	p.vault = nil
	p.startControlPlane(t)
	keys, _, _ := p.admin.cli(t, "keys", "list")
	if strings.Contains(keys, "vault") || !strings.Contains(keys, "k1") {
		t.Errorf("after the move:\n%s", keys)
	}
}
