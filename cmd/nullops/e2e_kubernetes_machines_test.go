//go:build kubernetes

package main_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// TestKubernetesMachines drains and kills the machine that a deployment is on: it returns under the
// URL that it had. A run in its middle ends as if its agent had died, and is undone, although
// nobody says that the machine is gone. A deployment with data says what it waits for, and returns
// with its data after one word of an admin. It runs alone, since the pods of other tests would be
// on that machine too.
func TestKubernetesMachines(t *testing.T) {
	testpart.Rotate(t)
	w := newClusterWorld(t)
	w.cluster.leavesNothing(t)
	k := w.cluster
	p, book := startProduct(t, w), newLedger(t)
	p.applyShop(t)
	p.defineHostile(t)
	n := p.enrol(t, "cluster", "qa")
	kill := k.addMachine(t)
	p.define(t, "stays", webStep("web"))
	p.define(t, "dies", book.ledgerStep("first", "ledger", nil, nil),
		book.ledgerStep("slow", "ledger-sleep", []string{"first"}, object{"seconds": 300}))
	t.Cleanup(func() { k.kubectl(t, "uncordon", "node1") })
	k.kubectl(t, "cordon", "node1")
	stays := p.admin.deployReady(t, "stays", "stays", nil)
	url := serviceURL(t, stays, "web")
	p.answers(t, url)
	n.mustBeOn(t, stays, "node2")

	k.kubectl(t, "uncordon", "node1")
	k.kubectl(t, "drain", "node2", "--force", "--ignore-daemonsets", "--delete-emptydir-data",
		"--timeout=60s")
	p.isBack(t, n, stays, "node1", "its machine was drained")

	k.kubectl(t, "uncordon", "node2")
	k.kubectl(t, "drain", "node1", "--force", "--ignore-daemonsets", "--delete-emptydir-data",
		"--timeout=60s")
	p.isBack(t, n, stays, "node2", "its machine was drained")
	keeps := p.deployWithNote(t, n)
	n.mustBeOn(t, keeps, "node2")
	dies := p.admin.deploy(t, "dies", "dies", nil)
	book.await(t, "dies", "create slow")
	k.kubectl(t, "uncordon", "node1")
	kill()
	killed := time.Now()
	// promise: K-06
	p.isBack(t, n, stays, "node1", "its machine is lost")
	d := p.admin.await(t, dies.Id, apiclient.DeploymentStatusFailed)
	// promise: K-06
	if lasted := time.Since(killed); lasted > lostWithin {
		t.Errorf("the run on a machine that was lost has ended after %s", lasted)
	}
	want := "create first, create slow, delete slow, delete first"
	// promise: K-06
	if got := strings.Join(book.of("dies"), ", "); got != want || d.Failure == nil ||
		textOf(d.Failure.Step) != "slow" ||
		!strings.Contains(d.Failure.Message, "and it may not run twice: ") {
		t.Errorf("the run on a machine that was lost: ledger %s, failure %+v", got, d.Failure)
	}
	p.giveUpMachine(t, n, keeps)
	for _, d := range []apiclient.Deployment{dies, stays, keeps} {
		p.admin.remove(t, d.Id)
		n.nothingLeft(t, d.Id)
	}
}

// lostWithin is how long a run may take to end that was on a lost machine: its plugin's lease of a
// minute, the undo, and room for a busy machine.
const lostWithin = 4 * time.Minute

// deployWithNote deploys a service with a volume, and puts a note into that.
func (p *product) deployWithNote(t *testing.T, n *node) apiclient.Deployment {
	t.Helper()
	step := webStep("web")
	step["service"].(object)["volumes"] = []object{{"name": "data", "path": "/data"}}
	p.define(t, "keeps", step)
	d := p.admin.deployReady(t, "keeps", "keeps", nil)
	p.answers(t, serviceURL(t, d, "web"))
	note := filepath.Join(p.w.cluster.volume(t, n, d.Id), "note")
	if err := os.WriteFile(note, []byte("kept"), 0o644); err != nil {
		t.Fatal(err)
	}
	return d
}

// giveUpMachine says of the lost machine that it is gone, which nobody can say of the other one:
// the deployment that waits for it returns with its data.
func (p *product) giveUpMachine(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	eventually(t, "it says what it waits for", func() string {
		said := textOf(p.admin.deployment(t, d.Id).Services[0].Detail)
		if !strings.Contains(said, "its machine node2 is lost") ||
			!strings.Contains(said, "nullops node give-up") {
			return "it says: " + said
		}
		return ""
	})
	if _, errs, code := p.admin.cli(t, "node", "give-up", n.name, "node1"); code == 0 ||
		!strings.Contains(errs, "kubectl drain node1") {
		t.Errorf("a machine that answers is given up: %d, %s", code, errs)
	}
	out, errs, code := p.admin.cli(t, "node", "give-up", n.name, "node2")
	if code != 0 || !strings.Contains(out, "start elsewhere now: 1") {
		t.Fatalf("give up a machine: %d: %s%s", code, out, errs)
	}
	// promise: K-06
	p.isBack(t, n, d, "node1", "its machine is lost")
	if out, errs, code = p.admin.cli(t, "cp", "keeps/web:/data/note", "-"); out != "kept" {
		t.Errorf("its data is %q: exit code %d: %s", out, code, errs)
	}
}

// mustBeOn fails unless the service web runs on a machine.
func (n *node) mustBeOn(t *testing.T, d apiclient.Deployment, machine string) {
	t.Helper()
	if got := n.pod(t, d.Id, "web").Spec.Machine; got != machine {
		t.Fatalf("it runs on %s, not on %s", got, machine)
	}
}

// isBack waits until a deployment answers from another machine, where nobody did anything for it.
// It says why it is there.
func (p *product) isBack(
	t *testing.T, n *node, before apiclient.Deployment, machine, why string,
) {
	t.Helper()
	url := serviceURL(t, before, "web")
	within(t, 4*time.Minute, "it answers from "+machine, func() string {
		if a := p.visit(t, url+"/healthz"); a.status != http.StatusOK {
			return a.String()
		}
		if got := n.pod(t, before.Id, "web").Spec.Machine; got != machine {
			return "it runs on " + got
		}
		return ""
	})
	eventually(t, "it says why it moved", func() string {
		said := textOf(p.admin.deployment(t, before.Id).Services[0].Detail)
		if !strings.Contains(said, why) {
			return "it says: " + said
		}
		return ""
	})
	now := p.admin.deployment(t, before.Id)
	if now.Status != apiclient.DeploymentStatusReady || serviceURL(t, now, "web") != url {
		t.Errorf("on %s it is %s at %s, was at %s", machine, now.Status, serviceURL(t, now, "web"),
			url)
	}
}
