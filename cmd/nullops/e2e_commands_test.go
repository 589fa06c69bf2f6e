package main_test

import (
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/gitfetch/gittest"
	"github.com/nullops/nullops/internal/intoto"
	"github.com/nullops/nullops/internal/testpart"
)

// otherCommands runs the documented commands that no other story runs. What they do is tested
// through the API; here each has to reach it, and to print what a person runs it for.
func otherCommands(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.enrol(t, "worker", "qa")
	p.admin.put(t, "/projects/every", object{"resources": object{"memory_mib": 512}}, nil)
	p.admin.put(t, "/projects/every/secrets/PASSWORD", object{"generate": object{"length": 24}}, nil)
	web := webStep("web")
	web["service"].(object)["env"].(object)["PASSWORD"] = "${{ secrets.PASSWORD }}"
	p.savePipeline(t, "every", web)
	p.admin.deployReady(t, "every", "every", nil)

	p.commandSays(t, "WHAT", "activity", "every")
	p.commandSays(t, "no comments yet", "comment", "every")
	p.commandSays(t, "told admin", "comment", "every", "@admin it works")
	p.commandSays(t, "@admin it works", "comment", "every")
	p.saysVerdicts(t)
	p.commandSays(t, "a demo", "hold", "every", "--reason", "a demo", "--for", "1h")
	p.does(t, "release", "every")
	p.commandSays(t, "every", "queue", "--history")
	p.commandSays(t, "admin", "access", "explain", "project/every")
	p.commandSays(t, "bash", "completion", "bash")
	p.commandSays(t, "settings of the server", "help", "settings")
	p.commandSays(t, "0 left", "keys", "rotate")
	p.commandSays(t, "", "context", "list")
	p.commandSays(t, "PASSWORD", "secret", "list", "every")
	if value := p.commandSays(t, "", "secret", "reveal", "every", "PASSWORD"); len(value) != 24 {
		t.Errorf("secret reveal prints %d characters", len(value))
	}
	if out, errs, code := runCommand(t, w.binary, []string{"DATABASE_URL=" + p.database}, "",
		"migrate", "status"); code != 0 || !strings.Contains(out, "applied") {
		t.Errorf("migrate status: %d %s%s", code, out, errs)
	}
	if out, errs, code := runCommand(t, w.binary, []string{"DATABASE_URL=" + p.database}, "",
		"migrate", "check"); code != 0 || !strings.Contains(out, "takes 0 migrations") {
		t.Errorf("migrate check: %d %s%s", code, out, errs)
	}
	p.runsBackups(t)
	p.runsSupport(t, n)
	p.runsBlocks(t)
	p.alertsByCause(t)
	p.runsCookbook(t)
	p.runsCatalogue(t)
	p.runsCertificates(t)
	p.runsGates(t)
	p.runsNodes(t)
	p.runsRules(t)
	p.runsSources(t)
	p.runsUsers(t)
	p.runsWebhooks(t)
	p.seesHungService(t, n)
	p.runsAlerts(t, n)
	p.runsUsage(t)
}

// runsBackups starts the control plane again with a folder for backups: it makes one by itself,
// proves it, and makes another one when told to.
func (p *product) runsBackups(t *testing.T) {
	t.Helper()
	p.commandSays(t, "No backups are scheduled", "backups")
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_BACKUP_TO="+filepath.Join(p.dir, "backups"))
	awaitBackups := func(n int) {
		eventually(t, "backups are made and proven", func() string {
			out := p.commandSays(t, "Every 24 hours to ", "backups")
			if strings.Count(out, " verified") < n {
				return out
			}
			return ""
		})
	}
	awaitBackups(1)
	p.does(t, "backups", "start")
	awaitBackups(2)
}

