package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// dirPrefix marks the folders of runs below the temporary folder. They are not in
// the checkout because a unix socket's path may not exceed 107 bytes.
const dirPrefix = "nullops-services-"

// unlockedPrefix marks a folder that is not locked yet. It is empty, and nobody sweeps it.
const unlockedPrefix = "nullops-unlocked-"

// newRunDir makes the folder of this run and takes its lock. The lock is held as
// long as services lives, which is how a later run knows a stale folder. The folder
// gets the name of a run once it is locked: another run that started in between took
// it for a stale one and removed it, and this one never got a server.
func newRunDir() (string, error) {
	unlocked, err := os.MkdirTemp("", unlockedPrefix)
	if err != nil {
		return "", err
	}
	// The postgres user must reach its own folder inside.
	if err := os.Chmod(unlocked, 0o755); err != nil {
		return "", err
	}
	if _, err := tryLock(unlocked); err != nil {
		return "", fmt.Errorf("lock %s: %w", unlocked, err)
	}
	number := strings.TrimPrefix(filepath.Base(unlocked), unlockedPrefix)
	dir := filepath.Join(filepath.Dir(unlocked), dirPrefix+number)
	return dir, os.Rename(unlocked, dir)
}

// tryLock takes the lock of a folder until unlock, or until the process ends. It
// holds a bare descriptor: an *os.File that nobody refers to is closed by the
// garbage collector, and with it goes the lock, so that the next run takes this
// one's live servers for stale.
func tryLock(dir string) (unlock func() error, err error) {
	path, mode := filepath.Join(dir, "lock"), syscall.O_RDWR|syscall.O_CREAT|syscall.O_CLOEXEC
	fd, err := syscall.Open(path, mode, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(fd, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return nil, errors.Join(err, syscall.Close(fd))
	}
	return func() error { return syscall.Close(fd) }, nil
}

// sweepStale removes what runs left that were killed before they could clean up. It reports
// problems and continues: they must not stop a new run.
func sweepStale() {
	dirs, _ := filepath.Glob(filepath.Join(os.TempDir(), dirPrefix+"*"))
	for _, dir := range dirs {
		unlock, err := tryLock(dir)
		if err != nil {
			continue // in use, or somebody else's
		}
		err = errors.Join(killUsers(dir), unmountBelow(dir))
		if before, loadErr := loadNetwork(dir); loadErr == nil {
			err = errors.Join(err, before.restore(context.Background(), dir))
		}
		err = errors.Join(err, removeRunDir(dir), unlock())
		if err != nil {
			fmt.Fprintf(os.Stderr, "services: sweep %s: %v\n", dir, err)
		}
	}
}

// removeRunDir removes the folder of a run, and the one that it has in memory. A folder with
// another name is no run's, and what has that name in memory is somebody else's.
func removeRunDir(dir string) error {
	var err error
	if strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		err = removeDir(memoryDirOf(dir))
	}
	return errors.Join(err, removeDir(dir))
}

func removeDir(dir string) error {
	err := os.RemoveAll(dir)
	if err != nil && os.Geteuid() != 0 {
		_, err = asRoot(context.Background(), nil, "rm", "-rf", "--one-file-system", dir)
	}
	return err
}

// asRoot runs a short program as root, through sudo for ordinary users.
func asRoot(ctx context.Context, stdin []byte, argv ...string) (string, error) {
	if os.Geteuid() != 0 {
		argv = append([]string{"sudo", "-n"}, argv...)
	}
	return runCommand(ctx, bytes.NewReader(stdin), argv...)
}

// killUsers ends every process whose command line names dir: containerd, its
// shims, and database workers. The folder's name is random, so nobody else's can.
func killUsers(dir string) error {
	for range 50 {
		pids := usersOf(dir)
		if len(pids) == 0 {
			return nil
		}
		argv := []string{"kill", "-KILL"}
		for _, pid := range pids {
			argv = append(argv, strconv.Itoa(pid))
		}
		_, _ = asRoot(context.Background(), nil, argv...) // one may have ended by itself
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("processes %v still use %s", usersOf(dir), dir)
}

func usersOf(dir string) []int {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	var pids []int
	for _, file := range files {
		pid, err := strconv.Atoi(strings.Split(file, "/")[2])
		if err != nil || pid == os.Getpid() {
			continue
		}
		text, err := os.ReadFile(file)
		if err == nil && bytes.Contains(text, []byte(dir)) {
			pids = append(pids, pid)
		}
	}
	return pids
}

// unmountBelow detaches every mount below dir, the deepest first.
func unmountBelow(dir string) error {
	table, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return err
	}
	points := mountsBelow(string(table), dir)
	var errs []error
	for _, point := range points {
		_, err := asRoot(context.Background(), nil, "umount", "-l", point)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// mountsBelow reads mount points from the text of /proc/self/mountinfo, where
// the fifth field is the mount point, in the reverse order of mounting.
func mountsBelow(table, dir string) []string {
	var points []string
	for line := range strings.Lines(table) {
		fields := strings.Fields(line)
		if len(fields) > 4 && strings.HasPrefix(fields[4], dir+"/") {
			points = append(points, fields[4])
		}
	}
	slices.Reverse(points)
	return points
}
