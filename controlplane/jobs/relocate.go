package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

const (
	// relocateEvery is how soon somebody begins, and how often people see how far
	// the copying is.
	relocateEvery = time.Second
	// relocateAtOnce bounds what one control plane copies side by side: more only
	// share the same disks and lines.
	relocateAtOnce = 2
	// stillWithin bounds the wait until the services have stopped, each of which may
	// take its time, and until the other node is prepared.
	stillWithin = 5 * time.Minute
	// noBytesFor is how long a copy may get nowhere; the engine at its end may still
	// be writing.
	noBytesFor = 5 * time.Minute
	// callOffWithin bounds the last word of a control plane that is told to end.
	callOffWithin = 10 * time.Second
)

// Volumes copies what is in deployments' volumes from node to node.
type Volumes interface {
	// Volumes tells whether they can be copied now, and what they take together.
	Volumes(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		measure bool) (still bool, bytes int64, err error)
	// CopyVolume copies one, whole or with an error. moved hears of each piece.
	CopyVolume(ctx context.Context, j controlplane.Journey, v controlplane.VolumeName,
		moved func(bytes int)) error
}

// Relocate copies the volumes of deployments that go to other nodes. Each is claimed
// by one control plane; what that one cannot finish is called off by any.
type Relocate struct {
	Deployments *lifecycle.Lifecycle
	Volumes     Volumes
	// Holder tells this control plane from others.
	Holder string
	Log    *slog.Logger
}

// Run goes on until ctx ends, and calls off what it is at then.
func (r *Relocate) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, relocateAtOnce)
	ticker := time.NewTicker(relocateEvery)
	defer ticker.Stop()
	for {
		if err := r.once(ctx, &all, slots); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "moves could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (r *Relocate) once(ctx context.Context, all *sync.WaitGroup, slots chan struct{}) error {
	if err := r.Deployments.CallOffLost(ctx, mover()); err != nil {
		return err
	}
	select {
	case slots <- struct{}{}:
	default:
		return nil
	}
	j, err := r.Deployments.TakeRelocation(ctx, mover(), r.Holder)
	if err != nil || j.Deployment == "" {
		<-slots
		return err
	}
	all.Go(func() {
		defer func() { <-slots }()
		r.one(ctx, j)
	})
	return nil
}

func mover() access.Actor { return access.System("move") }

// one copies a deployment's volumes, or calls the move off.
func (r *Relocate) one(ctx context.Context, j controlplane.Journey) {
	err := r.copy(ctx, j)
	if err == nil {
		err = r.Deployments.RelocationCopied(ctx, mover(), j.Deployment)
	}
	if err == nil {
		return
	}
	r.Log.WarnContext(ctx, "a deployment was not moved", "deployment", j.Deployment, "error", err)
	if ctx.Err() != nil {
		err = errors.New("the control plane was stopped")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffWithin)
	defer cancel()
	if err := r.Deployments.CallOff(ctx, mover(), j.Deployment, err.Error()); err != nil {
		// Whoever looks next finds that nobody is at it.
		r.Log.WarnContext(ctx, "a move could not be called off", "deployment", j.Deployment,
			"error", err)
	}
}

// copy is watched until all is copied.
func (r *Relocate) copy(ctx context.Context, j controlplane.Journey) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var done atomic.Int64
	var watch sync.WaitGroup
	watch.Go(func() { r.watch(ctx, cancel, j.Deployment, &done) })
	defer watch.Wait()
	defer cancel(nil)
	err := r.prepare(ctx, &j)
	for _, v := range j.Volumes {
		if err != nil {
			break
		}
		err = r.Volumes.CopyVolume(ctx, j, v, func(n int) { done.Add(int64(n)) })
	}
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// prepare measures, has the services stopped, and waits until both nodes are ready
// for the copy.
func (r *Relocate) prepare(ctx context.Context, j *controlplane.Journey) (err error) {
	if _, j.Bytes, err = r.Volumes.Volumes(ctx, j.From, j.Deployment, true); err != nil {
		return err
	}
	if err := r.Deployments.RelocationMeasured(ctx, mover(), *j); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, stillWithin,
		errors.New("the nodes were not ready for the copy in time"))
	defer cancel()
	for _, node := range []controlplane.NodeID{j.From, j.To} {
		if err := r.awaitStill(ctx, node, j.Deployment); err != nil {
			return err
		}
	}
	return nil
}

// awaitStill asks again and again: the goal is on its way to the node, and a node
// that has not got it yet says that it knows of no such deployment.
func (r *Relocate) awaitStill(ctx context.Context, node controlplane.NodeID,
	deployment controlplane.DeploymentID) error {
	for {
		still, _, err := r.Volumes.Volumes(ctx, node, deployment, false)
		if still && err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(context.Cause(ctx), err)
		case <-time.After(relocateEvery / 4):
		}
	}
}

// watch says that somebody is at it, and ends the copy when it is not wanted any
// more, or gets nowhere.
func (r *Relocate) watch(ctx context.Context, end context.CancelCauseFunc,
	id controlplane.DeploymentID, done *atomic.Int64) {
	ticker := time.NewTicker(relocateEvery)
	defer ticker.Stop()
	for last, since := int64(0), time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		news := done.Load()
		if news == last {
			news = 0
		} else {
			last, since = news, time.Now()
		}
		wanted, err := r.Deployments.SeeRelocation(ctx, mover(), id, r.Holder, news)
		switch {
		case err == nil && !wanted:
			end(errors.New("it was called off"))
			return
		case last > 0 && time.Since(since) > noBytesFor:
			end(errors.New("the copy got nowhere for too long"))
			return
		}
	}
}
