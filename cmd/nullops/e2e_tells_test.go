package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// nodeTells checks what a node reports: what it is and lacks, what changes,
// and what it uses, also while nobody listens. Its engine is its own, so that
// it can be broken.
func nodeTells(t *testing.T, w *world) {
	testpart.Rotate(t)
	engine := dockertest.StartDaemon(t)
	bridgeRegistry(t, engine, w.registry)
	p := startProduct(t, w)
	p.applyShop(t)
	n := p.addNode(t, "teller", "qa")
	n.docker = engine.Host
	tools := t.TempDir()
	n.env = []string{"PATH=" + tools + ":" + os.Getenv("PATH")}
	n.more = []string{"--agent.probe=2s"}
	n.start(t)
	tellsWhatItIs(t, n, tools)
	doctorAgrees(t, n)

	p.define(t, "small", webStep("web"))
	one := p.admin.deployReady(t, "small", "one", nil)
	two := p.admin.deployReady(t, "small", "two", nil)
	losesIsolation(t, n, engine, two)
	p.admin.remove(t, two.Id)
	keepsMeasuring(t, n, one)
	refusesBesideHog(t, n)
	shownOnTop(t, n, one)
	p.admin.remove(t, one.Id)
	n.nothingLeft(t, one.Id)
}

// checkOf finds a check on the node.
func checkOf(n apiclient.Node, id string) apiclient.NodeCheck {
	if n.Inventory == nil || n.Inventory.Checks == nil {
		return apiclient.NodeCheck{}
	}
	for _, c := range *n.Inventory.Checks {
		if c.Id == id {
			return c
		}
	}
	return apiclient.NodeCheck{}
}

