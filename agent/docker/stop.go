package docker

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/pipeline"
)

const (
	// defaultGrace is Docker's own default.
	defaultGrace = 10 * time.Second
	// stopMargin is how much longer than the grace period the engine may take before a removal
	// continues without its response.
	stopMargin = 15 * time.Second
)

// StopService sends the service its stop signal, and kills it after the grace
// period.
func (sv *services) StopService(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (bool, error) {
	ran, err := sv.stopRunning(ctx, deployment, service)
	if err != nil {
		return ran, fmt.Errorf("stop service %s of deployment %s: %w", service, deployment, err)
	}
	return ran, nil
}

func (sv *services) stopRunning(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (ran bool, err error) {
	c, err := sv.findService(ctx, deployment, service)
	if errors.Is(err, agent.ErrNotFound) {
		return false, nil
	}
	if err != nil || c.State == nil || !c.State.Running {
		return false, err
	}
	grace := sv.graceOf(c)
	ctx, cancel := context.WithTimeout(ctx, grace+mutationTimeout)
	defer cancel()
	return true, sv.stopContainer(ctx, c.ID, grace)
}

// graceOf is the service's own grace period, which its container was made with,
// or else the node's. It is never negative.
func (cs *containers) graceOf(c container.InspectResponse) time.Duration {
	if c.Config != nil && c.Config.StopTimeout != nil {
		return max(time.Duration(*c.Config.StopTimeout)*time.Second, 0)
	}
	return max(cs.config.StopGrace, 0)
}

// wholeSeconds rounds up, since the engine counts whole seconds.
func wholeSeconds(d time.Duration) int { return int((d + time.Second - 1) / time.Second) }

// stopContainer has the engine send the signal that the image or the container
// names (STOPSIGNAL), wait, and kill.
func (cs *containers) stopContainer(ctx context.Context, id string, grace time.Duration) error {
	seconds := wholeSeconds(grace)
	_, err := cs.api.ContainerStop(ctx, id, client.ContainerStopOptions{Timeout: &seconds})
	if isNotFound(err) {
		return nil
	}
	return wrapMutationErr(err)
}

// stopServices stops the services among the objects before they are removed, all at the
// same time, so that together they take one grace period. A service that cannot be stopped
// is killed by its removal.
func (cs *containers) stopServices(ctx context.Context, all ...agent.Object) {
	var wg sync.WaitGroup
	for _, o := range all {
		if o.Kind != agent.KindService {
			continue
		}
		wg.Go(func() {
			if err := cs.stopBeforeRemoval(ctx, o.ID); err != nil {
				cs.log.Warn("a service was not stopped before its removal", "deployment_id", o.Deployment,
					"step", o.Step, "error", err)
			}
		})
	}
	wg.Wait()
}

// stopBeforeRemoval does not wait long beyond the grace period: the removal that
// follows kills.
func (cs *containers) stopBeforeRemoval(ctx context.Context, id string) error {
	c, err := cs.inspectContainer(ctx, id)
	if errdefs.IsNotFound(err) || err == nil && c.State != nil && !c.State.Running {
		return nil
	}
	// When the engine does not answer, the node's grace period has to do. On a node without
	// one, a service may still have its own.
	grace := cs.graceOf(c)
	if grace == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, grace+stopMargin)
	defer cancel()
	return cs.stopContainer(ctx, id, grace)
}

// discardContainer stops one of our containers if it is a service, and removes it.
func (cs *containers) discardContainer(ctx context.Context, c container.InspectResponse) error {
	o := objectFromLabels(c.Config.Labels)
	o.ID = c.ID
	cs.stopServices(ctx, o)
	return cs.removeContainer(ctx, c.ID)
}
