package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// engineVariable and ociVariable are the defaults of --engine and --oci.
	engineVariable = "NULLOPS_TEST_ENGINE"
	ociVariable    = "NULLOPS_TEST_OCI"
	// configVariable names dockerd's configuration file. Tests that start an engine of their own
	// (dockertest.StartDaemon) use it too, so that the whole run has one kind of engine.
	configVariable = "NULLOPS_TEST_ENGINE_CONFIG"
)

// engine is the Docker Engine that was asked for. The zero value is any.
type engine struct {
	version string // 20.10, 29 (containerd image store) or 29-classic
	oci     string // runc or crun
}

func (e engine) validate() error {
	if !slices.Contains([]string{"", "20.10", "29", "29-classic"}, e.version) {
		return fmt.Errorf("--engine %s: use 20.10, 29 or 29-classic", e.version)
	}
	if !slices.Contains([]string{"", "runc", "crun"}, e.oci) {
		return fmt.Errorf("--oci %s: use runc or crun", e.oci)
	}
	return nil
}

// install puts the engine's programs in front of this process's PATH, which children inherit,
// and writes its configuration.
func (e engine) install(ctx context.Context, dir string) error {
	if e == (engine{}) {
		return nil
	}
	if strings.HasPrefix(e.version, "29") {
		bin, err := buildEngine(ctx)
		if err != nil {
			return err
		}
		if err := os.Setenv("PATH", bin+string(os.PathListSeparator)+os.Getenv("PATH")); err != nil {
			return err
		}
	}
	config := map[string]any{}
	if strings.HasPrefix(e.version, "29") {
		config["features"] = map[string]bool{"containerd-snapshotter": e.version == "29"}
	}
	if e.oci == "crun" {
		path, err := e.installCrun(dir)
		if err != nil {
			return err
		}
		config["runtimes"] = map[string]any{"crun": map[string]string{"path": path}}
		config["default-runtime"] = "crun"
	}
	text, err := json.Marshal(config)
	if err != nil {
		return err
	}
	path := filepath.Join(dir, "daemon.json")
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	return os.Setenv(configVariable, path)
}

// lowerVersion changes a container's description as Engine 29 writes it into one that crun 1.8.1 of
// Debian 12 accepts: an older version of the OCI specification, and no time namespace, which the
// engine gives every container, without an offset of its clocks.
const lowerVersion = `bundle= word=
for arg in "$@"; do
  if [ "$word" = --bundle ]; then bundle=$arg; fi
  word=$arg
done
if [ -n "$bundle" ]; then
  sed -i -e 's/"ociVersion":"1\.[0-9.]*"/"ociVersion":"1.0.2"/' -e 's/{"type":"time"},//' \
    "$bundle/config.json"
fi
`

// installCrun returns the program to run crun with. crun refuses a machine whose controllers are
// partly in cgroup v2; there it runs where it sees those of v1 only.
func (e engine) installCrun(dir string) (string, error) {
	path, err := exec.LookPath("crun")
	if err != nil {
		return "", errors.New("crun is not installed: run make setup")
	}
	const unified = "/sys/fs/cgroup/unified"
	controllers, err := os.ReadFile(filepath.Join(unified, "cgroup.controllers"))
	hybrid := err == nil && strings.TrimSpace(string(controllers)) != ""
	script := "#!/bin/sh\n"
	if strings.HasPrefix(e.version, "29") {
		script += lowerVersion
	} else if !hybrid {
		return path, nil
	}
	if hybrid {
		script += fmt.Sprintf("exec unshare --mount --propagation slave -- "+
			`sh -c 'umount -l %s; exec %s "$@"' crun "$@"`+"\n", unified, path)
	} else {
		script += fmt.Sprintf(`exec %s "$@"`+"\n", path)
	}
	wrapper := filepath.Join(dir, "crun")
	return wrapper, os.WriteFile(wrapper, []byte(script), 0o755)
}

// buildEngine builds Engine 29 unless that was done before, and returns its folder.
func buildEngine(ctx context.Context) (string, error) {
	root, err := repoRoot()
	if err != nil {
		return "", err
	}
	build := exec.CommandContext(ctx, filepath.Join(root, "tools", "setup", "engine.sh"))
	build.Stderr = os.Stderr
	out, err := build.Output()
	if err != nil {
		return "", fmt.Errorf("build Docker Engine 29: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}
