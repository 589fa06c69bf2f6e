package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

const (
	// quietWithin is how long a measurement waits until others are done.
	quietWithin = 2 * time.Minute
	// lookFor is how long one look at the run queue lasts.
	lookFor = 2 * time.Second
	// watchEvery is how often others are looked at during a round.
	watchEvery = 2 * time.Second
	// maxQueue is how many threads of others may want a core, on average, before a measurement.
	maxQueue = 0.5
	// maxOthers is how much of one core others may use, and maxStolen which part of the machine's
	// time the hypervisor may keep.
	maxOthers, maxStolen = 0.1, 0.02
	// clockTicks is the unit of processor times in /proc on Linux.
	clockTicks = 100
)

// disturbance is what others did while something was measured.
type disturbance struct {
	// Others is in cores, Stolen a part of the machine's time.
	Others  float64 `json:"cores"`
	Stolen  float64 `json:"stolen"`
	busiest string
}

// check returns an error if a figure measured meanwhile must not be published.
func (d disturbance) check() error {
	if d.Others > maxOthers {
		return fmt.Errorf("others used %.2f of a core, most of it %s; %.2f are allowed", d.Others,
			d.busiest, maxOthers)
	}
	if d.Stolen > maxStolen {
		return fmt.Errorf("the hypervisor kept %.1f %% of the time; %.0f %% are allowed",
			100*d.Stolen, 100*maxStolen)
	}
	return nil
}

func (d disturbance) max(other disturbance) disturbance {
	return disturbance{Others: max(d.Others, other.Others), Stolen: max(d.Stolen, other.Stolen)}
}

// neighbours finds the processes that are no part of the measurement: not below the program that
// started the servers, and no container of our engine.
type neighbours struct {
	root int
	// shims is what the command lines of our engine's helpers have in them. Helpers leave the tree.
	shims string
}

func newNeighbours(dockerHost string) neighbours {
	root := os.Getpid()
	// Between the program with the servers and this one may be another, with a cluster beside it.
	all := readProcesses()
	for pid := os.Getppid(); pid > 1; pid = all[pid].parent {
		if all[pid].name == "services" {
			root = pid
			break
		}
	}
	return neighbours{root: root, shims: filepath.Dir(strings.TrimPrefix(dockerHost, "unix://"))}
}

// process is one line of /proc/PID/stat; seconds include those of children that ended.
type process struct {
	parent  int
	name    string
	started string
	seconds float64
}

// parseStat reads /proc/PID/stat. The name may hold spaces and parentheses.
func parseStat(text string) (process, bool) {
	open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
	if open < 0 || end < open {
		return process{}, false
	}
	fields := strings.Fields(text[end+1:])
	if len(fields) < 20 {
		return process{}, false
	}
	p := process{name: text[open+1 : end], started: fields[19]}
	p.parent, _ = strconv.Atoi(fields[1])
	for _, field := range fields[11:15] {
		ticks, _ := strconv.ParseFloat(field, 64)
		p.seconds += ticks / clockTicks
	}
	return p, true
}

func readProcesses() map[int]process {
	all := map[int]process{}
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if p, ok := parseStat(readText("/proc/" + e.Name() + "/stat")); ok {
			all[pid] = p
		}
	}
	return all
}

// foreign leaves others' processes: not ours, no kernel thread, and not the first process, which
// inherits the times of anybody's orphans.
func (n neighbours) foreign(all map[int]process) map[int]process {
	mine := map[int]bool{n.root: true, 1: false, 2: true, 0: false}
	var isOurs func(pid int) bool
	isOurs = func(pid int) bool {
		known, ok := mine[pid]
		if ok {
			return known
		}
		p, ok := all[pid]
		ours := ok && (isOurs(p.parent) || n.isShim(pid, p))
		mine[pid] = ours
		return ours
	}
	others := map[int]process{}
	for pid, p := range all {
		if pid != 1 && !isOurs(pid) {
			others[pid] = p
		}
	}
	return others
}

// isShim reports whether a process is a helper of our engine. One that has ended has no command
// line any more; another engine's was seen while it lived.
func (n neighbours) isShim(pid int, p process) bool {
	if !strings.HasPrefix(p.name, "containerd-shim") {
		return false
	}
	line := readText(fmt.Sprintf("/proc/%d/cmdline", pid))
	return line == "" || strings.Contains(line, n.shims)
}

// watch adds up what others do until stop.
type watch struct {
	n       neighbours
	began   time.Time
	stat    []float64
	last    map[int]process
	used    map[string]float64 // seconds by name
	halt    chan struct{}
	stopped sync.WaitGroup
}

func (n neighbours) watch() *watch {
	w := &watch{n: n, began: time.Now(), stat: readStat(), last: n.foreign(readProcesses()),
		used: map[string]float64{}, halt: make(chan struct{})}
	w.stopped.Go(func() {
		tick := time.NewTicker(watchEvery)
		defer tick.Stop()
		for {
			select {
			case <-w.halt:
				return
			case <-tick.C:
				w.look()
			}
		}
	})
	return w
}

