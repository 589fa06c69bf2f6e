package notify

import (
	"cmp"
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// mostInbox is how many notices a person has in view; older ones are not shown any more.
const mostInbox = 100

// ListInbox lists the actor's newest notices, without those about deployments that they may not
// see any more.
func (n *Notifier) ListInbox(
	ctx context.Context, actor access.Actor,
) (all []controlplane.PersonNotice, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil || actor.IsSystem() {
		return nil, err
	}
	err = n.Store.Read(ctx, func(tx *postgres.Tx) error {
		found, err := tx.Inbox().List(ctx, actor.UserID(), mostInbox)
		for _, one := range found {
			if one.Deployment != "" && access.Check(actor, access.ReadDeployment, access.Object{
				Project: one.Project, Environment: one.Environment, Restricted: one.Restricted}) != nil {
				continue
			}
			all = append(all, one.PersonNotice)
		}
		return err
	})
	return all, err
}

// MarkInbox says which of the actor's notices they have read, or want to read again. Ids of others'
// notices do nothing.
func (n *Notifier) MarkInbox(
	ctx context.Context, actor access.Actor, ids []controlplane.PersonNoticeID, read bool,
) error {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return err
	}
	if actor.IsReadOnly() {
		return actor.ReadOnlyError()
	}
	for i, id := range ids {
		if !controlplane.ValidID(string(id)) {
			return controlplane.NewInvalidError(fmt.Sprintf("ids.%d", i), "id_invalid",
				fmt.Sprintf("%q is not the id of a notice", controlplane.ClipText(string(id))),
				"Take ids from the list.")
		}
	}
	return n.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Inbox().Mark(ctx, actor.UserID(), ids, read)
	})
}

// creatorNotices are the events that concern the creator of a deployment.
var creatorNotices = map[string]controlplane.PersonNoticeKind{
	"deployment.failed": controlplane.NoticeFailed, "deployment.stuck": controlplane.NoticeStuck,
	"deployment.degraded": controlplane.NoticeDegraded,
	"deployment.expiring": controlplane.NoticeExpiring}

// mostHolders is how many deployments of a budget's subject have their creators told.
const mostHolders = 500

// tellHolders leaves a notice for those whose deployments will be removed because a budget is used
// up, which otherwise only admins would know.
func (n *Notifier) tellHolders(ctx context.Context, tx *postgres.Tx, m message) error {
	if m.Event != "budget.removing" {
		return nil
	}
	scope, _ := m.Data["scope"].(string)
	subject, _ := m.Data["subject"].(string)
	reason, _ := m.Data["reason"].(string)
	ids, err := tx.Ledger().ListHeldOf(ctx, controlplane.Budget{
		Scope: controlplane.UsageGroup(scope), Subject: subject}, mostHolders)
	if err != nil {
		return err
	}
	for _, id := range ids {
		about, err := n.readNotice(ctx, tx, controlplane.Notice{At: m.At, Deployment: id,
			Event: "deployment.expiring", Data: []byte("{}")})
		if controlplane.KindOf(err) == controlplane.NotFound {
			continue
		}
		if err == nil {
			err = n.tellCreator(ctx, tx, about, reason)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// tellCreator leaves a notice for the person who created the deployment, if they may still see it.
// body is what the notice says; empty is what such a notice usually says.
func (n *Notifier) tellCreator(
	ctx context.Context, tx *postgres.Tx, m message, body string,
) error {
	kind, ok := creatorNotices[m.Event]
	if !ok || m.Deployment == nil {
		return nil
	}
	found, err := tx.Users().ListPeopleNamed(ctx, []string{m.Deployment.CreatedBy})
	if err != nil || len(found) == 0 {
		return err
	}
	if sees, err := m.maySee(ctx, tx, found[0]); err != nil || !sees {
		return err
	}
	d := m.Deployment
	return tx.Inbox().Add(ctx, controlplane.PersonNotice{User: found[0].ID, Kind: kind,
		Deployment: controlplane.DeploymentID(d.ID), Subject: creatorSubject(kind, d),
		Body: cmp.Or(body, creatorBody(kind, d)), Link: "/d/" + d.ID})
}

func creatorSubject(kind controlplane.PersonNoticeKind, d *deployment) string {
	switch kind {
	case controlplane.NoticeExpiring:
		return d.Name + " in " + d.Environment + " will be removed soon"
	case controlplane.NoticeStuck:
		return d.Name + " in " + d.Environment + " is stuck"
	case controlplane.NoticeDegraded:
		return d.Name + " in " + d.Environment + " is degraded"
	default:
		return d.Name + " in " + d.Environment + " failed"
	}
}

func creatorBody(kind controlplane.PersonNoticeKind, d *deployment) string {
	if kind == controlplane.NoticeExpiring {
		return "Extend it if you still need it."
	}
	return d.Reason
}
