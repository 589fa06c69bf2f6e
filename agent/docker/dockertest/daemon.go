package dockertest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/internal/wait"
)

// ConfigVariable names the configuration file of engines that tests start. `tools/run services
// --engine` sets it, and puts the engine's programs in front of PATH.
const ConfigVariable = "NULLOPS_TEST_ENGINE_CONFIG"

// tickTime is how often tests ask again while they wait for something.
const tickTime = 20 * time.Millisecond

func waitTick(ctx context.Context) bool { return wait.Sleep(ctx, tickTime) == nil }

// Daemon is a private Docker Engine that a test may kill. Its containerd is
// started apart from it: one that the engine manages itself is in the way of
// a restart after kill -9. It has a network namespace of its own: engines in
// one namespace take each other's bridges and firewall rules away.
type Daemon struct {
	Host string
	// Root is everything the engine and its containerd keep on disk.
	Root string

	t          testing.TB
	namespace  string
	containerd *exec.Cmd
	engine     *exec.Cmd
}

// StartDaemon starts an engine for the length of a test. It needs root.
func StartDaemon(t testing.TB) *Daemon {
	t.Helper()
	return startDaemon(t, func(string) {})
}

// StartSmallDaemon starts one whose images, containers and volumes are on a disk
// of this size, such as 200m.
func StartSmallDaemon(t testing.TB, size string) *Daemon {
	t.Helper()
	return startDaemon(t, func(data string) {
		err := os.Mkdir(data, 0o711)
		if err == nil {
			err = syscall.Mount("nullops-test", data, "tmpfs", 0, "mode=0711,size="+size)
		}
		if err != nil {
			t.Fatalf("make a small disk: %v", err)
		}
	})
}

func startDaemon(t testing.TB, prepare func(data string)) *Daemon {
	t.Helper()
	Host(t) // Where no engine is, none can be started either.
	if os.Geteuid() != 0 {
		skipOrFail(t, "starting a Docker Engine needs root")
	}
	root, err := os.MkdirTemp("", "nullops-engine-")
	if err != nil {
		t.Fatal(err)
	}
	d := &Daemon{
		Host: "unix://" + filepath.Join(root, "docker.sock"), Root: root, t: t,
	}
	t.Cleanup(d.stopAll) // it unmounts the disk too
	prepare(filepath.Join(root, "data"))
	d.makeNamespace()
	d.startContainerd()
	d.Start()
	return d
}

func (d *Daemon) startContainerd() {
	d.t.Helper()
	config := fmt.Sprintf("version = 2\nroot = %q\nstate = %q\n"+
		"disabled_plugins = [\"io.containerd.grpc.v1.cri\"]\n[grpc]\naddress = %q\n",
		filepath.Join(d.Root, "containerd"), filepath.Join(d.Root, "state"), d.containerdSocket())
	path := filepath.Join(d.Root, "containerd.toml")
	if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
		d.t.Fatal(err)
	}
	d.containerd = d.startProcess("containerd", "--config", path)
	ctx, cancel := context.WithTimeout(d.t.Context(), 20*time.Second)
	defer cancel()
	WaitUntil(ctx, d.t, "containerd listens", func() bool {
		_, err := os.Stat(d.containerdSocket())
		return err == nil
	})
}

func (d *Daemon) containerdSocket() string { return filepath.Join(d.Root, "containerd.sock") }

// NetnsCommand makes a command that runs in the engine's network namespace, as what
// shares the machine's network does.
func (d *Daemon) NetnsCommand(name string, args ...string) *exec.Cmd {
	return exec.CommandContext(d.t.Context(), "nsenter",
		append([]string{"--net=/var/run/netns/" + d.namespace, name}, args...)...)
}

// makeNamespace lasts longer than the engine, as a machine's network does.
func (d *Daemon) makeNamespace() {
	d.t.Helper()
	d.namespace = filepath.Base(d.Root)
	for _, args := range [][]string{
		{"netns", "add", d.namespace}, {"-n", d.namespace, "link", "set", "lo", "up"},
	} {
		if out, err := exec.CommandContext(d.t.Context(), "ip", args...).CombinedOutput(); err != nil {
			d.t.Fatalf("make network namespace: %v: %s", err, out)
		}
	}
}

// Start starts the engine (again) and waits until it answers. A pid file from
// before a kill -9 would be in the way.
func (d *Daemon) Start() {
	d.t.Helper()
	pid := filepath.Join(d.Root, "docker.pid")
	_ = os.Remove(pid)
	args := []string{"--net=/var/run/netns/" + d.namespace,
		"dockerd", "--containerd", d.containerdSocket(), "--pidfile", pid,
		"--data-root", filepath.Join(d.Root, "data"), "--exec-root", filepath.Join(d.Root, "exec"),
		"--host", d.Host}
	if config := os.Getenv(ConfigVariable); config != "" {
		args = append(args, "--config-file", config)
	}
	d.engine = d.startProcess("nsenter", args...)
	api := Client(d.t, d.Host)
	ctx, cancel := context.WithTimeout(d.t.Context(), 2*time.Minute)
	defer cancel()
	WaitUntil(ctx, d.t, "the engine answers", func() bool {
		_, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true})
		return err == nil
	})
}

func (d *Daemon) startProcess(name string, args ...string) *exec.Cmd {
	d.t.Helper()
	log, err := os.OpenFile(filepath.Join(d.Root, name+".log"),
		os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = log.Close() }()
	// Not tied to the test's context: the order of the end matters.
	c := exec.Command(name, args...)
	c.Stdout, c.Stderr = log, log
	if err := c.Start(); err != nil {
		d.t.Fatalf("start %s: %v", name, err)
	}
	return c
}

// Kill ends the engine with SIGKILL. Its containers live on until it starts
// again.
func (d *Daemon) Kill() {
	d.t.Helper()
	if err := d.engine.Process.Kill(); err != nil {
		d.t.Fatalf("kill engine: %v", err)
	}
	_ = d.engine.Wait()
	d.engine = nil
}

// Freeze stops the engine without ending it, until Thaw.
func (d *Daemon) Freeze() { d.signalEngine(syscall.SIGSTOP) }

// Thaw resumes a frozen engine.
func (d *Daemon) Thaw() { d.signalEngine(syscall.SIGCONT) }

func (d *Daemon) signalEngine(s syscall.Signal) {
	d.t.Helper()
	if err := d.engine.Process.Signal(s); err != nil {
		d.t.Fatalf("signal engine: %v", err)
	}
}

// stopAll ends everything: the engine first, since it ends its containers.
func (d *Daemon) stopAll() {
	for _, c := range []*exec.Cmd{d.engine, d.containerd} {
		if c == nil {
			continue
		}
		_ = c.Process.Signal(syscall.SIGCONT)
		_ = c.Process.Signal(syscall.SIGTERM)
		timer := time.AfterFunc(30*time.Second, func() { _ = c.Process.Kill() })
		_ = c.Wait()
		timer.Stop()
	}
	d.endRest()
	_ = exec.Command("ip", "netns", "del", d.namespace).Run()
	// Each start of the engine mounts its data root onto itself; a killed engine leaves that
	// mount.
	for range 8 {
		if syscall.Unmount(filepath.Join(d.Root, "data"), syscall.MNT_DETACH) != nil {
			break
		}
	}
	if d.t.Failed() {
		d.t.Logf("the engine's logs are kept in %s", d.Root)
		return
	}
	_ = os.RemoveAll(d.Root)
}
