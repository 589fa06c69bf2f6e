package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// with runs a command against the started product, as an admin of it: this is how
// the browser tests get theirs. The exit code of the command becomes an error.
func (p *product) with(ctx context.Context, argv []string) error {
	c := exec.CommandContext(ctx, argv[0], argv[1:]...)
	c.Env = append(os.Environ(), "NULLOPS_TEST_URL="+p.uiURL, "NULLOPS_TEST_USER=admin",
		"NULLOPS_TEST_PASSWORD="+p.password, "NULLOPS_TEST_BINARY="+p.binary,
		"NULLOPS_TEST_TRACES="+p.traces)
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	// The group, so that browsers started by the command end with it.
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGTERM}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGTERM) }
	c.WaitDelay = 10 * time.Second
	if err := c.Start(); err != nil {
		return err
	}
	defer func() { _ = syscall.Kill(-c.Process.Pid, syscall.SIGKILL) }()
	if err := c.Wait(); err != nil {
		return fmt.Errorf("%s: %w", argv[0], err)
	}
	return nil
}
