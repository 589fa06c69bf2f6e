package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
)

// killedEngine has lost two containers, ours and another agent's.
type killedEngine struct {
	*dockertest.Daemon
	ours, theirs    *rig
	deployment      string
	mine            string // the container of ours
	foreign         string // the other agent's
	bridge          string // of our network, which is lost too
	pid, foreignPid int
}

func loseContainers(t *testing.T) killedEngine {
	t.Helper()
	engine := dockertest.StartDaemon(t)
	k := killedEngine{Daemon: engine, ours: newRigOn(t, engine.Host), theirs: newRigOn(t, engine.Host)}
	k.deployment = k.ours.deployment()
	other := k.theirs.deployment()
	k.ours.start(k.ours.service(k.deployment, "web"))
	k.theirs.start(k.theirs.service(other, "web"))
	k.mine = k.ours.find(agent.KindService).ID
	k.foreign, k.bridge = k.theirs.find(agent.KindService).ID, k.ours.bridge()
	k.pid, k.foreignPid = k.ours.containerPID(k.mine), k.theirs.containerPID(k.foreign)
	k.ours.reopenForLost()
	callInEngineNetwork(t, engine, k.ours.nothingLost)
	engine.Kill()
	if _, err := k.ours.EndLost(t.Context()); !errors.Is(err, agent.ErrUnavailable) ||
		!isAlive(k.pid) {
		t.Errorf("without the engine: %v; the service lives: %v", err, isAlive(k.pid))
	}
	for _, lost := range []string{"containers/" + k.mine, "containers/" + k.foreign,
		"network/files/local-kv.db"} {
		if err := os.RemoveAll(filepath.Join(engine.Root, "data", lost)); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{k.mine, k.foreign} {
		path := k.mountOf(id)
		err := errors.Join(os.MkdirAll(path, 0o700), unix.Mount("shm", path, "tmpfs", 0, "size=4k"))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = unix.Unmount(path, unix.MNT_DETACH) })
	}
	engine.Start()
	k.ours.reopenForLost()
	k.theirs.reopenForLost()
	return k
}

// mountOf is where containers of a driver have their file systems.
func (k killedEngine) mountOf(id string) string {
	return filepath.Join(k.Root, "data", "rootfs", "overlayfs", id)
}

// An engine is killed and loses two containers and networks, ours and another agent's. Only ours
// is found and ended, with its shim; what the engine knows and what others have
// stays. So it is with network interfaces, bridges and mounts. Where the engine knows everything,
// or cannot be asked, nothing is ended.
func TestLost_OnlyOursIsEnded(t *testing.T) {
	testpart.Rotate(t)
	k := loseContainers(t)
	ours := k.ours
	if err := ours.Prepare(t.Context(), k.deployment); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"link add lost0 type veth peer name lost1",
		"link set lost0 master " + ours.bridge(), "link add else0 type veth peer name else1"} {
		if out, err := k.NetnsCommand("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", command, err, out)
		}
	}
	before := listInterfaces(t, k.Daemon)
	var found docker.LostObjects
	callInEngineNetwork(t, k.Daemon, func(ctx context.Context) (err error) {
		found, err = ours.FindLostTwice(ctx)
		return err
	})
	k.expectFound(t, found)
	callInEngineNetwork(t, k.Daemon, func(ctx context.Context) error {
		ours.expectLostCheck(ctx, wire.SeverityWarning)
		_, err := ours.EndLost(ctx)
		return err
	})
	if isAlive(k.pid) || !isAlive(k.foreignPid) {
		t.Errorf("ours lives: %v; the foreign one lives: %v", isAlive(k.pid), isAlive(k.foreignPid))
	}
	after := listInterfaces(t, k.Daemon)
	for _, name := range before {
		ended := slices.ContainsFunc(found.Links,
			func(l docker.LostLink) bool { return l.Name == name }) || name == "lost1"
		if there := slices.Contains(after, name); there == ended {
			t.Errorf("interface %s is there afterwards: %v", name, there)
		}
	}
	if slices.ContainsFunc(found.Mounts, func(m docker.LostMount) bool { return isMount(m.Path) }) ||
		!isMount(k.mountOf(k.foreign)) {
		t.Error("our mounts are there still, or the other agent's is gone")
	}
	callInEngineNetwork(t, k.Daemon, func(ctx context.Context) error {
		ours.expectLostCheck(ctx, wire.SeverityOK)
		return ours.nothingLost(ctx)
	})
	callInEngineNetwork(t, k.Daemon, func(ctx context.Context) error {
		_, err := k.theirs.EndLost(ctx)
		return err
	})
	if isAlive(k.foreignPid) {
		t.Error("the other agent does not end its own")
	}
}

