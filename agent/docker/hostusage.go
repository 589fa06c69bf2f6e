package docker

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent/wire"
)

// counters only ever grow: use is the difference of two readings over time.
type counters struct {
	at      time.Time
	cpu     time.Duration
	netIn   int64
	netOut  int64
	read    int64
	written int64
}

// coresSince is the CPU used since the earlier reading. It is 0 for the first reading, or
// if a counter decreased because of a restart.
func (c counters) coresSince(before counters) float64 {
	elapsed := c.at.Sub(before.at)
	if before.at.IsZero() || elapsed <= 0 || c.cpu < before.cpu {
		return 0
	}
	return float64(c.cpu-before.cpu) / float64(elapsed)
}

// flowSince is what moved since a reading before, in bytes per second.
func (c counters) flowSince(before counters) wire.Flow {
	elapsed := c.at.Sub(before.at).Seconds()
	if before.at.IsZero() || elapsed <= 0 {
		return wire.Flow{}
	}
	rate := func(now, then int64) float64 { return float64(max(0, now-then)) / elapsed }
	return wire.Flow{NetIn: rate(c.netIn, before.netIn), NetOut: rate(c.netOut, before.netOut),
		DiskRead: rate(c.read, before.read), DiskWritten: rate(c.written, before.written)}
}

// hostCounters reads the operating system's counters for the whole machine. /proc/stat and
// /proc/diskstats are the machine's even inside a container; network counters are, only
// with the host's network.
func hostCounters(proc, sys string, ownNetwork bool) (counters, error) {
	c := counters{at: time.Now()}
	stat, err := os.ReadFile(filepath.Join(proc, "stat"))
	if err != nil {
		return c, err
	}
	if c.cpu, err = busyTime(string(stat)); err != nil {
		return c, err
	}
	// A kernel without these two still counts CPU and memory.
	if text, err := os.ReadFile(filepath.Join(proc, "diskstats")); err == nil {
		c.read, c.written = diskBytes(string(text), func(name string) bool {
			_, err := os.Stat(filepath.Join(sys, "block", name, "device"))
			return err == nil
		})
	}
	if ownNetwork {
		return c, nil
	}
	if text, err := os.ReadFile(filepath.Join(proc, "net", "dev")); err == nil {
		c.netIn, c.netOut = netBytes(string(text), func(name string) bool {
			_, err := os.Stat(filepath.Join(sys, "class", "net", name, "device"))
			return err == nil
		})
	}
	return c, nil
}

// busyTime adds up the first line of /proc/stat without idle and iowait. Its
// unit is 1/100 s on every Linux that Go supports.
func busyTime(stat string) (time.Duration, error) {
	first, _, _ := strings.Cut(stat, "\n")
	fields := strings.Fields(first)
	if len(fields) < 9 || fields[0] != "cpu" {
		return 0, errors.New("/proc/stat has no cpu line")
	}
	var ticks int64
	for i, field := range fields[1:9] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("/proc/stat: %w", err)
		}
		if i != 3 && i != 4 {
			ticks += n
		}
	}
	return time.Duration(ticks) * 10 * time.Millisecond, nil
}

// usedMemory is what programs cannot get: total less available, in bytes.
func usedMemory(meminfo string) int64 {
	values := map[string]int64{}
	for line := range strings.Lines(meminfo) {
		name, rest, _ := strings.Cut(line, ":")
		kib, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
		values[name] = kib << 10
	}
	return values["MemTotal"] - values["MemAvailable"]
}

// netBytes adds up the interfaces of /proc/net/dev that are counted: with
// bridges and their ports in it, a packet of a container would count thrice.
func netBytes(dev string, counted func(name string) bool) (in, out int64) {
	for line := range strings.Lines(dev) {
		name, rest, ok := strings.Cut(line, ":")
		fields := strings.Fields(rest)
		if name = strings.TrimSpace(name); !ok || len(fields) < 9 || !counted(name) {
			continue
		}
		received, err1 := strconv.ParseInt(fields[0], 10, 64)
		sent, err2 := strconv.ParseInt(fields[8], 10, 64)
		if err1 == nil && err2 == nil {
			in, out = in+received, out+sent
		}
	}
	return in, out
}

// diskBytes adds up the disks of /proc/diskstats that are counted; partitions
// and stacked devices would count the same bytes again. A sector of that file
// has 512 bytes on every disk.
func diskBytes(diskstats string, counted func(name string) bool) (read, written int64) {
	for line := range strings.Lines(diskstats) {
		fields := strings.Fields(line)
		if len(fields) < 10 || !counted(fields[2]) {
			continue
		}
		in, err1 := strconv.ParseInt(fields[5], 10, 64)
		out, err2 := strconv.ParseInt(fields[9], 10, 64)
		if err1 == nil && err2 == nil {
			read, written = read+512*in, written+512*out
		}
	}
	return read, written
}

// diskSpace returns the size and what is free for us, in bytes.
func diskSpace(dir string) (total, free int64, err error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return 0, 0, fmt.Errorf("disk of %s: %w", dir, err)
	}
	return int64(s.Blocks) * s.Bsize, int64(s.Bavail) * s.Bsize, nil
}

// diskFree is what is left on the fullest disk that deployments fill.
func (e *engine) diskFree() (int64, error) {
	_, free, err := diskSpace(e.config.DataDir)
	host := e.hostPaths()
	for _, root := range []string{host.engineRoot, host.imageRoot} {
		if err != nil || root == "" {
			return free, err
		}
		var other int64
		_, other, err = diskSpace(root)
		free = min(free, other)
	}
	return free, err
}
