package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// NoteSecretsWait shows at a deployment which of its values its run waits for. The next
// report of a step replaces it.
func (l *Lifecycle) NoteSecretsWait(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, deployment controlplane.DeploymentID, reason string) error {
	return l.changeSecretsWait(ctx, actor, node, deployment, "", reason)
}

// ClearSecretsWait takes back what NoteSecretsWait shows, unless something else is shown.
func (l *Lifecycle) ClearSecretsWait(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, deployment controlplane.DeploymentID, reason string) error {
	return l.changeSecretsWait(ctx, actor, node, deployment, reason, "")
}

func (l *Lifecycle) changeSecretsWait(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, deployment controlplane.DeploymentID, from, to string) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, deployment)
		if err != nil || d.NodeID != node || d.Detail == to || from != "" && d.Detail != from {
			return err
		}
		return notifyMove(ctx, tx, d, to)
	})
}
