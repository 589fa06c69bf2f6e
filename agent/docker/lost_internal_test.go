package docker

import (
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/durable/durabletest"
)

// Which container a process belongs to is read from what nobody but the kernel and
// containerd write.
func TestProcesses_OfContainers(t *testing.T) {
	id, outer := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	for groups, want := range map[string]string{
		"4:memory:/docker/" + id + "\n0::/docker/" + id + "\n":      id,
		"0::/system.slice/docker-" + id + ".scope\n":                id,
		"0::/docker/" + outer + "/docker/" + id + "\n":              id,
		"0::/../" + id + "\n":                                       id,
		"0::/system.slice/docker.service\n":                         "",
		"0::/user.slice\n4:memory:/docker/" + id + "\n":             id,
		"0::/kubepods/pod" + strings.Repeat("a", 32) + "/x.scope\n": "",
	} {
		if got := lastGroup(groups); got != want {
			t.Errorf("%q is of %q", groups, got)
		}
	}
	for line, want := range map[string]string{
		"/usr/bin/containerd-shim-runc-v2\x00-namespace\x00moby\x00-id\x00" + id +
			"\x00-address\x00s\x00": id,
		"containerd-shim-runc-v2\x00-id\x00" + id:                                     id,
		"containerd-shim-runc-v2\x00-id\x00" + id + "\x00-bundle\x00/b\x00delete\x00": "",
		"containerd-shim-runc-v2\x00-id\x00":                                          "",
		"/bin/sh\x00-id\x00" + id + "\x00":                                            "",
		"grep\x00containerd-shim\x00-id\x00" + id + "\x00":                            "",
		"": "",
	} {
		if got := shimOf(line); got != want {
			t.Errorf("%q is of %q", line, got)
		}
	}
	// A process in a container cannot pass for the shim of another one.
	proc := t.TempDir()
	if err := os.Mkdir(filepath.Join(proc, "7"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"cgroup": "0::/docker/" + outer + "\n",
		"cmdline": "containerd-shim\x00-id\x00" + id + "\x00"} {
		if err := os.WriteFile(filepath.Join(proc, "7", name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for wanted, shim := range map[string]bool{outer + id: false, id: true} {
		got, isShim := procReader{proc: proc}.containerOf(7,
			func(id string) bool { return strings.Contains(wanted, id) })
		if isShim != shim || !strings.HasPrefix(wanted, got) {
			t.Errorf("of %s it is in %q, a shim: %v", wanted, got, isShim)
		}
	}
	p, ok := procReader{proc: "/proc"}.readProcess(os.Getpid())
	if !ok || p.ticks == 0 || p.Name == "" {
		t.Errorf("this process is %+v", p)
	}
	now := procReader{proc: "/proc"}
	p.ticks++
	if now.isSameProcess(p, "") {
		t.Error("another process with our number is taken for the one that was seen")
	}
}

// What was noted is known to the next life of the agent, and the book stays small.
func TestBook_OutlivesTheAgent(t *testing.T) {
	dir := t.TempDir()
	b, err := openBook(dir, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	id := func(n int) string {
		text := strings.Repeat("0", 64) + strings.Repeat("f", n%7)
		digits := []byte(text[len(text)-64:])
		for i := range 4 {
			digits[i] = "0123456789abcdef"[n>>(4*i)&15]
		}
		return string(digits)
	}
	for n := range mostNoted + 1 {
		err := b.rememberContainer(
			notedContainer{engine: "E", Object: agent.Object{ID: id(n), Kind: agent.KindPlugin,
				Deployment: "d", Step: "seed"}},
		)
		if err != nil {
			t.Fatal(err)
		}
	}
	// A power cut leaves zeros.
	f, err := os.OpenFile(b.path, os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		_, err = f.Write(make([]byte, 1<<20))
	}
	if err = errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
	again, err := openBook(dir, slog.New(slog.DiscardHandler))
	if err != nil || len(again.order) != mostNoted/2+1 {
		t.Fatalf("%d are noted, %v", len(again.order), err)
	}
	if n, ok := again.findContainer(id(mostNoted)); !ok || n.engine != "E" || n.Step != "seed" ||
		n.Kind != agent.KindPlugin || n.Deployment != "d" {
		t.Errorf("the newest is %+v", n)
	}
	if _, ok := again.findContainer(id(0)); ok {
		t.Error("the oldest is still noted")
	}
	if err := b.rememberContainer(notedContainer{Object: agent.Object{ID: "not an id"}}); err != nil {
		t.Error(err)
	}
}

// The command is for the agent's own engine: another one knows none of its containers.
func TestLostCommand_NamesTheEngine(t *testing.T) {
	d := &lostObjects{engine: &engine{config: Config{DataDir: "/srv/agent",
		Host: "unix:///var/run/docker.sock"}}}
	const plain = "nullops agent lost --end --agent.data=/srv/agent"
	if got := d.LostCommand(); got != plain {
		t.Errorf("the default engine: %s", got)
	}
	d.config.Host = "unix:///srv/docker.sock"
	if got := d.LostCommand(); got != plain+" --agent.docker=unix:///srv/docker.sock" {
		t.Errorf("another engine: %s", got)
	}
}

// An agent that cannot look says that, and not that all is well.
func TestLostCheck_SaysWhatCannotBeSeen(t *testing.T) {
	f := healthyHost()
	f.lostProblem = ErrProcessesHidden
	f.lostCommand = "nullops agent lost --end --agent.data=/srv/agent"
	if c := lostCheck(f); c.Severity != "unknown" || !strings.Contains(c.Remedy, f.lostCommand) ||
		!strings.Contains(c.Remedy, "on the machine itself") {
		t.Errorf("hidden: %+v", c)
	}
	f.lostProblem = errors.New("no /proc")
	if c := lostCheck(f); c.Severity != "unknown" || c.Remedy == "" {
		t.Errorf("failed: %+v", c)
	}
	f.lostProblem, f.lost = nil, LostObjects{Links: []LostLink{{Name: "veth1"}}}
	if c := lostCheck(f); c.Severity != "warning" || !strings.Contains(c.Remedy, f.lostCommand) {
		t.Errorf("lost: %+v", c)
	}
}

// A line of the book that was changed is left out, and one that was being written when the power
// was lost does not take the next one with it.
func TestBook_LeavesOutWhatIsDamaged(t *testing.T) {
	dir := durabletest.TempDir(t)
	note := notedContainer{engine: "E", Object: agent.Object{ID: strings.Repeat("a", 64),
		Kind: agent.KindService, Deployment: "d", Step: "web"}}
	whole := []byte(note.formatLine())
	for name, damaged := range durabletest.Damages(whole) {
		if err := os.WriteFile(filepath.Join(dir, "containers"), damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		b, err := openBook(dir, slog.New(slog.DiscardHandler))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		n, ok := b.findContainer(note.ID)
		if len(b.known) > 1 || ok != (len(b.known) == 1) || ok && n != note {
			t.Fatalf("%s: known is %+v", name, b.known)
		}
		next := notedContainer{Object: agent.Object{ID: strings.Repeat("b", 64)}}
		if err := b.rememberContainer(next); err != nil {
			t.Fatal(err)
		}
		again, err := openBook(dir, slog.New(slog.DiscardHandler))
		if _, ok := again.findContainer(next.ID); err != nil || !ok {
			t.Fatalf("%s: the next container is not known, %v", name, err)
		}
	}
}
