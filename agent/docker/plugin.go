package docker

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

const (
	// pluginUser is an unprivileged user, for images that ask for root or name no user.
	pluginUser = "65534:65534"
	pluginPids = 128
	// pluginTmp is the only place a plugin can write to. It counts towards
	// its memory.
	pluginTmp = 64 << 20
	pluginShm = 1 << 20
	// pluginFiles is the limit of open files of one process.
	pluginFiles = 4096
)

// plugins creates and runs the containers of plugins.
type plugins struct {
	*containers
	images *images
	ahead  precreatedPlugins
}

// CreatePlugin creates the container of a plugin before RunPlugin runs it.
func (pl *plugins) CreatePlugin(ctx context.Context, p agent.PluginSpec) error {
	id, err := pl.createPlugin(ctx, p)
	if err != nil {
		return pluginError(p, err)
	}
	pl.ahead.put(p, id)
	return nil
}

// precreatedPlugins remembers which plugin containers were created in advance. It only
// saves RunPlugin a query; after a restart RunPlugin asks the engine.
type precreatedPlugins struct {
	mu  sync.Mutex
	ids map[agent.PluginSpec]string
}

func (a *precreatedPlugins) put(p agent.PluginSpec, id string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.ids[p] = id
}

// takeContainer forgets what it returns: a container runs once.
func (a *precreatedPlugins) takeContainer(p agent.PluginSpec) (string, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	id, ok := a.ids[p]
	delete(a.ids, p)
	return id, ok
}

// forgetDeployment drops what was made for a deployment and never run.
func (a *precreatedPlugins) forgetDeployment(deployment string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	maps.DeleteFunc(a.ids, func(p agent.PluginSpec, _ string) bool {
		return p.Deployment == deployment
	})
}

func pluginError(p agent.PluginSpec, err error) error {
	return fmt.Errorf("plugin %s (%s) of deployment %s: %w", p.Step, p.Action, p.Deployment, err)
}

// createPlugin returns a container that never ran. One that was started is from
// a life before a crash: what it did is for the caller to decide, and its
// container cannot be used again, since stdin was its only input.
func (pl *plugins) createPlugin(ctx context.Context, p agent.PluginSpec) (string, error) {
	if err := checkNames(p.Deployment, string(p.Step), p.Action); err != nil {
		return "", err
	}
	image, err := pl.images.imageConfig(ctx, p.Image)
	if err != nil {
		return "", err
	}
	spec := pl.pluginContainer(p, image)
	id, adopted, err := pl.ensureContainer(ctx, spec, true)
	if err != nil || !adopted {
		return id, err
	}
	r, err := pl.inspectContainer(ctx, id)
	if err != nil {
		return "", err
	}
	if r.State != nil && r.State.Status == container.StateCreated {
		return id, nil
	}
	id, _, err = pl.ensureContainer(ctx, spec, false)
	return id, err
}

func (pl *plugins) pluginContainer(
	p agent.PluginSpec, image dockerspec.DockerOCIImageConfig,
) containerSpec {
	network := ""
	mode := container.NetworkMode("none")
	if p.Network {
		network = pl.names.networkName(p.Deployment)
		mode = container.NetworkMode(network)
	}
	return containerSpec{
		name: pl.names.pluginName(p), oldName: pl.names.oldPluginName(p),
		kind: agent.KindPlugin, deployment: p.Deployment, run: p.Run, step: p.Step, network: network,
		config: &container.Config{
			// Like the relay's, a host name would be one in the engine's DNS.
			Image:       imageReference(p.Image),
			User:        unprivilegedUser(image.User),
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			OpenStdin:   true, StdinOnce: true,
			AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		host: pluginHost(p, mode, image),
	}
}

// pluginHost is the whole hardening list. A test compares every field of it
// with what the engine says.
func pluginHost(
	p agent.PluginSpec, mode container.NetworkMode, image dockerspec.DockerOCIImageConfig,
) *container.HostConfig {
	pids := int64(pluginPids)
	resources := resourceLimits(p.Resources, &pids)
	resources.Ulimits = append(resources.Ulimits,
		&container.Ulimit{Name: "nofile", Soft: pluginFiles, Hard: pluginFiles})
	return &container.HostConfig{
		NetworkMode: mode,
		// Without it, what the plugin returns would be written to disk.
		LogConfig:      container.LogConfig{Type: "none"},
		RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
		ReadonlyRootfs: true,
		CapDrop:        []string{"ALL"},
		SecurityOpt:    []string{"no-new-privileges"},
		IpcMode:        container.IPCModePrivate,
		CgroupnsMode:   container.CgroupnsModePrivate,
		ShmSize:        pluginShm,
		Tmpfs: map[string]string{
			"/tmp": fmt.Sprintf("rw,noexec,nosuid,nodev,mode=1777,size=%d", pluginTmp),
		},
		Mounts:    tmpfsOverVolumes(image),
		Resources: resources,
	}
}

// tmpfsOverVolumes mounts a small tmpfs over each volume that the image declares: otherwise
// the engine would create an anonymous volume, writable and without a size limit.
func tmpfsOverVolumes(image dockerspec.DockerOCIImageConfig) []mount.Mount {
	var mounts []mount.Mount
	for path := range image.Volumes {
		if path == "/tmp" {
			continue
		}
		mounts = append(mounts, mount.Mount{
			Type: mount.TypeTmpfs, Target: path,
			TmpfsOptions: &mount.TmpfsOptions{SizeBytes: pluginTmp, Mode: 0o1777},
		})
	}
	sortMounts(mounts)
	return mounts
}

// unprivilegedUser keeps the image's user unless that is root.
func unprivilegedUser(user string) string {
	name, _, _ := strings.Cut(user, ":")
	if name == "" || name == "root" || strings.Trim(name, "0") == "" {
		return pluginUser
	}
	return user
}

// openPlugin returns a container that has never run, with its streams attached.
func (pl *plugins) openPlugin(
	ctx context.Context, p agent.PluginSpec,
) (string, client.HijackedResponse, error) {
	if id, ok := pl.ahead.takeContainer(p); ok {
		if conn, err := pl.attachStreams(ctx, id); err == nil {
			return id, conn, nil
		}
		// The container may have been removed from outside; creating it again shows any other
		// problem.
	}
	id, err := pl.createPlugin(ctx, p)
	if err != nil {
		return "", client.HijackedResponse{}, err
	}
	conn, err := pl.attachStreams(ctx, id)
	return id, conn, err
}

// attachStreams opens the container's stdin, stdout and stderr before it starts.
func (pl *plugins) attachStreams(ctx context.Context, id string) (client.HijackedResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := pl.api.ContainerAttach(ctx, id, client.ContainerAttachOptions{
		Stream: true, Stdin: true, Stdout: true, Stderr: true,
	})
	if err != nil {
		return client.HijackedResponse{}, fmt.Errorf("attach: %w", wrapUnavailable(err))
	}
	return r.HijackedResponse, nil
}
