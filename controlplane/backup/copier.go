package backup

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

const (
	// aliveEvery is how often a copy says that it is active, and progressEvery how often
	// it says how far it is.
	aliveEvery    = 5 * time.Second
	progressEvery = 10 * time.Second
	// stillWithin bounds the wait until services have stopped, or a node is prepared, which
	// pulls images.
	stillWithin = 10*time.Minute + pipeline.MaxStopGraceSeconds*time.Second
	askedWithin = 30 * time.Second
	askEvery    = 250 * time.Millisecond
	// noBytesFor is how long a copy may get nowhere.
	noBytesFor = 5 * time.Minute
	// endWithin bounds what is left to do once the copy was stopped.
	endWithin = 10 * time.Second
)

// Nodes reads and writes what is in volumes.
type Nodes interface {
	// Volumes tells whether a deployment's services have stopped.
	Volumes(ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
		measure bool) (controlplane.VolumesState, error)
	// ReadVolume writes one volume into to, whole or with an error.
	ReadVolume(ctx context.Context, node controlplane.NodeID, id controlplane.DeploymentID,
		v controlplane.VolumeName, running bool, to io.Writer) error
	// WriteVolume replaces one volume, and returns a checksum.
	WriteVolume(ctx context.Context, node controlplane.NodeID, a controlplane.RelocationAttempt,
		v controlplane.VolumeName, from io.Reader) (string, error)
}

// VolumeCopier copies volumes into a folder, and back.
type VolumeCopier struct {
	Source

	Deployments *lifecycle.Lifecycle
	Nodes       Nodes
	// Holder identifies this process.
	Holder string
	Log    *slog.Logger
}

// VolumeResult is what became of one volume.
type VolumeResult struct {
	Deployment, Environment string
	Volume                  controlplane.VolumeName
	Bytes                   int64
	// State is a few words for people.
	State string
}

func (d *storedDeployment) result(v storedVolume, state string) VolumeResult {
	return VolumeResult{Deployment: d.Name, Environment: d.Environment, Volume: v.name(),
		Bytes: v.Bytes, State: state}
}

// oneCopy is the work on one deployment's volumes. It ends when it is no longer wanted.
type oneCopy struct {
	ctx  context.Context
	end  context.CancelCauseFunc
	done atomic.Int64
	// stalled ends it when no byte moves for too long.
	stalled  *time.Timer
	watchers sync.WaitGroup
}

// startCopy watches a copy: touch says that it is active, and reports whether it is wanted.
func (c *VolumeCopier) startCopy(ctx context.Context, name string,
	touch func(ctx context.Context, bytes int64) (bool, error)) *oneCopy {
	o := &oneCopy{}
	o.ctx, o.end = context.WithCancelCause(ctx)
	o.stalled = time.AfterFunc(noBytesFor+stillWithin, func() {
		o.end(errors.New("the copy got nowhere for too long"))
	})
	o.watchers.Go(func() {
		for last, told := int64(0), time.Now(); ; {
			select {
			case <-o.ctx.Done():
				return
			case <-time.After(aliveEvery):
			}
			now := o.done.Load()
			wanted, err := touch(o.ctx, now)
			if err == nil && !wanted {
				o.end(errors.New("it was called off, or its node went away"))
				return
			}
			if now != last && time.Since(told) >= progressEvery {
				c.Log.InfoContext(o.ctx, "copying volumes", "deployment", name, "bytes", now)
				last, told = now, time.Now()
			}
		}
	})
	return o
}

func (o *oneCopy) stop() {
	o.end(nil)
	o.stalled.Stop()
	o.watchers.Wait()
}

// Write hears of each piece that is copied.
func (o *oneCopy) Write(p []byte) (int, error) {
	o.stalled.Reset(noBytesFor)
	o.done.Add(int64(len(p)))
	return len(p), nil
}

// orCause returns why the copy ended, if it has, because err does not say so.
func (o *oneCopy) orCause(err error) error {
	if cause := context.Cause(o.ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

// awaitStill waits until nothing of a deployment runs on a node. It returns the services with
// restart "never" that ran until then.
func (c *VolumeCopier) awaitStill(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID) ([]pipeline.StepKey, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, stillWithin, errors.New("the node was not ready for "+
		"the copy in time: check that a control plane runs"))
	defer cancel()
	for {
		asking, answered := context.WithTimeout(ctx, askedWithin)
		s, err := c.Nodes.Volumes(asking, node, id, false)
		answered()
		if s.Still && err == nil {
			return s.Stopped, nil
		}
		select {
		case <-ctx.Done():
			if err != nil {
				return nil, fmt.Errorf("%w: %w", context.Cause(ctx), err)
			}
			return nil, context.Cause(ctx)
		case <-time.After(askEvery):
		}
	}
}

// afterCopy is for what has to be done also if the copy was stopped.
func afterCopy(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), endWithin)
}

// interrupted returns an error once this process was told to stop.
func interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	return fmt.Errorf("interrupted: start it again with the same options to continue: %w",
		context.Cause(ctx))
}

func checkAdmin(actor access.Actor) error {
	return access.Check(actor, access.Admin, access.Object{})
}
