package catalog

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// revealTime bounds a reveal, which does not end with the request that asked.
const revealTime = 30 * time.Second

// ListGenerated names the secrets that were generated for a deployment.
func (c *Catalog) ListGenerated(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (names []string, err error) {
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployment(ctx, id)
		if err != nil {
			return err
		}
		if err := access.Check(actor, access.ReadDeployment, deploymentObject(d)); err != nil {
			return err
		}
		if d.Status.IsGone() {
			return nil
		}
		made, err := tx.DeploymentSecrets(ctx, id)
		names = slices.Sorted(maps.Keys(made))
		return err
	})
	return names, err
}

// RevealSecret opens a value that was generated for a deployment, for a person who needs it to sign
// in there. A value that a person typed is never shown. The audit entry with the person and the
// name is written before the value is returned, even if the caller has disconnected by then.
func (c *Catalog) RevealSecret(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID, name string,
) (value controlplane.Plain, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), revealTime)
	defer cancel()
	e := actor.NewAuditEntry("reveal secret", "secret "+name+" of deployment "+string(id))
	err = c.store.InAuditedTx(ctx, e, func(tx *postgres.Tx) error {
		d, err := tx.Deployment(ctx, id)
		if err != nil {
			return err
		}
		if err := access.Check(actor, access.RevealSecret, deploymentObject(d)); err != nil {
			return err
		}
		e.Object = "secret " + name + " of deployment " + d.Name
		e.Project, e.Environment = d.ProjectID, d.EnvironmentID
		value, err = c.openGenerated(ctx, tx, d, name)
		return err
	})
	if err != nil {
		return controlplane.Plain{}, err
	}
	return value, nil
}

// openGenerated opens the generated value, unless the latest run uses another:
// that one was typed since.
func (c *Catalog) openGenerated(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, name string,
) (controlplane.Plain, error) {
	made, err := tx.DeploymentSecrets(ctx, d.ID)
	if err != nil {
		return controlplane.Plain{}, err
	}
	sealed, ok := made[name]
	if !ok || d.Status.IsGone() {
		return controlplane.Plain{}, notGenerated(name)
	}
	value, err := c.keys.OpenGenerated(d.ID, name, sealed)
	if err != nil {
		return controlplane.Plain{}, err
	}
	used, err := tx.RunSecrets(ctx, d.RunID)
	if err != nil || len(used[name]) == 0 {
		return value, err
	}
	current, err := c.keys.OpenRunSecret(d.RunID, name, used[name])
	if err != nil {
		return controlplane.Plain{}, err
	}
	if !value.Equal(current) {
		return controlplane.Plain{}, notGenerated(name)
	}
	return value, nil
}

func notGenerated(name string) error {
	return &controlplane.Error{
		Kind: controlplane.NotFound, Code: "secret_not_generated", Field: "secret",
		Message: "no value was generated for the secret " + name + " of this deployment",
		Remedy: "Only generated values can be revealed, once the deployment's node has asked for " +
			"them. Ask whoever set the value, or set another one.",
	}
}

func deploymentObject(d controlplane.Deployment) access.Object {
	return access.Object{What: "deployment", Name: string(d.ID), Project: d.ProjectID,
		Environment: d.EnvironmentID, Restricted: d.Restricted}
}