// commandSays runs a command that has to work and to print something, and returns what it printed.
func (p *product) commandSays(t *testing.T, something string, args ...string) string {
	t.Helper()
	out := p.does(t, args...)
	// promise: D-02
	if !strings.Contains(out, something) {
		t.Errorf("nullops %s prints %q, without %q", strings.Join(args, " "), out, something)
	}
	return strings.TrimSpace(out)
}

// rotatesVerdictKey makes another key; the statement names the one that verifies it still.
func (p *product) rotatesVerdictKey(t *testing.T, key, statement string) {
	t.Helper()
	now := p.commandSays(t, "BEGIN PUBLIC KEY", "verdict", "rotate-key")
	if now == key || p.does(t, "verdict", "key") != now+"\n" {
		t.Error("after the rotation the former key is published as the one that signs")
	}
	var bundle struct {
		VerificationMaterial struct{ PublicKey struct{ Hint string } }
	}
	if err := json.Unmarshal([]byte(statement), &bundle); err != nil {
		t.Fatal(err)
	}
	hint := bundle.VerificationMaterial.PublicKey.Hint
	former := p.commandSays(t, "BEGIN PUBLIC KEY", "verdict", "key", "--hint", hint)
	if former != key {
		t.Errorf("the key of the statement is %s, not %s", former, key)
	}
	_, errs, code := p.admin.cli(t, "verdict", "key", "--hint", "none")
	if code == 0 || !strings.Contains(errs, "the statement is of another one") {
		t.Errorf("an unknown hint: %d %s", code, errs)
	}
}

