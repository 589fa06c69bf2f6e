package main_test

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// diskTrouble lets the disk under an agent's data be slow, and then full. Both are shown to people,
// the link stays, and all continues when it is over.
//
// fault: F23, F24
func diskTrouble(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := w.product()
	p.admin.put(t, "/environments/disk", object{"domain": "localhost"}, nil)
	p.define(t, "disk", webStep("web"))
	data := mountDisk(t, "512k")
	var held atomic.Pointer[chan struct{}]
	m := &dummyMachine{knobs: dummy.Hooks{Serve: oneAnswer}}
	m.enrol(t, p, "disky", "disk", agent.Config{Data: data, Build: "e2e",
		DiskPatience: time.Hour, Failpoint: func(place string) error {
			if free := held.Load(); free != nil && place == "journal.sync" {
				<-*free
			}
			return nil
		}})
	slowDisk(t, p, m, &held)
	fullDisk(t, p, data)
	m.nothingLeft(t, "")
}

// mountDisk is a file system of so many bytes, such as 512k.
func mountDisk(t *testing.T, size string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "data")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("nullops-test", dir, "tmpfs", 0, "size="+size+",mode=0700"); err != nil {
		t.Fatalf("mount a small disk: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	return dir
}

func slowDisk(t *testing.T, p *product, m *dummyMachine, held *atomic.Pointer[chan struct{}]) {
	t.Helper()
	free := make(chan struct{})
	held.Store(&free)
	release := func() {
		if held.Swap(nil) != nil {
			close(free)
		}
	}
	defer release()
	d := deployTo(t, p, "disk", "slow")
	awaitDetail(t, p, "degraded: A write to the agent's data folder has been taking")
	began := time.Now()
	eventually(t, "the agent goes on measuring", func() string {
		n := (&node{p: p, name: "disky"}).show(t)
		if n.Status != apiclient.NodeStatusOnline || n.Vitals == nil || !n.Vitals.At.After(began) {
			return string(n.Status)
		}
		return ""
	})
	if out, _, _ := p.admin.cli(t, "node", "list"); !strings.Contains(out, "has been taking") {
		t.Errorf("node list says nothing of the disk:\n%s", out)
	}
	if ran := m.engine.OperationLog(); len(ran) > 0 {
		t.Errorf("without the journal it did %q", ran)
	}
	release()
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	p.admin.remove(t, d.Id)
}

func fullDisk(t *testing.T, p *product, data string) {
	t.Helper()
	// Its goal is larger than what a file may still take in its last page.
	big := webStep("web")
	big["service"].(object)["env"] = object{"A": strings.Repeat("a", 3000),
		"B": strings.Repeat("b", 3000), "C": strings.Repeat("c", 3000)}
	p.define(t, "disk-big", big)
	ballast := filepath.Join(data, "ballast")
	fillDisk(t, ballast)
	d := deployTo(t, p, "disk-big", "full")
	awaitDetail(t, p, "no space left on device")
	a := p.admin.ask(t, http.MethodPost, "/deployments",
		object{"name": "refused", "project": "disk", "environment": "disk"})
	if a.status/100 == 2 || !strings.Contains(a.body, "no space left on device") {
		t.Errorf("a node that cannot write took a deployment, or it is not said why: %s", a)
	}
	if n := p.admin.deployment(t, d.Id); n.Status != apiclient.DeploymentStatusQueued {
		t.Errorf("what was asked of the full node is %s", n.Status)
	}
	if err := os.Remove(ballast); err != nil {
		t.Fatal(err)
	}
	p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
	eventually(t, "the node is well again", func() string {
		return textOf((&node{p: p, name: "disky"}).show(t).StatusDetail)
	})
	p.admin.remove(t, d.Id)
}

// fillDisk leaves no room for one byte.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	for err == nil {
		_, err = f.Write(make([]byte, 4096))
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
}

func deployTo(t *testing.T, p *product, project, name string) (d apiclient.Deployment) {
	t.Helper()
	p.admin.want(t, http.StatusCreated, http.MethodPost, "/deployments",
		object{"name": name, "project": project, "environment": "disk"}, &d)
	return d
}

func awaitDetail(t *testing.T, p *product, part string) {
	t.Helper()
	eventually(t, "the node says "+part, func() string {
		n := (&node{p: p, name: "disky"}).show(t)
		if n.Status == apiclient.NodeStatusOnline && strings.Contains(textOf(n.StatusDetail), part) {
			return ""
		}
		return string(n.Status) + " " + textOf(n.StatusDetail) + " at " + time.Now().String()
	})
}
