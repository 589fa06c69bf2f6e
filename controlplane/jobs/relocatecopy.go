package jobs

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

const (
	// measuredWithin bounds the look at all files, while the services run: a disk that
	// turns does some ten thousand a second at best, and a deployment has millions at
	// most.
	measuredWithin = 15 * time.Minute
	// stillWithin bounds the wait until the services have stopped, each of which may
	// take its time, and until the other node is prepared.
	stillWithin = 5*time.Minute + pipeline.MaxStopGraceSeconds*time.Second
	// askedWithin bounds one question whether they have.
	askedWithin = 30 * time.Second
	// noBytesFor is how long a copy may get nowhere, also before its first byte; the
	// engine at its end may still be writing.
	noBytesFor = 5 * time.Minute
	// marginBytes, and an eighth, is what a stream takes beside the files, before
	// more room is asked for.
	marginBytes = 64 << 20
)

// copyVolumes is watched until all is copied.
func (r *Relocator) copyVolumes(ctx context.Context, j *controlplane.RelocationTask) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var done atomic.Int64
	var watch sync.WaitGroup
	watch.Go(func() { r.reportProgress(ctx, cancel, j.RelocationAttempt, &done) })
	defer watch.Wait()
	defer cancel(nil)
	err := r.prepareNodes(ctx, j)
	if err == nil {
		err = copyAll(ctx, r.Volumes, j.Copies(), j.Bytes, &done, func(bytes int64) (int64, error) {
			return r.Deployments.ReserveMoreRoom(ctx, moveActor(), j.RelocationAttempt, bytes)
		})
	}
	return orCause(ctx, err)
}

// prepareNodes measures, has the services stopped, and waits until both nodes are ready
// for the copy.
func (r *Relocator) prepareNodes(ctx context.Context, j *controlplane.RelocationTask) (err error) {
	if j.Bytes, err = measureVolumes(ctx, r.Volumes, j.From, j.Deployment); err != nil {
		return err
	}
	if err := r.Deployments.RelocationMeasured(ctx, moveActor(), *j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stillWithin,
		errors.New("the nodes were not ready for the copy in time"))
	defer cancel()
	if j.Resume, err = awaitStill(ctx, r.Volumes, j.From, j.Deployment); err != nil {
		return err
	}
	_, err = awaitStill(ctx, r.Volumes, j.To, j.Deployment)
	return err
}

func measureVolumes(ctx context.Context, of Volumes, node controlplane.NodeID,
	deployment controlplane.DeploymentID) (int64, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, measuredWithin,
		errors.New("the node did not say in time what its volumes hold"))
	defer cancel()
	s, err := of.Volumes(ctx, node, deployment, true)
	if err != nil {
		return 0, orCause(ctx, err)
	}
	return s.Bytes, nil
}

// awaitStill polls: a node that has not received its goal yet answers that it does not know the
// deployment. It returns the services with restart "never" that ran until then.
func awaitStill(ctx context.Context, of Volumes, node controlplane.NodeID,
	deployment controlplane.DeploymentID) ([]pipeline.StepKey, error) {
	for {
		asking, cancel := context.WithTimeout(ctx, askedWithin)
		s, err := of.Volumes(asking, node, deployment, false)
		cancel()
		if s.Still && err == nil {
			return s.Stopped, nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return nil, context.Cause(ctx)
		case <-time.After(relocateEvery / 4):
		}
	}
}

// copyAll ends when nothing moves for too long, or more does than there is room for.
// grew is called to reserve more once the copy has reached bytes.
func copyAll(ctx context.Context, from Volumes, all []controlplane.VolumeCopy, bytes int64,
	done *atomic.Int64, grew func(bytes int64) (int64, error)) error {
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	stalled := time.AfterFunc(noBytesFor, func() {
		end(errors.New("the copy got nowhere for too long"))
	})
	defer stalled.Stop()
	most := withMargin(bytes)
	moved := func(n int) error {
		stalled.Reset(noBytesFor)
		now := done.Add(int64(n))
		if now <= most {
			return nil
		}
		bytes, err := grew(now)
		if most = withMargin(bytes); err != nil {
			end(err)
		}
		return err
	}
	for _, c := range all {
		if err := from.CopyVolume(ctx, c, moved); err != nil {
			return orCause(ctx, err)
		}
	}
	return nil
}

// orCause returns why the context ended, if it has, because err does not say so.
func orCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

func withMargin(bytes int64) int64 { return bytes + bytes/8 + marginBytes }

// reportProgress stores that the copy is active, and ends it when it is no longer
// wanted.
func (r *Relocator) reportProgress(ctx context.Context, end context.CancelCauseFunc,
	a controlplane.RelocationAttempt, done *atomic.Int64) {
	ticker := time.NewTicker(relocateEvery)
	defer ticker.Stop()
	for last := int64(0); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		news := done.Load()
		if news == last {
			news = 0
		} else {
			last = news
		}
		wanted, err := r.Deployments.TouchRelocation(ctx, moveActor(), a, r.Holder, news)
		if err == nil && !wanted {
			end(errors.New("it was called off"))
			return
		}
	}
}
