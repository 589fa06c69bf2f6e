package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// queueSecurityMail tells a person that something by which they sign in changed, so that they
// notice a change that was not theirs. Nobody can switch it off. It is in the transaction of the
// change, whose entry says who made it. The mail has no link: whoever imitates it teaches nothing.
func (a *Accounts) queueSecurityMail(
	ctx context.Context, tx *postgres.Tx, e controlplane.AuditEntry, u controlplane.User,
	address, what string,
) error {
	if !a.mails || address == "" || u.Kind == controlplane.KindService {
		return nil
	}
	from := e.From
	if from == "" {
		from = "an unknown address"
	}
	return tx.Deliveries().Insert(ctx, controlplane.Delivery{
		ID: controlplane.NewID[controlplane.DeliveryID](), User: u.ID, Email: address,
		Event: "account.changed", Subject: "NullOps: " + what,
		Body: fmt.Sprintf("%s.\n\nUser: %s\nBy: %s, from %s\nWhen: %s\n\nIf you do not know of it, "+
			"tell an admin of NullOps: they can end your sessions and tokens.\n",
			what, u.Name, e.Actor, from, a.now().UTC().Format("2006-01-02 15:04:05 UTC")),
	}, time.Time{})
}
