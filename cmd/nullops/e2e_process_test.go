package main_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is a program of ours that runs until the test ends.
type process struct {
	name string
	cmd  *exec.Cmd
	// out and log are files: what it says to people, and its log.
	out, log string
	done     chan struct{}
}

// startProcess runs the binary. What the environment of the tests says about NullOps
// and Docker does not reach it.
func startProcess(t *testing.T, binary, name, dir string, env []string, args ...string) *process {
	t.Helper()
	p := &process{name: name, done: make(chan struct{}), out: filepath.Join(dir, name+".out"),
		log: filepath.Join(dir, name+".log")}
	out, log := appendTo(t, p.out), appendTo(t, p.log)
	p.cmd = exec.Command(binary, args...)
	p.cmd.Env = append(cleanEnv(), env...)
	p.cmd.Stdout, p.cmd.Stderr = out, log
	if err := p.cmd.Start(); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	go func() {
		_ = p.cmd.Wait() // its state is read from cmd.ProcessState
		_, _ = out.Close(), log.Close()
		close(p.done)
	}()
	t.Cleanup(func() {
		p.stop(t)
		if t.Failed() {
			t.Logf("the end of %s:\n%s", p.log, lastLines(p.log, 40))
		}
	})
	return p
}

func appendTo(t *testing.T, path string) *os.File {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func cleanEnv() []string {
	var kept []string
	for _, e := range os.Environ() {
		if !strings.HasPrefix(e, "NULLOPS_") && !strings.HasPrefix(e, "DOCKER_HOST=") {
			kept = append(kept, e)
		}
	}
	return kept
}

// stop asks it to end, and is an error if it does not do so by itself.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if p.hasEnded() {
		return
	}
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Errorf("%s did not stop within %s of SIGTERM", p.name, patience)
		p.kill()
	}
}

// kill ends it as a crash would.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.done
}

func (p *process) hasEnded() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

func lastLines(path string, n int) string {
	text, err := os.ReadFile(path)
	if err != nil {
		return err.Error()
	}
	lines := slices.DeleteFunc(strings.Split(strings.TrimSpace(string(text)), "\n"), isUneventful)
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}

// isUneventful reports whether a line is the log of a request that went well.
func isUneventful(line string) bool {
	return strings.Contains(line, `"msg":"request"`) && !strings.Contains(line, `"status":5`)
}

// runCommand runs a command to its end, and returns what it said and its exit code.
func runCommand(t *testing.T, binary string, env []string, stdin string,
	args ...string) (out, errs string, code int) {
	t.Helper()
	c := exec.CommandContext(t.Context(), binary, args...)
	c.Env = append(cleanEnv(), env...)
	c.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	c.WaitDelay = time.Second
	timer := time.AfterFunc(patience, func() { _ = c.Process.Kill() })
	defer timer.Stop()
	err := c.Run()
	if c.ProcessState == nil {
		t.Fatalf("run %v: %v", args, err)
	}
	return stdout.String(), stderr.String(), c.ProcessState.ExitCode()
}

// eventually asks until it is so. The text says what is still missing; an empty
// one means that nothing is.
func eventually(t *testing.T, what string, so func() (missing string)) {
	t.Helper()
	within(t, patience, what, so)
}

func within(t *testing.T, limit time.Duration, what string, so func() (missing string)) {
	t.Helper()
	deadline := time.Now().Add(limit)
	// A question costs the product several milliseconds of a processor, and many
	// scenarios ask at once: the longer something takes, the more seldom it is asked.
	for pause := firstPause; ; pause = min(pause*5/4, longestPause) {
		missing := so()
		if missing == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("not so after %s: %s: %s", limit, what, missing)
		}
		time.Sleep(pause)
	}
}

// soon is what promises call "within seconds" and "at once", with room for a busy machine.
const soon = 15 * time.Second

// How long a wait pauses between two questions, at first and at most.
const (
	firstPause   = 30 * time.Millisecond
	longestPause = 400 * time.Millisecond
)
