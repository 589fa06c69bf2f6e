package main_test

import (
	"bytes"
	"context"
	"net/http"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
)

// restoredBackup puts yesterday's database back. What was made since is unknown to it, and running:
// nothing of it may be deleted before an admin decides.
//
// threat: T50
// fault: F60
func restoredBackup(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "stays", webStep("web"))
	n := p.enrol(t, "ahead", "qa")
	known := p.admin.deployReady(t, "stays", "known", nil)
	backup := p.dump(t)
	// All this is in no backup: two deployments, and a third control plane epoch.
	adopted := p.admin.deployReady(t, "stays", "adopted", nil)
	purged := p.admin.deployReady(t, "stays", "purged", nil)
	for range 2 {
		last := p.lease(t, n.name)
		p.controlPlane.stop(t)
		p.startControlPlane(t)
		next := p.movedFrom(t, n.name, last)
		eventually(t, "the agent has met the next control plane", func() string {
			return missingInLog(n.agent, `"epoch":`+formatNumber(int(next.epoch)))
		})
	}
	before := n.containers(t, adopted.Id)["web"].ID
	url := serviceURL(t, adopted, "web")
	p.answers(t, url)
	p.restore(t, backup)
	// The agent remembers that a later control plane commanded it: only a person
	// can say that this one is no forgotten copy.
	eventually(t, "the node says why it does not obey", func() string {
		if shown := n.show(t); !strings.Contains(textOf(shown.StatusDetail), "node recover") {
			return string(shown.Status) + " " + textOf(shown.StatusDetail)
		}
		return ""
	})
	p.does(t, "node", "recover", n.name)
	n.await(t, apiclient.NodeStatusOnline)
	eventually(t, "what the database lost is listed", func() string {
		out := p.does(t, "node", "unknown", n.name)
		if !strings.Contains(out, adopted.Id) || !strings.Contains(out, purged.Id) ||
			strings.Contains(out, known.Id) {
			return out
		}
		return ""
	})
	n.mustBeThere(t, adopted.Id, "container", "network")
	n.mustBeThere(t, purged.Id, "container", "network")
	n.namelessStays(t, known)
	if a := p.admin.ask(t, http.MethodGet, "/deployments/"+adopted.Id, nil); a.status !=
		http.StatusNotFound {
		t.Errorf("before it is adopted the deployment is %s", a)
	}

	p.does(t, "node", "adopt", n.name, "adopted")
	p.does(t, "node", "purge", n.name, "purged")
	eventually(t, "what was purged is gone", func() string {
		return strings.Join(n.leftOf(t, purged.Id), " ")
	})
	p.answers(t, url)
	d := p.admin.deployment(t, adopted.Id)
	if d.Status != apiclient.DeploymentStatusReady || serviceURL(t, d, "web") != url ||
		n.containers(t, adopted.Id)["web"].ID != before {
		t.Errorf("adopted it is %s at %s, and its container another: %s, was %s", d.Status,
			serviceURL(t, d, "web"), n.containers(t, adopted.Id)["web"].ID, before)
	}
	for _, action := range []string{"adopt deployment", "purge deployment", "recover node"} {
		if !strings.Contains(p.audit(t), action) {
			t.Errorf("the journal does not know of %q", action)
		}
	}
	// It obeys from now on like any other.
	p.admin.remove(t, adopted.Id)
	p.admin.remove(t, known.Id)
	n.nothingLeft(t, adopted.Id)
	n.nothingLeft(t, known.Id)
}

// namelessStays plants what nobody has a memory of. Right after a restore it may be someone's whose
// agent lost its journal too.
func (n *node) namelessStays(t *testing.T, known apiclient.Deployment) {
	t.Helper()
	api := dockertest.Client(t, n.docker)
	web := n.containers(t, known.Id)["web"]
	const id = "01a1fc00-0000-7000-8000-00000000000b"
	made, err := api.ContainerCreate(t.Context(), client.ContainerCreateOptions{
		Name: "nullops-nameless-" + n.install(t),
		Config: &container.Config{Image: web.Config.Image, Labels: map[string]string{
			"nullops.install": n.install(t), "nullops.deployment": id,
			"nullops.kind": "service", "nullops.step": "web"}}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = api.ContainerRemove(context.WithoutCancel(t.Context()), made.ID,
			client.ContainerRemoveOptions{Force: true})
	})
	// The agent has looked around once it has missed a service that is removed
	// later than that.
	_, err = api.ContainerRemove(t.Context(), web.ID, client.ContainerRemoveOptions{Force: true})
	if err != nil {
		t.Fatal(err)
	}
	n.p.answers(t, serviceURL(t, known, "web"))
	left := n.scanForLeaks(t).AddedSince(dockertest.LeakScan{})
	if !strings.Contains(strings.Join(left, "\n"), made.ID) {
		t.Errorf("it was removed: %q", left)
	}
}

// does runs a command that has to work, and returns what it said.
func (p *product) does(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := p.admin.cli(t, args...)
	if code != 0 {
		t.Fatalf("nullops %s: exit code %d: %s%s", strings.Join(args, " "), code, out, errs)
	}
	return out
}

// audit is the whole journal, as the database has it.
func (p *product) audit(t *testing.T) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	var all string
	err = conn.QueryRow(t.Context(), `SELECT coalesce(string_agg(actor || ' ' || action || ' ' ||
		object || ' ' || result, E'\n' ORDER BY id), '') FROM audit`).Scan(&all)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// restore stops everything, puts a dump into a new database, and starts again.
func (p *product) restore(t *testing.T, dump []byte) {
	t.Helper()
	p.controlPlane.stop(t)
	p.ingress.stop(t)
	p.database = pgtest.NewEmptyDatabase(t)
	tools, err := filepath.Glob("/usr/lib/postgresql/*/bin/psql")
	if err != nil || len(tools) == 0 {
		t.Fatalf("find psql: %v", err)
	}
	c := exec.CommandContext(t.Context(), tools[len(tools)-1], "--dbname="+p.database,
		"--quiet", "--set=ON_ERROR_STOP=1", "--single-transaction")
	c.Stdin = bytes.NewReader(dump)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("psql: %v: %s", err, out)
	}
	p.startControlPlane(t)
	p.startIngress(t)
}
