package docker

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// volumeTarget is where a volume is in the container it is copied through. The
// folder's own owner and mode are in the archive under this name.
const volumeTarget = "/volume"

var _ agent.Carrier = (*Docker)(nil)

// VolumeBytes asks the engine, which looks at every volume it has.
func (d *Docker) VolumeBytes(ctx context.Context, deployment string) (bytes int64, err error) {
	r, err := d.api.DiskUsage(ctx, client.DiskUsageOptions{Volumes: true, Verbose: true})
	if err != nil {
		return 0, fmt.Errorf("measure the volumes of deployment %s: %w", deployment, asked(err))
	}
	for _, v := range r.Volumes.Items {
		ours := v.Labels[labelInstall] == d.names.install && v.Labels[labelDeployment] == deployment
		// A driver that cannot tell says -1.
		if ours && v.UsageData != nil && v.UsageData.Size > 0 {
			bytes += v.UsageData.Size
		}
	}
	return bytes, nil
}

// ReadVolume has the engine pack the volume.
func (d *Docker) ReadVolume(ctx context.Context, v agent.VolumeName) (io.ReadCloser, error) {
	id, err := d.copier(ctx, v, true)
	if err != nil {
		return nil, fmt.Errorf("read volume %s of service %s: %w", v.Name, v.Service, err)
	}
	r, err := d.api.CopyFromContainer(ctx, id,
		client.CopyFromContainerOptions{SourcePath: volumeTarget})
	if err != nil {
		err = errors.Join(asked(err), d.removeContainer(context.WithoutCancel(ctx), id))
		return nil, fmt.Errorf("read volume %s of service %s: %w", v.Name, v.Service, err)
	}
	return &packed{ReadCloser: r.Content, done: func() error {
		return d.removeContainer(context.WithoutCancel(ctx), id)
	}}, nil
}

// packed takes the container away with the stream.
type packed struct {
	io.ReadCloser
	done func() error
}

func (p *packed) Close() error { return errors.Join(p.ReadCloser.Close(), p.done()) }

// WriteVolume has the engine unpack the stream, inside the container alone, into a
// new volume.
func (d *Docker) WriteVolume(ctx context.Context, v agent.VolumeName, from io.Reader) error {
	if err := d.writeVolume(ctx, v, from); err != nil {
		return fmt.Errorf("write volume %s of service %s: %w", v.Name, v.Service, err)
	}
	return nil
}

func (d *Docker) writeVolume(
	ctx context.Context, v agent.VolumeName, from io.Reader,
) (err error) {
	if err := checkNames(v.Deployment, string(v.Service), v.Name); err != nil {
		return err
	}
	if err := d.removeVolume(ctx, d.names.volume(v.Deployment, v.Service, v.Name)); err != nil {
		return err
	}
	if err := d.ensureVolume(ctx, v); err != nil {
		return err
	}
	id, err := d.copier(ctx, v, false)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.removeContainer(context.WithoutCancel(ctx), id)) }()
	_, err = d.api.CopyToContainer(ctx, id,
		client.CopyToContainerOptions{DestinationPath: "/", Content: from})
	return acted(err)
}

// copier makes the container that a volume is copied through. It is never started.
func (d *Docker) copier(
	ctx context.Context, v agent.VolumeName, readOnly bool,
) (id string, err error) {
	if err := checkNames(v.Deployment, string(v.Service), v.Name); err != nil {
		return "", err
	}
	if err := d.ensureGateImage(ctx); err != nil {
		return "", err
	}
	id, _, err = d.ensureContainer(ctx, containerSpec{
		name: d.names.object(v.Deployment, "copy", string(v.Service), v.Name),
		kind: agent.KindCopy, deployment: v.Deployment,
		config: &container.Config{Image: d.gateImage(), NetworkDisabled: true},
		host: &container.HostConfig{
			NetworkMode: "none", LogConfig: serviceLogs(), CapDrop: []string{"ALL"},
			SecurityOpt: []string{"no-new-privileges"},
			Mounts: []mount.Mount{{Type: mount.TypeVolume, Target: volumeTarget,
				ReadOnly: readOnly, Source: d.names.volume(v.Deployment, v.Service, v.Name),
				VolumeOptions: &mount.VolumeOptions{NoCopy: true}}},
		},
	}, false)
	return id, err
}
