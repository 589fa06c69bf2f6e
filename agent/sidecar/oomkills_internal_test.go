package sidecar

import (
	"os"
	"path/filepath"
	"testing"
)

// A kill for lack of memory is counted in cgroup v2, in v1, and on a machine that has both. The
// file of v1 was recorded; those of v2 follow the kernel's
// Documentation/admin-guide/cgroup-v2.rst, with and without the lines of newer kernels.
func TestCountOOMKills(t *testing.T) {
	const (
		events = "memory.events"
		v1     = "memory/memory.oom_control"
	)
	for name, c := range map[string]struct {
		files map[string]string
		want  int
	}{
		"v2": {map[string]string{events: "low 0\nhigh 0\nmax 31\noom 2\noom_kill 2\n"}, 2},
		"v2, new kernel": {map[string]string{events: "low 0\nhigh 0\nmax 31\noom 4\noom_kill 3\n" +
			"oom_group_kill 1\nsock_throttled 0\n"}, 3},
		"v2, none":   {map[string]string{events: "low 0\nhigh 0\nmax 0\noom 0\noom_kill 0\n"}, 0},
		"v1":         {map[string]string{v1: "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"}, 1},
		"both":       {map[string]string{events: "oom 0\noom_kill 0\n", v1: "oom_kill 7\n"}, 0},
		"old kernel": {map[string]string{v1: "oom_kill_disable 0\nunder_oom 0\n"}, -1},
		"nothing":    {nil, -1},
	} {
		root := t.TempDir()
		for path, text := range c.files {
			path = filepath.Join(root, path)
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		before := oomCounters
		oomCounters = []string{filepath.Join(root, events), filepath.Join(root, v1)}
		if got := countOOMKills(); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
		oomCounters = before
	}
}
