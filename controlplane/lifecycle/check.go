package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// AuthorizeCheck finds a deployment whose plugins the actor may have checked, and
// writes down that they did. Checking runs plugins with the deployment's
// secrets, so it takes what changing it takes.
func (l *Lifecycle) AuthorizeCheck(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (d controlplane.Deployment, err error) {
	entry := actor.NewAuditEntry("check deployment", "deployment "+string(id))
	err = l.store.InAuditedTx(ctx, entry, func(tx *postgres.Tx) error {
		if d, err = tx.Deployments().Lock(ctx, id); err != nil {
			return err
		}
		if err := access.Check(actor, access.ReadDeployment, accessObject(d)); err != nil {
			return err
		}
		if err := access.Check(actor, access.WriteDeployment, accessObject(d)); err != nil {
			return err
		}
		entry.Object = "deployment " + d.Name
		entry.Project, entry.Environment = d.ProjectID, d.EnvironmentID
		if d.Status != controlplane.Ready {
			return wrongState(d, "checked", "Only a deployment that is ready is checked.")
		}
		return nil
	})
	return d, err
}
