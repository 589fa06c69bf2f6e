package docker

import (
	"context"
	"fmt"
	"slices"
	"strings"

	dockerspec "github.com/moby/docker-image-spec/specs-go/v1"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"

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

// plugins prepares and runs the containers of plugins.
type plugins struct {
	*containers
	images    *images
	helper    *helperImage
	sandboxes *sandboxes
	holders   *holders
}

func pluginError(p agent.PluginSpec, err error) error {
	return fmt.Errorf("plugin %s (%s) of deployment %s: %w", p.Step, p.Action, p.Deployment, err)
}

// createPlugin returns a container that never ran. One that was started is from
// a life before a crash: what it did is for the caller to decide, and its
// container cannot be used again, since stdin was its only input.
func (pl *plugins) createPlugin(
	ctx context.Context, p agent.PluginSpec, at place,
) (string, error) {
	if err := checkNames(p.Deployment, string(p.Step), p.Action); err != nil {
		return "", err
	}
	image, err := pl.images.imageConfig(ctx, p.Image)
	if err != nil {
		return "", err
	}
	spec, err := pl.pluginContainer(p, image, at)
	if err != nil {
		return "", err
	}
	id, adopted, err := pl.ensureContainer(ctx, spec, true)
	if err != nil || !adopted {
		return id, err
	}
	r, err := pl.inspectContainer(ctx, id)
	// It may have been on its way out when it was found by its name.
	if err != nil && !isNotFound(err) {
		return "", err
	}
	if err == nil && r.State != nil && r.State.Status == container.StateCreated {
		return id, nil
	}
	id, _, err = pl.ensureContainer(ctx, spec, false)
	return id, err
}

func (pl *plugins) pluginContainer(
	p agent.PluginSpec, image dockerspec.DockerOCIImageConfig, at place,
) (containerSpec, error) {
	command := slices.Concat(image.Entrypoint, image.Cmd)
	if len(command) == 0 {
		return containerSpec{}, fmt.Errorf("image %s has neither entrypoint nor command: "+
			"a plugin's image needs one", imageReference(p.Image))
	}
	network := ""
	mode := container.NetworkMode("none")
	mounts := append(tmpfsOverVolumes(image), bindMount(
		pl.hostPaths().toHost(pl.helper.initPath()), initTarget))
	switch {
	case !p.Network:
		// The engine then makes no file that names the loopback address.
		mounts = append(mounts,
			bindMount(pl.hostPaths().toHost(pl.helper.hostsPath()), "/etc/hosts"))
	case at.holder != nil:
		mode = at.networkMode()
	default:
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
			Entrypoint:  []string{initTarget, "sandbox", "--"},
			Cmd:         command,
			Env:         traceVariable(p),
			Healthcheck: &container.HealthConfig{Test: []string{"NONE"}},
			// Without a network, the kernel's empty namespace is enough, and the engine's own, which
			// takes a third of the time of such a container, is not needed.
			NetworkDisabled: !p.Network,
			OpenStdin:       true, StdinOnce: true,
			AttachStdin: true, AttachStdout: true, AttachStderr: true,
		},
		host: pluginHost(p, mode, mounts),
	}, nil
}

// traceVariable tells a plugin which trace its work belongs to.
func traceVariable(p agent.PluginSpec) []string {
	if p.Traceparent == "" {
		return nil
	}
	return []string{"TRACEPARENT=" + p.Traceparent}
}

// pluginHost is the whole hardening list. A test compares every field of it
// with what the engine says.
func pluginHost(
	p agent.PluginSpec, mode container.NetworkMode, mounts []mount.Mount,
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
		Mounts:    mounts,
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
