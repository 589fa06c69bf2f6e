package alerts

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// mostAlerts bounds a list: whoever has more has one problem, not so many.
	mostAlerts = 500
	// longestSilence is how far away a silence may end.
	longestSilence = 30 * 24 * time.Hour
	longestReason  = 500
)

// List returns what the actor may see: what is active, then, if asked for, what has ended.
func (a *Alerts) List(
	ctx context.Context, actor access.Actor, ended bool,
) (seen []controlplane.Alert, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	var all []controlplane.Alert
	err = a.Store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Alerts().List(ctx, ended, mostAlerts)
		return err
	})
	for _, one := range all {
		if access.CheckAlert(actor, access.ReadDeployment, one) == nil {
			seen = append(seen, one)
		}
	}
	return seen, err
}

// Acknowledge notes that the actor looks after an alert.
func (a *Alerts) Acknowledge(
	ctx context.Context, actor access.Actor, id controlplane.AlertID,
) (controlplane.Alert, error) {
	return a.change(ctx, actor, "acknowledge alert", id,
		func(tx *postgres.Tx, one controlplane.Alert) error {
			return tx.Alerts().Acknowledge(ctx, one.ID, actor.Name())
		})
}

// Silence keeps notifications about the alert's condition and subject back until a time.
func (a *Alerts) Silence(
	ctx context.Context, actor access.Actor, id controlplane.AlertID, until time.Time, reason string,
) (controlplane.Alert, error) {
	return a.change(ctx, actor, "silence alert", id,
		func(tx *postgres.Tx, one controlplane.Alert) error {
			now, err := tx.DatabaseTime(ctx)
			if err != nil {
				return err
			}
			if err := checkSilence(now, until, reason); err != nil {
				return err
			}
			return tx.Alerts().Silence(ctx, one, until, reason, actor.Name())
		})
}

func checkSilence(now, until time.Time, reason string) error {
	if until.IsZero() || !until.After(now) || until.After(now.Add(longestSilence)) {
		return controlplane.NewInvalidError("until", "silence_without_end",
			"a silence ends, within 30 days from now",
			"Give the time at which it ends. You can silence the alert again then.")
	}
	if len(reason) > longestReason {
		return controlplane.NewInvalidError("reason", "too_long", "the reason is too long",
			fmt.Sprintf("Use at most %d bytes.", longestReason))
	}
	return nil
}

// EndSilence ends the silence of the alert's condition and subject.
func (a *Alerts) EndSilence(
	ctx context.Context, actor access.Actor, id controlplane.AlertID,
) (controlplane.Alert, error) {
	return a.change(ctx, actor, "end silence of alert", id,
		func(tx *postgres.Tx, one controlplane.Alert) error {
			return tx.Alerts().EndSilence(ctx, one)
		})
}

// change does something about an alert that the actor may see and change, and returns it as it
// is then.
func (a *Alerts) change(ctx context.Context, actor access.Actor, action string,
	id controlplane.AlertID, do func(*postgres.Tx, controlplane.Alert) error,
) (one controlplane.Alert, err error) {
	entry := actor.NewAuditEntry(action, "alert "+string(id))
	err = a.Store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if one, err = tx.Alerts().Get(ctx, id); err != nil {
			return err
		}
		if err := access.CheckAlert(actor, access.WriteDeployment, one); err != nil {
			return err
		}
		entry.Object = "alert " + one.Condition + " " + one.Label
		entry.Project, entry.Environment = one.Project, one.Environment
		if err := do(tx, one); err != nil {
			return err
		}
		one, err = tx.Alerts().Get(ctx, id)
		return err
	})
	return one, err
}