func tellsWhatItIs(t *testing.T, n *node, tools string) {
	t.Helper()
	n.await(t, apiclient.NodeStatusOnline)
	var shown apiclient.Node
	eventually(t, "the isolation is tried", func() string {
		shown = n.show(t)
		if c := checkOf(shown, "isolation"); c.Severity != apiclient.CheckSeverityOk {
			return string(c.Severity) + " " + c.Detail
		}
		return ""
	})
	i := shown.Inventory
	// promise: V-08, V-12, V-27
	if textOf(i.RuncVersion) == "" || textOf(i.CgroupVersion) == "" || textOf(i.StorageDriver) == "" ||
		i.Kernel == "" || i.Memory < 1<<28 || len(*i.Disks) == 0 {
		t.Errorf("the inventory is not whole: %+v", *i)
	}
	for _, id := range []string{"clock-skew", "live-restore", "address-range", "disk", "seccomp"} {
		if checkOf(shown, id).Detail == "" {
			t.Errorf("no check %s among %+v", id, *i.Checks)
		}
	}
	if c := checkOf(shown, "clock-skew"); c.Severity != apiclient.CheckSeverityOk {
		t.Errorf("two programs on one machine: %+v", c)
	}
	// NVIDIA's tool is stood in for by a script that prints what it prints.
	script := "#!/bin/sh\necho '0, GPU-8f1e, NVIDIA L4, 23034, 550.54.15'\n"
	if err := os.WriteFile(filepath.Join(tools, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	// promise: B-07
	eventually(t, "the new card is seen", func() string {
		gpus := n.show(t).Inventory.Gpus
		if gpus == nil || len(*gpus) != 1 || (*gpus)[0].Memory != 23034<<20 {
			return "not yet"
		}
		return ""
	})
}

// doctorAgrees asks the machine itself, without the control plane.
func doctorAgrees(t *testing.T, n *node) {
	t.Helper()
	args := []string{"agent", "doctor", "--agent.data=" + n.data, "--agent.run=" + n.run,
		"--agent.docker=" + n.docker, "--agent.subnets=" + n.subnets}
	out, errs, code := runCommand(t, n.binary, nil, "", append(args, "--json")...)
	var told struct {
		Healthy bool
		Checks  []apiclient.NodeCheck
	}
	if err := json.Unmarshal([]byte(out), &told); err != nil || code != 0 || !told.Healthy {
		t.Fatalf("exit code %d, %v\n%s%s", code, err, out, errs)
	}
	var ids []string
	for _, c := range told.Checks {
		ids = append(ids, c.Id)
	}
	for _, c := range *n.show(t).Inventory.Checks {
		// The card came with this process's PATH only, the clocks are compared by the
		// control plane, and the journal is the running agent's.
		elsewhere := []string{"gpu", "clock-skew", "journal"}
		if !slices.Contains(elsewhere, c.Id) && !slices.Contains(ids, c.Id) {
			t.Errorf("the doctor does not know %s, only %v", c.Id, ids)
		}
	}
	out, _, code = runCommand(t, n.binary, nil, "", "agent", "doctor", "--agent.run="+n.run,
		"--agent.docker=unix:///nowhere/docker.sock")
	if code != 1 || !strings.Contains(out, "critical") || !strings.Contains(out, "→") {
		t.Errorf("without an engine: exit code %d\n%s", code, out)
	}
	out, errs, code = runCommand(t, n.binary, nil, "", append([]string{"agent", "lost"},
		args[2:]...)...)
	if code != 0 || !strings.Contains(out, "Nothing is lost") {
		t.Errorf("agent lost: exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = n.p.admin.cli(t, "node", "show", n.name)
	if code != 0 || !strings.Contains(out, "live-restore") || !strings.Contains(out, "runc") {
		t.Errorf("node show: exit code %d\n%s%s", code, out, errs)
	}
}

// losesIsolation takes the engine's rules away: nothing new is placed there, and
// what is there stays, until they are back.
func losesIsolation(t *testing.T, n *node, engine *dockertest.Daemon, d apiclient.Deployment) {
	t.Helper()
	admin := n.p.admin
	out, err := engine.NetnsCommand("iptables", "-w", "-F", "DOCKER-ISOLATION-STAGE-1").
		CombinedOutput()
	if err != nil {
		t.Fatalf("flush: %v: %s", err, out)
	}
	eventually(t, "the node is blocked", func() string {
		if shown := n.show(t); textOf(shown.Blocked) == "" ||
			checkOf(shown, "isolation").Severity != apiclient.CheckSeverityCritical {
			return checkOf(shown, "isolation").Detail
		}
		return ""
	})
	a := admin.ask(t, http.MethodPost, "/deployments", object{"name": "more", "project": "small",
		"environment": "qa"})
	if a.status < 400 || !strings.Contains(a.body, "not isolated") {
		t.Errorf("placed where deployments reach each other: %d %s", a.status, a.body)
	}
	if now := admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusReady {
		t.Errorf("what was there is %s", now.Status)
	}
	engine.Kill()
	engine.Start()
	eventually(t, "the node takes deployments again", func() string {
		return textOf(n.show(t).Blocked)
	})
	n.p.answers(t, serviceURL(t, d, "web"))
}

// keepsMeasuring stops the control plane for some measurements: afterwards they
// are there, each once.
func keepsMeasuring(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	p := n.p
	curve := func(path string) (points []apiclient.MetricPoint) {
		var m apiclient.Metrics
		p.admin.get(t, path+"/metrics?resolution=raw", &m)
		for _, s := range m.Series {
			if path == "/nodes/"+n.name || textOf(s.Step) == "web" {
				points = append(points, s.Points...)
			}
		}
		return points
	}
	paths := []string{"/nodes/" + n.name, "/deployments/" + d.Id}
	for _, path := range paths {
		// promise: V-07, N-285
		eventually(t, "something was measured", func() string {
			n.p.visit(t, serviceURL(t, d, "web")) // so that the service has work to do
			var cpu float64
			var memory int64
			for _, point := range curve(path) {
				cpu, memory = max(cpu, point.Cpu), max(memory, point.Memory)
			}
			if cpu <= 0 || memory <= 0 {
				return fmt.Sprintf("%f of a processor, %d bytes", cpu, memory)
			}
			return ""
		})
	}
	p.controlPlane.kill()
	// Nothing but time shows that the agent measures. Six measurements, which take half a minute or
	// more, may come as one in their middle.
	down := time.Now()
	time.Sleep(45 * time.Second)
	up := time.Now()
	p.startControlPlane(t)
	n.await(t, apiclient.NodeStatusOnline)
	for _, path := range paths {
		// promise: N-134, N-136, N-286
		eventually(t, "what was measured meanwhile is there", func() string {
			seen := map[time.Time]bool{}
			there := false
			for _, point := range curve(path) {
				if seen[point.At] {
					t.Errorf("%s: twice at %s", path, point.At)
				}
				seen[point.At] = true
				there = there || point.At.After(down) && point.At.Before(up)
			}
			if !there {
				return "a gap"
			}
			return ""
		})
	}
	p.admin.expectProblem(t, http.StatusBadRequest, http.MethodGet,
		"/nodes/"+n.name+"/metrics?from=2030-01-01T00:00:00Z&to=2020-01-01T00:00:00Z", nil, "from")
}

func shownOnTop(t *testing.T, n *node, d apiclient.Deployment) {
	t.Helper()
	out, errs, code := n.p.admin.cli(t, "top")
	if code != 0 || !strings.Contains(out, n.name) || !strings.Contains(out, "GB") {
		t.Errorf("top: exit code %d\n%s%s", code, out, errs)
	}
	out, errs, code = n.p.admin.cli(t, "top", d.Name)
	if code != 0 || !strings.Contains(out, "web") || !strings.Contains(out, "B") {
		t.Errorf("top %s: exit code %d\n%s%s", d.Name, code, out, errs)
	}
}
