package docker

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// tick is the unit of process times in /proc, on every Linux that Go supports.
const tick = 10 * time.Millisecond

var (
	containerID = regexp.MustCompile(`^[0-9a-f]{64}$`)
	groupID     = regexp.MustCompile(`[0-9a-f]{64}`)
)

// procReader reads the processes of this machine from its /proc.
type procReader struct{ proc string }

// findProcesses finds what runs of the wanted containers, by their ids: processes in a
// container's control group, and the shims that were started for it.
func (m procReader) findProcesses(wanted func(id string) bool) (map[string][]LostProcess, error) {
	entries, err := os.ReadDir(m.proc)
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	all := map[string][]LostProcess{}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		id, shim := m.containerOf(pid, wanted)
		if id == "" {
			continue
		}
		if p, ok := m.readProcess(pid); ok {
			p.Shim = shim
			all[id] = append(all[id], p)
		}
	}
	return all, nil
}

// containerOf returns which of the wanted containers a process belongs to. The control group
// decides first, because a process in a container can give itself the command line of a shim.
// What is read of a process that ends meanwhile is empty.
func (m procReader) containerOf(pid int, wanted func(id string) bool) (id string, shim bool) {
	dir := filepath.Join(m.proc, strconv.Itoa(pid))
	group, _ := os.ReadFile(filepath.Join(dir, "cgroup"))
	if id := lastGroup(string(group)); id != "" && wanted(id) {
		return id, false
	}
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	if id := shimOf(string(line)); id != "" && wanted(id) {
		return id, true
	}
	return "", false
}

// shimOf returns the container of a shim's command line. One that containerd starts to clean up
// after a shim that has ended, with "delete" as its last word, ends by itself and keeps nothing
// running.
func shimOf(line string) string {
	args := strings.Split(line, "\x00")
	if !strings.HasPrefix(filepath.Base(args[0]), "containerd-shim") ||
		strings.HasSuffix(line, "\x00delete\x00") {
		return ""
	}
	for i, a := range args[:len(args)-1] {
		if a == "-id" && containerID.MatchString(args[i+1]) {
			return args[i+1]
		}
	}
	return ""
}

// lastGroup returns the innermost container in a list of control groups: an engine
// in a container makes groups within that container's.
func lastGroup(groups string) string {
	for line := range strings.Lines(groups) {
		if ids := groupID.FindAllString(line, -1); len(ids) > 0 {
			return ids[len(ids)-1]
		}
	}
	return ""
}

// readProcess reads what distinguishes a process from all others. A process that has ended, and
// whose parent has not collected its status, counts as none.
func (m procReader) readProcess(pid int) (p LostProcess, ok bool) {
	stat, err := os.ReadFile(filepath.Join(m.proc, strconv.Itoa(pid), "stat"))
	if err != nil {
		return p, false
	}
	// The name is in parentheses, and may hold any byte.
	first, last := strings.IndexByte(string(stat), '('), strings.LastIndexByte(string(stat), ')')
	if first < 0 || last < first {
		return p, false
	}
	fields := strings.Fields(string(stat[last+1:]))
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return p, false
	}
	ticks, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return p, false
	}
	return LostProcess{PID: pid, Name: string(stat[first+1 : last]), ticks: ticks}, true
}

// isSameProcess reports whether a process is still the one that was seen.
func (m procReader) isSameProcess(seen LostProcess, id string) bool {
	now, ok := m.readProcess(seen.PID)
	of, _ := m.containerOf(seen.PID, func(other string) bool { return other == id })
	return ok && now.ticks == seen.ticks && of == id
}

// bootTime is when the machine was started.
func (m procReader) bootTime() (time.Time, error) {
	stat, err := os.ReadFile(filepath.Join(m.proc, "stat"))
	if err != nil {
		return time.Time{}, err
	}
	seconds := findCounter(string(stat), "btime")
	if seconds == 0 {
		return time.Time{}, errors.New("/proc/stat has no time of the boot")
	}
	return time.Unix(seconds, 0), nil
}

// interfaceIndexes are the numbers of the network interfaces that a process has.
func (m procReader) interfaceIndexes(pid int) (map[int32]bool, error) {
	text, err := os.ReadFile(filepath.Join(m.proc, strconv.Itoa(pid), "net", "igmp"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrProcessesHidden
	}
	if err != nil {
		return nil, fmt.Errorf("list the interfaces of process %d: %w", pid, err)
	}
	all := map[int32]bool{}
	for line := range strings.Lines(string(text)) {
		fields := strings.Fields(line)
		if strings.HasPrefix(line, "\t") || len(fields) < 2 {
			continue
		}
		if index, err := strconv.ParseInt(fields[0], 10, 32); err == nil {
			all[int32(index)] = true
		}
	}
	return all, nil
}
