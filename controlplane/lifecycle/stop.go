package lifecycle

import (
	"context"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Remove cancels a deployment that is being created and removes any other.
// Asking again changes nothing, except that a stuck one is tried again.
func (l *Lifecycle) Remove(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	return l.changeDeployment(ctx, actor, "remove deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if err := requireNoOtherHold(ctx, tx, actor, d); err != nil {
				return err
			}
			if err := notDisputed(ctx, tx, d); err != nil {
				return err
			}
			if err := cancelMove(ctx, tx, d); err != nil {
				return err
			}
			if !d.Status.IsGone() {
				if err := recordRemover(ctx, tx, d, actor.Name()); err != nil {
					return err
				}
			}
			return removeDeployment(ctx, tx, d)
		})
}

// cancelMove cancels a move that waits for its deployment to be gone: a person who
// removes it does not want it on another node.
func cancelMove(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	moving, err := tx.Moves().End(ctx, d.ID, "")
	if err != nil || !moving {
		return err
	}
	return notifyMove(ctx, tx, d, "removed while it moved: it is not made on another node")
}

// recordRemover stores who removes a deployment, and its services' health.
func recordRemover(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, by string,
) error {
	if err := tx.Lifetimes().SetRemover(ctx, d.ID, by); err != nil {
		return err
	}
	return keepHealth(ctx, tx, d)
}

func removeDeployment(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	if gone, err := cancelQueued(ctx, tx, d, "canceled while it waited"); err != nil || gone {
		return err
	}
	if d.Status == controlplane.Failed && d.NodeID == "" {
		return removeUnplaced(ctx, tx, d)
	}
	to, detail := controlplane.Removing, ""
	switch d.Status {
	case controlplane.Queued, controlplane.Applying:
		to, detail = controlplane.Undoing, "canceled"
	case controlplane.Undoing:
		if d.Goal == controlplane.GoalGone && d.Canceled {
			return nil
		}
		to, detail = controlplane.Undoing, "canceled"
	case controlplane.Removing, controlplane.Removed, controlplane.Canceled, controlplane.Forgotten:
		return nil
	}
	canceled := to == controlplane.Undoing
	if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalGone, canceled); err != nil {
		return err
	}
	if err := tx.VolumeHolds().Delete(ctx, d.ID); err != nil {
		return err
	}
	if d.NodeStatus != controlplane.NodeOnline {
		detail = "waiting for node " + d.Node
	}
	return moveStatus(ctx, tx, d, to, detail, nil)
}

// removeUnplaced removes a deployment that failed before it got a node, so nothing of
// it exists anywhere.
func removeUnplaced(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalGone, false); err != nil {
		return err
	}
	if err := moveStatus(ctx, tx, d, controlplane.Removed, "", nil); err != nil {
		return err
	}
	return tx.Hosts().Delete(ctx, d.ID)
}

// Forget gives up on a deployment whose node will not finish: what is left on the node is recorded,
// and its name and hosts become free.
func (l *Lifecycle) Forget(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	return l.changeDeployment(ctx, actor, "forget deployment", access.Admin, id, forgetDeployment)
}

func forgetDeployment(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	if !d.Status.CanMove(controlplane.Forgotten) || d.Status == controlplane.Forgotten {
		return wrongState(d, "forgotten", "Remove it first; only what is stuck is forgotten.")
	}
	if err := notDisputed(ctx, tx, d); err != nil {
		return err
	}
	left := d.Left
	if len(left) == 0 {
		left = []string{"everything of it on node " + d.Node}
	}
	err := moveStatus(ctx, tx, d, controlplane.Forgotten, "given up by an admin", left)
	if err != nil {
		return err
	}
	return tx.Hosts().Delete(ctx, d.ID)
}

// changeDeployment locks a deployment the actor may act on, and audits what is done.
func (l *Lifecycle) changeDeployment(ctx context.Context, actor access.Actor, verb string,
	action access.Action, id controlplane.DeploymentID,
	do func(context.Context, *postgres.Tx, controlplane.Deployment) error,
) (controlplane.Deployment, error) {
	entry := actor.NewAuditEntry(verb, "deployment "+string(id))
	place := ""
	err := l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, id)
		if err != nil {
			return err
		}
		if err := access.Check(actor, access.ReadDeployment, accessObject(d)); err != nil {
			return err
		}
		if err := access.Check(actor, action, accessObject(d)); err != nil {
			return err
		}
		entry.Object = "deployment " + d.Name
		entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
		if err := do(ctx, tx, d); err != nil {
			return err
		}
		place = failpointOf(verb, d.Status)
		return l.fail.Hit(place + ".commit")
	})
	if err != nil {
		return controlplane.Deployment{}, err
	}
	l.fail.Pass(place + ".committed")
	return l.Get(ctx, actor, id)
}

// failpointOf names the places around a commit by the verb's first word; to
// remove what is still being created is to cancel it.
func failpointOf(verb string, was controlplane.DeploymentStatus) string {
	word, _, _ := strings.Cut(verb, " ")
	switch {
	case word != "remove":
		return word
	case was == controlplane.Queued, was == controlplane.Applying, was == controlplane.Undoing:
		return "cancel"
	}
	return "delete"
}

func accessObject(d controlplane.Deployment) access.Object {
	return access.Object{What: "deployment", Name: string(d.ID), Project: d.ProjectID,
		Environment: d.EnvironmentID, Restricted: d.Restricted}
}

// moveStatus changes the status of a locked deployment and its run, as one change.
func moveStatus(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	to controlplane.DeploymentStatus, detail string, left []string) error {
	moved, err := tx.Deployments().Move(ctx, d.ID, to, detail, left)
	if err != nil {
		return err
	}
	if !moved {
		return wrongState(d, string(to), "Load it again; somebody was faster.")
	}
	if err := tx.Runs().Move(ctx, d.RunID, to, isEnded(to), nil); err != nil {
		return err
	}
	if d.Status == controlplane.Ready {
		r, err := tx.Relocations().Get(ctx, d.ID)
		if err == nil {
			err = callOff(ctx, tx, d, r, "")
		}
		if err != nil {
			return err
		}
	}
	tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	_, err = tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

// isEnded reports whether a run that got there goes no further by itself.
func isEnded(s controlplane.DeploymentStatus) bool {
	switch s {
	case controlplane.Ready, controlplane.Failed, controlplane.Canceled, controlplane.Removed,
		controlplane.Forgotten:
		return true
	}
	return false
}

func wrongState(d controlplane.Deployment, want, remedy string) error {
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "wrong_state",
		Message: fmt.Sprintf("deployment %s is %s and cannot be %s", d.Name, d.Status, want),
		Remedy:  remedy}
}
