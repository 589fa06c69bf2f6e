package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// Extend restarts a deployment's lifetime, as often as people like.
func (l *Lifecycle) Extend(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	return l.changeDeployment(ctx, actor, "extend deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if d.Goal == controlplane.GoalGone || d.Status.IsGone() {
				return wrongState(d, "extended",
					"Recreate it once it is gone, or retry it once it has failed.")
			}
			err := tx.Lifetimes().AddActivity(ctx, d.ID, controlplane.ActivityExtended,
				actor.Name())
			if err != nil {
				return err
			}
			return notifyChanged(ctx, tx, d)
		})
}

// notifyChanged notifies watchers that a deployment changed.
func notifyChanged(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	_, err := tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

// Activity is what a deployment's end counts from, and by which rule.
type Activity struct {
	Rule  string
	Items []controlplane.Activity
}

// mostActivity is more than anybody reads.
const mostActivity = 200

// Activity lists what reset a deployment's countdown, newest first.
func (l *Lifecycle) Activity(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (out Activity, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		lives, err := tx.Lifetimes().ListOf(ctx, id)
		if err != nil {
			return err
		}
		out.Rule = describeLife(d, lives[id])
		out.Items, err = tx.Lifetimes().ListActivity(ctx, id, mostActivity)
		return err
	})
	return out, err
}

// describeLife says in one sentence when a deployment is removed automatically.
func describeLife(d controlplane.Deployment, life controlplane.LifetimeInfo) string {
	if life.Hours == 0 {
		return "It stays until somebody removes it."
	}
	text := fmt.Sprintf("It is removed %s after it was last created, retried, moved, %s",
		quantity.FormatCount(life.Hours, "hour", "hours"), lastCounted(life.IgnoresVisits))
	switch h := life.Hold; {
	case h == nil || d.Status.IsGone():
		return text + "."
	case h.Until == nil:
		return text + ", and not while " + h.Owner + " holds it."
	default:
		return text + ", and not before " + h.Until.UTC().Format(time.RFC3339) + ", until when " +
			h.Owner + " holds it."
	}
}

func lastCounted(ignoresVisits bool) string {
	if ignoresVisits {
		return "or extended; visits do not count here"
	}
	return "extended or visited"
}

// RecordVisit records that a deployment was used through its URLs.
func (l *Lifecycle) RecordVisit(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Lifetimes().RecordVisit(ctx, id, "a visitor")
	})
}

// Hold protects a deployment from clean-up, and from removal by others.
func (l *Lifecycle) Hold(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	reason string, until *time.Time) (controlplane.Deployment, error) {
	return l.changeDeployment(ctx, actor, "hold deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if d.Goal == controlplane.GoalGone || d.Status.IsGone() {
				return wrongState(d, "held",
					"Recreate it once it is gone, or retry it once it has failed.")
			}
			if err := requireNoOtherHold(ctx, tx, actor, d); err != nil {
				return err
			}
			now, err := tx.DatabaseTime(ctx)
			if err != nil {
				return err
			}
			if until != nil && !until.After(now) {
				return &controlplane.Error{Kind: controlplane.Invalid, Code: "range",
					Field: "until", Message: "the end of the hold is in the past",
					Remedy: "Give a time to come, or none."}
			}
			err = tx.Lifetimes().SetHold(ctx, d.ID,
				&controlplane.Hold{Owner: actor.Name(), Reason: reason,
					Until: until})
			if err != nil {
				return err
			}
			return notifyChanged(ctx, tx, d)
		})
}

// Release ends a hold. Its owner may do that, and admins.
func (l *Lifecycle) Release(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	return l.changeDeployment(ctx, actor, "release deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			if access.Check(actor, access.Admin, access.Object{}) != nil {
				if err := requireNoOtherHold(ctx, tx, actor, d); err != nil {
					return err
				}
			}
			if err := tx.Lifetimes().SetHold(ctx, d.ID, nil); err != nil {
				return err
			}
			return notifyChanged(ctx, tx, d)
		})
}

// requireNoOtherHold fails if another person holds the deployment.
func requireNoOtherHold(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment) error {
	lives, err := tx.Lifetimes().ListOf(ctx, d.ID)
	if err != nil {
		return err
	}
	now, err := tx.DatabaseTime(ctx)
	if err != nil {
		return err
	}
	h := lives[d.ID].Hold
	if !h.IsActive(now) || h.Owner == actor.Name() {
		return nil
	}
	why := h.Owner + " holds deployment " + d.Name
	if h.Reason != "" {
		why += ": " + h.Reason
	}
	return &controlplane.Error{Kind: controlplane.Conflict, Code: "held", Message: why,
		Remedy: "Ask " + h.Owner + " to release it; an admin can do so too."}
}

// comesFrom notes which deployment a new one is a copy of.
func comesFrom(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id, from controlplane.DeploymentID) error {
	if from == "" {
		return nil
	}
	d, err := readDeployment(ctx, tx, actor, from)
	if err != nil {
		return inField("cloned_from", err)
	}
	return tx.Lifetimes().SetOrigin(ctx, id, from, d.Name)
}
