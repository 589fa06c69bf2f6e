package dockertest

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/moby/moby/client"
)

// Terminate ends the engine as an upgrade of it would, with SIGTERM. Its
// containers end with it.
func (d *Daemon) Terminate() {
	d.t.Helper()
	d.signalEngine(syscall.SIGTERM)
	timer := time.AfterFunc(time.Minute, func() { _ = d.engine.Process.Kill() })
	defer timer.Stop()
	_ = d.engine.Wait() // how it ended is its own business
	d.engine = nil
}

// PowerOff ends the engine, its containerd and everything that they started, all
// at once and without a word, and takes what a machine keeps in memory: mounts,
// bridges, and the state below the execution roots.
func (d *Daemon) PowerOff() {
	d.t.Helper()
	containers := d.containerPIDs()
	d.Kill()
	_ = d.containerd.Process.Kill()
	_ = d.containerd.Wait()
	d.containerd = nil
	// The shims first: they would tell of their containers' ends.
	for _, pid := range append(d.shimPIDs(), containers...) {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
	for range 8 {
		if d.unmountAll() == 0 {
			break
		}
	}
	d.removeBridges()
	for _, volatile := range []string{"exec", "state", "containerd.sock", "docker.sock"} {
		if err := os.RemoveAll(filepath.Join(d.Root, volatile)); err != nil {
			d.t.Fatalf("power off: %v", err)
		}
	}
}

// PowerOn starts all of it again.
func (d *Daemon) PowerOn() {
	d.t.Helper()
	d.startContainerd()
	d.Start()
}

// containerPIDs are the first ones of each container that runs.
func (d *Daemon) containerPIDs() (pids []int) {
	d.t.Helper()
	api := Client(d.t, d.Host)
	list, err := api.ContainerList(d.t.Context(), client.ContainerListOptions{})
	if err != nil {
		d.t.Fatal(err)
	}
	for _, c := range list.Items {
		r, err := api.ContainerInspect(d.t.Context(), c.ID, client.ContainerInspectOptions{})
		if err == nil && r.Container.State != nil && r.Container.State.Pid > 1 {
			pids = append(pids, r.Container.State.Pid)
		}
	}
	return pids
}

// shimPIDs are the processes between containerd and containers. They name the
// socket of their containerd, which is in a folder that is ours alone.
func (d *Daemon) shimPIDs() (pids []int) {
	commands, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range commands {
		line, err := os.ReadFile(path)
		if err != nil || !strings.Contains(string(line), "containerd-shim") ||
			!strings.Contains(string(line), d.Root+"/") {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}

// KillShim kills the process between containerd and one container. It names the container.
func (d *Daemon) KillShim(container string) error {
	for _, pid := range d.shimPIDs() {
		line, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "cmdline"))
		if err == nil && strings.Contains(string(line), container) {
			return syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	return fmt.Errorf("no shim of container %s was found", container)
}

// endRest ends containers that an engine left running which was killed and never
// started again, with their shims: they would hold what they inherited from the
// test, such as locks, for as long as the machine runs.
func (d *Daemon) endRest() {
	shims := d.shimPIDs()
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		stat, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		// The parent is the second field after the name, which is in parentheses.
		_, rest, _ := strings.Cut(string(stat), ") ")
		fields := strings.Fields(rest)
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		if err != nil || len(fields) < 2 {
			continue
		}
		if parent, _ := strconv.Atoi(fields[1]); slices.Contains(shims, parent) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
	for _, pid := range shims {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// unmountAll takes down what is mounted below the root, and says how much it was.
func (d *Daemon) unmountAll() (n int) {
	f, err := os.Open("/proc/self/mountinfo")
	if err != nil {
		d.t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) > 4 && strings.HasPrefix(fields[4], d.Root+"/") &&
			syscall.Unmount(fields[4], syscall.MNT_DETACH) == nil {
			n++
		}
	}
	return n
}

// removeBridges takes the engine's networks out of its namespace.
func (d *Daemon) removeBridges() {
	out, err := exec.Command("ip", "-n", d.namespace, "-o", "link", "show", "type",
		"bridge").Output()
	if err != nil {
		d.t.Fatalf("list bridges: %v", err)
	}
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) > 1 {
			name := strings.TrimSuffix(fields[1], ":")
			_ = exec.Command("ip", "-n", d.namespace, "link", "del", name).Run()
		}
	}
}
