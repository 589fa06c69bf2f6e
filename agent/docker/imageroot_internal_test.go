package docker

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/moby/moby/api/types/system"
)

// Parts of what engines answered: 20.10, 29 with its own image store, and 29 with containerd's.
const (
	infoOf20      = `{"Driver":"overlay2","DriverStatus":[["Backing Filesystem","extfs"]]}`
	infoOfClassic = `{"Driver":"overlay2","DriverStatus":[["Backing Filesystem","extfs"]],
		"Containerd":{"Address":"/run/containerd/containerd.sock"}}`
	infoOf29 = `{"Driver":"overlayfs",
		"DriverStatus":[["driver-type","io.containerd.snapshotter.v1"]],
		"Containerd":{"Address":"/var/run/docker/containerd/containerd.sock"}}`
	infoOfPackaged = `{"Driver":"overlayfs",
		"DriverStatus":[["driver-type","io.containerd.snapshotter.v1"]],
		"Containerd":{"Address":"/run/containerd/containerd.sock"}}`
)

// Disk figures are those of the disk that images are on, which is containerd's where it keeps them.
func TestFindImageRoot(t *testing.T) {
	t.Parallel()
	root, elsewhere := t.TempDir(), t.TempDir()
	managed := filepath.Join(root, "containerd", "daemon")
	if err := os.MkdirAll(managed, 0o700); err != nil {
		t.Fatal(err)
	}
	config := filepath.Join(elsewhere, "config.toml")
	text := "version = 3\n# root = '/wrong'\nroot = '" + elsewhere +
		"'\n[plugins]\n  root = \"/wrong\"\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for answer, want := range map[string]string{infoOf20: root, infoOfClassic: root,
		infoOf29: managed, infoOfPackaged: elsewhere} {
		var i system.Info
		if err := json.Unmarshal([]byte(answer), &i); err != nil {
			t.Fatal(err)
		}
		i.DockerRootDir = root
		if got := findImageRoot(i, config); got != want {
			t.Errorf("images are looked for in %s, want %s: %s", got, want, answer)
		}
	}
	// A containerd whose folder is not where it should be: the engine's own is the nearest.
	i := system.Info{DockerRootDir: elsewhere,
		DriverStatus: [][2]string{{"driver-type", "io.containerd.snapshotter.v1"}}}
	if got := findImageRoot(i, config); got != elsewhere {
		t.Errorf("with an unknown folder: %s", got)
	}
}

// What runs containers is named with its version, where it is not runc.
func TestRuntimeVersion(t *testing.T) {
	t.Parallel()
	of := func(name, version string) []system.ComponentVersion {
		return []system.ComponentVersion{{Name: "containerd", Version: "1.6.20"},
			{Name: name, Version: version}}
	}
	commit := system.Commit{ID: "v1.1.5-0-gf19387a6"}
	for _, c := range []struct {
		configured string
		info       system.Info
		components []system.ComponentVersion
		want       string
	}{
		{"", system.Info{DefaultRuntime: "runc", RuncCommit: commit}, of("runc", "1.1.5"), "1.1.5"},
		{"", system.Info{DefaultRuntime: "runc", RuncCommit: commit}, nil, commit.ID},
		{"", system.Info{DefaultRuntime: "crun"}, of("crun", "1.8.1"), "crun 1.8.1"},
		{"", system.Info{DefaultRuntime: "crun"}, nil, "crun"},
		// The engine gives the version of its default only.
		{"crun", system.Info{DefaultRuntime: "runc", RuncCommit: commit}, of("runc", "1.1.5"), "crun"},
		{"runc", system.Info{DefaultRuntime: "crun"}, of("crun", "1.8.1"), ""},
		{"", system.Info{}, of("runc", "1.1.5"), "1.1.5"},
	} {
		used := usedRuntime(c.configured, c.info)
		if got := runtimeVersion(used, c.info, c.components); got != c.want {
			t.Errorf("%s: %q, want %q", used, got, c.want)
		}
	}
}
