package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// volumeTarget is where a volume is in the container it is copied through. The
// folder's own owner and mode are in the archive under this name.
const volumeTarget = "/volume"

var _ agent.VolumeCopier = (*Docker)(nil)

// volumes makes, copies, measures and removes volumes.
type volumes struct {
	*containers
	helper *helperImage
	// pointsLock keeps two services that share a volume from preparing it at once.
	pointsLock sync.Mutex
}

// VolumeBytes asks the engine, which looks at every volume it has.
func (vs *volumes) VolumeBytes(ctx context.Context, deployment string) (bytes int64, err error) {
	r, err := vs.api.DiskUsage(ctx, client.DiskUsageOptions{Volumes: true, Verbose: true})
	if err != nil {
		return 0, fmt.Errorf("measure the volumes of deployment %s: %w", deployment, wrapQueryErr(err))
	}
	for _, v := range r.Volumes.Items {
		ours := v.Labels[labelInstall] == vs.names.install && v.Labels[labelDeployment] == deployment
		// A driver that cannot tell says -1.
		if ours && v.UsageData != nil && v.UsageData.Size > 0 {
			bytes += v.UsageData.Size
		}
	}
	return bytes, nil
}

// ReadVolume has the engine pack the volume.
func (vs *volumes) ReadVolume(ctx context.Context, v agent.VolumeName) (io.ReadCloser, error) {
	id, err := vs.createCopyContainer(ctx, v, true)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", describeVolume(v), err)
	}
	r, err := vs.api.CopyFromContainer(ctx, id,
		client.CopyFromContainerOptions{SourcePath: volumeTarget})
	if err != nil {
		err = errors.Join(wrapQueryErr(err), vs.removeContainer(context.WithoutCancel(ctx), id))
		return nil, fmt.Errorf("read %s: %w", describeVolume(v), err)
	}
	return &volumeStream{ReadCloser: r.Content, done: func() error {
		return vs.removeContainer(context.WithoutCancel(ctx), id)
	}}, nil
}

// volumeStream removes the container when the stream is closed.
type volumeStream struct {
	io.ReadCloser
	done func() error
}

func (p *volumeStream) Close() error { return errors.Join(p.ReadCloser.Close(), p.done()) }

// WriteVolume has the engine unpack the stream, inside the container alone, into a
// new volume.
func (vs *volumes) WriteVolume(ctx context.Context, v agent.VolumeName, from io.Reader) error {
	if err := vs.writeVolume(ctx, v, from); err != nil {
		return fmt.Errorf("write %s: %w", describeVolume(v), err)
	}
	return nil
}

func (vs *volumes) writeVolume(
	ctx context.Context, v agent.VolumeName, from io.Reader,
) (err error) {
	if err := checkVolumeName(v); err != nil {
		return err
	}
	name, err := vs.volumeName(ctx, v)
	if err != nil {
		return err
	}
	if err := vs.removeStoppedUsers(ctx, v, name); err != nil {
		return err
	}
	if err := vs.removeVolume(ctx, name); err != nil {
		return err
	}
	if _, err := vs.ensureVolume(ctx, v); err != nil {
		return err
	}
	id, err := vs.createCopyContainer(ctx, v, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, vs.removeContainer(context.WithoutCancel(ctx), id)) }()
	_, err = vs.api.CopyToContainer(ctx, id,
		client.CopyToContainerOptions{DestinationPath: "/", Content: from})
	return wrapMutationErr(err)
}

// removeStoppedUsers removes the deployment's containers that have the volume, so that it can be
// replaced. When they are started again they are made anew, as if somebody had removed them.
func (vs *volumes) removeStoppedUsers(ctx context.Context, v agent.VolumeName, name string) error {
	r, err := vs.api.ContainerList(ctx, client.ContainerListOptions{All: true,
		Filters: vs.names.ownFilter(v.Deployment).Add("volume", name)})
	if err != nil {
		return fmt.Errorf("list who has the volume: %w", wrapQueryErr(err))
	}
	for _, c := range r.Items {
		if c.State == container.StateRunning {
			return fmt.Errorf("the container %s, which has the volume, runs", c.ID)
		}
		if err := vs.removeContainer(ctx, c.ID); err != nil {
			return err
		}
	}
	return nil
}

func describeVolume(v agent.VolumeName) string {
	if v.Service == "" {
		return "shared volume " + v.Name
	}
	return fmt.Sprintf("volume %s of service %s", v.Name, v.Service)
}

