package main

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/testpart"
)

// A machine on which a Docker Engine runs is the same before 'make demo' and after 'make
// demo-clean': nothing of it is left on the engine, in the checkout, at home, among processes,
// ports and rules of the firewall. What 'nullops dev' keeps beside it stays.
func TestDemo_LeavesTheMachineAsItWas(t *testing.T) {
	testpart.Rotate(t)
	m := newDemoMachine(t)
	before := m.lists(t)
	demo := m.command(t)
	out, err := demo.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	demo.Stderr = os.Stderr
	if err := demo.Start(); err != nil {
		t.Fatal(err)
	}
	said, runs := strings.Builder{}, false
	for lines := bufio.NewScanner(out); !runs && lines.Scan(); {
		said.WriteString(lines.Text() + "\n")
		runs = strings.HasPrefix(lines.Text(), "Ctrl-C stops it")
	}
	during := m.lists(t)
	go func() { _, _ = io.Copy(io.Discard, out) }()
	if err := demo.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := demo.Wait(); err != nil || !runs {
		t.Fatalf("the demo: %v\n%s", err, said.String())
	}
	for what := range before {
		// Otherwise this test would look in the wrong place. The firewall is the agent's, which a
		// demo does not guard.
		if what != "firewall" && len(missing(during[what], before[what])) == 0 {
			t.Errorf("while the demo runs, there are no more %s", what)
		}
	}
	if out, err := m.command(t, "--clean").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	after := m.lists(t)
	for what := range before {
		if more := missing(after[what], before[what]); len(more) > 0 {
			t.Errorf("it leaves %s: %v", what, more)
		}
		if gone := missing(before[what], after[what]); len(gone) > 0 {
			t.Errorf("it takes %s away: %v", what, gone)
		}
	}
}

// missing returns what is in one list and not in the other.
func missing(all, from []string) (left []string) {
	for _, one := range all {
		if !slices.Contains(from, one) {
			left = append(left, one)
		}
	}
	return left
}

// demoMachine is a checkout with an engine that stays, a registry that only the demo knows, and the
// data of a developer.
type demoMachine struct {
	dir, program, registry string
	engine                 engine
}

func newDemoMachine(t *testing.T) demoMachine {
	t.Helper()
	m := demoMachine{dir: t.TempDir(), engine: realEngine(t), registry: nearRegistry(t)}
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	m.program = filepath.Join(t.TempDir(), "demo")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", m.program)
	sources, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range sources {
		if !strings.HasSuffix(name, "_test.go") {
			build.Args = append(build.Args, name)
		}
	}
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	for _, name := range []string{"bin", "deploy", "plugins"} {
		if err := os.Symlink(filepath.Join(root, name), filepath.Join(m.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	// The database runs as another user and must get through here.
	for dir := m.dir; strings.HasPrefix(dir, os.TempDir()) && dir != os.TempDir(); dir = filepath.Dir(
		dir) {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"home", ".nullops/postgres"} {
		if err := os.MkdirAll(filepath.Join(m.dir, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// nearRegistry is another address of the tests' registry: its images on the engine are the demo's.
func nearRegistry(t *testing.T) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	pass := func(from, to net.Conn) {
		_, _ = io.Copy(to, from)
		_ = to.(*net.TCPConn).CloseWrite()
	}
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			registry, err := (&net.Dialer{}).DialContext(t.Context(), "tcp",
				os.Getenv("NULLOPS_TEST_REGISTRY"))
			if err != nil {
				_ = conn.Close()
				continue
			}
			go pass(conn, registry)
			go pass(registry, conn)
		}
	}()
	return l.Addr().String()
}

func (m demoMachine) command(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.CommandContext(t.Context(), m.program, args...)
	c.Dir, c.WaitDelay = m.dir, 10*time.Second
	c.Cancel = func() error { return c.Process.Signal(syscall.SIGTERM) }
	c.Env = append(os.Environ(), "HOME="+filepath.Join(m.dir, "home"), "CHECK=",
		"NULLOPS_TEST_DOCKER_PRIVATE=", "NULLOPS_TEST_REGISTRY="+m.registry)
	return c
}

// lists are what may be left somewhere.
func (m demoMachine) lists(t *testing.T) map[string][]string {
	t.Helper()
	all := map[string][]string{"processes": m.processes(t), "files": m.files(t)}
	for what, command := range map[string]string{
		"containers": "docker ps --all --format '{{.Names}}'",
		"networks":   "docker network ls --format '{{.Name}}'",
		"volumes":    "docker volume ls --quiet",
		"images":     "docker image ls --all --digests --format '{{.Repository}}:{{.Tag}} {{.Digest}}'",
		"ports":      "ss -Hltn | awk '{print $4}'",
		"tmpfs":      "ls -d /run/nullops-demo-* /dev/shm/nullops-demo-* 2>/dev/null || :",
	} {
		all[what] = m.list(t, command)
	}
	if os.Geteuid() == 0 {
		all["firewall"] = m.list(t, "iptables-save | sed '/^#/d;s/\\[.*//'; ip -o link | cut -d: -f2")
	}
	return all
}

func (m demoMachine) list(t *testing.T, command string) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), "sh", "-c", command)
	c.Env = append(os.Environ(), "DOCKER_HOST="+m.engine.Docker)
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v", command, err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n")
}

// processes are those that work in the checkout.
func (m demoMachine) processes(t *testing.T) (all []string) {
	t.Helper()
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		text, err := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err == nil && strings.Contains(string(text), m.dir) {
			all = append(all, filepath.Base(folder))
		}
	}
	return all
}

func (m demoMachine) files(t *testing.T) []string {
	t.Helper()
	return m.list(t, "find '"+m.dir+"'")
}
