package jobs

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

const (
	// relocateEvery is how soon a relocation starts, and how often its progress is stored.
	relocateEvery = time.Second
	// relocateAtOnce bounds what one control plane copies side by side: more only
	// share the same disks and lines.
	relocateAtOnce = 2
	// callOffWithin bounds calling off the current relocation when the control plane
	// stops.
	callOffWithin = 10 * time.Second
)

// Volumes copies what is in deployments' volumes from node to node.
type Volumes interface {
	// Volumes reports whether they can be copied now, and their total size.
	Volumes(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		measure bool) (controlplane.VolumesState, error)
	// CopyVolume copies one, whole or with an error. moved hears of each piece before it
	// is written, and ends the copy with an error.
	CopyVolume(ctx context.Context, c controlplane.VolumeCopy, moved func(bytes int) error) error
}

// Relocator copies the volumes of deployments that move to other nodes, and of those whose updates
// begin with their data. Each relocation is claimed
// by one control plane; any control plane cancels those whose owner is gone.
type Relocator struct {
	Deployments *lifecycle.Lifecycle
	Volumes     Volumes
	// Holder identifies this control plane.
	Holder string
	Log    *slog.Logger
}

// Run works until ctx ends, and then calls off the current relocation.
func (r *Relocator) Run(ctx context.Context) error {
	var all sync.WaitGroup
	defer all.Wait()
	slots := make(chan struct{}, relocateAtOnce)
	ticker := time.NewTicker(relocateEvery)
	defer ticker.Stop()
	for {
		if err := r.startMove(ctx, &all, slots); err != nil && ctx.Err() == nil {
			r.Log.WarnContext(ctx, "moves could not be looked at", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

func (r *Relocator) startMove(ctx context.Context, all *sync.WaitGroup, slots chan struct{}) error {
	if err := r.Deployments.CancelLostRelocations(ctx, moveActor()); err != nil && ctx.Err() == nil {
		// The others move all the same.
		r.Log.WarnContext(ctx, "moves could not be called off", "error", err)
	}
	if err := r.Deployments.EndLostVolumeHolds(ctx, moveActor()); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "services that a backup stopped could not be started", "error", err)
	}
	if err := r.Deployments.EndLostSources(ctx, moveActor()); err != nil && ctx.Err() == nil {
		r.Log.WarnContext(ctx, "services that an update stopped could not be started", "error", err)
	}
	select {
	case slots <- struct{}{}:
	default:
		return nil
	}
	work, err := r.claimWork(ctx)
	if err != nil || work == nil {
		<-slots
		return err
	}
	all.Go(func() {
		defer func() { <-slots }()
		work()
	})
	return nil
}

// claimWork returns what is to be copied next; nil if there is nothing.
func (r *Relocator) claimWork(ctx context.Context) (func(), error) {
	j, err := r.Deployments.ClaimRelocation(ctx, moveActor(), r.Holder)
	if err != nil || j.Deployment != "" {
		return func() { r.moveVolumes(ctx, j) }, err
	}
	f, err := r.Deployments.ClaimFill(ctx, moveActor(), r.Holder)
	if err != nil || f.Deployment == "" {
		return nil, err
	}
	return func() { r.fillVolumes(ctx, f) }, nil
}

func moveActor() access.Actor { return access.System("move") }

// moveVolumes copies a deployment's volumes, or calls the move off.
func (r *Relocator) moveVolumes(ctx context.Context, j controlplane.RelocationTask) {
	err := r.copyVolumes(ctx, &j)
	if err == nil {
		err = r.Deployments.FinishCopy(ctx, moveActor(), j)
	}
	if err == nil {
		return
	}
	r.Log.WarnContext(ctx, "a deployment was not moved", "deployment_id", j.Deployment, "error", err)
	if ctx.Err() != nil {
		err = errors.New("the control plane was stopped")
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), callOffWithin)
	defer cancel()
	if err := r.Deployments.CancelRelocation(ctx, moveActor(), j.RelocationAttempt,
		err.Error()); err != nil {
		// The next look finds that no worker is active.
		r.Log.WarnContext(ctx, "a move could not be called off", "deployment_id", j.Deployment,
			"error", err)
	}
}
