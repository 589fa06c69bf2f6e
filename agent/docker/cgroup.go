package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// errHidden means that the kernel's files about a container are not visible, because the
// agent itself runs in a container. The engine is asked instead.
var errHidden = errors.New("the container's control group cannot be seen from here")

// cgroupReader reads the kernel's counters for one container from a few small files. The
// engine would ask its shim, which reads the same files and costs more.
type cgroupReader struct {
	// proc and sys are /proc and /sys/fs/cgroup.
	proc, sys string
}

// readUsage returns the counters and the memory of a container.
func (g cgroupReader) readUsage(id string, pid int) (counters, int64, error) {
	c := counters{at: time.Now()}
	if err := g.readNetwork(id, pid, &c); err != nil {
		return c, 0, err
	}
	if _, err := os.Stat(filepath.Join(g.sys, "cgroup.controllers")); err == nil {
		return g.readV2(id, c)
	}
	return g.readV1(id, c)
}

// isInContainer proves that a process belongs to a container: if the agent runs in a container
// itself, the engine's process IDs name other processes here.
func (g cgroupReader) isInContainer(id string, pid int) bool {
	group, err := os.ReadFile(filepath.Join(g.proc, strconv.Itoa(pid), "cgroup"))
	return err == nil && pid > 0 && strings.Contains(string(group), id)
}

// readNetwork reads the container's own interfaces, through its first process.
func (g cgroupReader) readNetwork(id string, pid int, c *counters) error {
	if !g.isInContainer(id, pid) {
		return errHidden
	}
	dev, err := os.ReadFile(filepath.Join(g.proc, strconv.Itoa(pid), "net", "dev"))
	if err != nil {
		return errHidden
	}
	c.netIn, c.netOut = netBytes(string(dev), func(name string) bool { return name != "lo" })
	return nil
}

// readV1 has a tree for each controller.
func (g cgroupReader) readV1(id string, c counters) (counters, int64, error) {
	usage, err := readFirst(g.cgroupDirs("cpuacct", id), "cpuacct.usage")
	if err != nil {
		return c, 0, err
	}
	nanoseconds, err := strconv.ParseInt(strings.TrimSpace(usage), 10, 64)
	if err != nil {
		return c, 0, fmt.Errorf("cpuacct.usage: %w", err)
	}
	c.cpu = time.Duration(nanoseconds)
	memory, err := g.readMemory(
		g.cgroupDirs("memory", id),
		"memory.usage_in_bytes",
		"total_inactive_file",
	)
	if err != nil {
		return c, 0, err
	}
	text, err := readFirst(g.cgroupDirs("blkio", id), "blkio.throttle.io_service_bytes")
	if err == nil {
		c.read, c.written = parseBlkio(text)
	}
	return c, memory, nil
}

// readV2 has one tree for all controllers.
func (g cgroupReader) readV2(id string, c counters) (counters, int64, error) {
	dirs := g.cgroupDirs("", id)
	stat, err := readFirst(dirs, "cpu.stat")
	if err != nil {
		return c, 0, err
	}
	c.cpu = time.Duration(findCounter(stat, "usage_usec")) * time.Microsecond
	memory, err := g.readMemory(dirs, "memory.current", "inactive_file")
	if err != nil {
		return c, 0, err
	}
	if text, err := readFirst(dirs, "io.stat"); err == nil {
		c.read, c.written = ioStat(text)
	}
	return c, memory, nil
}

// readMemory is what a container holds, less the file cache that the kernel drops
// when asked.
func (g cgroupReader) readMemory(dirs []string, file, cache string) (int64, error) {
	text, err := readFirst(dirs, file)
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", file, err)
	}
	stat, err := readFirst(dirs, "memory.stat")
	if err != nil {
		return 0, err
	}
	return max(0, used-findCounter(stat, cache)), nil
}

// cgroupDirs are where the engine's two cgroup drivers put a container.
func (g cgroupReader) cgroupDirs(controller, id string) []string {
	return []string{
		filepath.Join(g.sys, controller, "docker", id),
		filepath.Join(g.sys, controller, "system.slice", "docker-"+id+".scope"),
	}
}

func readFirst(dirs []string, file string) (string, error) {
	for _, dir := range dirs {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if err == nil {
			return string(text), nil
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
	}
	return "", errHidden
}

// findCounter returns the number after a word in a file with one "word number" pair per
// line.
func findCounter(text, word string) int64 {
	for line := range strings.Lines(text) {
		if rest, ok := strings.CutPrefix(line, word+" "); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(rest), 10, 64)
			return n
		}
	}
	return 0
}

// parseBlkio reads lines such as "254:0 Read 4096".
func parseBlkio(text string) (read, written int64) {
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		if len(fields) != 3 {
			continue
		}
		n, _ := strconv.ParseInt(fields[2], 10, 64)
		switch fields[1] {
		case "Read":
			read += n
		case "Write":
			written += n
		}
	}
	return read, written
}

// ioStat reads lines such as "254:0 rbytes=4096 wbytes=0 rios=1".
func ioStat(text string) (read, written int64) {
	for field := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(field, "=")
		n, _ := strconv.ParseInt(value, 10, 64)
		switch name {
		case "rbytes":
			read += n
		case "wbytes":
			written += n
		}
	}
	return read, written
}
