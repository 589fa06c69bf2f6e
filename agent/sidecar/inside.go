package sidecar

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	// silenceTimeout is how long nothing may come from the person's end: it sends pings.
	silenceTimeout = time.Minute
	// stalledTimeout is how long a command may leave its input unread.
	stalledTimeout = 10 * time.Minute
	// endGrace is how long a command has to end by itself after its client is gone.
	endGrace = time.Second
	// defaultTerm is what every terminal emulator of today understands.
	defaultTerm = "TERM=xterm-256color"
	// NoSecrets is given to the inside role for a service without secret variables.
	NoSecrets = "-"
	// prSetChildSubreaper makes us the parent of processes that a command leaves running.
	prSetChildSubreaper = 36
)

// serveInside performs one task inside a service for a user connected through in and out.
// Everything it started ends when the command ends, when in ends (as it does if the agent
// is killed), or when in is silent for too long.
func serveInside(in io.Reader, out io.Writer, envFile string) error {
	to := NewFrameWriter(out)
	if err := to.Write(FrameHello, nil); err != nil {
		return err
	}
	first, err := ReadFrame(in)
	if err != nil {
		return fmt.Errorf("read what to do: %w", err)
	}
	var s Start
	if first.Kind != FrameStart || json.Unmarshal(first.Data, &s) != nil {
		return fmt.Errorf("read what to do: %w", ErrFrame)
	}
	end := performStart(s, in, to, envFile)
	return to.JSON(FrameExit, end)
}

func performStart(s Start, in io.Reader, to *FrameWriter, envFile string) Exit {
	switch {
	case s.Read != "":
		return exitFromErr(sendFile(s, to))
	case s.Write != "":
		return exitFromErr(receiveFile(s, in))
	case len(s.Command) > 0:
		env, err := serviceEnvironment(envFile)
		if err != nil {
			return Exit{Code: exitSecrets, Message: err.Error()}
		}
		return runInside(s, in, to, env)
	}
	return exitFromErr(errors.New("nothing to do"))
}

func exitFromErr(err error) Exit {
	if err == nil {
		return Exit{}
	}
	return Exit{Code: 1, Message: err.Error()}
}

// serviceEnvironment is what the service's own process was started with.
func serviceEnvironment(envFile string) ([]string, error) {
	if envFile == NoSecrets {
		return os.Environ(), nil
	}
	// The service runs, so its first process has read the file.
	secrets, err := awaitSecrets(envFile, 0)
	if err != nil {
		return nil, err
	}
	return Environment(os.Environ(), secrets), nil
}

// runInside runs a command. The thread stays ours: the kernel ends the command
// when the thread that started it does.
func runInside(s Start, in io.Reader, to *FrameWriter, env []string) Exit {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	_, _, _ = syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0)
	defer endChildren()
	if s.TTY {
		env = append(env, defaultTerm)
	}
	path, err := LookPath(s.Command[0], env)
	if err != nil {
		return Exit{Code: exitNotFound, Message: err.Error()}
	}
	c := &exec.Cmd{Path: path, Args: s.Command, Env: env, WaitDelay: endGrace,
		SysProcAttr: &syscall.SysProcAttr{Setsid: true, Pdeathsig: syscall.SIGKILL}}
	p, err := connectTo(c, s, to)
	if err != nil {
		return exitFromErr(err)
	}
	if err := c.Start(); err != nil {
		p.close()
		return Exit{Code: exitNotExecutable, Message: "start " + path + ": " + err.Error()}
	}
	p.releaseChildEnd()
	go p.feedFrames(in, func() { endSession(c.Process.Pid) })
	err = c.Wait()
	p.drainOutput()
	return exitFromCommand(c, err)
}

func exitFromCommand(c *exec.Cmd, err error) Exit {
	state := c.ProcessState
	if state == nil {
		return exitFromErr(err)
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		// As shells tell of a signal.
		return Exit{Code: 128 + int(status.Signal())}
	}
	return Exit{Code: state.ExitCode()}
}

