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

// pluginPrefetch pulls the images of plugins ahead of their first run.
type pluginPrefetch struct {
	*base
	node  *nodeInventory
	ahead *imagePrefetcher
}

// prefetchPlugins keeps the images of all plugins in the catalog on the node, pulling one
// at a time, so that a run seldom has to wait for a pull. A run that needs the same image
// joins the pull.
func (pp *pluginPrefetch) prefetchPlugins(ctx context.Context) error {
	for {
		pp.prefetchRound(ctx, pp.state.pluginImages())
		timer := time.NewTimer(prefetchInterval)
		select {
		case <-pp.ahead.wake:
		case <-timer.C:
		case <-ctx.Done():
		}
		timer.Stop()
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

func (pp *pluginPrefetch) prefetchRound(ctx context.Context, all []wire.PluginImage) {
	missing := pp.findMissingPlugins(ctx, all)
	if len(missing) == 0 {
		return
	}
	if why := pp.whyNotPrefetch(ctx); why != "" {
		pp.postponePlugins(missing, why)
		return
	}
	auths, err := pp.requestRegistryAuths(ctx, missing)
	if err != nil {
		pp.postponePlugins(missing, err.Error())
		return
	}
	for _, p := range missing {
		pp.setPluginState(p, wire.PluginPulling, "")
		if err := pp.pullPlugin(ctx, p.Image, auths); err != nil {
			pp.log.Warn("a plugin cannot be pulled ahead", "plugin", p.Name, "error", err)
			pp.setPluginState(p, wire.PluginFailed, err.Error())
			continue
		}
		pp.setPluginState(p, wire.PluginHere, "")
	}
}

// findMissingPlugins updates the inventory's plugin states and returns the plugins whose
// image is not on the node.
func (pp *pluginPrefetch) findMissingPlugins(
	ctx context.Context, all []wire.PluginImage,
) (missing []wire.PluginImage) {
	all = all[:min(len(all), maxPlugins)]
	pp.node.updateHeldPlugins(func(before []wire.HeldPlugin) (now []wire.HeldPlugin) {
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
		here, err := pp.runtime.HasImage(ctx, p.Image)
		switch {
		case err != nil:
			pp.setPluginState(p, wire.PluginWaiting, "the container engine does not answer")
		case here:
			pp.setPluginState(p, wire.PluginHere, "")
		default:
			missing = append(missing, p)
		}
	}
	return missing
}

func (pp *pluginPrefetch) postponePlugins(missing []wire.PluginImage, why string) {
	for _, p := range missing {
		pp.setPluginState(p, wire.PluginWaiting, why)
	}
}

// whyNotPrefetch returns a reason not to prefetch now, or "": prefetching must not use the
// disk space that runs need.
func (pp *pluginPrefetch) whyNotPrefetch(ctx context.Context) string {
	keeper, ok := pp.runtime.(ImageKeeper)
	if !ok {
		return ""
	}
	store, err := keeper.Images(ctx)
	if err != nil {
		return "the container engine does not answer"
	}
	if store.Free < pp.config.DiskFloor.BytesOf(store.Total) {
		return "the disk has less room than agent.floor"
	}
	return ""
}

// requestRegistryAuths asks the control plane how to sign in to the plugins' registries.
func (pp *pluginPrefetch) requestRegistryAuths(
	ctx context.Context, missing []wire.PluginImage,
) (map[string]wire.RegistryAuth, error) {
	hosts := map[string]bool{}
	for _, p := range missing {
		hosts[p.Image.Registry] = true
	}
	select {
	case <-pp.ahead.answers: // An answer that arrived too late for the round before.
	default:
	}
	pp.ahead.setHosts(slices.Sorted(maps.Keys(hosts)))
	pp.report.notifyAll()
	timer := time.NewTimer(signInTimeout)
	defer timer.Stop()
	select {
	case r := <-pp.ahead.answers:
		return r.Auth, nil
	case <-timer.C:
	case <-ctx.Done():
	}
	return nil, errors.New("the control plane has not said how to sign in to the registry")
}

func (pp *pluginPrefetch) pullPlugin(
	ctx context.Context, image pipeline.Image, auths map[string]wire.RegistryAuth,
) error {
	if err := pp.images.recordUse(image, time.Now()); err != nil {
		pp.log.Warn("an image was not noted", "error", err)
	}
	var auth *wire.RegistryAuth
	if known, ok := auths[image.Registry]; ok {
		auth = &known
	}
	return pp.pulls.pullShared(ctx, pp.runtime, image, auth, func(PullProgress) {})
}

func newHeldPlugin(p wire.PluginImage, state wire.PluginState, why string) wire.HeldPlugin {
	return wire.HeldPlugin{Name: p.Name, State: state, Detail: why,
		Image: p.Image.Registry + "/" + p.Image.Repository + "@" + p.Image.Digest}
}

// setPluginState records the state of one plugin's image for the inventory.
func (pp *pluginPrefetch) setPluginState(p wire.PluginImage, state wire.PluginState, why string) {
	pp.node.updateHeldPlugins(func(before []wire.HeldPlugin) []wire.HeldPlugin {
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
func (iv *nodeInventory) updateHeldPlugins(next func(before []wire.HeldPlugin) []wire.HeldPlugin) {
	iv.mu.Lock()
	defer iv.mu.Unlock()
	now := next(iv.inventory.seen.Plugins)
	if slices.Equal(now, iv.inventory.seen.Plugins) {
		return
	}
	iv.inventory.seen.Plugins = now
	iv.inventory.version++
}
