package docker

import (
	"archive/tar"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

// mountPoint is where a file, volume or tmpfs goes that is inside a volume.
type mountPoint struct {
	// path is seen from the volume's folder.
	path string
	file bool
}

// pointsInVolumes returns the mount points in the service's read-only volumes, by the volume's
// position. The engine makes the others itself: it creates a mount point in whatever it has
// mounted there, and in a read-only volume it cannot.
func pointsInVolumes(s agent.ServiceSpec) map[int][]mountPoint {
	points := map[int][]mountPoint{}
	add := func(p string, file bool) {
		if i := enclosingVolume(s, p); i >= 0 && s.Volumes[i].ReadOnly {
			below := strings.TrimPrefix(p, s.Volumes[i].Path+"/")
			points[i] = append(points[i], mountPoint{path: below, file: file})
		}
	}
	for _, f := range s.Files {
		add(f.Path, true)
	}
	for _, v := range s.Volumes {
		add(v.Path, false)
	}
	for _, t := range s.Tmpfs {
		add(t.Path, false)
	}
	return points
}

// enclosingVolume is the position of the volume that a path is in, or -1 if the path is in none,
// or in a tmpfs within the volume.
func enclosingVolume(s agent.ServiceSpec, p string) int {
	found, longest := -1, 0
	for i, v := range s.Volumes {
		if strings.HasPrefix(p, v.Path+"/") && len(v.Path) > longest {
			found, longest = i, len(v.Path)
		}
	}
	if slices.ContainsFunc(s.Tmpfs, func(t pipeline.Tmpfs) bool {
		return strings.HasPrefix(p, t.Path+"/") && len(t.Path) > longest
	}) {
		return -1
	}
	return found
}

// makeMountPoints makes what is missing. The service's container has to exist, since the engine
// fills a volume with the image's content only while the volume is empty.
func (vs *volumes) makeMountPoints(ctx context.Context, s agent.ServiceSpec) error {
	for i, points := range pointsInVolumes(s) {
		v := agent.NameVolume(s.Deployment, s.Step, s.Volumes[i])
		if err := vs.makePointsIn(ctx, v, points); err != nil {
			return fmt.Errorf("make the places in %s where the service's files, volumes and tmpfs "+
				"go: %w", describeVolume(v), err)
		}
	}
	return nil
}

func (vs *volumes) makePointsIn(
	ctx context.Context, v agent.VolumeName, points []mountPoint,
) (err error) {
	// Services that share the volume would use the same container.
	vs.pointsLock.Lock()
	defer vs.pointsLock.Unlock()
	id, err := vs.createCopyContainer(ctx, v, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, vs.removeContainer(context.WithoutCancel(ctx), id)) }()
	missing, err := vs.missingPoints(ctx, id, points)
	if err != nil || len(missing) == 0 {
		return err
	}
	var archive bytes.Buffer
	if err := writePoints(&archive, missing); err != nil {
		return err
	}
	_, err = vs.api.CopyToContainer(ctx, id,
		client.CopyToContainerOptions{DestinationPath: volumeTarget, Content: &archive})
	return wrapMutationErr(err)
}

// missingPoints adds the folders that a missing mount point is in, parents first.
func (vs *volumes) missingPoints(
	ctx context.Context, id string, points []mountPoint,
) (missing []mountPoint, err error) {
	for _, p := range points {
		for {
			there, err := vs.isInVolume(ctx, id, p.path)
			if err != nil {
				return nil, err
			}
			if there || slices.ContainsFunc(missing, func(m mountPoint) bool {
				return m.path == p.path
			}) {
				break
			}
			missing = append(missing, p)
			if p = (mountPoint{path: path.Dir(p.path)}); p.path == "." {
				break
			}
		}
	}
	slices.SortFunc(missing, func(a, b mountPoint) int { return cmp.Compare(a.path, b.path) })
	return missing, nil
}

func (vs *volumes) isInVolume(ctx context.Context, id, below string) (bool, error) {
	_, err := vs.api.ContainerStatPath(ctx, id,
		client.ContainerStatPathOptions{Path: path.Join(volumeTarget, below)})
	if errdefs.IsNotFound(err) {
		return false, nil
	}
	return err == nil, wrapQueryErr(err)
}

func writePoints(to *bytes.Buffer, points []mountPoint) error {
	archive := tar.NewWriter(to)
	for _, p := range points {
		h := &tar.Header{Name: p.path + "/", Typeflag: tar.TypeDir, Mode: 0o755}
		if p.file {
			h = &tar.Header{Name: p.path, Typeflag: tar.TypeReg, Mode: 0o644}
		}
		if err := archive.WriteHeader(h); err != nil {
			return err
		}
	}
	return archive.Close()
}

// explainStart replaces the engine's words about a mount that does not fit into the image, which
// name folders of the node.
func explainStart(err error, s agent.ServiceSpec) error {
	if err == nil || !isEngineAnswer(err) {
		return err
	}
	// runc and crun begin the kernel's words differently.
	if !strings.Contains(strings.ToLower(err.Error()), "not a directory") {
		return explainGPUs(err, s.GPUs)
	}
	field, longest := "", ""
	add := func(name string, i int, p string) {
		if strings.Contains(err.Error(), p) && len(p) > len(longest) {
			field, longest = fmt.Sprintf("%s[%d].path", name, i), p
		}
	}
	for i, f := range s.Files {
		add("files", i, f.Path)
	}
	for i, v := range s.Volumes {
		add("volumes", i, v.Path)
	}
	for i, t := range s.Tmpfs {
		add("tmpfs", i, t.Path)
	}
	if field == "" {
		return err
	}
	return fmt.Errorf("%s: nothing can be mounted at %q: the image or a volume has a file where a "+
		"folder is needed, or a folder where a file is needed; choose another path", field, longest)
}
