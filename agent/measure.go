package agent

import (
	"context"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// listGap keeps a burst of hints from becoming a burst of lists.
	listGap = 500 * time.Millisecond
	// listTimeout bounds one list: a frozen engine must not stop the next try.
	listTimeout = 30 * time.Second
)

// lister lists the engine's objects for the loop.
type lister struct {
	*base
	loop     *loop
	node     *nodeInventory
	prefetch *pluginPrefetch
	// relist wakes listRegularly.
	relist chan struct{}
	// swept is closed once leftovers of earlier volume copies are removed, so that new copies
	// may begin.
	swept chan struct{}
}

// measuring measures the node and probes the ready services.
type measuring struct {
	*base
	lister *lister
	// record keeps measurements.
	record *sampleRecord
	probes *probing
}

// requestListing triggers a listing of the engine's objects soon.
func (li *lister) requestListing() {
	select {
	case li.relist <- struct{}{}:
	default:
	}
}

// listRegularly lists the engine's objects regularly, when a session begins, and
// when the engine hints at a change.
func (li *lister) listRegularly(ctx context.Context) error {
	changes := li.runtime.WatchChanges(ctx)
	tick := time.NewTicker(li.config.ListEvery)
	defer tick.Stop()
	answered := true
	for {
		if now := li.listObjects(ctx); now != answered {
			answered = now
			li.onEngineChange(answered)
		}
		if err := wait.Sleep(ctx, listGap); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-li.relist:
		case _, open := <-changes:
			if !open {
				changes = nil
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// onEngineChange makes the agent inspect the node as soon as the engine stops or starts
// answering, instead of up to a minute later.
func (li *lister) onEngineChange(answers bool) {
	if answers {
		li.log.Info("the container engine answers again")
		li.prefetch.ahead.requestRound()
	}
	select {
	case li.node.lookAgain <- struct{}{}:
	default:
	}
}

// listObjects passes the list of what exists on to the machines, and reports whether the engine
// answered. A list that failed changes nothing.
func (li *lister) listObjects(ctx context.Context) (answered bool) {
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	began := time.Now()
	objects, err := li.runtime.List(within)
	if err != nil {
		if ctx.Err() == nil {
			li.log.Warn("the engine's objects cannot be listed", "error", err)
		}
		return false
	}
	select {
	case <-li.swept:
	default:
		li.sweepCopies(within, objects)
	}
	li.inbox.addTask(func(now time.Time) { li.loop.takeListing(now, began, objects) })
	return true
}

// measureRegularly keeps vitals and health up to date.
func (ms *measuring) measureRegularly(ctx context.Context) error {
	defer ms.probes.running.Wait()
	tick := time.NewTicker(ms.config.VitalsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		ms.measureOnce(ctx)
	}
}

func (ms *measuring) measureOnce(ctx context.Context) {
	services, mayEnd := ms.readyServices()
	ms.probeAll(ctx, services, mayEnd)
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	vitals, err := ms.runtime.Vitals(within, services)
	if err != nil {
		if ctx.Err() == nil {
			ms.log.Debug("vitals cannot be measured", "error", err)
		}
		return
	}
	vitals.Images = ms.images.lastCollection()
	ms.mu.Lock()
	defer ms.mu.Unlock()
	for i := range vitals.Services {
		ms.completeLocked(&vitals.Services[i])
	}
	ms.vitals, ms.measured = &vitals, time.Now()
	ms.record.addSample(ms.measured, vitals)
}

// completeLocked adds to what the engine says of a service what its probe says, without secrets.
func (ms *measuring) completeLocked(s *wire.ServiceVitals) {
	if p, ok := ms.health[progressKey{s.Deployment, s.Step}]; ok {
		s.Health, s.Detail = p.Health, p.Detail
		s.Ended = p.Ended && p.Health == wire.HealthHealthy
	}
	v := ms.views[s.Deployment]
	s.Restarts = max(s.Restarts, v.restarts[string(s.Step)])
	if v.bundle == nil {
		// It is unknown which secrets the detail holds, so it is not reported.
		s.Detail = ""
		return
	}
	s.Detail = maskProbeOutput(v.bundle.masker, s.Detail)
}

// declaresPort reports whether a service or a job declares a port.
func declaresPort(s pipeline.Step, port int) bool {
	c := s.Container()
	if c == nil {
		return false
	}
	for _, p := range c.Ports {
		if p.Port == port {
			return true
		}
	}
	return false
}
