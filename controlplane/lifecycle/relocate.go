package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// A deployment with volumes moves as what it is: the same id, run and digests, on
// another node. There is no moment at which its data is on no node, or its old one
// cannot start again; see controlplane.RelocationPhase.

// patience bounds LostRelocations. Starting may pull gigabytes of images and wait for
// databases that check their data.
var patience = postgres.RelocationTimeouts{Away: 30 * time.Second, Silent: 30 * time.Second,
	Start: 30 * time.Minute}

// errCalledOff ends the work on a relocation that was canceled.
var errCalledOff = errors.New("the move was called off")

// startRelocation has a deployment go to another node together with its volumes.
func startRelocation(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, p plan) error {
	if err := checkMovable(d, p.pipeline); err != nil {
		return err
	}
	s, err := choosePlacement(ctx, tx, d.EnvironmentID, p, false)
	if err != nil {
		return err
	}
	if _, err := tx.Relocations().Start(ctx, d.ID, controlplane.NodeID(s.node.ID),
		actor.Name()); err != nil {
		return err
	}
	return notifyMove(ctx, tx, d, "goes to node "+s.node.Name+" with its volumes")
}

// checkMovable refuses what cannot leave its node together with its volumes.
func checkMovable(d controlplane.Deployment, p pipeline.Pipeline) error {
	if len(volumeNames(p, func(pipeline.Volume) bool { return true })) == 0 {
		return nil
	}
	if stay := volumeNames(p, func(v pipeline.Volume) bool { return v.Stays }); len(stay) > 0 {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "has_volumes",
			Message: fmt.Sprintf("the pipeline says that volumes of deployment %s stay on their node: %s",
				d.Name, strings.Join(stay, ", ")),
			Remedy: "Move it without what is in its volumes, or let it end where it is."}
	}
	if len(d.GPUs) > 0 {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "has_gpus",
			Message: fmt.Sprintf("deployment %s has volumes and GPUs of node %s", d.Name, d.Node),
			Remedy:  "Move it without what is in its volumes, or let it end where it is."}
	}
	return nil
}

// volumeNames names those that are so, as service/volume.
func volumeNames(p pipeline.Pipeline, so func(pipeline.Volume) bool) (all []string) {
	for _, s := range p.Steps {
		c := s.Container()
		if c == nil {
			continue
		}
		for _, v := range c.Volumes {
			if so(v) {
				all = append(all, string(s.Key)+"/"+v.Name)
			}
		}
	}
	slices.Sort(all)
	return all
}

// notifyMove stores the progress and notifies watchers.
func notifyMove(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, detail string,
) error {
	if err := tx.Deployments().SetDetail(ctx, d.ID, detail); err != nil {
		return err
	}
	_, err := tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

// withRelocation runs do with a deployment and its relocation, which is nil when that
// attempt has ended.
func (l *Lifecycle) withRelocation(ctx context.Context, actor access.Actor,
	a controlplane.RelocationAttempt,
	do func(*postgres.Tx, controlplane.Deployment, *controlplane.Relocation) error) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, a.Deployment)
		if err != nil {
			return err
		}
		r, err := tx.Relocations().Get(ctx, a.Deployment)
		if err != nil {
			return err
		}
		if r != nil && !r.Since.Equal(a.Since) {
			r = nil
		}
		return do(tx, d, r)
	})
}

// ClaimRelocation claims a relocation whose volumes have to be copied. The worker must
// call TouchRelocation regularly. An empty deployment means that there is none. A
// relocation that cannot be read is called off, since no other worker could read it
// either.
func (l *Lifecycle) ClaimRelocation(
	ctx context.Context, actor access.Actor, holder string,
) (j controlplane.RelocationTask, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return j, err
	}
	var a controlplane.RelocationAttempt
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		a, err = tx.Relocations().Claim(ctx, holder)
		return err
	})
	if err != nil || a.Deployment == "" {
		return j, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		j, err = readJourney(ctx, tx, a)
		return err
	})
	if err != nil {
		err = fmt.Errorf("read the move of deployment %s: %w", a.Deployment, err)
		return controlplane.RelocationTask{}, errors.Join(err,
			l.CancelRelocation(ctx, actor, a, "what it runs could not be read"))
	}
	return j, nil
}

