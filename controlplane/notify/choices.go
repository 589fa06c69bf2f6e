package notify

import (
	"context"
	"fmt"
	"net/mail"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostChoices bounds one person's subscriptions.
const mostChoices = 20

// ListChoices returns the actor's mail subscriptions, and whether mail can be sent at all.
func (n *Notifier) ListChoices(
	ctx context.Context, actor access.Actor,
) (all []controlplane.NotificationChoice, mails bool, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, false, err
	}
	err = n.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Notifications().ListChoices(ctx, actor.UserID())
		return err
	})
	return all, n.Mail.Server != "", err
}

// SetChoices replaces the actor's subscriptions. Events of objects that they may not see are never
// sent, whatever they choose.
func (n *Notifier) SetChoices(
	ctx context.Context, actor access.Actor, all []controlplane.NotificationChoice,
) error {
	entry := actor.NewAuditEntry("put notifications", "notifications of "+actor.Name())
	return n.Store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Self, access.Object{}); err != nil {
			return err
		}
		if len(all) > mostChoices {
			return controlplane.NewInvalidError("choices", "too_many",
				fmt.Sprintf("%d choices are too many", len(all)),
				fmt.Sprintf("Keep at most %d.", mostChoices))
		}
		for i, c := range all {
			if err := checkChoice(fmt.Sprintf("choices.%d", i), c); err != nil {
				return err
			}
		}
		return tx.Notifications().SetChoices(ctx, actor.UserID(), all)
	})
}

func checkChoice(at string, c controlplane.NotificationChoice) error {
	parsed, err := mail.ParseAddress(c.Email)
	if err != nil || parsed.Address != c.Email || len(c.Email) > 254 {
		return controlplane.NewInvalidError(at+".email", "email_invalid",
			fmt.Sprintf("%q is not a mail address", controlplane.ClipText(c.Email)),
			"Give one such as ada@example.org.")
	}
	return checkEvents(at+".events", c.Events)
}
