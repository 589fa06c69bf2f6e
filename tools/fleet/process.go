package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// use is what a process has used, and holds.
type use struct {
	cpu time.Duration
	kib float64
	at  time.Time
}

// ticksPerSecond is the kernel's USER_HZ; it is 100 on every Linux there is.
const ticksPerSecond = 100

// ownLine is what a process wrote itself. Pages of its program that it happened to
// read, and that the kernel may drop, are in VmRSS but are nobody's agents.
var ownLine = regexp.MustCompile(`RssAnon:\s+(\d+) kB`)

func useOf(pid int) (use, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return use{}, err
	}
	// The fields after the name in parentheses, which may hold spaces.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int
	for _, i := range []int{11, 12} {
		n, err := strconv.Atoi(fields[i])
		if err != nil {
			return use{}, fmt.Errorf("read the use of process %d: %w", pid, err)
		}
		ticks += n
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return use{}, err
	}
	m := ownLine.FindSubmatch(status)
	if m == nil {
		return use{}, fmt.Errorf("process %d has no RssAnon", pid)
	}
	kib, err := strconv.ParseFloat(string(m[1]), 64)
	return use{cpu: time.Duration(ticks) * time.Second / ticksPerSecond, kib: kib,
		at: time.Now()}, err
}

// cpuShare is how much of one core was used between two looks.
func cpuShare(from, to use) float64 {
	return float64(to.cpu-from.cpu) / float64(to.at.Sub(from.at))
}

func computePercentile(all []time.Duration, p float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	slices.Sort(all)
	return all[min(len(all)-1, int(float64(len(all))*p))]
}