// endSession sends SIGHUP to the command's session, and SIGKILL after endGrace.
func endSession(pid int) {
	_ = syscall.Kill(-pid, syscall.SIGHUP)
	time.AfterFunc(endGrace, func() { _ = syscall.Kill(-pid, syscall.SIGKILL) })
}

// endChildren kills whatever became our child because its parents ended.
func endChildren() {
	for range 100 {
		all := listChildren()
		if len(all) == 0 {
			return
		}
		for _, pid := range all {
			_ = syscall.Kill(pid, syscall.SIGKILL)
			_, _ = syscall.Wait4(pid, nil, 0, nil)
		}
	}
}

func listChildren() (all []int) {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		stat, err := os.ReadFile("/proc/" + e.Name() + "/stat")
		if err != nil {
			continue
		}
		// "pid (name) state parent": a name may hold anything, even brackets.
		_, rest, _ := strings.Cut(string(stat[strings.LastIndexByte(string(stat), ')')+1:]), " ")
		fields := strings.Fields(rest)
		if len(fields) > 1 && fields[1] == strconv.Itoa(os.Getpid()) {
			all = append(all, pid)
		}
	}
	return all
}

// commandPipes connects a command's streams with frames.
type commandPipes struct {
	// input is the command's standard input; with a terminal, the terminal.
	input *os.File
	// terminal and its far end, which is the command's.
	terminal, far *os.File
	// output ends when everything the terminal showed was sent.
	output sync.WaitGroup
	to     *FrameWriter
	once   sync.Once
}

func connectTo(c *exec.Cmd, s Start, to *FrameWriter) (*commandPipes, error) {
	p := &commandPipes{to: to}
	if !s.TTY {
		far, near, err := os.Pipe()
		if err != nil {
			return nil, fmt.Errorf("open a pipe: %w", err)
		}
		p.input, p.far = near, far
		c.Stdin, c.Stdout, c.Stderr = far, frameStream{to, FrameOutput}, frameStream{to, FrameErrors}
		return p, nil
	}
	var err error
	if p.terminal, p.far, err = openTerminal(s.Window); err != nil {
		return nil, err
	}
	p.input = p.terminal
	c.Stdin, c.Stdout, c.Stderr = p.far, p.far, p.far
	c.SysProcAttr.Setctty = true
	return p, nil
}

// releaseChildEnd closes our copy of the command's end, so that we notice when the command
// closes it.
func (p *commandPipes) releaseChildEnd() {
	_ = p.far.Close()
	if p.terminal != nil {
		p.output.Go(func() { _, _ = io.Copy(frameStream{p.to, FrameOutput}, p.terminal) })
	}
}

// drainOutput waits until the command's output is sent, at most for endGrace: processes it
// left running may hold the output open.
func (p *commandPipes) drainOutput() {
	done := make(chan struct{})
	go func() { p.output.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(endGrace):
	}
	p.close()
}

func (p *commandPipes) close() {
	p.once.Do(func() {
		_ = p.far.Close()
		_ = p.input.Close()
	})
}

// feedFrames passes frames to the command until in ends or is silent for too long.
func (p *commandPipes) feedFrames(in io.Reader, gone func()) {
	var once sync.Once
	leave := func() { once.Do(gone) }
	alarm := time.AfterFunc(silenceTimeout, leave)
	defer alarm.Stop()
	for {
		f, err := ReadFrame(in)
		if err != nil {
			leave()
			return
		}
		alarm.Reset(stalledTimeout)
		p.handleFrame(f)
		alarm.Reset(silenceTimeout)
	}
}

func (p *commandPipes) handleFrame(f Frame) {
	switch f.Kind {
	case FrameInput:
		// A command that closed its input, or ended, does not want it.
		_, _ = p.input.Write(f.Data)
	case FrameEnd:
		if p.terminal == nil {
			_ = p.input.Close()
		}
	case FrameWindow:
		var w Window
		if p.terminal != nil && json.Unmarshal(f.Data, &w) == nil {
			_ = resizeTerminal(p.terminal, w)
		}
	}
}
