package docker

import (
	"context"
	"fmt"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

// nameReserved bounds the last wait for a name that the engine holds for a
// container that cannot be seen yet; all waits come to about twice that.
const nameReserved = 3 * time.Second

// containerSpec describes a container that the agent creates.
type containerSpec struct {
	name string
	// oldName is what earlier releases called it; empty if that was the same.
	oldName    string
	kind       agent.ObjectKind
	deployment string
	run        string
	step       pipeline.StepKey
	config     *container.Config
	host       *container.HostConfig
	// network is a name; empty means none. alias is the DNS name in it.
	network string
	alias   string
	// prepare, if not nil, is called when the container exists and before it starts.
	prepare func(context.Context) error
}

func (s containerSpec) specDigest() string {
	return hashParts(s.config, s.host, s.network, s.alias)
}

// ensureRunning makes sure that a container made from this specification exists and is
// started. keep says whether an existing container may be used; a caller that has changed
// files outside the specification passes false.
//
// An existing container may fail to start because something it refers to was replaced, such
// as a network of the same name. It is then created again, once.
func (d *Docker) ensureRunning(ctx context.Context, s containerSpec, keep bool) error {
	id, adopted, err := d.ensureContainer(ctx, s, keep)
	if err != nil {
		return err
	}
	err = d.startPrepared(ctx, s, id)
	if err == nil || !adopted || !isEngineAnswer(err) {
		return err
	}
	id, _, err = d.ensureContainer(ctx, s, false)
	if err != nil {
		return err
	}
	return d.startPrepared(ctx, s, id)
}

func (d *Docker) startPrepared(ctx context.Context, s containerSpec, id string) error {
	if s.prepare != nil {
		if err := s.prepare(ctx); err != nil {
			return err
		}
	}
	return d.startContainer(ctx, id)
}

func (d *Docker) startContainer(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	if _, err := d.api.ContainerStart(ctx, id, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start container: %w", wrapMutationErr(err))
	}
	return nil
}

// ensureContainer creates the container, or adopts the one that has its name.
//
// The engine reserves a name before the container becomes visible. A creation that we have
// given up on and the engine still completes makes ours fail with a conflict although no
// container of that name can be found. That lasts for moments, so it is retried.
func (d *Docker) ensureContainer(
	ctx context.Context, s containerSpec, keep bool,
) (id string, adopted bool, err error) {
	d.sweeps.waitFor(ctx, s.name)
	if err := d.renameOld(ctx, s); err != nil {
		return "", false, err
	}
	for pause := 20 * time.Millisecond; ; pause *= 2 {
		id, err = d.createContainer(ctx, s)
		if !errdefs.IsConflict(err) {
			return id, false, err
		}
		id, adopted, settled := d.adoptContainer(ctx, s, keep)
		if adopted || settled != nil {
			return id, adopted, settled
		}
		if pause > nameReserved {
			return "", false, err
		}
		if err := wait.Sleep(ctx, pause); err != nil {
			return "", false, err
		}
	}
}

// adoptContainer adopts the container of that name if it was created from the same
// specification, and removes it if not. It is no error if no such container exists.
func (d *Docker) adoptContainer(
	ctx context.Context, s containerSpec, keep bool,
) (id string, adopted bool, err error) {
	r, err := d.inspectContainer(ctx, s.name)
	if errdefs.IsNotFound(err) {
		return "", false, nil
	}
	if err != nil {
		return "", false, err
	}
	labels := r.Config.Labels
	if labels[labelInstall] != d.names.install {
		return "", false, fmt.Errorf("a container called %s exists and is not ours: "+
			"remove or rename it", s.name)
	}
	if keep && labels[labelSpec] == s.specDigest() && onNetwork(r, s.network) {
		return r.ID, true, nil
	}
	return "", false, d.discardContainer(ctx, r)
}

func (d *Docker) createContainer(ctx context.Context, s containerSpec) (string, error) {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	config := *s.config
	config.Labels = d.names.objectLabels(s.kind, s.deployment, s.run, s.step, s.specDigest())
	r, err := d.api.ContainerCreate(ctx, client.ContainerCreateOptions{
		Name: s.name, Config: &config, HostConfig: s.host,
		NetworkingConfig: endpointConfig(s.network, s.alias),
	})
	if err != nil {
		return "", fmt.Errorf("create container: %w", wrapMutationErr(err))
	}
	d.noteObject(agent.Object{ID: r.ID, Kind: s.kind, Deployment: s.deployment, Step: s.step})
	return r.ID, nil
}

// inspectContainer returns errors that keep the engine's class, so that the caller can
// detect a missing container.
func (d *Docker) inspectContainer(
	ctx context.Context,
	id string,
) (container.InspectResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := d.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return r.Container, fmt.Errorf("inspect container: %w", wrapQueryErr(err))
	}
	return r.Container, nil
}

// noCoreDumps keeps memory, and the secrets in it, out of core files.
func noCoreDumps() []*container.Ulimit { return []*container.Ulimit{{Name: "core"}} }

// onNetwork reports whether a container is still connected to where it belongs.
func onNetwork(r container.InspectResponse, network string) bool {
	if network == "" || r.NetworkSettings == nil {
		return true
	}
	_, on := r.NetworkSettings.Networks[network]
	return on
}