func checkVolumeName(v agent.VolumeName) error {
	if v.Service == "" {
		return checkNames(v.Deployment, v.Name)
	}
	return checkNames(v.Deployment, string(v.Service), v.Name)
}

// createCopyContainer creates the container through which a volume is copied. It is never
// started.
func (vs *volumes) createCopyContainer(
	ctx context.Context, v agent.VolumeName, readOnly bool,
) (id string, err error) {
	if err := checkVolumeName(v); err != nil {
		return "", err
	}
	if err := vs.helper.ensureRelayImage(ctx); err != nil {
		return "", err
	}
	source, err := vs.volumeName(ctx, v)
	if err != nil {
		return "", err
	}
	id, _, err = vs.ensureContainer(ctx, containerSpec{
		name: vs.names.copyName(v), kind: agent.KindCopy, deployment: v.Deployment,
		config: &container.Config{Image: vs.helper.relayImage(), NetworkDisabled: true},
		host: &container.HostConfig{
			NetworkMode: "none", LogConfig: serviceLogs(), CapDrop: []string{"ALL"},
			SecurityOpt: []string{"no-new-privileges"},
			Resources: container.Resources{Memory: relayMemory, MemorySwap: relayMemory,
				PidsLimit: new(int64(relayPids)), NanoCPUs: 1e9, Ulimits: noCoreDumps()},
			Mounts: []mount.Mount{{Type: mount.TypeVolume, Target: volumeTarget,
				ReadOnly: readOnly, Source: source,
				VolumeOptions: &mount.VolumeOptions{NoCopy: true}}},
		},
	}, false)
	return id, err
}

func (vs *volumes) ensureVolume(ctx context.Context, v agent.VolumeName) (string, error) {
	name, err := vs.volumeName(ctx, v)
	if err != nil {
		return "", err
	}
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	_, err = vs.api.VolumeCreate(ctx, client.VolumeCreateOptions{
		Name:   name,
		Labels: vs.names.objectLabels(agent.KindVolume, v.Deployment, "", v.Service, ""),
	})
	if err != nil {
		return "", fmt.Errorf("create volume %s: %w", v.Name, wrapMutationErr(err))
	}
	return name, nil
}

// volumeName is what the engine knows a volume by. Joined with dashes, volume c
// of service a-b and volume b-c of service a would be one. A volume that is there
// under such a name keeps it, since a renamed volume would be an empty one.
func (vs *volumes) volumeName(ctx context.Context, v agent.VolumeName) (string, error) {
	if v.Service == "" {
		return vs.names.sharedVolume(v), nil
	}
	dashed := vs.names.oldVolumeName(v.Deployment, v.Service, v.Name)
	if !strings.Contains(string(v.Service)+v.Name, "-") {
		return dashed, nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := vs.api.VolumeInspect(ctx, dashed, client.VolumeInspectOptions{})
	if err != nil && !errdefs.IsNotFound(err) {
		return "", fmt.Errorf("inspect volume %s: %w", v.Name, wrapUnavailable(err))
	}
	has := err == nil && r.Volume.Labels[labelStep] == string(v.Service)
	if err == nil && !has {
		// It was created for the other service. Two services that shared it continue to share it.
		if has, err = vs.serviceHasVolume(ctx, v, dashed); err != nil {
			return "", err
		}
	}
	if has {
		return dashed, nil
	}
	return vs.names.separableVolumeName(v), nil
}

// serviceHasVolume reports whether a container of the volume's service has the volume.
func (vs *volumes) serviceHasVolume(
	ctx context.Context,
	v agent.VolumeName,
	name string,
) (bool, error) {
	r, err := vs.api.ContainerList(ctx, client.ContainerListOptions{All: true,
		Filters: vs.names.ownFilter(v.Deployment).Add("volume", name).
			Add("label", labelStep+"="+string(v.Service))})
	if err != nil {
		return false, fmt.Errorf("list who has volume %s: %w", v.Name, wrapUnavailable(err))
	}
	return len(r.Items) > 0, nil
}

// ensureVolumes returns the names that the engine knows the volumes by.
func (vs *volumes) ensureVolumes(
	ctx context.Context, s agent.ServiceSpec,
) (names []string, err error) {
	for _, v := range s.Volumes {
		name, err := vs.ensureVolume(ctx, agent.NameVolume(s.Deployment, s.Step, v))
		if err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

func (vs *volumes) removeVolume(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := vs.api.VolumeRemove(ctx, name, client.VolumeRemoveOptions{Force: true})
	if err == nil || isNotFound(err) {
		return nil
	}
	return wrapMutationErr(err)
}
