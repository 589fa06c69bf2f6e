package notify

import (
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

// tellCreator leaves a notice for the person who created the deployment, if they may still see it.
func (n *Notifier) tellCreator(ctx context.Context, tx *postgres.Tx, m message) error {
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
		Body: creatorBody(kind, d), Link: "/d/" + d.ID})
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
