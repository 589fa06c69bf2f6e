package lifecycle

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
	"github.com/nullops/nullops/pipeline"
)

// Volumes are restored where the deployment is, while its node is there. Otherwise the
// deployment goes to another node, as in a move whose data comes from the backup: until
// its services are ready there it belongs to the node that it was on.

// VolumeRestore is how the volumes of a deployment are restored.
type VolumeRestore struct {
	// Node is where to; empty lets the deployment stay, or placement choose.
	Node string
	// Bytes is what the volumes take.
	Bytes int64
	// Holder identifies the process that writes them.
	Holder string
}

// StartVolumeRestore has a deployment wait for what its volumes will hold.
func (l *Lifecycle) StartVolumeRestore(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, v VolumeRestore) (h controlplane.HeldVolumes, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	node, err := l.findNodeID(ctx, actor, v.Node)
	if err != nil {
		return h, err
	}
	_, err = l.changeDeployment(ctx, actor, "restore volumes", access.Admin, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if d.Status != controlplane.Ready {
				return wrongState(d, "restored", "Only the volumes of a deployment that is ready, or was "+
					"when the backup was made, are restored.")
			}
			if h, err = readVolumes(ctx, tx, id); err != nil {
				return err
			}
			if node == string(d.NodeID) || node == "" && d.NodeStatus == controlplane.NodeOnline {
				return restoreInPlace(ctx, tx, actor, v, &h)
			}
			return restoreElsewhere(ctx, tx, actor, v, node, &h)
		})
	return h, err
}

func restoreInPlace(ctx context.Context, tx *postgres.Tx, actor access.Actor, v VolumeRestore,
	h *controlplane.HeldVolumes) error {
	if h.NodeStatus != controlplane.NodeOnline {
		return nodeAway(h.Deployment)
	}
	err := holdVolumes(ctx, tx, h.Deployment, controlplane.VolumeHold{Deployment: h.ID,
		Purpose: controlplane.HoldForRestore, By: actor.Name(), Holder: v.Holder})
	if err != nil {
		return err
	}
	held, err := tx.VolumeHolds().Get(ctx, h.ID)
	if err != nil || held == nil {
		return err
	}
	h.Attempt = controlplane.RelocationAttempt{Deployment: h.ID, Since: held.Since}
	return nil
}

// restoreElsewhere has the deployment start on another node.
func restoreElsewhere(ctx context.Context, tx *postgres.Tx, actor access.Actor, v VolumeRestore,
	node string, h *controlplane.HeldVolumes) error {
	d := h.Deployment
	if err := notDisputed(ctx, tx, d); err != nil {
		return err
	}
	if len(d.GPUs) > 0 {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: "has_gpus",
			Message: fmt.Sprintf("deployment %s has volumes and GPUs of node %s", d.Name, d.Node),
			Remedy:  "Restore it on that node."}
	}
	to, err := placeRestored(ctx, tx, d, node)
	if err != nil {
		return err
	}
	r := controlplane.Relocation{Deployment: d.ID, NodeID: controlplane.NodeID(to.node.ID),
		Node: to.node.Name, By: actor.Name(), Bytes: v.Bytes}
	room, err := roomFor(ctx, tx, r)
	if err != nil {
		return err
	}
	if room < v.Bytes {
		return noRoomFor(r, "its volumes hold "+quantity.FormatBytes(v.Bytes), room)
	}
	// An interrupted restore on the old node does not matter any more.
	if err := tx.VolumeHolds().Delete(ctx, d.ID); err != nil {
		return err
	}
	started, err := tx.Relocations().StartRestored(ctx, d, r, v.Holder)
	if err != nil {
		return err
	}
	now, err := tx.Relocations().Get(ctx, d.ID)
	if err != nil {
		return err
	}
	if !started {
		return onItsWay(d, now)
	}
	h.Attempt = controlplane.RelocationAttempt{Deployment: d.ID, Since: now.Since}
	h.To, h.ToName, h.InPlace = r.NodeID, r.Node, false
	return notifyMove(ctx, tx, d, "is restored on node "+r.Node+" from a backup")
}

// placeRestored chooses the node as for a move, and asks no registry.
func placeRestored(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	only string) (s placementResult, err error) {
	run, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return s, err
	}
	env, err := tx.Environments().GetTarget(ctx, d.Environment)
	if err != nil {
		return s, err
	}
	project, err := tx.Projects().LoadRunTarget(ctx, d.Project)
	if err != nil {
		return s, err
	}
	ask := resourceRequest(run.Pipeline, env.Placement.Combine(project.Placement))
	ask.Only, ask.Avoid = only, string(d.NodeID)
	if ask.Required, err = lastRequired(ctx, tx, d.ID); err != nil {
		return s, err
	}
	return choosePlacement(ctx, tx, d.EnvironmentID, plan{ask: ask}, false)
}

// FinishVolumeRestore starts the services with what was restored. On another node, resume lists
// those with restart "never" that ran until the backup stopped them.
func (l *Lifecycle) FinishVolumeRestore(ctx context.Context, actor access.Actor,
	h controlplane.HeldVolumes, holder string, resume []pipeline.StepKey) error {
	if h.InPlace {
		return l.EndVolumeHold(ctx, actor, h.ID, holder, "its volumes were restored from a backup")
	}
	return l.FinishCopy(ctx, actor, controlplane.RelocationTask{RelocationAttempt: h.Attempt,
		Resume: resume})
}

// FailVolumeRestore gives up. Services whose volumes were changed where they are stay stopped,
// since they would start with half of their data.
func (l *Lifecycle) FailVolumeRestore(ctx context.Context, actor access.Actor,
	h controlplane.HeldVolumes, holder string, changed bool, why string) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	switch {
	case !h.InPlace:
		return l.CancelRelocation(ctx, actor, h.Attempt, why)
	case !changed:
		return l.EndVolumeHold(ctx, actor, h.ID, holder, "its volumes were not restored: "+why)
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, h.ID)
		if err != nil {
			return err
		}
		if err := tx.VolumeHolds().Abandon(ctx, h.ID, holder); err != nil {
			return err
		}
		return notifyMove(ctx, tx, d, "stays stopped: its volumes are only partly restored ("+why+
			"); start 'nullops restore --volumes' again, or remove it")
	})
}

// VolumeRestoreArrived reports whether a deployment is ready where it was restored. It fails
// once that was given up.
func (l *Lifecycle) VolumeRestoreArrived(
	ctx context.Context, actor access.Actor, h controlplane.HeldVolumes,
) (arrived bool, err error) {
	err = l.withRelocation(ctx, actor, h.Attempt,
		func(_ *postgres.Tx, d controlplane.Deployment, r *controlplane.Relocation) error {
			arrived = d.NodeID == h.To
			if arrived || r != nil && r.Phase != controlplane.Clearing {
				return nil
			}
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "not_restored",
				Message: "deployment " + d.Name + " " + d.Detail,
				Remedy:  "Look at its log, and start the restore again."}
		})
	return arrived, err
}