// expectFound wants our container with its process and its shim, no other one, and
// the interface that was put on our bridge.
func (k killedEngine) expectFound(t *testing.T, found docker.LostObjects) {
	t.Helper()
	if !slices.ContainsFunc(found.Links,
		func(l docker.LostLink) bool { return l.Name == "lost0" }) {
		t.Errorf("found the interfaces %+v", found.Links)
	}
	bridges := slices.DeleteFunc(slices.Clone(found.Links),
		func(l docker.LostLink) bool { return l.Kind != "bridge" })
	if len(bridges) != 1 || bridges[0].Name != k.bridge || bridges[0].Deployment != k.deployment {
		t.Errorf("found the bridges %+v, want %s", bridges, k.bridge)
	}
	// With some storage drivers there is one of the engine's own, too.
	mount := docker.LostMount{Path: k.mountOf(k.mine), Container: k.mine, Deployment: k.deployment,
		Step: "web"}
	if !slices.Contains(found.Mounts, mount) || slices.ContainsFunc(found.Mounts,
		func(m docker.LostMount) bool { return m.Container != k.mine }) {
		t.Errorf("found the mounts %+v", found.Mounts)
	}
	if len(found.Containers) != 1 {
		t.Fatalf("found %+v", found.Containers)
	}
	c := found.Containers[0]
	has := func(fits func(docker.LostProcess) bool) bool {
		return slices.ContainsFunc(c.Processes, fits)
	}
	if c.ID != k.mine || c.Deployment != k.deployment || c.Step != "web" ||
		!has(func(p docker.LostProcess) bool { return p.PID == k.pid && !p.Shim }) ||
		!has(func(p docker.LostProcess) bool { return p.Shim }) {
		t.Errorf("found %+v; wanted process %d of %s", c, k.pid, k.mine)
	}
}

func isMount(path string) bool {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	return err == nil && strings.Contains(string(mounts), " "+path+" ")
}

// nothingLost ends nothing, since the engine knows everything.
func (r *rig) nothingLost(ctx context.Context) error {
	found, err := r.EndLost(ctx)
	if !found.IsEmpty() {
		r.t.Errorf("found %+v where nothing is lost", found)
	}
	return err
}

// reopenForLost restarts the agent, which has only its folder to know what was its.
func (r *rig) reopenForLost() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
	r.Docker = r.openWith(func(c *docker.Config) { c.LostAfter = time.Second })
}

func (r *rig) containerPID(container string) int {
	r.t.Helper()
	c, err := r.api.ContainerInspect(r.t.Context(), container, client.ContainerInspectOptions{})
	if err != nil || c.Container.State == nil || c.Container.State.Pid == 0 {
		r.t.Fatalf("inspect %s: %+v, %v", container, c.Container.State, err)
	}
	return c.Container.State.Pid
}

func (r *rig) bridge() string { return "br-" + r.find(agent.KindNetwork).ID[:12] }

func (r *rig) expectLostCheck(ctx context.Context, want wire.Severity) {
	r.t.Helper()
	i, err := r.Inventory(ctx)
	if err != nil {
		r.t.Error(err)
	}
	for _, c := range i.Checks {
		if c.ID == "lost" && c.Severity == want {
			return
		}
	}
	r.t.Errorf("no check says that the lost ones are %s: %+v", want, i.Checks)
}

func isAlive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// callInEngineNetwork calls from inside the engine's network, as an agent on its machine does.
func callInEngineNetwork(
	t *testing.T, engine *dockertest.Daemon, do func(ctx context.Context) error,
) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := dockertest.InNetwork("/var/run/netns/"+filepath.Base(engine.Root), func() error {
		return do(ctx)
	})
	if err != nil {
		t.Errorf("within the engine's network: %v", err)
	}
}

func listInterfaces(t *testing.T, engine *dockertest.Daemon) (names []string) {
	t.Helper()
	out, err := engine.NetnsCommand("ip", "-o", "link").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.Fields(line)[1], "@")
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	return names
}
