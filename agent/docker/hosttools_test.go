package docker_test

import (
	"math"
	"os/exec"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
)

// What an agent measures of its machine is what the machine's own tools say. The
// tools run before and after the agent measures: the figure lies between, give or
// take what other processes do meanwhile.
func TestVitals_AgreeWithTheHostsTools(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	if _, err := r.Vitals(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	cpuBefore, began := readCPUTime(t), time.Now()
	stop := burnCPU()
	time.Sleep(2 * time.Second) // CPU use is a difference over time
	memory, disk := readFree(t), r.readAvailable(t)
	v, err := r.Vitals(t.Context(), nil)
	cpu := (readCPUTime(t) - cpuBefore) / time.Since(began).Seconds()
	stop()
	if err != nil {
		t.Fatal(err)
	}
	memoryAfter, diskAfter := readFree(t), r.readAvailable(t)
	slack := 0.05 * float64(memory.total)
	// promise: N-134
	checkBetween(t, "memory used", float64(v.MemoryUsed), slack,
		float64(memory.total-memory.available), float64(memoryAfter.total-memoryAfter.available))
	// promise: N-134
	checkBetween(t, "disk free", float64(v.DiskFree), 1<<30, float64(disk), float64(diskAfter))
	// promise: N-134
	checkBetween(t, "CPU used", v.CPU, 0.25*cpu, cpu)
	i, err := r.Inventory(t.Context())
	// promise: N-134
	if cores := readNumbers(t, "nproc", "--all")[0]; err != nil || i.CPU != float64(cores) ||
		math.Abs(float64(i.Memory-memory.total)) > 1<<20 {
		t.Errorf("%v processors and %d bytes of memory, the tools say %d and %d: %v", i.CPU,
			i.Memory, cores, memory.total, err)
	}
}

// checkBetween holds a figure to those of the tools, with a tolerance.
func checkBetween(t *testing.T, what string, got, tolerance float64, tools ...float64) {
	t.Helper()
	low, high := math.Inf(1), math.Inf(-1)
	for _, said := range tools {
		low, high = min(low, said), max(high, said)
	}
	if got < low-tolerance || got > high+tolerance {
		t.Errorf("%s is %.2f, the host's tools say %.2f, give or take %.2f", what, got, tools,
			tolerance)
	}
}

// burnCPU keeps one processor busy, so that there is use to measure.
func burnCPU() (stop func()) {
	var done atomic.Bool
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for !done.Load() {
		}
	}()
	return func() { done.Store(true); <-ended }
}

type memory struct{ total, available int64 }

// readFree asks free, whose last column is what programs can still get.
func readFree(t *testing.T) memory {
	t.Helper()
	numbers := readNumbers(t, "sh", "-c", "free -b | grep ^Mem: | cut -d: -f2")
	return memory{total: numbers[0], available: numbers[len(numbers)-1]}
}

// readAvailable asks df about the agent's folder and the engine's, and returns the smaller value.
func (r *rig) readAvailable(t *testing.T) int64 {
	t.Helper()
	info, err := dockertest.Client(t, r.host).Info(t.Context(), client.InfoOptions{})
	if err != nil {
		t.Fatal(err)
	}
	all := readNumbers(t, "sh", "-c", `df -B1 --output=avail "$@" | tail -n +2`, "df",
		r.dataDir, info.Info.DockerRootDir)
	return min(all[0], all[1])
}

// readCPUTime is how long all processors together have been busy, in seconds, by
// the kernel's own counters: all but idle and waiting for disks.
func readCPUTime(t *testing.T) float64 {
	t.Helper()
	all := readNumbers(t, "sh", "-c", "grep '^cpu ' /proc/stat | cut -d' ' -f2-; getconf CLK_TCK")
	var ticks int64
	for i, n := range all[:8] {
		if i != 3 && i != 4 {
			ticks += n
		}
	}
	return float64(ticks) / float64(all[len(all)-1])
}

// readNumbers runs a tool of the host and returns the numbers that it prints.
func readNumbers(t *testing.T, name string, args ...string) (all []int64) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), name, args...).Output()
	if err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	for field := range strings.FieldsSeq(string(out)) {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			t.Fatalf("%s %v printed %q", name, args, out)
		}
		all = append(all, n)
	}
	return all
}
