package sidecar

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"syscall"
)

const (
	// maxCheckOutput is how much of a health check's output is kept. The agent shows
	// less, and masks before it cuts.
	maxCheckOutput = 4 << 10
	// checkOutputFile holds the output of the last health check.
	checkOutputFile = "last"
)

// checkHealth runs an image's health check with the service's secret variables.
// The engine writes whatever a health check prints to its disk, so the output
// goes to a folder in memory instead, and only the exit code is passed on.
func checkHealth(envFile, outputDir string, command []string) error {
	secrets, err := awaitSecrets(envFile, 0)
	if err != nil {
		return &exitError{code: exitSecrets, err: err}
	}
	env := Environment(os.Environ(), secrets)
	path, err := LookPath(command[0], env)
	if err != nil {
		return &exitError{code: exitNotFound, err: err}
	}
	// The engine ends a check that takes too long by killing us. The kernel then
	// kills the command, because the thread that started it ends.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	output := &prefixBuffer{left: maxCheckOutput}
	c := &exec.Cmd{Path: path, Args: command, Env: env, Stdout: output, Stderr: output,
		WaitDelay: endGrace, SysProcAttr: &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}}
	if err := c.Start(); err != nil {
		return &exitError{code: exitNotExecutable, err: fmt.Errorf("start %s: %w", path, err)}
	}
	end := exitFromCommand(c, c.Wait())
	// Without its output, the check's answer still counts.
	_ = saveCheckOutput(outputDir, output.kept)
	if end.Code != 0 {
		return &exitError{code: end.Code}
	}
	return nil
}

// saveCheckOutput replaces the file as a whole. It makes a new file that only
// this user can read, because other users of the container can write to the folder.
func saveCheckOutput(dir string, output []byte) error {
	f, err := os.CreateTemp(dir, ".new-")
	if err != nil {
		return err
	}
	_, err = f.Write(output)
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(dir, checkOutputFile))
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// printCheckOutput writes the output of the last health check. It reads no file
// that another user of the container put in its place.
func printCheckOutput(dir string, to io.Writer) error {
	f, err := os.OpenFile(filepath.Join(dir, checkOutputFile),
		os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() || int(owner.Uid) != os.Geteuid() {
		return errors.New("the output of the health check was replaced by another user's file")
	}
	_, err = io.Copy(to, io.LimitReader(f, maxCheckOutput))
	return err
}

// prefixBuffer keeps the first bytes that are written to it.
type prefixBuffer struct {
	kept []byte
	left int
}

func (b *prefixBuffer) Write(p []byte) (int, error) {
	n := min(len(p), b.left)
	b.kept = append(b.kept, p[:n]...)
	b.left -= n
	return len(p), nil
}
