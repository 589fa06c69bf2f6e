package agent

import (
	"context"
	"sync"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// pulls lets runs that need the same image share one pull of it, and its
// progress. Each is made with the credentials of the run that began it; when
// it fails or is canceled, the next run tries with its own.
type pulls struct {
	mu      sync.Mutex
	flights map[imageKey]*flight
}

// imageKey is what an image is, whatever its registry asks for.
type imageKey struct{ registry, repository, tag, digest string }

// flight is one pull on its way.
type flight struct {
	done chan struct{}
	err  error

	mu       sync.Mutex
	watchers []func(PullProgress)
}

func (f *flight) watch(progress func(PullProgress)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.watchers = append(f.watchers, progress)
}

func (f *flight) progress(p PullProgress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, tell := range f.watchers {
		tell(p)
	}
}

// pull makes an image present, or waits until another run's pull has.
func (p *pulls) pull(ctx context.Context, r Runtime, image pipeline.Image,
	auth *wire.RegistryAuth, progress func(PullProgress)) error {
	key := imageKey{image.Registry, image.Repository, image.Tag, image.Digest}
	for {
		f, mine := p.join(key, progress)
		if mine {
			f.err = r.Pull(ctx, image, auth, f.progress)
			p.land(key, f)
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

// join finds the pull that is under way, or begins one.
func (p *pulls) join(key imageKey, progress func(PullProgress)) (f *flight, mine bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	f = p.flights[key]
	if f == nil {
		f, mine = &flight{done: make(chan struct{})}, true
		p.flights[key] = f
	}
	f.watch(progress)
	return f, mine
}

func (p *pulls) land(key imageKey, f *flight) {
	p.mu.Lock()
	delete(p.flights, key)
	p.mu.Unlock()
	close(f.done)
}
