package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// child is one server process in its own process group, so that an interrupt
// typed at the terminal reaches services only, which then stops children in order.
type child struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{} // closed when the process has been reaped
	stop syscall.Signal
	kill func(syscall.Signal) error // nil: signal the process directly
}

// group is everything one run started. Closed in reverse order of start.
type group struct {
	dir      string
	children []*child
	after    []func() error // what remains to be undone once all children are gone
}

// start runs cmd with its output in a log file of the run's folder. It must be
// called from the main goroutine, see main.
func (g *group) start(name string, stop syscall.Signal, cmd *exec.Cmd) (*child, error) {
	logPath := filepath.Join(g.dir, name+".log")
	out, err := os.Create(logPath)
	if err != nil {
		return nil, err
	}
	defer out.Close()
	cmd.Stdout, cmd.Stderr = out, out
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	cmd.SysProcAttr.Pdeathsig = stop
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c := &child{name: name, cmd: cmd, log: logPath, done: make(chan struct{}), stop: stop}
	go func() {
		_ = cmd.Wait() // the exit state is read from cmd.ProcessState
		close(c.done)
	}()
	g.children = append(g.children, c)
	return c, nil
}

// wait polls ready until it succeeds, the child ends, or ctx does.
func (c *child) wait(ctx context.Context, ready func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-c.done:
			return fmt.Errorf("%s ended at once: %v\n%s", c.name, c.cmd.ProcessState, c.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s does not answer: %w\n%s", c.name, err, c.tail())
		case <-tick.C:
		}
	}
}

// tail is the end of the log, for error messages.
func (c *child) tail() string {
	text, err := os.ReadFile(c.log)
	if err != nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")
	return "  " + strings.Join(lines[max(0, len(lines)-15):], "\n  ")
}

func (c *child) signal(s syscall.Signal) error {
	if c.kill != nil {
		return c.kill(s)
	}
	return c.cmd.Process.Signal(s)
}

// close asks politely, waits, then kills the whole process group.
func (c *child) close(patience time.Duration) error {
	select {
	case <-c.done:
		return nil
	default:
	}
	if err := c.signal(c.stop); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop %s: %w", c.name, err)
	}
	select {
	case <-c.done:
		return nil
	case <-time.After(patience):
	}
	_ = c.signal(syscall.SIGKILL)
	_ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL)
	select {
	case <-c.done:
		return fmt.Errorf("%s ignored its stop signal for %s and was killed", c.name, patience)
	case <-time.After(patience):
		return fmt.Errorf("%s (process %d) does not end", c.name, c.cmd.Process.Pid)
	}
}

// close stops all children, newest first, and removes what they left.
func (g *group) close() error {
	var errs []error
	for _, c := range slices.Backward(g.children) {
		errs = append(errs, c.close(20*time.Second))
	}
	for _, undo := range slices.Backward(g.after) {
		errs = append(errs, undo())
	}
	errs = append(errs, killUsers(g.dir), removeRunDir(g.dir))
	return errors.Join(errs...)
}

// farewell is how long an interrupted command may take to end by itself. The demo
// stops a whole product in it.
const farewell = 30 * time.Second

// runCommand runs the user's command in its own process group and returns its exit code. When ctx
// ends, the command gets SIGTERM, and SIGKILL after farewell.
func (g *group) runCommand(ctx context.Context, argv, env []string) (int, error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		return 127, fmt.Errorf("run %s: %w", argv[0], err)
	}
	// Whatever the command left running in its group goes with it.
	defer func() { _ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }()
	var waitErr error // read after ended only
	ended := make(chan struct{})
	go func() {
		waitErr = cmd.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return exitCode(cmd, waitErr)
	case <-ctx.Done():
	}
	fmt.Fprintln(os.Stderr, "services: interrupted, stopping", argv[0])
	_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM)
	select {
	case <-ended:
		return exitCode(cmd, waitErr)
	case <-time.After(farewell):
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-ended
		return 130, fmt.Errorf("%s did not end within %s and was killed", argv[0], farewell)
	}
}

func exitCode(cmd *exec.Cmd, err error) (int, error) {
	var exit *exec.ExitError
	if err == nil || errors.As(err, &exit) {
		if code := cmd.ProcessState.ExitCode(); code >= 0 {
			return code, nil
		}
		return 1, fmt.Errorf("%s: %s", cmd.Path, cmd.ProcessState)
	}
	return 1, fmt.Errorf("run %s: %w", cmd.Path, err)
}

// runCommand runs a short helper program and returns what it printed.
func runCommand(ctx context.Context, stdin io.Reader, argv ...string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = stdin
	cmd.WaitDelay = time.Second
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%s: %w: %s", strings.Join(argv, " "), err, strings.TrimSpace(string(text)))
	}
	return string(text), nil
}
