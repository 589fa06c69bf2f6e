package sidecar

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/signal"
	"path"
	"path/filepath"
	"syscall"
)

// On Kubernetes nobody can read the files of a container that has ended. So the helper is the first
// process of a job that leaves results: it starts the job, and copies what the job left into a
// volume that outlives the container.

const (
	// ResultsName is the folder below the volume with the copied files.
	ResultsName = "files"
	// ResultsProblem is the file beside it that says why they are not complete.
	ResultsProblem = "problem"
	// What is copied at most; the agent itself wants less.
	maxResultFiles = 1024
	maxResultBytes = 64 << 20
)

// runJob runs a command to its end and copies the files that match a pattern. It ends with the
// command's exit code.
func runJob(folder, pattern string, command []string) error {
	file, err := LookPath(command[0], os.Environ())
	if err != nil {
		return &exitError{code: exitNotFound, err: err}
	}
	signals := make(chan os.Signal, 16)
	signal.Notify(signals)
	process, err := os.StartProcess(file, command, &os.ProcAttr{
		Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return &exitError{code: exitNotExecutable, err: fmt.Errorf("start %s: %w", file, err)}
	}
	go func() {
		for s := range signals {
			if s != syscall.SIGCHLD && s != syscall.SIGURG && s != syscall.SIGPIPE {
				_ = process.Signal(s)
			}
		}
	}()
	code, err := awaitProcess(process.Pid)
	if err != nil {
		return &exitError{code: exitNotExecutable, err: err}
	}
	if err := copyResults(folder, pattern); err != nil {
		problem := filepath.Join(folder, ResultsProblem)
		if err := os.WriteFile(problem, []byte(err.Error()), 0o644); err != nil {
			_, _ = fmt.Fprintln(os.Stderr, "nullops: the job's results are not kept:", err)
		}
	}
	return &exitError{code: code}
}

// awaitProcess collects ended processes until this one has ended: orphans of the job are left to
// the first process. A signal makes an exit code as in a shell.
func awaitProcess(pid int) (code int, err error) {
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 0, err
		case ended != pid:
		case status.Signaled():
			return 128 + int(status.Signal()), nil
		case status.Exited():
			return status.ExitStatus(), nil
		}
	}
}

// copyResults copies regular files right in the folder of the pattern. Links may lead anywhere, so
// they are left out, and the folder may be none either.
func copyResults(folder, pattern string) error {
	from, target := path.Dir(pattern), filepath.Join(folder, ResultsName)
	if err := os.Mkdir(target, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if info, err := os.Lstat(from); err != nil || !info.IsDir() {
		return nil
	}
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	files, left := 0, int64(maxResultBytes)
	for _, e := range entries {
		if is, err := path.Match(path.Base(pattern), e.Name()); err != nil || !is ||
			!e.Type().IsRegular() {
			continue
		}
		if files++; files > maxResultFiles {
			return fmt.Errorf("there are more than %d", maxResultFiles)
		}
		n, err := copyResult(filepath.Join(from, e.Name()), filepath.Join(target, e.Name()), left)
		if err != nil {
			return err
		}
		if left -= n; left < 0 {
			return fmt.Errorf("they have more than %d bytes", maxResultBytes)
		}
	}
	return nil
}

func copyResult(from, to string, most int64) (n int64, err error) {
	source, err := os.OpenFile(from, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = source.Close() }()
	target, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o644)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(target, io.LimitReader(source, most+1))
	return n, errors.Join(err, target.Close())
}
