package docker_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
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
)

// An engine is killed and loses two containers, ours and another agent's. Only ours
// is found and ended, with its shim; what the engine knows and what others have
// stays. So it is with network interfaces.
func TestLost_OnlyOursIsEnded(t *testing.T) {
	engine := dockertest.StartDaemon(t)
	ours, theirs := newRigOn(t, engine.Host), newRigOn(t, engine.Host)
	id, other := ours.deployment(), theirs.deployment()
	ours.start(ours.service(id, "web"))
	theirs.start(theirs.service(other, "web"))
	mine, foreign := ours.find(agent.KindService).ID, theirs.find(agent.KindService).ID
	pid, foreignPid := ours.pid(mine), theirs.pid(foreign)
	engine.Kill()
	for _, lost := range []string{mine, foreign} {
		if err := os.RemoveAll(filepath.Join(engine.Root, "data", "containers", lost)); err != nil {
			t.Fatal(err)
		}
	}
	engine.Start()
	ours.reopenForLost()
	theirs.reopenForLost()
	if err := ours.Prepare(t.Context(), id); err != nil {
		t.Fatal(err)
	}
	bridge := ours.bridge()
	for _, command := range []string{"link add lost0 type veth peer name lost1",
		"link set lost0 master " + bridge, "link add else0 type veth peer name else1"} {
		if out, err := engine.Enter("ip", strings.Fields(command)...).CombinedOutput(); err != nil {
			t.Fatalf("ip %s: %v: %s", command, err, out)
		}
	}
	before := interfaces(t, engine)
	var found docker.Lost
	within(t, engine, func(ctx context.Context) (err error) {
		found, err = ours.AwaitLost(ctx)
		return err
	})
	if len(found.Containers) != 1 || found.Containers[0].ID != mine ||
		found.Containers[0].Deployment != id || found.Containers[0].Step != "web" ||
		!slices.ContainsFunc(found.Containers[0].Processes, func(p docker.LostProcess) bool {
			return p.PID == pid
		}) || !slices.ContainsFunc(found.Containers[0].Processes, func(p docker.LostProcess) bool {
		return p.Shim
	}) {
		t.Errorf("found %+v; wanted process %d of %s", found.Containers, pid, mine)
	}
	if !slices.ContainsFunc(found.Links, func(l docker.LostLink) bool { return l.Name == "lost0" }) {
		t.Errorf("found the interfaces %+v", found.Links)
	}
	within(t, engine, func(ctx context.Context) error {
		ours.expectLostCheck(ctx, wire.SeverityWarning)
		_, err := ours.EndLost(ctx)
		return err
	})
	if alive(pid) || !alive(foreignPid) {
		t.Errorf("ours lives: %v; the foreign one lives: %v", alive(pid), alive(foreignPid))
	}
	after := interfaces(t, engine)
	for _, name := range before {
		ended := slices.ContainsFunc(found.Links,
			func(l docker.LostLink) bool { return l.Name == name }) || name == "lost1"
		if there := slices.Contains(after, name); there == ended {
			t.Errorf("interface %s is there afterwards: %v", name, there)
		}
	}
	within(t, engine, func(ctx context.Context) error {
		again, err := ours.AwaitLost(ctx)
		if !again.Empty() {
			t.Errorf("still lost: %+v", again)
		}
		ours.expectLostCheck(ctx, wire.SeverityOK)
		return err
	})
	within(t, engine, func(ctx context.Context) error { _, err := theirs.EndLost(ctx); return err })
	if alive(foreignPid) {
		t.Error("the other agent does not end its own")
	}
}

// Nothing is lost, and nothing is ended, where the engine knows everything, and
// where it cannot be asked.
func TestLost_NothingWithoutProof(t *testing.T) {
	engine := dockertest.StartDaemon(t)
	r := newRigOn(t, engine.Host)
	id := r.deployment()
	r.start(r.service(id, "web"))
	pid := r.pid(r.find(agent.KindService).ID)
	r.reopenForLost()
	within(t, engine, func(ctx context.Context) error {
		found, err := r.EndLost(ctx)
		if !found.Empty() {
			t.Errorf("found %+v", found)
		}
		return err
	})
	engine.Kill()
	if _, err := r.EndLost(t.Context()); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("without the engine: %v", err)
	}
	if !alive(pid) {
		t.Error("what runs was ended")
	}
	engine.Start()
}

// reopenForLost restarts the agent, which has only its folder to know what was its.
func (r *rig) reopenForLost() {
	r.t.Helper()
	if err := r.Close(); err != nil {
		r.t.Error(err)
	}
	r.Docker = r.openWith(func(c *docker.Config) { c.LostAfter = time.Second })
}

func (r *rig) pid(container string) int {
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

func alive(pid int) bool {
	stat, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	return err == nil && !strings.Contains(string(stat), ") Z ")
}

// within calls from inside the engine's network, as an agent on its machine does.
// The thread that enters it is never used again.
func within(t *testing.T, engine *dockertest.Daemon, do func(ctx context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	done := make(chan error)
	go func() {
		runtime.LockOSThread()
		f, err := os.Open("/var/run/netns/" + filepath.Base(engine.Root))
		if err == nil {
			err = unix.Setns(int(f.Fd()), unix.CLONE_NEWNET)
			_ = f.Close()
		}
		if err == nil {
			err = do(ctx)
		}
		done <- err
	}()
	if err := <-done; err != nil {
		t.Errorf("within the engine's network: %v", err)
	}
}

func interfaces(t *testing.T, engine *dockertest.Daemon) (names []string) {
	t.Helper()
	out, err := engine.Enter("ip", "-o", "link").Output()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(out)) {
		name, _, _ := strings.Cut(strings.Fields(line)[1], "@")
		names = append(names, strings.TrimSuffix(name, ":"))
	}
	return names
}
