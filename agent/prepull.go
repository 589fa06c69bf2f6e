package agent

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

const (
	// prefetchInterval is how often every plugin image is checked to be still present, and how
	// soon a failed pull is retried.
	prefetchInterval = 15 * time.Minute
	// signInTimeout is how long a control plane may take to answer with sign-ins.
	signInTimeout = time.Minute
	// maxPlugins bounds how many plugins the inventory lists, since it is sent as one message.
	maxPlugins = 2000
)

// imagePrefetcher is the state of pulling plugin images before a run needs them.
type imagePrefetcher struct {
	wake chan struct{}
	// answers holds the newest sign-ins; they are never stored.
	answers chan wire.Registries

	mu sync.Mutex
	// hosts are the registries whose sign-ins are wanted, and not asked for yet.
	hosts []string
}

func newImagePrefetcher() *imagePrefetcher {
	return &imagePrefetcher{wake: make(chan struct{}, 1), answers: make(chan wire.Registries, 1)}
}

// requestRound starts another prefetch round soon.
func (h *imagePrefetcher) requestRound() {
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// deliverAuths passes registry credentials to the goroutine that requested them.
func (h *imagePrefetcher) deliverAuths(r wire.Registries) {
	select {
	case h.answers <- r:
	default:
	}
}

func (h *imagePrefetcher) setHosts(hosts []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.hosts = hosts
}

// takeHosts returns the registries for which credentials have to be requested, and clears
// the list.
func (h *imagePrefetcher) takeHosts() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	hosts := h.hosts
	h.hosts = nil
	return hosts
}

// prefetchPlugins keeps the images of all plugins in the catalog on the node, pulling one
// at a time, so that a run seldom has to wait for a pull. A run that needs the same image
// joins the pull.
func (a *Agent) prefetchPlugins(ctx context.Context) error {
	for {
		a.prefetchRound(ctx, a.state.pluginImages())
		timer := time.NewTimer(prefetchInterval)
		select {
		case <-a.ahead.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (a *Agent) prefetchRound(ctx context.Context, all []wire.PluginImage) {
	missing := a.findMissingPlugins(ctx, all)
	if len(missing) == 0 {
		return
	}
	if why := a.whyNotPrefetch(ctx); why != "" {
		a.postponePlugins(missing, why)
		return
	}
	auths, err := a.requestRegistryAuths(ctx, missing)
	if err != nil {
		a.postponePlugins(missing, err.Error())
		return
	}
	for _, p := range missing {
		a.setPluginState(p, wire.PluginPulling, "")
		if err := a.pullPlugin(ctx, p.Image, auths); err != nil {
			a.log.Warn("a plugin cannot be pulled ahead", "plugin", p.Name, "error", err)
			a.setPluginState(p, wire.PluginFailed, err.Error())
			continue
		}
		a.setPluginState(p, wire.PluginHere, "")
	}
}

// findMissingPlugins updates the inventory's plugin states and returns the plugins whose
// image is not on the node.
func (a *Agent) findMissingPlugins(
	ctx context.Context, all []wire.PluginImage,
) (missing []wire.PluginImage) {
	all = all[:min(len(all), maxPlugins)]
	a.updateHeldPlugins(func(before []wire.HeldPlugin) (now []wire.HeldPlugin) {
		for _, p := range all {
			held := newHeldPlugin(p, wire.PluginWaiting, "")
			if slices.Contains(before, newHeldPlugin(p, wire.PluginHere, "")) {
				held.State = wire.PluginHere
			}
			now = append(now, held)
		}
		return now
	})
	for _, p := range all {
		here, err := a.runtime.HasImage(ctx, p.Image)
		switch {
		case err != nil:
			a.setPluginState(p, wire.PluginWaiting, "the container engine does not answer")
		case here:
			a.setPluginState(p, wire.PluginHere, "")
		default:
			missing = append(missing, p)
		}
	}
	return missing
}

func (a *Agent) postponePlugins(missing []wire.PluginImage, why string) {
	for _, p := range missing {
		a.setPluginState(p, wire.PluginWaiting, why)
	}
}

// whyNotPrefetch returns a reason not to prefetch now, or "": prefetching must not use the
// disk space that runs need.
func (a *Agent) whyNotPrefetch(ctx context.Context) string {
	keeper, ok := a.runtime.(ImageKeeper)
	if !ok {
		return ""
	}
	store, err := keeper.Images(ctx)
	if err != nil {
		return "the container engine does not answer"
	}
	if store.Free < a.config.DiskFloor.BytesOf(store.Total) {
		return "the disk has less room than agent.floor"
	}
	return ""
}

// requestRegistryAuths asks the control plane how to sign in to the plugins' registries.
func (a *Agent) requestRegistryAuths(
	ctx context.Context, missing []wire.PluginImage,
) (map[string]wire.RegistryAuth, error) {
	hosts := map[string]bool{}
	for _, p := range missing {
		hosts[p.Image.Registry] = true
	}
	select {
	case <-a.ahead.answers: // An answer that came too late for the round before.
	default:
	}
	a.ahead.setHosts(slices.Sorted(maps.Keys(hosts)))
	a.report.notifyAll()
	timer := time.NewTimer(signInTimeout)
	defer timer.Stop()
	select {
	case r := <-a.ahead.answers:
		return r.Auth, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, errors.New("the control plane has not said how to sign in to the registry")
}

func (a *Agent) pullPlugin(
	ctx context.Context, image pipeline.Image, auths map[string]wire.RegistryAuth,
) error {
	if err := a.images.recordUse(image, time.Now()); err != nil {
		a.log.Warn("an image was not noted", "error", err)
	}
	var auth *wire.RegistryAuth
	if known, ok := auths[image.Registry]; ok {
		auth = &known
	}
	return a.pulls.pullShared(ctx, a.runtime, image, auth, func(PullProgress) {})
}

func newHeldPlugin(p wire.PluginImage, state wire.PluginState, why string) wire.HeldPlugin {
	return wire.HeldPlugin{Name: p.Name, State: state, Detail: why,
		Image: p.Image.Registry + "/" + p.Image.Repository + "@" + p.Image.Digest}
}

// setPluginState records the state of one plugin's image for the inventory.
func (a *Agent) setPluginState(p wire.PluginImage, state wire.PluginState, why string) {
	a.updateHeldPlugins(func(before []wire.HeldPlugin) []wire.HeldPlugin {
		now := slices.Clone(before)
		for i := range now {
			if now[i].Name == p.Name {
				now[i] = newHeldPlugin(p, state, why)
			}
		}
		return now
	})
}

// updateHeldPlugins changes the plugin states in the inventory. A change increments its
// version, so that sessions send it.
func (a *Agent) updateHeldPlugins(next func(before []wire.HeldPlugin) []wire.HeldPlugin) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := next(a.inventory.seen.Plugins)
	if slices.Equal(now, a.inventory.seen.Plugins) {
		return
	}
	a.inventory.seen.Plugins = now
	a.inventory.version++
}
