package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
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
// backup, a service that fails, a database that is too large, a node short of disk. The deployment
// called every fails when its page is opened.
func (p *product) alertsByCause(t *testing.T) {
	t.Helper()
	url := serviceURL(t, p.admin.deployment(t, p.findDeployment(t, "every")), "web")
	p.admin.put(t, "/registries/closed", object{"host": "127.0.0.1:1", "insecure": true}, nil)
	p.putCertificate(t, "soon", time.Now().Add(3*24*time.Hour))
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
	p.does(t, "node", "set", "worker", "--disk-floor", "67108864")
	p.controlPlane.stop(t)
	p.startControlPlane(t, "NULLOPS_ALERTS_DATABASE=1")
	// Registries of the shop cannot be reached here, which is an alert of their own.
	causes := map[string]string{"registry.failing": "closed", "certificate.expiring": "soon",
		"audit.broken": "", "backup.failed": "", "ingress.errors": "", "database.size": "",
		"node.disk": "worker"}
	// promise: O-02
	p.awaitAlerts(t, true, causes)

	p.does(t, "delete", "registry", "closed", "--yes")
	p.does(t, "certificate", "delete", "soon")
	p.does(t, "node", "set", "worker", "--disk-floor", "0")
	p.changeAudit(t, actor)
	if said, code := p.backsUpTo(t, filepath.Join(p.dir, "a.backup")); code != 0 {
		t.Errorf("the backup fails: %s", said)
	}
	p.ingress.stop(t) // what it counted goes with it
	p.startIngress(t)
	p.controlPlane.stop(t)
	p.startControlPlane(t)
	// promise: O-02
	p.awaitAlerts(t, false, causes)
}

// awaitAlerts waits until alerts of all conditions are active, or none is, whose summaries hold a
// text. Nobody waits here for as long as a cause has to last, nor for the jobs that look for one.
func (p *product) awaitAlerts(t *testing.T, want bool, conditions map[string]string) {
	t.Helper()
	eventually(t, "alerts begin and end with their causes", func() string {
		pgtest.Exec(t, p.database, `UPDATE alerts SET active_at = now() WHERE active_at > now();
			UPDATE jobs SET next_at = now()
			WHERE name IN ('verify_audit', 'evaluate_alerts')`)
		var all apiclient.AlertList
		p.admin.get(t, "/alerts", &all)
		active := map[string]bool{}
		for _, a := range all.Items {
			text, asked := conditions[a.Condition]
			if asked && a.EndedAt == nil && strings.Contains(a.Summary, text) {
				active[a.Condition] = true
			}
		}
		for condition := range conditions {
			if active[condition] != want {
				return fmt.Sprintf("%s should be active: %v", condition, want)
			}
		}
		return ""
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

// putCertificate uploads a certificate that ends then.
func (p *product) putCertificate(t *testing.T, name string, end time.Time) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	made := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"soon.example.org"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: end}
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
