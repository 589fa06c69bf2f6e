package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"time"
)

// startWithin bounds each thing that is waited for.
const startWithin = 3 * time.Minute

// server is one process of ours or of a peer.
type server struct {
	name string
	cmd  *exec.Cmd
	log  string
	done chan struct{}
}

// startServer runs a program until stop. Its lines go to a file.
func startServer(dir, name string, env []string, argv ...string) (*server, error) {
	s := &server{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	// Appended, since a measurement may start the same server again.
	file, err := os.OpenFile(s.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	defer file.Close()
	s.cmd = exec.Command(argv[0], argv[1:]...)
	s.cmd.Env = append(os.Environ(), env...)
	s.cmd.Stdout, s.cmd.Stderr = file, file
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGTERM}
	if err := s.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", name, err)
	}
	go func() {
		_ = s.cmd.Wait() // how it ended is in the log
		close(s.done)
	}()
	return s, nil
}

// stop ends the process. Stopped twice is stopped once.
func (s *server) stop() error {
	if s == nil {
		return nil
	}
	_ = s.cmd.Process.Signal(syscall.SIGTERM) // gone already is fine
	select {
	case <-s.done:
		return nil
	case <-time.After(20 * time.Second):
	}
	_ = s.cmd.Process.Kill()
	<-s.done
	return fmt.Errorf("%s did not stop within 20 s and was killed", s.name)
}

// await tries until it works, the server ends, or the time is over.
func (s *server) await(ctx context.Context, try func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	for {
		err := try(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-s.done:
			return fmt.Errorf("%s ended by itself; its last lines:\n%s", s.name, s.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not there after %s: %w; its last lines:\n%s", s.name,
				startWithin, err, s.tail())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (s *server) tail() string {
	lines := strings.Split(strings.TrimSpace(readText(s.log)), "\n")
	return strings.Join(lines[max(0, len(lines)-15):], "\n")
}

// awaitOutput waits for a line of the server's output and returns the pattern's group.
func (s *server) awaitOutput(ctx context.Context, pattern *regexp.Regexp) (string, error) {
	var found string
	err := s.await(ctx, func(context.Context) error {
		m := pattern.FindStringSubmatch(readText(s.log))
		if m == nil {
			return errors.New("it has not said " + pattern.String())
		}
		found = m[1]
		return nil
	})
	return found, err
}

// residentMiB is how much of a process is in memory now.
func residentMiB(pid int) (float64, error) {
	text := readText(fmt.Sprintf("/proc/%d/status", pid))
	var kib float64
	if _, err := fmt.Sscan(firstMatch(text, `VmRSS:\s+(\d+) kB`), &kib); err != nil {
		return 0, fmt.Errorf("process %d has no VmRSS: %w", pid, err)
	}
	return kib / 1024, nil
}
