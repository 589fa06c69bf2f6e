package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// fillVolumes has an update begin with the data of the deployment that it is prepared beside, or
// gives it up.
func (r *Relocator) fillVolumes(ctx context.Context, f controlplane.FillTask) {
	err := r.copyIntoUpdate(ctx, f)
	if err == nil {
		err = r.Deployments.FinishFill(ctx, moveActor(), f, r.Holder)
	}
	if err == nil {
		return
	}
	r.Log.WarnContext(ctx, "an update did not get its data", "deployment_id", f.Deployment,
		"error", err)
	if ctx.Err() != nil {
		err = errors.New("the control plane was stopped")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffWithin)
	defer cancel()
	if err := r.Deployments.FailFill(ctx, moveActor(), f.Deployment,
		"it did not get the data of the deployment that runs: "+err.Error()); err != nil {
		// Another control plane finds that no worker is active.
		r.Log.WarnContext(ctx, "an update could not be given up", "deployment_id", f.Deployment,
			"error", err)
	}
}

// copyIntoUpdate copies while both deployments stand still. The older one is stopped when the other
// has its images, and there is room.
func (r *Relocator) copyIntoUpdate(ctx context.Context, f controlplane.FillTask) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.reportFill(ctx, cancel, f) })
	defer watch.Wait()
	defer cancel(nil)
	bytes, err := measureVolumes(ctx, r.Volumes, f.From, f.Source)
	if err == nil {
		err = r.Deployments.CheckFillRoom(ctx, moveActor(), f, bytes)
	}
	if err == nil {
		err = r.awaitBothStill(ctx, f)
	}
	if err == nil {
		var done atomic.Int64
		err = copyAll(ctx, r.Volumes, f.Copies, bytes, &done, func(bytes int64) (int64, error) {
			return 2 * bytes, r.Deployments.CheckFillRoom(ctx, moveActor(), f, 2*bytes)
		})
	}
	return orCause(ctx, err)
}

func (r *Relocator) awaitBothStill(ctx context.Context, f controlplane.FillTask) error {
	ctx, cancel := context.WithTimeoutCause(ctx, stillWithin,
		errors.New("the nodes were not ready for the copy in time"))
	defer cancel()
	if _, err := awaitStill(ctx, r.Volumes, f.To, f.Deployment); err != nil {
		return err
	}
	if err := r.stopSource(ctx, f); err != nil {
		return err
	}
	_, err := awaitStill(ctx, r.Volumes, f.From, f.Source)
	return err
}

// stopSource tries until the older deployment can be stopped: a backup may have its volumes.
func (r *Relocator) stopSource(ctx context.Context, f controlplane.FillTask) error {
	for {
		err := r.Deployments.StopSource(ctx, moveActor(), f)
		if err == nil || controlplane.CodeOf(err) != "volumes_held" {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(relocateEvery):
		}
	}
}

// reportFill stores that the copy is active, and ends it when it is no longer wanted.
func (r *Relocator) reportFill(
	ctx context.Context, end context.CancelCauseFunc, f controlplane.FillTask,
) {
	ticker := time.NewTicker(relocateEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		wanted, err := r.Deployments.TouchFill(ctx, moveActor(), f, r.Holder)
		if err == nil && !wanted {
			end(errors.New("it was called off"))
			return
		}
	}
}
