package agent

import (
	"context"
	"sync"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// pulls lets runs that need the same image with the same credentials share one pull of it, and its
// progress. Runs with other credentials do not share: access of one does not prove access of the
// other, and the container engine transfers a layer that both want once. When a pull fails or is
// canceled, the next run tries itself.
type pulls struct {
	mu      sync.Mutex
	flights map[imageKey]*pullInFlight
	// proofs lists, by deployment, the images that registries have granted its run access to.
	proofs map[string]pullProof
}

// imageKey is an image and the credentials it is pulled with.
type imageKey struct {
	registry, repository, tag, digest string
	auth                              wire.RegistryAuth
}

// pullProof lists the images that a registry has let one run pull; a later run has to prove
// access again.
type pullProof struct {
	run    string
	images map[imageKey]bool
}

func newPulls() pulls {
	return pulls{flights: map[imageKey]*pullInFlight{}, proofs: map[string]pullProof{}}
}

func keyOf(i pipeline.Image, auth *wire.RegistryAuth) imageKey {
	key := imageKey{registry: i.Registry, repository: i.Repository, tag: i.Tag, digest: i.Digest}
	if auth != nil {
		key.auth = *auth
	}
	return key
}

// hasAccess reports whether a registry has already granted this run access to the image.
func (p *pulls) hasAccess(deployment, run string, key imageKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.proofs[deployment]
	return known.run == run && known.images[key]
}

func (p *pulls) recordAccess(deployment, run string, key imageKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	known := p.proofs[deployment]
	if known.run != run {
		known = pullProof{run: run, images: map[imageKey]bool{}}
		p.proofs[deployment] = known
	}
	known.images[key] = true
}

// forgetDeployment drops a deployment's proofs and the credentials they contain.
func (p *pulls) forgetDeployment(deployment string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.proofs, deployment)
}

// pullInFlight is one pull on its way.
type pullInFlight struct {
	done chan struct{}
	err  error

	mu       sync.Mutex
	watchers []func(PullProgress)
}

func (f *pullInFlight) addWatcher(progress func(PullProgress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, progress)
}

func (f *pullInFlight) reportProgress(p PullProgress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tell := range f.watchers {
		tell(p)
	}
}

// pullShared makes an image present, or waits until another run's pull has.
func (p *pulls) pullShared(ctx context.Context, r Runtime, image pipeline.Image,
	auth *wire.RegistryAuth, progress func(PullProgress)) error {
	key := keyOf(image, auth)
	for {
		f, mine := p.joinOrStart(key, progress)
		if mine {
			f.err = r.Pull(ctx, image, auth, f.reportProgress)
			p.finishFlight(key, f)
			return f.err
		}
		select {
		case <-f.done:
			if f.err == nil {
				return nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// joinOrStart returns the pull of this image that is in progress, or starts one (mine is
// true).
func (p *pulls) joinOrStart(
	key imageKey,
	progress func(PullProgress),
) (f *pullInFlight, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f = p.flights[key]
	if f == nil {
		f, mine = &pullInFlight{done: make(chan struct{})}, true
		p.flights[key] = f
	}
	f.addWatcher(progress)
	return f, mine
}

func (p *pulls) finishFlight(key imageKey, f *pullInFlight) {
	p.mu.Lock()
	delete(p.flights, key)
	p.mu.Unlock()
	close(f.done)
}
