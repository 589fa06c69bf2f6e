package main

import (
	"bufio"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// memoryRoot is a file system in memory that Linux has everywhere.
const memoryRoot = "/dev/shm"

// spareMemory is how much memory must be available, in KiB: all databases of a whole test run, and
// as much again for the tests.
const spareMemory = 8 << 20

// memoryDirOf is the folder in memory of a run with this folder. Its name is the run's, so that who
// sweeps a stale run finds it.
func memoryDirOf(dir string) string {
	return filepath.Join(memoryRoot, filepath.Base(dir))
}

// newMemoryDir makes the run's folder in memory; the run's end removes it. A test gets a database
// of its own, which is some hundreds of files: on ext4, a third of the time of such tests went
// into making and removing them.
func (g *group) newMemoryDir(owner *syscall.Credential) (string, error) {
	dir := memoryDirOf(g.dir)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	if owner != nil {
		if err := os.Chown(dir, int(owner.Uid), int(owner.Gid)); err != nil {
			return "", err
		}
	}
	return filepath.Join(dir, "data"), nil
}

// hasSpareMemory reports whether a database in memory leaves enough to the tests. Where that is not
// known, it does not.
func hasSpareMemory() bool {
	if _, err := os.Stat(memoryRoot); errors.Is(err, fs.ErrNotExist) {
		return false
	}
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return false
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "MemAvailable:"); found {
			kib, err := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(text), " kB"))
			return err == nil && kib >= spareMemory
		}
	}
	return false
}
