package main_test

import (
	"context"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/testpart"
)

// fullEngine fills the disk that a real engine keeps its images on, to the last
// byte. The image that nothing needs any more goes, the one of the deployment that
// runs stays, and so does the deployment.
//
// fault: F44
func fullEngine(t *testing.T, w *world) {
	testpart.Rotate(t)
	engine := dockertest.StartSmallDaemon(t, "256m")
	bridgeRegistry(t, engine, w.registry)
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "floor", webStep("web"))
	n := p.addNode(t, "floor", "qa")
	n.docker = engine.Host
	p.admin.put(t, "/nodes/floor", object{"environment": "qa", "address": n.address,
		"settings": object{"disk_floor_mib": 1}}, nil)
	stop := n.within(t)
	n.await(t, apiclient.NodeStatusOnline)
	old := p.admin.deployReady(t, "floor", "old", map[string]string{"web": "v1.0.0"})
	stays := p.admin.deployReady(t, "floor", "stays", map[string]string{"web": "v1.1.0"})
	needed, unneeded := n.imageOf(t, stays), n.imageOf(t, old)
	p.admin.remove(t, old.Id)

	stop()
	n.longAgo(t, old.Id)
	p.controlPlane.stop(t) // it remembers for a minute what has to stay
	p.startControlPlane(t)
	ballast := filepath.Join(engine.Root, "data", "ballast")
	fillDisk(t, ballast)
	n.within(t)
	api := dockertest.Client(t, engine.Host)
	// promise: I-15
	eventually(t, "the image that nothing needs is gone", func() string {
		if _, err := api.ImageInspect(t.Context(), unneeded); err == nil {
			return "it is there"
		}
		v := n.show(t).Vitals
		if v == nil || v.Images == nil || v.Images.Removed != 1 || v.Images.Freed == 0 {
			return "the node does not tell"
		}
		return ""
	})
	// promise: I-15
	if _, err := api.ImageInspect(t.Context(), needed); err != nil {
		t.Errorf("the image of a deployment that runs: %v", err)
	}
	p.answers(t, serviceURL(t, stays, "web"))
	fillDisk(t, ballast+"-too")
	n.refusesForDisk(t)
	for _, path := range []string{ballast, ballast + "-too"} {
		if err := os.Remove(path); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "there is room again", func() string {
		a := p.admin.ask(t, http.MethodPost, "/deployments", object{"name": "old", "project": "floor",
			"environment": "qa", "versions": object{"web": "v1.0.0"}})
		if a.status != http.StatusCreated {
			return a.String()
		}
		return ""
	})
	for _, d := range p.admin.all(t) {
		p.admin.await(t, d.Id, apiclient.DeploymentStatusReady)
		p.admin.remove(t, d.Id)
	}
}

// all are the deployments that are there.
func (who *person) all(t *testing.T) []apiclient.Deployment {
	t.Helper()
	var list apiclient.DeploymentList
	who.get(t, "/deployments", &list)
	return list.Items
}

// within runs the agent in this process: there it looks at its images all the
// time, and not once a minute.
func (n *node) within(t *testing.T) (stop func()) {
	t.Helper()
	token, err := wire.ParseToken(n.token)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	if err := os.MkdirAll(n.data, 0o700); err != nil {
		t.Fatal(err)
	}
	runtime, err := docker.New(ctx, docker.Config{Host: n.docker, Install: n.name, DataDir: n.data,
		RunDir: n.run, SubnetRange: netip.MustParsePrefix(n.subnets), Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	a, err := agent.New(agent.Config{Data: n.data, Token: &token, Build: "e2e", Listener: l,
		Log: slog.New(slog.DiscardHandler), CollectEvery: 200 * time.Millisecond, ProbeEvery: -1,
		DiskFloor: agent.DiskFloor{Part: 0.05}}, runtime)
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- a.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the agent ended with: %v", err)
		}
		runtime.Close()
	}
	t.Cleanup(stop)
	return stop
}

// imageOf returns the id of the image that a deployment's service runs from.
func (n *node) imageOf(t *testing.T, d apiclient.Deployment) string {
	t.Helper()
	c, err := dockertest.Client(t, n.docker).ContainerInspect(t.Context(),
		n.containers(t, d.Id)["web"].ID, client.ContainerInspectOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return c.Container.Image
}

// longAgo makes the agent and the database believe that a deployment's image was
// asked for last week.
func (n *node) longAgo(t *testing.T, deployment string) {
	t.Helper()
	path := filepath.Join(n.data, "images.json")
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var pulled map[string]map[string]any
	if err := durable.UnmarshalChecked(text, &pulled); err != nil || len(pulled) == 0 {
		t.Fatalf("the agent's list of images: %v: %s", err, text)
	}
	for _, image := range pulled {
		image["used"] = time.Now().Add(-9 * 24 * time.Hour)
	}
	if text, err = durable.MarshalChecked(pulled); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, string(text), 0o600)
	conn, err := pgx.Connect(t.Context(), n.p.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	_, err = conn.Exec(t.Context(), `UPDATE runs SET created_at = created_at - interval '9 days'
		WHERE deployment_id = $1`, deployment)
	if err != nil {
		t.Fatal(err)
	}
}

// refusesForDisk waits until the node's check and placement speak of its disk.
func (n *node) refusesForDisk(t *testing.T) {
	t.Helper()
	eventually(t, "the node tells that its disk is full", func() string {
		if v := n.show(t).Vitals; v == nil || v.DiskFree >= 1<<20 {
			return "it does not"
		}
		return ""
	})
	eventually(t, "placement refuses for want of disk", func() string {
		a := n.p.admin.ask(t, http.MethodPost, "/deployments", object{"name": "more",
			"project": "floor", "environment": "qa"})
		if a.status == http.StatusCreated {
			t.Fatalf("a node without a byte of disk took a deployment: %s", a)
		}
		if !strings.Contains(a.body, "disk") {
			return a.String()
		}
		return ""
	})
}