// readJourney is empty when the attempt has ended.
func readJourney(ctx context.Context, tx *postgres.Tx, a controlplane.RelocationAttempt) (
	j controlplane.RelocationTask, err error) {
	d, err := tx.Deployments().Get(ctx, a.Deployment)
	if err != nil {
		return j, err
	}
	r, err := tx.Relocations().Get(ctx, a.Deployment)
	if err != nil || r == nil || !r.Since.Equal(a.Since) {
		return j, err
	}
	run, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return j, err
	}
	j = controlplane.RelocationTask{RelocationAttempt: a, From: d.NodeID, To: r.NodeID}
	j.Volumes = volumesToCopy(run.Pipeline)
	return j, nil
}

// volumesToCopy names each volume once: a shared one by the first service that has
// it.
func volumesToCopy(p pipeline.Pipeline) (all []controlplane.VolumeName) {
	shared := map[string]bool{}
	for _, s := range p.Steps {
		c := s.Container()
		if c == nil {
			continue
		}
		for _, v := range c.Volumes {
			if v.Shared != "" && shared[v.Shared] {
				continue
			}
			shared[v.Shared] = true
			all = append(all, controlplane.VolumeName{Step: s.Key, Name: v.Name})
		}
	}
	return all
}

// TouchRelocation records that a worker is active, and how many bytes are copied. It
// reports whether the relocation is still wanted.
func (l *Lifecycle) TouchRelocation(ctx context.Context, actor access.Actor,
	a controlplane.RelocationAttempt, holder string, done int64) (wanted bool, err error) {
	err = l.withRelocation(ctx, actor, a,
		func(tx *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			wanted, err = tx.Relocations().Touch(ctx, a, holder)
			if err != nil || !wanted || done == 0 {
				return err
			}
			doing := "goes to node " + r.Node
			if r.FromBackup {
				doing = "is restored on node " + r.Node
			}
			return notifyMove(ctx, tx, d, fmt.Sprintf("%s: %s of about %s copied", doing,
				quantity.FormatBytes(done), quantity.FormatBytes(max(done, r.Bytes))))
		})
	return wanted, err
}

// FinishCopy starts the services where they go.
func (l *Lifecycle) FinishCopy(
	ctx context.Context, actor access.Actor, j controlplane.RelocationTask,
) error {
	return l.withRelocation(ctx, actor, j.RelocationAttempt,
		func(tx *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			if r == nil || r.Phase != controlplane.Copying {
				return errCalledOff
			}
			r.Phase, r.Resume = controlplane.Starting, j.Resume
			return advanceRelocation(ctx, tx, d, controlplane.Copying, *r,
				"starts on node "+r.Node+", where its volumes are copied to")
		})
}

// CancelRelocation leaves a deployment where it is, whatever was done so far.
func (l *Lifecycle) CancelRelocation(
	ctx context.Context, actor access.Actor, a controlplane.RelocationAttempt, why string,
) error {
	return l.withRelocation(ctx, actor, a,
		func(tx *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			return callOff(ctx, tx, d, r, why)
		})
}

// CancelLostRelocations calls off what will come to nothing by itself.
func (l *Lifecycle) CancelLostRelocations(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var lost map[controlplane.RelocationAttempt]string
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		lost, err = tx.Relocations().ListLost(ctx, patience)
		return err
	})
	for a, why := range lost {
		err = errors.Join(err, l.CancelRelocation(ctx, actor, a, why))
	}
	return err
}