// look adds what others used since the last look.
func (w *watch) look() {
	now := w.n.foreign(readProcesses())
	for name, seconds := range compareUse(w.last, now) {
		w.used[name] += seconds
	}
	w.last = now
}

// compareUse is the time that processes used between two looks, by name. Times of a child that
// ended have moved to its parent, or on to the next one above that lives; those of an orphan are
// gone, but were counted while it lived.
func compareUse(before, now map[int]process) map[string]float64 {
	lives := func(pid int) bool { return now[pid].started == before[pid].started }
	moved := map[int]float64{}
	for pid, p := range before {
		if lives(pid) {
			continue
		}
		heir := p.parent
		for before[heir].started != "" && !lives(heir) {
			heir = before[heir].parent
		}
		moved[heir] += p.seconds
	}
	used := map[string]float64{}
	for pid, p := range now {
		grown := p.seconds - moved[pid]
		if lives(pid) {
			grown -= before[pid].seconds
		}
		if grown > 0 {
			used[p.name] += grown
		}
	}
	return used
}

func (w *watch) stop() (d disturbance) {
	close(w.halt)
	w.stopped.Wait()
	w.look()
	for name, seconds := range w.used {
		d.Others += seconds / time.Since(w.began).Seconds()
		if d.busiest == "" || seconds > w.used[d.busiest] {
			d.busiest = name
		}
	}
	now, total := readStat(), 0.0
	for i := range min(len(now), 8) {
		total += now[i] - w.stat[i]
	}
	if len(now) >= 8 && total > 0 {
		d.Stolen = (now[7] - w.stat[7]) / total
	}
	return d
}

// readStat are the machine's times; the eighth is what the hypervisor kept.
func readStat() []float64 {
	fields := strings.Fields(firstMatch(readText("/proc/stat"), `^cpu (.*)$`))
	times := make([]float64, len(fields))
	for i, f := range fields {
		times[i], _ = strconv.ParseFloat(f, 64)
	}
	return times
}

// awaitQuiet waits until nobody else wants the machine.
func (n neighbours) awaitQuiet(ctx context.Context) error {
	for deadline := time.Now().Add(quietWithin); ; {
		err := n.checkQuiet(ctx)
		if err == nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("the machine was not quiet for %s: %w", quietWithin, err)
		}
	}
}

// checkQuiet looks at others' part of the run queue, at stolen time, and at what others use.
func (n neighbours) checkQuiet(ctx context.Context) error {
	w := n.watch()
	var waiting, looks float64
	for until := time.Now().Add(lookFor); time.Now().Before(until) && ctx.Err() == nil; looks++ {
		waiting += float64(countRunning(n.foreign(readProcesses())))
		_ = wait.Sleep(ctx, 50*time.Millisecond)
	}
	err := w.stop().check()
	if queue := waiting / max(looks, 1); queue > maxQueue {
		err = errors.Join(err, fmt.Errorf("%.1f threads of others want a core; %.1f are allowed",
			queue, maxQueue))
	}
	return err
}

// countRunning is how many threads of these processes have a core or wait for one. The machine's
// own count would include our servers: a cluster at rest wakes a dozen threads at once.
func countRunning(all map[int]process) (running int) {
	for pid := range all {
		threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", pid))
		for _, thread := range threads {
			text := readText(thread)
			if strings.HasPrefix(text[strings.LastIndexByte(text, ')')+1:], " R") {
				running++
			}
		}
	}
	return running
}

// cpuSeconds is the processor time of processes and of everything below them, in all their threads.
func cpuSeconds(roots ...int) float64 {
	all := readProcesses()
	var sum float64
	for _, pid := range findTree(all, roots) {
		sum += all[pid].seconds
	}
	return sum
}

// findTree is the processes and everything below them.
func findTree(all map[int]process, roots []int) []int {
	found := slices.Clone(roots)
	for i := 0; i < len(found); i++ {
		for _, pid := range slices.Sorted(maps.Keys(all)) {
			if all[pid].parent == found[i] && !slices.Contains(found, pid) {
				found = append(found, pid)
			}
		}
	}
	return found
}

// residentTree is the memory of processes and everything below them. Pages that several of them
// share count once.
func residentTree(roots ...int) (float64, error) {
	var kib float64
	for _, pid := range findTree(readProcesses(), roots) {
		var one float64
		text := readText(fmt.Sprintf("/proc/%d/smaps_rollup", pid))
		if _, err := fmt.Sscan(firstMatch(text, `^Pss:\s+(\d+) kB`), &one); err != nil {
			return 0, fmt.Errorf("process %d does not tell its memory: %w", pid, err)
		}
		kib += one
	}
	return kib / 1024, nil
}

// describeLimits is for the page.
func describeLimits() string {
	return fmt.Sprintf("before each group the run queue without ours is at most %.1f on average, and "+
		"in each round others use at most %.0f %% of one of %d cores and the hypervisor keeps at most "+
		"%.0f %% of the time", maxQueue, 100*maxOthers, runtime.NumCPU(), 100*maxStolen)
}
