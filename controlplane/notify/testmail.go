package notify

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// testMailTime bounds a test: a person waits for it.
const testMailTime = 20 * time.Second

// SendTestMail sends a mail to the actor's own address. It returns that address, and in sentences
// why the mail server did not take the mail and what to change, or "".
func (n *Notifier) SendTestMail(
	ctx context.Context, actor access.Actor,
) (to, problem string, err error) {
	entry := actor.NewAuditEntry("test mail", "mail server")
	err = n.Store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		if n.Mail.Server == "" {
			return controlplane.NewConflictError("no_mail_server", "no mail server is configured",
				"Set mail.server and mail.from, and restart the control plane.")
		}
		u, err := tx.Users().ByName(ctx, actor.Name())
		if err != nil {
			return err
		}
		if to = u.Address; to == "" {
			return controlplane.NewConflictError("no_address", "your user has no e-mail address",
				"Enter one on the page Users, then try again.")
		}
		return nil
	})
	if err != nil {
		return "", "", err
	}
	ctx, cancel := context.WithTimeout(ctx, testMailTime)
	defer cancel()
	err = n.Mail.sendMail(ctx, controlplane.Delivery{Email: to, Subject: "Test mail from NullOps",
		Body: "This is a test that " + actor.Name() + " sent from the settings of NullOps at " +
			n.URL + ".\n"})
	if err != nil {
		return to, n.Mail.explainMailError(err), nil
	}
	return to, "", nil
}
