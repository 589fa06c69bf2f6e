package sidecar_test

import (
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/sidecar"
)

// leased is the helper with a plugin, run as a process of its own.
type leased struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.WriteCloser
	to  *sidecar.FrameWriter
	out io.Reader
	// began is before every stamp that was sent.
	began time.Time
	once  sync.Once
}

func openLeased(t *testing.T) *leased {
	t.Helper()
	l := &leased{t: t, cmd: exec.CommandContext(t.Context(), os.Args[0], "run-plugin", "pod"),
		began: time.Now()}
	l.cmd.Env = append(os.Environ(), asSidecar+"=1")
	var err error
	if l.in, err = l.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if l.out, err = l.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := l.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.in.Close(); l.wait() })
	l.to = sidecar.NewFrameWriter(l.in)
	return l
}

func (l *leased) wait() int {
	l.once.Do(func() { _ = l.cmd.Wait() })
	return l.cmd.ProcessState.ExitCode()
}

// stamp reads up to the next stamp, which is the first frame.
func (l *leased) stamp() []byte {
	l.t.Helper()
	f, err := sidecar.ReadFrame(l.out)
	if err != nil || f.Kind != sidecar.FrameStamp || len(f.Data) != 8 {
		l.t.Fatalf("it sends %c %q, %v in the place of a stamp", f.Kind, f.Data, err)
	}
	return f.Data
}

func (l *leased) send(kind sidecar.FrameKind, data []byte) {
	l.t.Helper()
	if err := l.to.Write(kind, data); err != nil {
		l.t.Fatal(err)
	}
}

// start has a shell run a script with this input.
func (l *leased) start(stamp []byte, script, input string) {
	l.t.Helper()
	l.send(sidecar.FrameRenew, stamp)
	if err := l.to.JSON(sidecar.FrameStart,
		sidecar.Start{Command: []string{"/bin/sh", "-c", script}}); err != nil {
		l.t.Fatal(err)
	}
	l.send(sidecar.FrameInput, []byte(input))
	l.send(sidecar.FrameEnd, nil)
}

// rest reads what the plugin writes, and how it ended.
func (l *leased) rest() (output, said string, end sidecar.Exit) {
	l.t.Helper()
	for {
		f, err := sidecar.ReadFrame(l.out)
		if err != nil {
			l.t.Fatalf("no exit: %v; so far %q, %q", err, output, said)
		}
		switch f.Kind {
		case sidecar.FrameOutput:
			output += string(f.Data)
		case sidecar.FrameErrors:
			said += string(f.Data)
		case sidecar.FrameExit:
			if err := json.Unmarshal(f.Data, &end); err != nil {
				l.t.Fatal(err)
			}
			return output, said, end
		}
	}
}

// aged is a stamp of a time before this one.
func aged(stamp []byte, by time.Duration) []byte {
	return binary.BigEndian.AppendUint64(nil, binary.BigEndian.Uint64(stamp)-uint64(by))
}

func TestRunPlugin_PassesInputOutputAndEnd(t *testing.T) {
	t.Parallel()
	l := openLeased(t)
	l.start(l.stamp(), "cat; echo said >&2; exit 3", "hello")
	output, said, end := l.rest()
	if output != "hello" || said != "said\n" || end.Code != 3 {
		t.Errorf("output %q, errors %q, end %+v", output, said, end)
	}
	if code := l.wait(); code != 0 {
		t.Errorf("the helper ended with %d", code)
	}
	l = openLeased(t)
	l.start(l.stamp(), "kill -USR1 $$", "")
	if _, _, end := l.rest(); end.Code != 128+int(syscall.SIGUSR1) {
		t.Errorf("a plugin that a signal ended: %+v", end)
	}
}

// Without the agent, a plugin is asked to end before its lease is over, and killed with everything
// that it started when it is.
func TestRunPlugin_EndsWithItsLease(t *testing.T) {
	t.Parallel()
	l := openLeased(t)
	folder := t.TempDir()
	stamp := l.stamp()
	// The test has no minute: to the helper, the stamp seems to be on its way for most of one.
	const left = 11 * time.Second
	l.start(aged(stamp, sidecar.PluginLease-left), `trap 'echo > `+folder+`/asked' TERM
		(trap '' TERM; while :; do echo >> `+folder+`/child; sleep 0.1; done) &
		echo > `+folder+`/runs; while :; do sleep 0.1; done`, "")
	waitForFile(t, filepath.Join(folder, "runs"))
	waitForFile(t, filepath.Join(folder, "asked"))
	if asked := time.Since(l.began); asked > left {
		t.Errorf("it was asked to end after %s", asked)
	}
	if code := l.wait(); code != sidecar.ExitLease {
		t.Errorf("the helper ended with %d", code)
	}
	if lasted := time.Since(l.began); lasted < left-time.Second || lasted > 2*left {
		t.Errorf("it ran for %s, and might for %s", lasted, left)
	}
	child := filepath.Join(folder, "child")
	before, _ := os.ReadFile(child)
	time.Sleep(300 * time.Millisecond)
	if after, _ := os.ReadFile(child); len(after) != len(before) {
		t.Error("what it started runs on")
	}
}

// An agent that is heard keeps a plugin running, and an old stamp, which may have waited in a
// broken network, extends nothing.
func TestRunPlugin_RunsWhileItsAgentIsHeard(t *testing.T) {
	t.Parallel()
	l := openLeased(t)
	stamp := l.stamp()
	// Eleven seconds are left, ten of which are for its end.
	l.start(aged(stamp, sidecar.PluginLease-11*time.Second), "sleep 12; echo done", "")
	l.send(sidecar.FrameRenew, stamp)
	l.send(sidecar.FrameRenew, aged(stamp, sidecar.PluginLease))
	if output, _, end := l.rest(); output != "done\n" || end.Code != 0 {
		t.Errorf("output %q, end %+v", output, end)
	}
}

// A request that arrives after its lease starts nothing.
func TestRunPlugin_StartsNothingTooLate(t *testing.T) {
	t.Parallel()
	l := openLeased(t)
	ran := filepath.Join(t.TempDir(), "ran")
	l.start(aged(l.stamp(), sidecar.PluginLease), "echo > "+ran, "")
	if code := l.wait(); code != sidecar.ExitLease {
		t.Errorf("the helper ended with %d", code)
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("the plugin ran")
	}
	l = openLeased(t)
	if err := l.in.Close(); err != nil {
		t.Fatal(err)
	}
	if code := l.wait(); code == 0 || code == sidecar.ExitLease {
		t.Errorf("without a request, the helper ended with %d", code)
	}
}

func TestRunPlugin_SaysThatThereIsNoCommand(t *testing.T) {
	t.Parallel()
	l := openLeased(t)
	l.send(sidecar.FrameRenew, l.stamp())
	if err := l.to.JSON(sidecar.FrameStart,
		sidecar.Start{Command: []string{"no-such-command"}}); err != nil {
		t.Fatal(err)
	}
	l.send(sidecar.FrameEnd, nil)
	if _, said, end := l.rest(); end.Code != 127 || !strings.Contains(said, "no-such-command") {
		t.Errorf("it says %q and ends with %+v", said, end)
	}
}
