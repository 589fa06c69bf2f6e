package docker

import (
	"context"
	"fmt"
	"sync"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// holders lets the plugins of a run share one place in the network of their deployment. A place of
// its own is the dearest part of a container: for each, the engine makes a network namespace, a
// pair of interfaces and a DNS server, and runs itself twice to do so. The plugins of a run work
// one after the other, and nothing of those that wait runs, so that each has the place for itself.
//
// The place belongs to a container that does nothing, the holder. It is made when a plugin wants a
// place while another one of the deployment has its own, and removed when none needs it any more.
// If the agent dies, its stdin ends, and so does the holder.
type holders struct {
	*containers
	helper *helperImage

	mu sync.Mutex
	// all has an entry for each deployment with a plugin that may share a place.
	all map[string]*holder
}

// holder is the container, or the wish for one: the first user has a place of its own.
type holder struct {
	users int
	start sync.Once
	// id is empty before the container was started, or if it could not be.
	id   string
	conn client.HijackedResponse
	// ended is over when the container has ended, or nobody needs it any more.
	ended context.Context
	end   context.CancelFunc
}

// place is what one plugin uses of its deployment's network.
type place struct {
	// holder is nil if the plugin has a place of its own, or none.
	holder *holder
	// leave gives it back; only the first call counts.
	leave func()
}

// takePlace returns a plugin's place. It does not fail: whoever cannot share gets a place of its
// own.
func (hs *holders) takePlace(ctx context.Context, p agent.PluginSpec) place {
	if !p.Network || !p.SharesNetwork {
		return place{leave: func() {}}
	}
	hs.mu.Lock()
	h, known := hs.all[p.Deployment]
	if !known {
		h = &holder{}
		h.ended, h.end = context.WithCancel(context.Background())
		hs.all[p.Deployment] = h
	}
	h.users++
	hs.mu.Unlock()
	at := place{leave: sync.OnceFunc(func() { hs.leavePlace(p.Deployment, h) })}
	if !known {
		return at
	}
	h.start.Do(func() {
		if err := hs.startHolder(ctx, p.Deployment, h); err != nil {
			h.end()
			hs.log.WarnContext(ctx, "plugins do not share a place in the network",
				"deployment_id", p.Deployment, "error", err)
		}
	})
	if h.ended.Err() == nil {
		at.holder = h
	}
	return at
}

// leavePlace removes the holder after the last user.
func (hs *holders) leavePlace(deployment string, h *holder) {
	hs.mu.Lock()
	h.users--
	last := h.users == 0
	if last {
		delete(hs.all, deployment)
	}
	hs.mu.Unlock()
	if !last {
		return
	}
	h.end()
	if h.conn.Conn != nil {
		_ = h.conn.Conn.Close()
	}
	if h.id != "" {
		hs.removeInBackground(hs.names.holderName(deployment), h.id)
	}
}

func (hs *holders) isUsed(deployment string) bool {
	hs.mu.Lock()
	defer hs.mu.Unlock()
	return hs.all[deployment] != nil
}

func (hs *holders) startHolder(ctx context.Context, deployment string, h *holder) error {
	spec := hs.holderContainer(deployment)
	id, _, err := hs.ensureContainer(ctx, spec, false)
	if err != nil {
		return err
	}
	// Also one that does not start has to be removed.
	h.id = id
	if h.conn, err = hs.attachStreams(ctx, id); err != nil {
		return err
	}
	wait := hs.api.ContainerWait(h.ended, id, client.ContainerWaitOptions{
		Condition: container.WaitConditionNextExit})
	go func() {
		defer h.end()
		select {
		case <-wait.Result:
		case <-wait.Error:
		}
	}()
	if err := hs.startContainer(ctx, id); err != nil {
		return err
	}
	return hs.config.Failpoint.Hit("holder.started")
}

// holderContainer is as restricted as the relay, but asks the engine's DNS like a plugin of its
// own.
func (hs *holders) holderContainer(deployment string) containerSpec {
	network := hs.names.networkName(deployment)
	return containerSpec{
		name: hs.names.holderName(deployment), kind: agent.KindHolder, deployment: deployment,
		network: network,
		config: &container.Config{
			Image: hs.helper.relayImage(),
			User:  fmt.Sprintf("%d:%d", relayUser, relayUser),
			// A sandbox whose go signal never comes.
			Cmd:       []string{"sandbox", "--", "/sidecar"},
			OpenStdin: true, StdinOnce: true, AttachStdin: true,
		},
		host: &container.HostConfig{
			NetworkMode:    container.NetworkMode(network),
			LogConfig:      container.LogConfig{Type: "none"},
			RestartPolicy:  container.RestartPolicy{Name: container.RestartPolicyDisabled},
			ReadonlyRootfs: true,
			CapDrop:        []string{"ALL"},
			SecurityOpt:    []string{"no-new-privileges"},
			IpcMode:        container.IPCModePrivate,
			CgroupnsMode:   container.CgroupnsModePrivate,
			Resources: container.Resources{
				Memory: relayMemory, MemorySwap: relayMemory, PidsLimit: new(int64(relayPids)),
				NanoCPUs: 1e9, Ulimits: noCoreDumps(),
			},
		},
	}
}

// isThere reports whether the place can be used, as far as the engine has said.
func (p place) isThere() bool { return p.holder == nil || p.holder.ended.Err() == nil }

// networkMode is how a container joins the place, if it is shared.
func (p place) networkMode() container.NetworkMode {
	return container.NetworkMode("container:" + p.holder.id)
}
