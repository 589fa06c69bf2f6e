package docker_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
)

// The probe says that networks are apart, sees at once when the engine's rules are gone, and leaves
// no objects.
//
// threat: T26
func TestProbeIsolation(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	daemon := dockertest.StartDaemon(t)
	r := newRigOn(t, daemon.Host)
	// The engine restores its rules for new networks: only existing networks lose their rules.
	r.deployment()
	r.deployment()
	if c := r.probe(wire.SeverityOK); c.ID != "isolation" || c.Remedy != "" {
		t.Errorf("with the engine's rules: %+v", c)
	}
	// As a reload of firewalld does. Engines since 28 have rules in the table raw too.
	for _, args := range []string{"-P FORWARD ACCEPT", "-F", "-t raw -F"} {
		out, err := daemon.NetnsCommand("iptables", append([]string{"-w"},
			strings.Fields(args)...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("iptables %s: %v: %s", args, err, out)
		}
	}
	if c := r.probe(wire.SeverityCritical); c.Remedy == "" {
		t.Errorf("without the engine's rules: %+v", c)
	}
	world, err := dockertest.ScanForLeaks(t.Context(), daemon.Host, "")
	if err != nil {
		t.Fatal(err)
	}
	for thing := range world {
		if strings.Contains(thing, "probe") {
			t.Errorf("left behind: %s", thing)
		}
	}
	daemon.Freeze()
	defer daemon.Thaw()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if c := r.ProbeIsolation(ctx); c.Severity != wire.SeverityUnknown {
		t.Errorf("with an engine that does not answer: %+v", c)
	}
}

// probe expects what a probe finds. A machine that is too busy to connect in
// time may need another one.
func (r *rig) probe(want wire.Severity) (c wire.Check) {
	r.t.Helper()
	for range 5 {
		if c = r.ProbeIsolation(r.t.Context()); c.Severity == want {
			return c
		}
		r.t.Logf("once more: %+v", c)
	}
	r.t.Fatalf("want %s: %+v", want, c)
	return c
}

// NVIDIA's tool is only stood in for here: an executable of that name that
// prints what the real one prints. What is real is how it is run and read.
func TestInventory_AsksForGPUs(t *testing.T) {
	r := newRig(t)
	dir := t.TempDir()
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
	stand := func(script string) wire.Inventory {
		t.Helper()
		err := os.WriteFile(filepath.Join(dir, "nvidia-smi"), []byte("#!/bin/sh\n"+script), 0o755)
		if err != nil {
			t.Fatal(err)
		}
		i, err := r.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return i
	}
	i := stand(`case "$*" in *query-gpu=index,uuid,name,memory.total*) ` +
		`echo "0, GPU-8f1e, NVIDIA L4, 23034, 550.54.15";; *) exit 9;; esac`)
	if len(i.GPUs) != 1 || i.GPUs[0].Model != "NVIDIA L4" || i.GPUs[0].Memory != 23034<<20 {
		t.Errorf("found %+v", i.GPUs)
	}
	i = stand("echo broken >&2; exit 9")
	found := ""
	for _, c := range i.Checks {
		if c.ID == "gpu" {
			found = string(c.Severity) + " " + c.Detail
		}
	}
	if len(i.GPUs) != 0 || !strings.HasPrefix(found, "warning") {
		t.Errorf("a broken driver: %+v, check %q", i.GPUs, found)
	}
}

// guardVariable makes the test binary the part that runs in the engine's own
// network namespace, where an agent on the machine is.
const guardVariable = "NULLOPS_TEST_GUARD"

// From a container, link-local addresses and the agent's port are reached
// without the guard and not with it; a firewall that forgets the rules gets them
// back, and another port of the machine stays open. No deployment reaches another, even while the
// engine's own rules are out.
//
// threat: T27
func TestGuard(t *testing.T) {
	testpart.Rotate(t)
	if host := os.Getenv(guardVariable); host != "" {
		guardInside(t, host)
		return
	}
	t.Parallel()
	daemon := dockertest.StartDaemon(t)
	dockertest.ImportActor(t, daemon.Host)
	out, err := daemon.NetnsCommand("ip", "addr", "add", "169.254.169.254/32", "dev", "lo").
		CombinedOutput()
	if err != nil {
		t.Fatalf("ip: %v: %s", err, out)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := daemon.NetnsCommand(self, "-test.run=^TestGuard$", "-test.v")
	c.Env = append(os.Environ(), guardVariable+"="+daemon.Host)
	out, err = c.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS: TestGuard") {
		t.Fatalf("in the engine's namespace: %v\n%s", err, out)
	}
}

func guardInside(t *testing.T, host string) {
	metadata := listenOn(t, "169.254.169.254:0")
	agentPort := listenOn(t, "0.0.0.0:0")
	other := listenOn(t, "0.0.0.0:0")
	open := newRigOn(t, host)
	// A network's gateway is the machine: whatever listens there is in reach.
	try := func(r *rig) (answers [3]bool) {
		t.Helper()
		id := r.deployment()
		r.start(r.service(id, "spy"))
		gateway := r.gateway(id)
		for i, to := range []string{metadata.String(), portURL(gateway, agentPort),
			portURL(gateway, other)} {
			answers[i] = strings.HasPrefix(r.get(id, "spy", "/dial?to="+to), "connected")
		}
		return answers
	}
	if got := try(open); got != [3]bool{true, true, true} {
		t.Fatalf("without a guard: reached %v", got) // The positive control.
	}
	guarded := newRigOn(t, host)
	web, spy := open.deployment(), open.deployment()
	open.start(open.service(web, "web"))
	open.start(open.service(web, "near"))
	open.start(open.service(spy, "spy"))
	guarded.Docker = guarded.openWith(func(c *docker.Config) {
		c.Guard = &docker.Guard{Port: int(agentPort.Port())}
	})
	for _, flush := range []bool{false, true} {
		if flush {
			iptables(t, "-F DOCKER-USER", "-F INPUT", "-t mangle -F FORWARD")
		}
		i, err := guarded.Inventory(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range i.Checks {
			if c.ID == "guard" && c.Severity != wire.SeverityOK {
				t.Errorf("the guard: %+v", c)
			}
		}
		if got := try(guarded); got != [3]bool{false, false, true} {
			t.Errorf("with the guard (after a flush: %v): reached %v", flush, got)
		}
	}
	// The engine's own rules are out for a moment whenever it makes a network.
	iptables(t, "-P FORWARD ACCEPT", "-F FORWARD", "-t raw -F")
	far := open.addresses(web)[0] + ":80"
	reaches := func(want bool, when string) {
		t.Helper()
		got := open.get(spy, "spy", "/dial?to="+far)
		if strings.HasPrefix(got, "connected") != want {
			t.Errorf("%s, from another deployment: %s", when, got)
		}
		if got := open.get(web, "near", "/dial?to=web:80"); !strings.HasPrefix(got, "connected") {
			t.Errorf("%s, within the deployment: %s", when, got)
		}
	}
	// promise: N-170
	reaches(false, "with the guard and without the engine's rules")
	iptables(t, "-t mangle -F FORWARD")
	reaches(true, "without any rule")
	iptables(t, "-I FORWARD -j DOCKER-USER") // By this the agent knows an engine's tables.
	if _, err := guarded.Inventory(t.Context()); err != nil {
		t.Fatal(err)
	}
	reaches(false, "after the guard was restored")
}

func iptables(t *testing.T, commands ...string) {
	t.Helper()
	for _, args := range commands {
		c := exec.CommandContext(t.Context(), "iptables", strings.Fields("-w "+args)...)
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("iptables %s: %v: %s", args, err, out)
		}
	}
}

func portURL(address netip.Addr, port netip.AddrPort) string {
	return fmt.Sprintf("%s:%d", address, port.Port())
}

func (r *rig) gateway(deployment string) netip.Addr {
	r.t.Helper()
	networks, err := r.api.NetworkList(r.t.Context(), client.NetworkListOptions{
		Filters: make(client.Filters).Add("label", "nullops.deployment="+deployment)})
	if err != nil || len(networks.Items) != 1 {
		r.t.Fatalf("network of %s: %v, %v", deployment, networks.Items, err)
	}
	return networks.Items[0].IPAM.Config[0].Gateway
}

func listenOn(t *testing.T, address string) netip.AddrPort {
	t.Helper()
	l, err := net.Listen("tcp4", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().(*net.TCPAddr).AddrPort()
}
