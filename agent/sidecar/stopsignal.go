package sidecar

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Kubernetes ends containers with SIGTERM. A service that wants another signal gets it from the
// helper, which the machine runs before that and whose end it waits for.

// ExitStays is the exit code of the stop-signal role when the process did not end in its time.
const ExitStays = 113

// sendStopSignal sends a signal to the container's first process and waits for its end, within a
// duration if one is given. It begins with the signal: how long it took to get here is not the
// process's fault.
func sendStopSignal(ctx context.Context, name string, within []string) error {
	signal, err := parseSignal(name)
	if err != nil {
		return err
	}
	if len(within) > 0 {
		limit, err := time.ParseDuration(within[0])
		if err != nil {
			return err
		}
		var stop context.CancelFunc
		ctx, stop = context.WithTimeout(ctx, limit)
		defer stop()
	}
	first, err := firstProcess("/proc", os.Getpid())
	if err != nil {
		return err
	}
	if err := syscall.Kill(first, signal); err != nil {
		return fmt.Errorf("signal process %d: %w", first, err)
	}
	for syscall.Kill(first, 0) == nil {
		switch {
		case ctx.Err() == nil:
		case len(within) == 0:
			return nil
		default:
			return &exitError{code: ExitStays, err: errors.New("the process has not ended")}
		}
		time.Sleep(secretsPoll)
	}
	return nil
}

func parseSignal(name string) (syscall.Signal, error) {
	if n, err := strconv.Atoi(name); err == nil && n > 0 {
		return syscall.Signal(n), nil
	}
	upper := strings.ToUpper(name)
	if !strings.HasPrefix(upper, "SIG") {
		upper = "SIG" + upper
	}
	if s := unix.SignalNum(upper); s != 0 {
		return s, nil
	}
	return 0, fmt.Errorf("there is no signal %q", name)
}

// firstProcess is the lowest process with our file system: where the containers of a pod see each
// other's processes, the first of all is another container's.
func firstProcess(proc string, self int) (int, error) {
	own, err := os.Readlink(filepath.Join(proc, "self/ns/mnt"))
	if err != nil {
		return 0, err
	}
	entries, err := os.ReadDir(proc)
	if err != nil {
		return 0, err
	}
	first := 0
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil || pid == self || first != 0 && pid > first {
			continue
		}
		space, err := os.Readlink(filepath.Join(proc, e.Name(), "ns/mnt"))
		if err == nil && space == own {
			first = pid
		}
	}
	if first == 0 {
		return 0, errors.New("the container's first process is not found")
	}
	return first, nil
}
