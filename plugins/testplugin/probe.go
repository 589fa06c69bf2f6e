package main

import (
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/plugins/stdio"
)

// probe reports what the plugin can see and do, so that a test can hold the
// agent to its hardening list.
func (t trial) probe() int {
	out := map[string]any{
		"env":      os.Environ(),
		"args":     os.Args,
		"uid":      os.Getuid(),
		"gid":      os.Getgid(),
		"status":   procStatus(),
		"mounts":   readLines("/proc/self/mountinfo"),
		"cgroup":   readLines("/proc/self/cgroup"),
		"devices":  listNames("/dev"),
		"networks": listInterfaces(),
		"limits":   readLines("/proc/self/limits"),
		"writable": writableDirs("/", "/etc", "/tmp", "/run", "/dev/shm", "/proc/sys/kernel"),
		"sockets":  findSockets(),
		"memory":   readLines("/sys/fs/cgroup/memory/memory.limit_in_bytes"),
		"pids":     readLines("/sys/fs/cgroup/pids/pids.max"),
		"exec_tmp": execIn("/tmp"),
		"others":   listNames("/proc"),
	}
	return t.writeAnswer(stdio.Response{Success: true, Output: "probed", Outputs: out})
}

// procStatus returns the interesting lines of /proc/self/status by name.
func procStatus() map[string]any {
	status := map[string]any{}
	for _, line := range readLines("/proc/self/status") {
		name, value, found := strings.Cut(line, ":")
		wanted := []string{"CapEff", "CapPrm", "CapBnd", "CapAmb", "CapInh", "NoNewPrivs", "Seccomp"}
		if found && slices.Contains(wanted, name) {
			status[name] = strings.TrimSpace(value)
		}
	}
	return status
}

func readLines(path string) []string {
	data, err := os.ReadFile(path)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	return strings.Split(strings.TrimSpace(string(data)), "\n")
}

func listNames(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	found := make([]string, 0, len(entries))
	for _, e := range entries {
		found = append(found, e.Name())
	}
	return found
}

func listInterfaces() []string {
	all, err := net.Interfaces()
	if err != nil {
		return []string{"error: " + err.Error()}
	}
	var found []string
	for _, i := range all {
		found = append(found, i.Name)
	}
	return found
}

// writableDirs returns the folders in which a new file can be made.
func writableDirs(dirs ...string) []string {
	found := []string{}
	for _, dir := range dirs {
		path := filepath.Join(dir, "testplugin-probe")
		if err := os.WriteFile(path, []byte("x"), 0o600); err == nil {
			found = append(found, dir)
			_ = os.Remove(path)
		}
	}
	return found
}

// findSockets lists every unix socket file in sight, Docker's above all.
func findSockets() []string {
	found := []string{}
	_ = filepath.WalkDir("/", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return nil
		case path == "/proc" || path == "/sys":
			return fs.SkipDir
		case d.Type()&fs.ModeSocket != 0:
			found = append(found, path)
		}
		return nil
	})
	return found
}

// execIn reports whether a program can be put into the folder and run.
func execIn(dir string) bool {
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return false
	}
	path := filepath.Join(dir, "testplugin-copy")
	if err := os.WriteFile(path, self, 0o700); err != nil {
		return false
	}
	defer func() { _ = os.Remove(path) }()
	process, err := os.StartProcess(path, []string{path}, &os.ProcAttr{})
	if err != nil {
		return false
	}
	_, _ = process.Wait()
	return true
}

// find looks for the parameter "text" in every file under "paths": the canary
// hunt from inside. It also searches other processes' memory of environment
// and arguments through /proc.
func (t trial) find() int {
	found := []string{}
	looked := 0
	for _, root := range t.p.Paths {
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || looked > 100_000 {
				return nil
			}
			if info, err := d.Info(); err != nil || info.Size() > 16<<20 {
				return nil
			}
			looked++
			if data, err := os.ReadFile(path); err == nil && strings.Contains(string(data), t.p.Text) {
				found = append(found, path)
			}
			return nil
		})
	}
	return t.writeAnswer(stdio.Response{Success: true, Outputs: map[string]any{
		"found": found, "looked": looked,
	}})
}

// connect tries each of the parameter "addresses" and reports what answered.
func (t trial) connect() int {
	results := map[string]any{}
	for _, address := range t.p.Addresses {
		conn, err := net.DialTimeout("tcp", address, max(t.sleepDuration(), 100*time.Millisecond))
		if err != nil {
			results[address] = err.Error()
			continue
		}
		_ = conn.Close()
		results[address] = "connected"
	}
	return t.writeAnswer(stdio.Response{Success: true, Outputs: map[string]any{"results": results}})
}
