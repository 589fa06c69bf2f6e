// Package mails reads the mails that deployments sent, which their nodes caught. Who may read a
// deployment may read its mails; deleting them takes the right to change it. The control plane
// stores none of them.
package mails

import (
	"context"
	"errors"
	"io"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// Part is what is read of one mail besides the mail itself.
type Part struct {
	Number int64
	// Page is its HTML, Raw the mail as it came; otherwise it is the attachment of this index.
	Page, Raw  bool
	Attachment int
}

// Content is a part that is being read.
type Content struct {
	io.ReadCloser
	// Name is an attachment's.
	Name string
}

// Nodes asks nodes for mails. A node that cannot be asked is a *controlplane.Error of kind
// Unavailable.
type Nodes interface {
	ListMails(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		q controlplane.MailQuery) (controlplane.MailList, error)
	GetMail(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		number int64) (controlplane.Mail, error)
	OpenMail(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		part Part) (Content, error)
	// DeleteMails deletes one mail, or all if number is 0.
	DeleteMails(ctx context.Context, node controlplane.NodeID, deployment controlplane.DeploymentID,
		number int64) error
	// WatchMails returns lines: one at once, and one after each change.
	WatchMails(ctx context.Context, node controlplane.NodeID,
		deployment controlplane.DeploymentID) (io.ReadCloser, error)
}

// Mails reads and deletes them.
type Mails struct {
	store *postgres.Store
	nodes Nodes
}

// New makes it.
func New(store *postgres.Store, nodes Nodes) *Mails { return &Mails{store: store, nodes: nodes} }

// readFromNode reads a deployment that the actor may do this to.
func (m *Mails) readFromNode(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	action access.Action) (d controlplane.Deployment, err error) {
	err = m.store.Read(ctx, func(tx *postgres.Tx) error {
		if d, err = tx.Deployments().Get(ctx, id); err != nil {
			return err
		}
		return access.Check(actor, action, access.Object{What: "deployment", Name: string(d.ID),
			Project: d.ProjectID, Environment: d.EnvironmentID, Restricted: d.Restricted})
	})
	return d, err
}

// onNode is read for a deployment whose node can be asked.
func (m *Mails) onNode(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	action access.Action) (controlplane.Deployment, error) {
	d, err := m.readFromNode(ctx, actor, id, action)
	if err == nil && stateWithoutNode(d) != "" {
		err = &controlplane.Error{Kind: controlplane.NotFound, Code: "no_mails",
			Message: "the deployment is " + string(d.Status) + ": it has no mails"}
	}
	return d, err
}

// stateWithoutNode is the state of a deployment that no node has mails of, or empty.
func stateWithoutNode(d controlplane.Deployment) controlplane.MailState {
	switch {
	case d.Status.IsGone() || d.Status == controlplane.Failed:
		return controlplane.MailGone
	case d.NodeID == "":
		return controlplane.MailWaiting
	}
	return ""
}

// List lists mails, newest first.
func (m *Mails) List(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	q controlplane.MailQuery) (controlplane.MailList, error) {
	d, err := m.readFromNode(ctx, actor, id, access.ReadDeployment)
	if err != nil {
		return controlplane.MailList{}, err
	}
	if state := stateWithoutNode(d); state != "" {
		return controlplane.MailList{State: state}, nil
	}
	return m.nodes.ListMails(ctx, d.NodeID, d.ID, q)
}

// Get reads one mail.
func (m *Mails) Get(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	number int64) (controlplane.Mail, error) {
	d, err := m.onNode(ctx, actor, id, access.ReadDeployment)
	if err != nil {
		return controlplane.Mail{}, err
	}
	return m.nodes.GetMail(ctx, d.NodeID, d.ID, number)
}

// Open opens a part of a mail.
func (m *Mails) Open(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	part Part) (Content, error) {
	d, err := m.onNode(ctx, actor, id, access.ReadDeployment)
	if err != nil {
		return Content{}, err
	}
	return m.nodes.OpenMail(ctx, d.NodeID, d.ID, part)
}

// Watch returns lines that come with each change of a deployment's mails.
func (m *Mails) Watch(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (io.ReadCloser, error) {
	d, err := m.onNode(ctx, actor, id, access.ReadDeployment)
	if err != nil {
		return nil, err
	}
	return m.nodes.WatchMails(ctx, d.NodeID, d.ID)
}

// Delete deletes one mail, or all if number is 0.
func (m *Mails) Delete(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	number int64) error {
	entry := actor.NewAuditEntry("delete mails", "deployment "+string(id))
	d, err := m.onNode(ctx, actor, id, access.WriteDeployment)
	if err != nil {
		return errors.Join(err, m.store.RecordRefusal(ctx, *entry, err))
	}
	if err := m.nodes.DeleteMails(ctx, d.NodeID, d.ID, number); err != nil {
		return err
	}
	entry.Object = "deployment " + d.Name
	entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
	entry.Result = controlplane.AuditOK
	return m.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Audit().Insert(ctx, *entry) })
}