// callOff needs the deployment's row lock. An empty reason sends no notification,
// because the caller changes more and notifies itself.
func callOff(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r *controlplane.Relocation, why string) (err error) {
	switch {
	case r == nil || r.Phase == controlplane.Clearing:
		return nil
	case r.Phase == controlplane.Measuring:
		err = tx.Relocations().End(ctx, d.ID)
	default:
		from := r.Phase
		r.Phase = controlplane.Clearing
		_, err = tx.Relocations().Move(ctx, d, from, *r)
	}
	if err != nil || why == "" {
		return err
	}
	was := "was not moved to node "
	if r.FromBackup {
		was = "was not restored on node "
	}
	return notifyMove(ctx, tx, d, was+r.Node+": "+why)
}

func advanceRelocation(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	from controlplane.RelocationPhase, r controlplane.Relocation, detail string) error {
	moved, err := tx.Relocations().Move(ctx, d, from, r)
	if err == nil && !moved {
		err = errCalledOff
	}
	if err != nil {
		return err
	}
	return notifyMove(ctx, tx, d, detail)
}

// applyElsewhere takes the report of a node that the deployment is not on.
func (l *Lifecycle) applyElsewhere(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, r Report,
) error {
	to, err := tx.Relocations().Get(ctx, d.ID)
	switch {
	case err != nil:
		return err
	case to == nil || to.NodeID != r.Node:
		l.log.WarnContext(ctx, "report about a deployment of another node ignored",
			"node", r.Node, "deployment_id", d.ID)
		return nil
	case to.Phase == controlplane.Clearing:
		// If removal is stuck, the agent continues it as soon as it has no goal.
		if r.Status == controlplane.Removed || r.Status == controlplane.Stuck {
			return tx.Relocations().End(ctx, d.ID)
		}
		return nil
	case r.Generation != d.Generation:
		return nil
	}
	switch r.Status {
	case controlplane.Ready:
		return switchNode(ctx, tx, d, *to)
	case controlplane.Undoing, controlplane.Failed, controlplane.Stuck:
		return callOff(ctx, tx, d, to, r.Message)
	}
	return nil
}

// goesTo reports whether a deployment uses a node while it is moved. Generations change during the
// move, and the secrets do not.
func goesTo(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	node controlplane.NodeID) (bool, error) {
	r, err := tx.Relocations().Get(ctx, d.ID)
	if err != nil || r == nil {
		return false, err
	}
	return d.NodeID == node || r.NodeID == node && r.Phase != controlplane.Clearing, nil
}

// switchNode makes the target of a move the deployment's node.
func switchNode(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r controlplane.Relocation) error {
	if r.Phase != controlplane.Starting {
		return nil
	}
	left, leftName := d.NodeID, d.Node
	d.NodeID, d.Node = r.NodeID, r.Node
	if err := tx.Deployments().ReplaceRunTarget(ctx, d); err != nil {
		return err
	}
	// After a restore, the node that has already been cleared contradicts the old row only.
	if idle, err := isIdleOn(ctx, tx, left, d.ID); err != nil {
		return err
	} else if idle {
		if err := tx.UnknownDeployments().Delete(ctx, left, d.ID); err != nil {
			return err
		}
	}
	detail := "moved from node " + leftName + " with its volumes"
	if r.FromBackup {
		detail = "restored from a backup; it was on node " + leftName
	}
	r.Phase, r.NodeID = controlplane.Clearing, left
	if err := advanceRelocation(ctx, tx, d, controlplane.Starting, r, detail); err != nil {
		return err
	}
	return tx.Lifetimes().AddActivity(ctx, d.ID, controlplane.ActivityMoved, r.By)
}

// endForeignRelocations ends what deployments of other nodes still have to do with a
// node that is forgotten.
func endForeignRelocations(ctx context.Context, tx *postgres.Tx, n controlplane.Node) error {
	ids, err := tx.Relocations().ListTo(ctx, n.ID)
	if err != nil {
		return err
	}
	for _, id := range ids {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		r, err := tx.Relocations().Get(ctx, id)
		if err != nil {
			return err
		}
		if err := callOff(ctx, tx, d, r, "it is given up"); err != nil {
			return err
		}
		if err := tx.Relocations().End(ctx, id); err != nil {
			return err
		}
	}
	return nil
}
