package docker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"
	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// LostMount is a mount that was made for a container of ours which the engine does not know: its
// file system, or its shared memory.
type LostMount struct {
	Path       string           `json:"path"`
	Container  string           `json:"container"`
	Deployment string           `json:"deployment"`
	Step       pipeline.StepKey `json:"step,omitempty"`
}

// findLostMounts finds mounts in the folders of the engine and of its containerd that have the id
// of a lost container in their path, or the id of a layer that the engine made for it.
func (lo *lostObjects) findLostMounts(ctx context.Context) (lost []LostMount, err error) {
	lost = []LostMount{}
	root := lo.hostPaths().engineRoot
	if root == "" {
		return lost, nil
	}
	text, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, fmt.Errorf("list mounts: %w", err)
	}
	known, layers := map[string]bool{}, readLayers(root)
	for _, path := range engineMounts(string(text), root) {
		id := containerIn(path)
		if of, ok := layers[id]; ok {
			id = of
		}
		n, ours := lo.book.findContainer(id)
		if !ours || n.Kind == agent.KindNetwork || n.engine != lo.hostPaths().engineID {
			continue
		}
		there, asked := known[id]
		if !asked {
			_, err := lo.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
			if err != nil && !errdefs.IsNotFound(err) {
				return nil, fmt.Errorf("inspect container: %w", wrapUnavailable(err))
			}
			there = err == nil
			known[id] = there
		}
		if !there {
			lost = append(lost, LostMount{Path: path, Container: id, Deployment: n.Deployment,
				Step: n.Step})
		}
	}
	return lost, nil
}

// engineMounts returns the mount points below the engine's root, or where containerd keeps what is
// running, the innermost first.
func engineMounts(mountinfo, root string) (all []string) {
	unescape := strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 5 {
			continue
		}
		path := unescape.Replace(fields[4])
		if strings.HasPrefix(path, filepath.Clean(root)+"/") || strings.HasPrefix(path, "/run/") {
			all = append(all, path)
		}
	}
	slices.SortStableFunc(all, func(a, b string) int { return cmp.Compare(len(b), len(a)) })
	return all
}

// readLayers returns the containers that the storage driver overlay2 made layers for. An engine
// that keeps them elsewhere has none here.
func readLayers(root string) map[string]string {
	layers := map[string]string{}
	files, _ := filepath.Glob(filepath.Join(root, "image", "overlay2", "layerdb", "mounts", "*",
		"mount-id"))
	for _, file := range files {
		if layer, err := os.ReadFile(file); err == nil {
			layers[strings.TrimSpace(string(layer))] = filepath.Base(filepath.Dir(file))
		}
	}
	return layers
}

// containerIn returns the folder of a path that is a container's id.
func containerIn(path string) string {
	for name := range strings.SplitSeq(path, "/") {
		if containerID.MatchString(name) {
			return name
		}
	}
	return ""
}

// unmount detaches the mount. What is still open in it stays until it is closed.
func (m LostMount) unmount() error {
	err := unix.Unmount(m.Path, unix.MNT_DETACH|unix.UMOUNT_NOFOLLOW)
	if err != nil && !errors.Is(err, unix.EINVAL) && !errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("unmount %s: %w; run this as root", m.Path, err)
	}
	return nil // it was removed with its container
}
