package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"math/big"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// alertsByCause brings about what NullOps alerts of, as it happens to an installation, and ends it:
// a registry that is gone, a certificate that ends soon, a changed audit log, a disk that takes no
// backup, a service that fails, a database that is too large. The deployment
// called every fails when its page is opened.
func (p *product) alertsByCause(t *testing.T) {
	t.Helper()
	url := serviceURL(t, p.admin.deployment(t, p.findDeployment(t, "every")), "web")
	p.admin.put(t, "/registries/closed", object{"host": "127.0.0.1:1", "insecure": true}, nil)
	p.putEndingCertificate(t, "soon")
	actor := pgtest.QueryValue[string](t, p.database, "SELECT actor FROM audit WHERE seq = 2")
	p.changeAudit(t, "eve")
	if said, code := p.backsUpTo(t, "/dev/full"); code == 0 {
		t.Errorf("a full disk takes a backup: %s", said)
	}
	var visits sync.WaitGroup // each takes as long as the name server that knows no such service
	for range 60 {
		visits.Go(func() {
			if a := p.visit(t, url+"/"); a.status != http.StatusBadGateway {
				t.Errorf("the page works: %s", a)
			}
		})
	}
	visits.Wait()
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_ALERTS_DATABASE=1")
	causes := []string{"registry.failing", "certificate.expiring", "audit.broken", "backup.failed",
		"ingress.errors", "database.size"}
	hurry := func() {
		pgtest.Exec(t, p.database, `UPDATE alerts SET active_at = now() WHERE active_at > now();
			UPDATE jobs SET next_at = now() WHERE name = 'verify_audit'`)
	}
	// promise: O-02
	p.awaitAlerts(t, "their causes are there", hurry, causes, true)

	p.does(t, "delete", "registry", "closed", "--yes")
	p.does(t, "certificate", "delete", "soon")
	p.changeAudit(t, actor)
	if said, code := p.backsUpTo(t, filepath.Join(p.dir, "a.backup")); code != 0 {
		t.Errorf("the backup fails: %s", said)
	}
	p.ingress.stop(t) // what it counted goes with it
	p.startIngress(t)
	p.controlPlane.stop(t)
	p.startControlPlane(t)
	// promise: O-02
	p.awaitAlerts(t, "their causes are gone", hurry, causes, false)
}

// awaitAlerts waits until alerts of all conditions are active, or none is.
func (p *product) awaitAlerts(
	t *testing.T, when string, hurry func(), conditions []string, want bool,
) {
	t.Helper()
	eventually(t, "alerts are as they should be, when "+when, func() string {
		hurry()
		var all apiclient.AlertList
		p.admin.get(t, "/alerts", &all)
		active := map[string]string{}
		for _, a := range all.Items {
			if a.EndedAt == nil {
				active[a.Condition] += a.Summary
			}
		}
		var wrong []string
		for _, condition := range conditions {
			// Registries of the shop cannot be reached here, which is an alert of their own.
			said := active[condition]
			if condition == "registry.failing" && !strings.Contains(said, "closed") {
				said = ""
			}
			if (said != "") != want {
				wrong = append(wrong, condition)
			}
		}
		return strings.Join(wrong, ", ")
	})
}

func (p *product) findDeployment(t *testing.T, name string) string {
	t.Helper()
	return pgtest.QueryValue[string](t, p.database, "SELECT id::text FROM deployments WHERE name = '"+
		name+"' ORDER BY created_at DESC LIMIT 1")
}

// changeAudit edits the audit log behind the control plane's back.
func (p *product) changeAudit(t *testing.T, actor string) {
	t.Helper()
	pgtest.Exec(t, p.database, `ALTER TABLE audit DISABLE TRIGGER USER;
		UPDATE audit SET actor = '`+actor+`' WHERE seq = 2; ALTER TABLE audit ENABLE TRIGGER USER`)
}

// backsUpTo writes a backup to a file, as somebody's shell would.
func (p *product) backsUpTo(t *testing.T, file string) (said string, code int) {
	t.Helper()
	env, settings := p.settings()
	const script = `to=$1; shift; exec "$@" > "$to"`
	c := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "sh", file,
		p.w.binary, "backup"}, settings...)...)
	c.Env = append(cleanEnv(), env...)
	out, err := c.CombinedOutput()
	if c.ProcessState == nil {
		t.Fatalf("run nullops backup: %v", err)
	}
	return string(out), c.ProcessState.ExitCode()
}

// putEndingCertificate uploads a certificate that ends within days.
func (p *product) putEndingCertificate(t *testing.T, name string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"soon.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(3 * 24 * time.Hour)}
	chain, err := x509.CreateCertificate(rand.Reader, made, made, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	chainFile := filepath.Join(p.dir, name+".chain.pem")
	keyFile := filepath.Join(p.dir, name+".key.pem")
	writeFile(t, chainFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: chain})), 0o600)
	writeFile(t, keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		0o600)
	p.does(t, "certificate", "put", name, "--chain", chainFile, "--key", keyFile)
}
