package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
)

const (
	// probesAtOnce bounds how many ready services the engine is asked about at once. A service
	// that has not answered after slotFor does not count any more: what hangs costs nothing, and
	// must not keep others from being asked.
	probesAtOnce = 4
	slotFor      = 500 * time.Millisecond
	// answerWithin is how long a measurement waits for probes.
	answerWithin = time.Second
)

// probing are the probes of ready services that are under way.
type probing struct {
	slots chan struct{}
	// running are the probes, which may outlast the measurement that began them.
	running sync.WaitGroup
	mu      sync.Mutex
	asked   map[progressKey]bool
}

func newProbing() *probing {
	return &probing{slots: make(chan struct{}, probesAtOnce), asked: map[progressKey]bool{}}
}

// probeAll asks each ready service how it is, unless it is being asked already. It returns once
// all have answered, but soon: measurements must not wait for a service that hangs. Such a one
// stays what it was until the time of its check is over, and is reported then.
func (ms *measuring) probeAll(ctx context.Context, services []ServiceSpec,
	mayEnd map[progressKey]bool) {
	ms.forgetOthers(services)
	if len(services) == 0 {
		return
	}
	var asked sync.WaitGroup
	for _, s := range services {
		key := progressKey{s.Deployment, s.Step}
		if !ms.probes.begin(key) {
			continue
		}
		asked.Add(1)
		ms.probes.running.Go(func() {
			defer asked.Done()
			found, err := ms.probeOne(ctx, s, mayEnd[key])
			ms.probes.end(key)
			if err == nil {
				ms.storeHealth(key, found)
			}
		})
	}
	answered := make(chan struct{})
	ms.probes.running.Go(func() {
		asked.Wait()
		close(answered)
	})
	late := time.NewTimer(answerWithin)
	defer late.Stop()
	select {
	case <-answered:
	case <-late.C:
	}
}

func (p *probing) begin(key progressKey) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.asked[key] {
		return false
	}
	p.asked[key] = true
	return true
}

func (p *probing) end(key progressKey) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.asked, key)
}

// probeOne asks one service when it is its turn. It fails only if the agent ends.
func (ms *measuring) probeOne(
	ctx context.Context, s ServiceSpec, mayEnd bool,
) (ProbeResult, error) {
	select {
	case ms.probes.slots <- struct{}{}:
	case <-ctx.Done():
		return ProbeResult{}, context.Cause(ctx)
	}
	release := sync.OnceFunc(func() { <-ms.probes.slots })
	defer release()
	hangs := time.AfterFunc(slotFor, release)
	defer hangs.Stop()
	limit := listTimeout
	if s.Ready != nil {
		limit += time.Duration(s.Ready.TimeoutSeconds) * time.Second
	}
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	p, err := ms.runtime.Probe(within, s)
	if ctx.Err() != nil {
		return ProbeResult{}, context.Cause(ctx)
	}
	if mayEnd {
		return assessJob(s, p, err, time.Now()), nil
	}
	return assessHealth(s, p, err, time.Now()), nil
}

// forgetOthers forgets the health of what is not to be up any more.
func (ms *measuring) forgetOthers(services []ServiceSpec) {
	ms.mu.Lock()
	defer ms.mu.Unlock()
	kept := make(map[progressKey]ProbeResult, len(services))
	for _, s := range services {
		key := progressKey{s.Deployment, s.Step}
		if p, known := ms.health[key]; known {
			kept[key] = p
		}
	}
	ms.health = kept
}

// storeHealth notes how a service is. If that changed, it is part of the last measurement at once,
// which is reported then: the next one may be seconds away.
func (ms *measuring) storeHealth(key progressKey, found ProbeResult) {
	if found.Ended {
		ms.lister.requestListing()
	}
	ms.mu.Lock()
	defer ms.mu.Unlock()
	before, known := ms.health[key]
	ms.health[key] = found
	if ms.vitals == nil || known && before.Health == found.Health {
		return
	}
	i := slices.IndexFunc(ms.vitals.Services, func(s wire.ServiceVitals) bool {
		return s.Deployment == key.owner && s.Step == key.step
	})
	if i < 0 {
		return
	}
	changed := *ms.vitals
	changed.Services = slices.Clone(changed.Services)
	ms.completeLocked(&changed.Services[i])
	ms.vitals = &changed
}

// settleTime is how long a service without a readiness check must run before it counts as
// healthy. Otherwise a service in a crash loop would be healthy whenever it is measured
// between two exits.
const settleTime = 5 * time.Second

// assessHealth derives a service's health from the result of its probe.
func assessHealth(s ServiceSpec, p ProbeResult, err error, now time.Time) ProbeResult {
	switch {
	case errors.Is(err, ErrNotFound):
		return ProbeResult{Health: wire.HealthStopped, Detail: "its container is gone", Ended: true}
	case err != nil:
		return ProbeResult{Health: wire.HealthUnknown, Detail: err.Error()}
	case p.Ended:
		p.Health = wire.HealthStopped
	case s.Ready == nil && p.Health == wire.HealthHealthy && !p.StartedAt.After(now) &&
		now.Sub(p.StartedAt) < settleTime:
		p.Health, p.Detail = wire.HealthStarting, "it was started again a moment ago"
	}
	return p
}

// assessJob does the same for a service that may end. One that ended with code 0
// has done its work; one without a container may have done it on the node that
// the deployment comes from.
func assessJob(s ServiceSpec, p ProbeResult, err error, now time.Time) ProbeResult {
	switch {
	case errors.Is(err, ErrNotFound):
		return ProbeResult{Health: wire.HealthUnknown, Detail: err.Error()}
	case err == nil && p.Ended && p.ExitCode == 0 && !p.OOM:
		return ProbeResult{Health: wire.HealthHealthy, Detail: "it ended with exit code 0", Ended: true}
	}
	return assessHealth(s, p, err, now)
}
