package docker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
)

const (
	// aliveFor is how long a new agent has to run before the old one goes.
	aliveFor = 10 * time.Second
	// stopWithin is what the old agent has to end by itself.
	stopWithin = 30
	// removeWithin is how long the new agent may take to be gone, a try a second.
	removeWithin = 40 * time.Second
	// helperSocket is where the helper finds the engine.
	helperSocket   = "/var/run/docker.sock"
	previousSuffix = "-previous"
)

var _ agent.Replacer = (*Docker)(nil)

// replacer replaces the agent's own container by one of a newer image.
type replacer struct {
	*containers
	images *images
}

// CheckReplaceable implements agent.Replacer.
func (rp *replacer) CheckReplaceable(ctx context.Context) error {
	_, err := rp.inspectSelf(ctx)
	return err
}

// inspectSelf inspects the container that we run in.
func (rp *replacer) inspectSelf(ctx context.Context) (container.InspectResponse, error) {
	id, err := ownContainer("/proc/self/mountinfo")
	if err != nil {
		return container.InspectResponse{}, err
	}
	if id == "" {
		return container.InspectResponse{}, agent.ErrNotReplaceable
	}
	r, err := rp.inspectContainer(ctx, id)
	if errdefs.IsNotFound(err) {
		return r, agent.ErrNotReplaceable
	}
	if err == nil && r.HostConfig != nil && r.HostConfig.AutoRemove {
		err = errors.New("the agent's container was started with --rm, so there would be no way " +
			"back: start it with --restart always instead")
	}
	return r, err
}

// ReplaceAgent implements agent.Replacer. A container cannot replace itself: it ends
// when it is stopped. So a helper does it, made from the new image, which proves
// on the way that this image runs here.
func (rp *replacer) ReplaceAgent(ctx context.Context, image string, auth *wire.RegistryAuth) error {
	self, err := rp.inspectSelf(ctx)
	if err != nil {
		return err
	}
	if err := rp.ensureAgentImage(ctx, image, auth); err != nil {
		return err
	}
	socket := engineSocket(self)
	if socket == "" {
		return errors.New("the engine's socket is not mounted into the agent's container")
	}
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	name := strings.TrimPrefix(self.Name, "/") + "-upgrade"
	// One that is left from an upgrade that was cut off is done, or never will be.
	_, err = rp.api.ContainerRemove(ctx, name, client.ContainerRemoveOptions{Force: true})
	if err != nil && !isNotFound(err) {
		return fmt.Errorf("remove an earlier helper: %w", wrapMutationErr(err))
	}
	made, err := rp.api.ContainerCreate(ctx, client.ContainerCreateOptions{Name: name,
		Config: &container.Config{Image: image, User: "0:0",
			Entrypoint: []string{"/app/nullops"},
			Cmd:        []string{"agent-replace", self.ID, image}},
		HostConfig: replacementHost(socket)})
	if err != nil {
		return fmt.Errorf("create the helper: %w", wrapMutationErr(err))
	}
	if _, err := rp.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start the helper: %w", wrapMutationErr(err))
	}
	return nil
}

// replacementHost lets the helper do nothing but speak to the engine. The socket may belong to
// another user, as that of a rootless engine does.
func replacementHost(socket string) *container.HostConfig {
	pids := int64(replacementPids)
	return &container.HostConfig{AutoRemove: true, NetworkMode: "none", LogConfig: serviceLogs(),
		ReadonlyRootfs: true, CapDrop: []string{"ALL"}, CapAdd: []string{"DAC_OVERRIDE"},
		SecurityOpt: []string{"no-new-privileges"},
		Resources: container.Resources{Memory: replacementMemory, MemorySwap: replacementMemory,
			NanoCPUs: 1e9, PidsLimit: &pids, Ulimits: noCoreDumps()},
		Mounts: []mount.Mount{{Type: mount.TypeBind, Source: socket, Target: helperSocket}}}
}

// The helper is the whole program: its limits are those of an idle one, several times over.
const (
	replacementMemory = 512 << 20
	replacementPids   = 256
)

// ensureAgentImage pulls the image unless it is here, by whatever means.
func (rp *replacer) ensureAgentImage(
	ctx context.Context, image string, auth *wire.RegistryAuth,
) error {
	if _, err := rp.api.ImageInspect(ctx, image); err == nil {
		return nil
	} else if !errdefs.IsNotFound(err) {
		return fmt.Errorf("image %s: %w", image, wrapQueryErr(err))
	}
	header, err := authHeader(auth)
	if err != nil {
		return fmt.Errorf("pull %s: %w", image, err)
	}
	if err := rp.images.pullWatched(ctx, image, header, func(agent.PullProgress) {}); err != nil {
		return fmt.Errorf("pull %s: %w", image, err)
	}
	return nil
}

// engineSocket is where the engine's socket is on the machine.
func engineSocket(self container.InspectResponse) string {
	for _, m := range self.Mounts {
		if strings.HasSuffix(m.Destination, "/docker.sock") {
			return m.Source
		}
	}
	return ""
}

// ReplaceAgent is the task of the helper container: it replaces the agent's container by
// one of the new image, with the same name, mounts, ports and settings. If the new one does
// not stay up, it is removed and the old one is started again.
func ReplaceAgent(ctx context.Context, host, id, image string) error {
	api, err := client.New(client.WithHost(host), client.WithUserAgent("nullops-agent"))
	if err != nil {
		return fmt.Errorf("docker host %q: %w", host, err)
	}
	defer func() { _ = api.Close() }()
	if _, err := api.Ping(ctx, client.PingOptions{NegotiateAPIVersion: true}); err != nil {
		return fmt.Errorf("ask docker at %s: %w", host, wrapUnavailable(err))
	}
	r, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("inspect the agent's container: %w", err)
	}
	u := selfUpgrade{api: api, old: r.Container, image: image,
		name: strings.TrimPrefix(r.Container.Name, "/")}
	return u.run(ctx)
}

