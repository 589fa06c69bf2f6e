package agent

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/pipeline"
)

const (
	// listGap keeps a burst of hints from becoming a burst of lists.
	listGap = 500 * time.Millisecond
	// listTimeout bounds one list: a frozen engine must not stop the next try.
	listTimeout = 30 * time.Second
	// probesAtOnce bounds the health checks of ready services.
	probesAtOnce = 4
)

// requestListing triggers a listing of the engine's objects soon.
func (a *Agent) requestListing() {
	select {
	case a.relist <- struct{}{}:
	default:
	}
}

// listRegularly lists the engine's objects regularly, when a session begins, and
// when the engine hints at a change.
func (a *Agent) listRegularly(ctx context.Context) error {
	changes := a.runtime.WatchChanges(ctx)
	tick := time.NewTicker(a.config.ListEvery)
	defer tick.Stop()
	answered := true
	for {
		if now := a.listObjects(ctx); now != answered {
			answered = now
			a.onEngineChange(answered)
		}
		if err := wait.Sleep(ctx, listGap); err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-a.relist:
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
func (a *Agent) onEngineChange(answers bool) {
	if answers {
		a.log.Info("the container engine answers again")
		a.ahead.requestRound()
	}
	select {
	case a.lookAgain <- struct{}{}:
	default:
	}
}

// listObjects passes the list of what exists on to the machines, and reports whether the engine
// answered. A list that failed changes nothing.
func (a *Agent) listObjects(ctx context.Context) (answered bool) {
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	began := time.Now()
	objects, err := a.runtime.List(within)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Warn("the engine's objects cannot be listed", "error", err)
		}
		return false
	}
	select {
	case <-a.swept:
	default:
		a.sweepCopies(within, objects)
	}
	a.inbox.addTask(func(now time.Time) { a.takeListing(now, began, objects) })
	return true
}

// measureRegularly keeps vitals and health up to date.
func (a *Agent) measureRegularly(ctx context.Context) error {
	tick := time.NewTicker(a.config.VitalsEvery)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		a.measureOnce(ctx)
	}
}

func (a *Agent) measureOnce(ctx context.Context) {
	services, mayEnd := a.readyServices()
	within, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	a.probeAll(within, services, mayEnd)
	vitals, err := a.runtime.Vitals(within, services)
	if err != nil {
		if ctx.Err() == nil {
			a.log.Debug("vitals cannot be measured", "error", err)
		}
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for i := range vitals.Services {
		s := &vitals.Services[i]
		if p, ok := a.health[progressKey{s.Deployment, s.Step}]; ok {
			s.Health, s.Detail = p.Health, p.Detail
		}
		v := a.views[s.Deployment]
		s.Restarts = max(s.Restarts, v.restarts[string(s.Step)])
		if v.bundle == nil {
			// It is unknown which secrets the detail holds, so it is not reported.
			s.Detail = ""
			continue
		}
		s.Detail = maskProbeOutput(v.bundle.masker, s.Detail)
	}
	vitals.Images = a.images.lastCollection()
	a.vitals = &vitals
	a.record.addSample(time.Now(), vitals)
}

// readyServices are the ones that should be up, and which of them may end.
func (a *Agent) readyServices() (services []ServiceSpec, mayEnd map[progressKey]bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mayEnd = map[progressKey]bool{}
	for _, id := range sortedKeys(a.views) {
		v := a.views[id]
		if v.goal == nil || v.state.Phase != wire.PhaseReady {
			continue
		}
		for _, s := range v.goal.Pipeline.Steps {
			if s.Service != nil {
				services = append(services, minimalServiceSpec(v.goal, s.Key))
				never := s.Service.Restart == pipeline.RestartNever
				mayEnd[progressKey{v.goal.Deployment, s.Key}] = never
			}
		}
	}
	return services, mayEnd
}

func (a *Agent) probeAll(ctx context.Context, services []ServiceSpec,
	mayEnd map[progressKey]bool) {
	var group errgroup.Group
	group.SetLimit(probesAtOnce)
	found := make([]ProbeResult, len(services))
	for i, s := range services {
		group.Go(func() error {
			p, err := a.runtime.Probe(ctx, s)
			if mayEnd[progressKey{s.Deployment, s.Step}] {
				found[i] = assessJob(s, p, err, time.Now())
			} else {
				found[i] = assessHealth(s, p, err, time.Now())
			}
			if found[i].Ended {
				a.requestListing()
			}
			return nil
		})
	}
	_ = group.Wait() // no probe returns an error
	a.mu.Lock()
	defer a.mu.Unlock()
	clear(a.health)
	for i, s := range services {
		a.health[progressKey{s.Deployment, s.Step}] = found[i]
	}
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
