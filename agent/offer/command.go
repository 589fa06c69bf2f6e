package offer

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// pipesWithin bounds how long the program's output is read after its end: a process that left
// its group may hold it open.
const pipesWithin = time.Second

// runCommand runs the site's program: the document on stdin, the answer on stdout. The agent's
// environment is not passed on, since it may hold the node's token. When the program has ended
// or its time is over, its whole process group is killed.
func (c Config) runCommand(ctx context.Context, document []byte) ([]byte, error) {
	cmd := exec.Command(c.Command[0], c.Command[1:]...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "LANG=C.UTF-8"}
	cmd.Dir = "/"
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	cmd.WaitDelay = pipesWithin
	group := &processGroup{}
	out, complaint := &cappedOutput{most: maxAnswer, full: group.kill}, &cappedOutput{most: 1 << 10}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = bytes.NewReader(document), out, complaint
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("it does not start: %w", errors.Unwrap(err))
	}
	group.set(cmd.Process.Pid)
	stop := context.AfterFunc(ctx, group.kill)
	defer stop()
	waitUnreaped(cmd.Process.Pid)
	group.end()
	err := cmd.Wait()
	switch {
	case out.isFull():
		return nil, errTooMuch
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err != nil && !errors.Is(err, exec.ErrWaitDelay) && !errors.Is(err, syscall.EPIPE):
		c.Log.WarnContext(ctx, "the program that decides about offers failed", "error", err,
			"output", complaint.String())
		return nil, err
	}
	return []byte(out.String()), nil
}

// waitUnreaped waits for the end of a child and leaves it to be reaped, so that the id of its
// process group cannot be given to another one yet.
func waitUnreaped(pid int) {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, syscall.EINTR) {
			return
		}
	}
}

// processGroup kills a program with its children, as long as its id is its own.
type processGroup struct {
	mu  sync.Mutex
	pid int
}

func (g *processGroup) set(pid int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.pid = pid
}

func (g *processGroup) kill() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pid > 0 {
		_ = syscall.Kill(-g.pid, syscall.SIGKILL)
	}
}

// end kills what is left of the group, and nothing later.
func (g *processGroup) end() {
	g.kill()
	g.set(0)
}

// cappedOutput keeps the beginning of what is written.
type cappedOutput struct {
	mu   sync.Mutex
	kept bytes.Buffer
	most int
	lost bool
	// full is called once something was left out; nil does nothing.
	full func()
	once sync.Once
}

func (o *cappedOutput) Write(p []byte) (int, error) {
	o.mu.Lock()
	room := o.most - o.kept.Len()
	o.kept.Write(p[:min(room, len(p))])
	o.lost = o.lost || len(p) > room
	lost := o.lost
	o.mu.Unlock()
	if lost && o.full != nil {
		o.once.Do(o.full)
	}
	return len(p), nil
}

func (o *cappedOutput) isFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.lost
}

func (o *cappedOutput) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.kept.String()
}