// selfUpgrade is one replacement in progress.
type selfUpgrade struct {
	api         *client.Client
	old         container.InspectResponse
	name, image string
}

func (u selfUpgrade) run(ctx context.Context) error {
	// The name and the port are the old one's until it has ended.
	_, _ = u.api.ContainerRemove(
		ctx,
		u.name+previousSuffix,
		client.ContainerRemoveOptions{Force: true},
	)
	within := stopWithin
	_, err := u.api.ContainerStop(ctx, u.old.ID, client.ContainerStopOptions{Timeout: &within})
	if err != nil {
		return fmt.Errorf("stop the old agent: %w", err)
	}
	_, err = u.api.ContainerRename(ctx, u.old.ID,
		client.ContainerRenameOptions{NewName: u.name + previousSuffix})
	if err != nil {
		return errors.Join(fmt.Errorf("rename the old agent: %w", err), u.restartOld(ctx))
	}
	if err := u.startNew(ctx); err != nil {
		return errors.Join(err, u.rollBack(context.WithoutCancel(ctx)))
	}
	_, err = u.api.ContainerRemove(ctx, u.old.ID, client.ContainerRemoveOptions{})
	return err
}

func (u selfUpgrade) startNew(ctx context.Context) error {
	config, err := u.newConfig(ctx)
	if err != nil {
		return err
	}
	made, err := u.api.ContainerCreate(ctx, client.ContainerCreateOptions{Name: u.name,
		Config: config, HostConfig: u.old.HostConfig, NetworkingConfig: u.networkConfig()})
	if err != nil {
		return fmt.Errorf("create the new agent: %w", err)
	}
	if _, err := u.api.ContainerStart(ctx, made.ID, client.ContainerStartOptions{}); err != nil {
		return fmt.Errorf("start the new agent: %w", err)
	}
	return u.checkStaysUp(ctx, made.ID)
}

// checkStaysUp fails if the new agent ends within aliveFor, even if the engine restarted
// it.
func (u selfUpgrade) checkStaysUp(ctx context.Context, id string) error {
	until := time.Now().Add(aliveFor)
	for time.Now().Before(until) {
		if err := wait.Sleep(ctx, time.Second); err != nil {
			return err
		}
		r, err := u.api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
		if err != nil {
			return fmt.Errorf("look after the new agent: %w", err)
		}
		if s := r.Container.State; s == nil || !s.Running || r.Container.RestartCount > 0 {
			return fmt.Errorf("the new agent, from %s, did not stay up", u.image)
		}
	}
	return nil
}

// rollBack removes the new agent and starts the old one again. If the old one cannot get
// its name back, it is started under its current one: a machine without an agent could not
// be reached at all.
func (u selfUpgrade) rollBack(ctx context.Context) error {
	err := u.removeNew(ctx)
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	if err == nil {
		_, err = u.api.ContainerRename(ctx, u.old.ID, client.ContainerRenameOptions{NewName: u.name})
	}
	return errors.Join(err, u.restartOld(ctx))
}

// removeNew asks more than once: an engine that is just starting a container
// again refuses to remove it, since what it wanted to kill has not begun to run.
func (u selfUpgrade) removeNew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, removeWithin)
	defer cancel()
	for {
		_, err := u.api.ContainerRemove(ctx, u.name, client.ContainerRemoveOptions{Force: true})
		if err == nil || isNotFound(err) {
			return nil
		}
		if wait.Sleep(ctx, time.Second) != nil {
			return fmt.Errorf("remove the new agent: %w", err)
		}
	}
}

func (u selfUpgrade) restartOld(ctx context.Context) error {
	_, err := u.api.ContainerStart(ctx, u.old.ID, client.ContainerStartOptions{})
	if err != nil {
		return fmt.Errorf("start the old agent again: %w", err)
	}
	return nil
}

// newConfig is the old container's configuration without the values it inherited from its
// image: those come from the new image.
func (u selfUpgrade) newConfig(ctx context.Context) (*container.Config, error) {
	config := *u.old.Config
	config.Image = u.image
	if strings.HasPrefix(u.old.ID, config.Hostname) {
		config.Hostname = ""
	}
	r, err := u.api.ImageInspect(ctx, u.old.Image)
	if err != nil {
		return nil, fmt.Errorf("inspect the old agent's image: %w", err)
	}
	if from := r.Config; from != nil {
		config.Env = slices.DeleteFunc(slices.Clone(config.Env), func(e string) bool {
			return slices.Contains(from.Env, e)
		})
		if slices.Equal(config.Entrypoint, from.Entrypoint) {
			config.Entrypoint = nil
		}
		if slices.Equal(config.Cmd, from.Cmd) {
			config.Cmd = nil
		}
	}
	return &config, nil
}

// networkConfig are those that the old container was on, under its names there.
func (u selfUpgrade) networkConfig() *network.NetworkingConfig {
	if u.old.NetworkSettings == nil || u.old.HostConfig.NetworkMode.IsHost() {
		return nil
	}
	all := map[string]*network.EndpointSettings{}
	for name, e := range u.old.NetworkSettings.Networks {
		if name == network.NetworkBridge {
			continue
		}
		aliases := slices.DeleteFunc(slices.Clone(e.Aliases), func(a string) bool {
			return strings.HasPrefix(u.old.ID, a)
		})
		all[name] = &network.EndpointSettings{Aliases: aliases, IPAMConfig: e.IPAMConfig}
	}
	return &network.NetworkingConfig{EndpointsConfig: all}
}
