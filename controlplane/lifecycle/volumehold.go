package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// A backup that copies volumes has the services of one deployment stopped at a time. What it
// uses is what a move uses, except that the deployment stays where it is. The hold ends
// with its backup, also if that dies: the services start again.

// holdSilent is how long the process that holds a deployment's volumes may be silent.
const holdSilent = 30 * time.Second

// VolumeSelection chooses deployments: by ID or name, by environment, or all.
type VolumeSelection struct {
	Deployments []string
	Environment string
}

// ListVolumes returns the deployments of a selection that have volumes. A deployment that was
// named is returned without volumes too.
func (l *Lifecycle) ListVolumes(
	ctx context.Context, actor access.Actor, s VolumeSelection,
) (all []controlplane.HeldVolumes, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if s.Environment != "" {
			if _, err := tx.Environments().GetTarget(ctx, s.Environment); err != nil {
				return err
			}
		}
		ids, err := tx.VolumeHolds().ListOwners(ctx, s.Environment, s.Deployments)
		if err != nil {
			return err
		}
		for _, id := range ids {
			h, err := readVolumes(ctx, tx, id)
			if err != nil {
				return err
			}
			if len(h.Volumes)+len(h.Stay)+len(s.Deployments) > 0 {
				all = append(all, h)
			}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return all, everyChosen(s.Deployments, all)
}

// everyChosen fails if a name stands for no deployment, or for several.
func everyChosen(chosen []string, all []controlplane.HeldVolumes) error {
	for _, name := range chosen {
		found := 0
		for _, h := range all {
			if string(h.ID) == name || h.Name == name {
				found++
			}
		}
		switch {
		case found == 0:
			return controlplane.NewNotFoundError("deployment", name)
		case found > 1:
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "ambiguous",
				Message: fmt.Sprintf("%d deployments are named %s", found, name),
				Remedy:  "Use the ID, or choose the environment too."}
		}
	}
	return nil
}

func readVolumes(ctx context.Context, tx *postgres.Tx, id controlplane.DeploymentID) (
	h controlplane.HeldVolumes, err error) {
	if h.Deployment, err = tx.Deployments().Get(ctx, id); err != nil {
		return h, err
	}
	run, err := tx.Runs().ByID(ctx, h.RunID)
	if err != nil {
		return h, fmt.Errorf("read what deployment %s runs: %w", h.Name, err)
	}
	h.Stay = volumeNames(run.Pipeline, func(v pipeline.Volume) bool { return v.Stays })
	h.Volumes = slices.DeleteFunc(volumesToCopy(run.Pipeline), func(v controlplane.VolumeName) bool {
		return slices.Contains(h.Stay, string(v.Step)+"/"+v.Name)
	})
	h.To, h.ToName, h.InPlace = h.NodeID, h.Node, true
	return h, nil
}

// StartVolumeBackup writes that a deployment's volumes are copied into the audit, and has its
// services stopped, unless they are to keep running. It returns the deployment as it is now.
func (l *Lifecycle) StartVolumeBackup(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID, holder string, running bool,
) (h controlplane.HeldVolumes, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return h, err
	}
	_, err = l.changeDeployment(ctx, actor, "back up volumes", access.Admin, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if d.Status != controlplane.Ready {
				return wrongState(d, "backed up", "Only the volumes of a deployment that is ready are copied.")
			}
			if d.NodeStatus != controlplane.NodeOnline {
				return nodeAway(d)
			}
			if h, err = readVolumes(ctx, tx, id); err != nil {
				return err
			}
			if running {
				return notOnItsWay(ctx, tx, d)
			}
			return holdVolumes(ctx, tx, d, controlplane.VolumeHold{Deployment: id,
				Purpose: controlplane.HoldForBackup, By: actor.Name(), Holder: holder})
		})
	return h, err
}

func nodeAway(d controlplane.Deployment) error {
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
		Message: fmt.Sprintf("node %s, which has deployment %s, is offline", d.Node, d.Name),
		Remedy:  "Wait until it is back."}
}

func notOnItsWay(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	if err := notDisputed(ctx, tx, d); err != nil {
		return err
	}
	r, err := tx.Relocations().Get(ctx, d.ID)
	if err != nil || r != nil && r.Phase != controlplane.Clearing {
		return errors.Join(err, onItsWay(d, r))
	}
	return nil
}

// holdVolumes has the services stopped where they are.
func holdVolumes(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, h controlplane.VolumeHold,
) error {
	if err := notOnItsWay(ctx, tx, d); err != nil {
		return err
	}
	held, err := tx.VolumeHolds().Start(ctx, d, h, holdSilent)
	if err == nil && !held {
		err = notHeld(ctx, tx, d)
	}
	if err != nil {
		return err
	}
	return notifyMove(ctx, tx, d, map[controlplane.HoldPurpose]string{
		controlplane.HoldForBackup:  "stops while its volumes are copied into a backup",
		controlplane.HoldForRestore: "stops while its volumes are restored from a backup",
	}[h.Purpose])
}

// notHeld refuses what a deployment cannot do while its volumes are copied.
func notHeld(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	h, err := tx.VolumeHolds().Get(ctx, d.ID)
	if err != nil || h == nil {
		return err
	}
	e := &controlplane.Error{Kind: controlplane.Conflict, Code: "volumes_held",
		Message: "the volumes of deployment " + d.Name + " are being copied into a backup",
		Remedy:  "Wait until that is done."}
	switch h.Purpose {
	case controlplane.HoldForFill, controlplane.HoldAsSource:
		e.Message = "the data of deployment " + d.Name + " is being carried over by an update"
	case controlplane.HoldForRestore:
		e.Message = "the volumes of deployment " + d.Name + " are not all restored from a backup"
		e.Remedy = "Wait until that is done; if it was interrupted, start 'nullops restore --volumes' " +
			"again."
	}
	return e
}

// TouchVolumeHold records that the holder is active. It reports whether the hold is there still.
func (l *Lifecycle) TouchVolumeHold(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, holder string) (held bool, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return false, err
	}
	err = l.store.InTx(ctx, func(tx *postgres.Tx) error {
		held, err = tx.VolumeHolds().Touch(ctx, id, holder)
		return err
	})
	return held, err
}

// EndVolumeHold starts the services again, and says why they were stopped.
func (l *Lifecycle) EndVolumeHold(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, holder, detail string) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		ended, err := tx.VolumeHolds().End(ctx, d, holder)
		if err != nil || !ended {
			return err
		}
		return notifyMove(ctx, tx, d, detail)
	})
}

// EndLostVolumeHolds starts the services of deployments again whose backup died, and forgets
// the holds that ended a while ago.
func (l *Lifecycle) EndLostVolumeHolds(ctx context.Context, actor access.Actor) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var lost []postgres.LostVolumeHold
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		lost, err = tx.VolumeHolds().ListLost(ctx, holdSilent)
		return err
	})
	for _, h := range lost {
		if h.Ended {
			err = errors.Join(err, l.forgetVolumeHold(ctx, h.Deployment))
			continue
		}
		err = errors.Join(err, l.EndVolumeHold(ctx, actor, h.Deployment, h.Holder,
			"its volumes were not copied: the backup was interrupted"))
	}
	return err
}

// forgetVolumeHold has services count as degraded again that do not work.
func (l *Lifecycle) forgetVolumeHold(ctx context.Context, id controlplane.DeploymentID) error {
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		if h, err := tx.VolumeHolds().Get(ctx, id); err != nil || h != nil {
			return err
		}
		if err := tx.VolumeHolds().Delete(ctx, id); err != nil {
			return err
		}
		return notifyHealth(ctx, tx, d, false)
	})
}
