package docker

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// hostPaths translates a path in the agent's container to the host's path, which the engine needs.
type hostPaths struct {
	data, hostData string
	run, hostRun   string
	// runMissing is set while we have no folder in memory that the engine sees too; run is
	// empty then.
	runMissing bool
	// ownNetwork is set when our network is not the machine's.
	ownNetwork bool
	// ownProcesses is set when we do not see the machine's processes.
	ownProcesses bool
	// engineID identifies the engine.
	engineID string
	// engineRoot is the engine's folder, if we can see it.
	engineRoot string
	// imageRoot is where images and containers' file systems are, if we can see it. It is
	// engineRoot, unless containerd keeps them.
	imageRoot string
}

func (h hostPaths) toHost(path string) string {
	for _, m := range [][2]string{{h.run, h.hostRun}, {h.data, h.hostData}} {
		if rest, ok := cutDir(path, m[0]); ok && m[0] != "" {
			return filepath.Join(m[1], rest)
		}
	}
	return path
}

// cutDir returns what is left of path below dir.
func cutDir(path, dir string) (string, bool) {
	if path == dir {
		return "", true
	}
	return strings.CutPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}

// findHostPaths asks the engine how our own folders are mounted if we run in a
// container, since mounts are named by the host's paths.
func (e *engine) findHostPaths(ctx context.Context, api *client.Client) (hostPaths, error) {
	c := e.config
	h := hostPaths{data: c.DataDir, hostData: c.HostDataDir, run: c.RunDir, hostRun: c.HostRunDir}
	if h.hostData != "" && h.hostRun != "" {
		return h, onTmpfs(c.RunDir)
	}
	mounts, err := ownMounts(ctx, api)
	if err != nil {
		return h, err
	}
	if h.hostData == "" {
		if h.hostData, err = hostOf(c.DataDir, "data folder", mounts); err != nil {
			return h, err
		}
	}
	if h.hostRun != "" {
		return h, onTmpfs(c.RunDir)
	}
	h.hostRun, err = hostOf(c.RunDir, "run folder", mounts)
	err = errors.Join(err, onTmpfs(c.RunDir))
	if h.runMissing = err != nil && mounts != nil; h.runMissing {
		h.run, h.hostRun = "", ""
		return h, nil
	}
	return h, err
}

// ownMounts returns nil when we are not in a container of this engine. In one
// of another engine, as with an engine inside a container, the engine sees the
// same paths as we do.
func ownMounts(ctx context.Context, api *client.Client) ([]container.MountPoint, error) {
	id, err := ownContainer("/proc/self/mountinfo")
	if err != nil || id == "" {
		return nil, err
	}
	r, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if errdefs.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("inspect our own container %s: %w", id, wrapUnavailable(err))
	}
	return r.Container.Mounts, nil
}

// hostOf finds the longest mount that holds a folder.
func hostOf(dir, what string, mounts []container.MountPoint) (string, error) {
	if mounts == nil {
		return dir, nil
	}
	best, host := "", ""
	for _, m := range mounts {
		rest, ok := cutDir(dir, m.Destination)
		if ok && m.Source != "" && len(m.Destination) > len(best) {
			best, host = m.Destination, filepath.Join(m.Source, rest)
		}
	}
	if best == "" {
		return "", fmt.Errorf("%s %s is not mounted from the host: "+
			"start the agent's container with -v %s:%s", what, dir, dir, dir)
	}
	return host, nil
}

// containerPath is how the engine's own files for /etc/hostname and the like
// show up among a container's mounts.
var containerPath = regexp.MustCompile(
	`/containers/([0-9a-f]{64})/(?:hostname|hosts|resolv\.conf)$`)

// ownContainer returns the id of the container that we run in, or "". In it, the engine's files
// are mounted on ours in /etc. On the machine itself, folders of other containers are mount points
// (mounts/shm), and while files of a container are copied, its files are mounted below its root.
func ownContainer(mountinfo string) (string, error) {
	f, err := os.Open(mountinfo)
	if err != nil {
		return "", fmt.Errorf("read own mounts: %w", err)
	}
	defer func() { _ = f.Close() }()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		fields := strings.Fields(lines.Text())
		if len(fields) < 5 {
			continue
		}
		source, target := fields[3], fields[4]
		m := containerPath.FindStringSubmatch(source)
		if m != nil && filepath.Dir(target) == "/etc" {
			return m[1], nil
		}
	}
	return "", lines.Err()
}
