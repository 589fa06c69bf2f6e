package sidecar

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"sync"
	"syscall"
	"time"
)

// A sandbox is the container of a plugin that is started before its turn. Its first process is the
// helper, which waits on stdin for the go signal; until then, no instruction of the image runs.
// The signal is a nonce of SandboxNonce random bytes. What follows it on stdin is the plugin's, and
// the helper reads none of it.
//
// The helper stays the first process while the plugin runs: it passes signals on, reaps children,
// and writes marks on the streams that the plugin shares with it. A mark is the nonce and two
// bytes. Since only the agent and the helper know the nonce, a plugin cannot write one; it cannot
// read the helper's memory either. MarkStarted goes to stdout before the plugin starts. After its
// end, and the end of everything it started, MarkEnded goes to stdout and stderr, with the exit
// code: the agent then knows, before the engine does, that nothing runs and nothing more is
// written. A helper that gets no go signal ends when stdin does.

const (
	// SandboxNonce is the length of a go signal.
	SandboxNonce = 16
	// SandboxMark is the length of a mark.
	SandboxMark = SandboxNonce + 2

	// MarkStarted says that the plugin is about to start.
	MarkStarted byte = 's'
	// MarkEnded carries the exit code of a plugin.
	MarkEnded byte = 'e'
	// MarkKilled is MarkEnded of a plugin from whose container the kernel may have killed something
	// for lack of memory.
	MarkKilled byte = 'k'

	// endWithin bounds how long the helper tries to end what a plugin left, every endPause.
	endWithin = time.Second
	endPause  = 500 * time.Microsecond
	// exitSignal is added to the number of a signal, as shells do.
	exitSignal = 128
	// prSetDumpable is PR_SET_DUMPABLE: with 0, no process of the same user may look into this one.
	prSetDumpable = 4
)

// oomCounters are where the kernel counts what it killed for lack of memory in our cgroup:
// version 2, then version 1.
var oomCounters = []string{"/sys/fs/cgroup/memory.events",
	"/sys/fs/cgroup/memory/memory.oom_control"}

// sandboxProcess is the helper in a sandbox.
type sandboxProcess struct {
	nonce []byte
	mu    sync.Mutex
	// child is zero before the plugin runs.
	child int
}

// runSandbox waits for the go signal and runs the command to its end. The error that it returns
// always has an exit code.
func runSandbox(command []string, stdin io.Reader) error {
	debug.SetGCPercent(relayGC)
	runtime.GOMAXPROCS(1)
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetDumpable, 0, 0)
	s := &sandboxProcess{nonce: make([]byte, SandboxNonce)}
	s.forwardSignals()
	if _, err := io.ReadFull(stdin, s.nonce); err != nil {
		// The run ended before this step, or the agent died.
		return &exitError{code: exitNoGo}
	}
	path, err := LookPath(command[0], os.Environ())
	if err != nil {
		return s.finish(exitNotFound, false, err)
	}
	before := countOOMKills()
	s.writeMark(syscall.Stdout, MarkStarted, 0)
	if err := s.start(path, command); err != nil {
		return s.finish(exitNotExecutable, false, fmt.Errorf("start %s: %w", path, err))
	}
	code := s.reap()
	if !s.endOthers() {
		return &exitError{code: code}
	}
	return s.finish(code, code != 0 && (before < 0 || countOOMKills() != before), nil)
}

// start runs the plugin with our streams, in a session of its own.
func (s *sandboxProcess) start(path string, command []string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	pid, err := syscall.ForkExec(path, command, &syscall.ProcAttr{Env: os.Environ(),
		Files: []uintptr{uintptr(syscall.Stdin), uintptr(syscall.Stdout), uintptr(syscall.Stderr)},
		Sys:   &syscall.SysProcAttr{Setsid: true}})
	s.child = pid
	return err
}

// forwardSignals passes to the plugin what it would get as the first process. While there is no
// plugin, a signal ends the sandbox.
func (s *sandboxProcess) forwardSignals() {
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT,
		syscall.SIGUSR1, syscall.SIGUSR2)
	go func() {
		for sig := range signals {
			number, _ := sig.(syscall.Signal)
			s.mu.Lock()
			if s.child == 0 {
				os.Exit(exitSignal + int(number))
			}
			_ = syscall.Kill(s.child, number) // it may have ended
			s.mu.Unlock()
		}
	}()
}

// reap waits for the plugin, and collects what its processes left to us meanwhile.
func (s *sandboxProcess) reap() int {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			// There is no child, although nobody else could have collected it.
			return exitNotExecutable
		case pid != s.child:
		case status.Signaled():
			return exitSignal + int(status.Signal())
		case status.Exited():
			return status.ExitStatus()
		}
	}
}

// endOthers kills everything that the plugin left running, as the kernel does when the first
// process of a container ends. Outside a container, "everything" would be the user's. It returns
// false if something does not end, or forks faster: then our own end is its end, and the engine
// tells of that.
func (s *sandboxProcess) endOthers() bool {
	if os.Getpid() != 1 {
		return true
	}
	for deadline := time.Now().Add(endWithin); time.Now().Before(deadline); time.Sleep(endPause) {
		_ = syscall.Kill(-1, syscall.SIGKILL) // there may be nothing
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return true
			}
			if pid <= 0 && !errors.Is(err, syscall.EINTR) {
				break
			}
		}
	}
	return false
}

// finish writes the last marks. An error is the helper's own and goes to the plugin's log.
func (s *sandboxProcess) finish(code int, oom bool, err error) error {
	kind := MarkEnded
	if oom {
		kind = MarkKilled
	}
	if err != nil {
		writeAll(syscall.Stderr, []byte("nullops: "+err.Error()+"\n"))
	}
	s.writeMark(syscall.Stdout, kind, code)
	s.writeMark(syscall.Stderr, kind, code)
	return &exitError{code: code}
}

func (s *sandboxProcess) writeMark(stream int, kind byte, code int) {
	writeAll(stream, append(bytes.Clone(s.nonce), kind, byte(code)))
}

// writeAll writes to a stream that a plugin may have made non-blocking, for itself and for us.
func writeAll(stream int, data []byte) {
	for len(data) > 0 {
		n, err := syscall.Write(stream, data)
		switch {
		case n > 0:
			data = data[n:]
		case errors.Is(err, syscall.EAGAIN):
			time.Sleep(time.Millisecond)
		case !errors.Is(err, syscall.EINTR):
			return
		}
	}
}

// countOOMKills returns -1 where the kernel does not say.
func countOOMKills() int {
	for _, path := range oomCounters {
		data, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		for line := range bytes.Lines(data) {
			count, found := bytes.CutPrefix(bytes.TrimSpace(line), []byte("oom_kill "))
			if n, err := strconv.Atoi(string(count)); found && err == nil {
				return n
			}
		}
	}
	return -1
}
