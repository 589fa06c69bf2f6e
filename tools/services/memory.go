package main

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// memoryRoot is where Linux keeps a file system in memory.
const memoryRoot = "/dev/shm"

const (
	// tmpfsMagic is the type of a file system in memory, see statfs(2).
	tmpfsMagic = 0x01021994
	// spareMemory is how much memory must be available, in bytes, so that the tests have enough
	// beside the databases, of which a whole run had 150 MiB at once.
	spareMemory = 8 << 30
	// spareRoom is how much of it the file system must give, in bytes. In a container it is often
	// as small as 64 MiB, however much memory the machine has.
	spareRoom = 2 << 30
)

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

// hasSpareMemory reports whether databases fit into memory and leave enough to the tests. Where
// that cannot be found out, they do not.
func hasSpareMemory() bool {
	return roomIn(memoryRoot) >= spareRoom && availableMemory() >= spareMemory
}

// roomIn is how many bytes can be written to a file system in memory; 0 for any other.
func roomIn(dir string) uint64 {
	var found syscall.Statfs_t
	if err := syscall.Statfs(dir, &found); err != nil || found.Type != tmpfsMagic {
		return 0
	}
	return found.Bavail * uint64(found.Bsize)
}

// availableMemory is the machine's memory that is available to new programs, in bytes; 0 if it is
// not known.
func availableMemory() uint64 {
	file, err := os.Open("/proc/meminfo")
	if err != nil {
		return 0
	}
	defer func() { _ = file.Close() }()
	for lines := bufio.NewScanner(file); lines.Scan(); {
		if text, found := strings.CutPrefix(lines.Text(), "MemAvailable:"); found {
			kib, _ := strconv.ParseUint(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 10, 64)
			return kib << 10
		}
	}
	return 0
}