// saysVerdicts judges what runs; the statement is found beside the image in its real registry.
func (p *product) saysVerdicts(t *testing.T) {
	t.Helper()
	p.does(t, "team", "add", "testers", "admin")
	p.does(t, "team", "verdicts", "testers", "yes")
	p.commandSays(t, "no verdict yet", "verdict", "list", "every")
	p.commandSays(t, "passed with remarks", "verdict", "give", "every", "remarks", "-m", "slow")
	p.commandSays(t, "QA: passed with remarks", "list")
	statement := p.commandSays(t, "dsseEnvelope", "verdict", "statement", "every")
	key := p.commandSays(t, "BEGIN PUBLIC KEY", "verdict", "key")
	said, err := intoto.Verify(key, []byte(statement))
	if err != nil || len(said.Subject) == 0 {
		t.Fatalf("the statement names %v: %v", said.Subject, err)
	}
	p.rotatesVerdictKey(t, key, statement)
	image, err := name.NewDigest(said.Subject[0].Name+"@sha256:"+said.Subject[0].Digest["sha256"],
		name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, "the verdict is attached", func() string {
		if out := p.does(t, "verdict", "list", "every"); !strings.Contains(out, ": attached") {
			return out
		}
		return ""
	})
	index, err := remote.Referrers(image, remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	attached, err := index.IndexManifest()
	found := err == nil && slices.ContainsFunc(attached.Manifests, func(d v1.Descriptor) bool {
		return d.ArtifactType == intoto.BundleType
	})
	// promise: W-06
	if !found {
		t.Errorf("beside %s is %+v: %v", image, attached, err)
	}
}

// firstID is the first id in what a command printed.
func firstID(t *testing.T, printed string) string {
	t.Helper()
	id := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(printed)
	if id == "" {
		t.Fatalf("there is no id in %q", printed)
	}
	return id
}

// runsCookbook has the control plane check each stack of the cookbook, as applying it would.
func (p *product) runsCookbook(t *testing.T) {
	t.Helper()
	stacks, err := filepath.Glob("../../deploy/examples/cookbook/*.yaml")
	if err != nil || len(stacks) < 10 {
		t.Fatalf("the cookbook has %d stacks, %v", len(stacks), err)
	}
	for _, stack := range stacks {
		p.commandSays(t, "project cook-", "apply", "-f", stack, "--dry-run")
	}
}

func (p *product) runsCatalogue(t *testing.T) {
	t.Helper()
	lines := splitLines(p.commandSays(t, "NAME", "catalogue", "list"))
	if len(lines) < 2 {
		t.Fatalf("catalogue list prints %q", lines)
	}
	entry := strings.Fields(lines[1])[0]
	p.commandSays(t, entry, "catalogue", "show", entry)
	p.commandSays(t, entry, "catalogue", "add", entry, "--dry-run")
}

func (p *product) runsCertificates(t *testing.T) {
	t.Helper()
	server := httptest.NewTLSServer(nil) // it has a certificate with its key
	defer server.Close()
	served := server.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(served.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	chainFile, keyFile := filepath.Join(p.dir, "chain.pem"), filepath.Join(p.dir, "key.pem")
	for file, block := range map[string]*pem.Block{
		chainFile: {Type: "CERTIFICATE", Bytes: served.Certificate[0]},
		keyFile:   {Type: "PRIVATE KEY", Bytes: key},
	} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	p.commandSays(t, "example.com", "certificate", "put", "every", "--chain", chainFile,
		"--key", keyFile)
	p.commandSays(t, "every", "certificate", "list")
	p.does(t, "certificate", "delete", "every")
	p.commandSays(t, "SHA-256", "certificate", "authority", "make")
	p.commandSays(t, "BEGIN CERTIFICATE", "certificate", "authority", "show", "--pem")
	p.does(t, "certificate", "authority", "delete")
}

func (p *product) runsGates(t *testing.T) {
	t.Helper()
	p.commandSays(t, "guests", "gate", "deployment", "every", "guests")
	p.commandSays(t, "http", "gate", "invite", "every", "--label", "a guest")
	guest := firstID(t, p.commandSays(t, "a guest", "gate", "guests", "every"))
	p.does(t, "gate", "guests", "every", "--withdraw", guest)
	p.commandSays(t, "", "gate", "robot", "add", "qa", "--label", "a robot")
	robot := firstID(t, p.commandSays(t, "a robot", "gate", "robot", "list", "qa"))
	p.does(t, "gate", "robot", "remove", "qa", robot)
	p.commandSays(t, "open", "gate", "environment", "qa", "open")
}

// runsUsage reads the usage of the deployment, prices it, sets a budget, and takes a row back.
func (p *product) runsUsage(t *testing.T) {
	t.Helper()
	p.commandSays(t, "", "usage", "prices", "--currency", "EUR", "--cpu-hour", "1")
	p.commandSays(t, "EUR", "usage", "prices")
	eventually(t, "the deployment is in the ledger", func() string {
		if out := p.does(t, "usage", "--by", "project,day"); !strings.Contains(out, "every") {
			return out
		}
		return ""
	})
	p.commandSays(t, "IDLE FOR", "usage", "idle", "--hours", "1")
	p.commandSays(t, "", "usage", "budget", "set", "every", "--scope", "project", "--subject",
		"every", "--amount", "1000")
	p.commandSays(t, "1000", "usage", "budget", "list")
	p.does(t, "usage", "budget", "delete", "every")
	p.does(t, "remove", "every")
	var row string
	eventually(t, "its interval is a row", func() string {
		for _, line := range splitLines(p.does(t, "usage", "export")) {
			if strings.Contains(line, ",allocated,") && strings.Contains(line, ",every,") {
				row, _, _ = strings.Cut(line, ",")
				return ""
			}
		}
		return "no row"
	})
	p.commandSays(t, "takes back row "+row, "usage", "correct", "--row", row, "--reason", "a test")
}

// runsNodes approves a node whose certificate is not the expected one, and gives it up.
func (p *product) runsNodes(t *testing.T) {
	t.Helper()
	n := p.newNode(t, "stranger")
	var made apiclient.NodeEnrolment
	p.admin.want(t, 201, "POST", "/nodes", object{"name": n.name, "environment": "qa",
		"address": n.address, "thumbprint": strings.Repeat("ab", 32)}, &made)
	n.token = made.Token
	n.start(t)
	shown := n.await(t, apiclient.NodeStatusUntrusted)
	p.does(t, "node", "approve", n.name, textOf(shown.PendingThumbprint))
	n.await(t, apiclient.NodeStatusOnline)
	p.commandSays(t, "done", "node", "disable", n.name)
	p.commandSays(t, "done", "node", "enable", n.name)
	n.agent.stop(t)
	p.does(t, "node", "remove", n.name, "--force")
	p.commandSays(t, n.name, "node", "forgotten")
	// Nothing is in dispute here, which takes a restored database.
	if _, errs, code := p.admin.cli(t, "node", "recreate", "worker", "every"); code == 0 ||
		!strings.Contains(errs, "no unknown deployment is called every") {
		t.Errorf("node recreate without a dispute: %d %s", code, errs)
	}
}

func (p *product) runsRules(t *testing.T) {
	t.Helper()
	p.commandSays(t, "secret", "rule", "set", "changes", "--source", "generic", "--project", "every",
		"--env", "qa", "--tag", "pr-{number}")
	p.commandSays(t, "changes", "rule", "list")
	p.commandSays(t, "REVIEW", "rule", "show", "changes")
	_, errs, code := p.admin.cli(t, "rule", "approve", "changes", "acme/shop#12", "4f2a91c")
	if code == 0 || !strings.Contains(errs, "acme/shop#12") {
		t.Errorf("a commit of an unknown pull request is approved: %d %s", code, errs)
	}
	p.does(t, "rule", "delete", "changes")
}

// runsSources applies a commit of a real repository, through the program that serves and its loop.
func (p *product) runsSources(t *testing.T) {
	t.Helper()
	r := gittest.New(t)
	commit := r.Commit(map[string]string{
		"defs/night.yaml": "kind: environment\nname: night\ndomain: night.test\n"})
	p.commandSays(t, "secret", "sources", "set", "platform", "--url", r.URL, "--folder", "defs",
		"--webhook", "generic", "--every", "24h")
	p.commandSays(t, "platform", "sources", "list")
	p.commandSays(t, "would be created", "sources", "sync", "platform")
	p.commandSays(t, commit[:7], "sources", "show", "platform")
	p.commandSays(t, "synced", "sources", "apply", "platform", "--commit", commit)
	p.commandSays(t, "kind: environment", "export", "environment/night")
	p.does(t, "sources", "delete", "platform")
	p.does(t, "delete", "environment", "night", "--yes")
}

func (p *product) runsUsers(t *testing.T) {
	t.Helper()
	p.commandSays(t, "http", "user", "invite", "ada@example.org")
	invitation := firstID(t, p.commandSays(t, "ada@example.org", "user", "invitations"))
	p.does(t, "user", "uninvite", invitation)
	p.commandSays(t, "robo", "user", "service", "robo")
	p.does(t, "user", "deactivate", "robo")
	p.does(t, "user", "activate", "robo")
	p.member(t, "eve")
	p.commandSays(t, "http", "user", "reset", "eve")
	p.does(t, "user", "reset-factors", "eve")
	p.does(t, "user", "remove", "robo")
}

func (p *product) runsWebhooks(t *testing.T) {
	t.Helper()
	bell := p.watchAlarms(t, "deployment.removed")
	address := filepath.Join(p.dir, "address")
	if err := os.WriteFile(address, []byte(bell.url+"/other"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.commandSays(t, "secret", "webhook", "set", "other", "--event", "deployment.removed,node.offline",
		"--url-file", address)
	p.commandSays(t, "other", "webhook", "list")
	p.commandSays(t, "sent", "webhook", "test", "other")
	delivery := firstID(t, p.commandSays(t, "sent", "webhook", "deliveries", "other"))
	p.commandSays(t, "sent", "webhook", "redeliver", "other", delivery)
	p.does(t, "webhook", "delete", "other")
}
