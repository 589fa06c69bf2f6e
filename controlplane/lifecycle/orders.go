package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// NodeGoals returns all goals of a node, and the number of its last committed report.
func (l *Lifecycle) NodeGoals(
	ctx context.Context, actor access.Actor, node controlplane.NodeID,
) (orders []controlplane.NodeGoal, last int64, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, 0, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if orders, err = tx.NodeSessions().ListGoals(ctx, node); err != nil {
			return err
		}
		if last, err = tx.NodeReports().GetLast(ctx, node); err != nil {
			return err
		}
		return l.withURLs(ctx, tx, orders)
	})
	return orders, last, err
}

func (l *Lifecycle) withURLs(
	ctx context.Context, tx *postgres.Tx, orders []controlplane.NodeGoal,
) error {
	ids := make([]controlplane.DeploymentID, len(orders))
	for i, o := range orders {
		ids[i] = o.Deployment
	}
	all, err := tx.Hosts().ListOf(ctx, ids...)
	if err != nil {
		return err
	}
	for i, o := range orders {
		hosts := all[o.Deployment]
		if o.Renamed {
			// Its services know themselves by the addresses that they have, will have or had.
			hosts = deploymentHosts(controlplane.Deployment{ID: o.Deployment, Name: o.Name,
				Environment: o.Environment, Domain: o.Domain}, o.Pipeline)
		}
		orders[i].URLs = l.serviceURLs(hosts)
	}
	return nil
}

// ResetReports restarts a node's report count after seq, because its agent lost its
// state.
func (l *Lifecycle) ResetReports(
	ctx context.Context, actor access.Actor, node controlplane.NodeID, seq int64,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.NodeReports().Reset(ctx, node, seq)
	})
}

// SealedRun returns a run's sealed key and the sealed outputs of its steps. It fails
// unless the run was placed on the node and the node still needs them.
func (l *Lifecycle) SealedRun(ctx context.Context, actor access.Actor, node controlplane.NodeID,
	deployment controlplane.DeploymentID, generation int64,
) (run controlplane.Run, steps []controlplane.StepRow, err error) {
	if err = access.Check(actor, access.Admin, access.Object{}); err != nil {
		return run, nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Get(ctx, deployment)
		if err != nil {
			return err
		}
		mine := d.NodeID == node && d.Generation == generation
		if !mine {
			mine, err = goesTo(ctx, tx, d, node)
		}
		if err != nil {
			return err
		}
		if !mine || d.Status.IsGone() {
			return &controlplane.Error{Kind: controlplane.Forbidden, Code: "not_your_run",
				Message: "this node has no such run at present"}
		}
		if run, err = tx.Runs().ByID(ctx, d.RunID); err != nil {
			return err
		}
		steps, err = tx.Steps().ListOf(ctx, d.RunID)
		return err
	})
	return run, steps, err
}

// Routes returns every host that the ingress answers for.
func (l *Lifecycle) Routes(
	ctx context.Context, actor access.Actor,
) (all []controlplane.Route, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Hosts().ListRoutes(ctx)
		return err
	})
	return all, err
}

// RoutesOf returns the hosts of some deployments and of those on some nodes, and which
// deployments these are. Malformed ids are ignored.
func (l *Lifecycle) RoutesOf(ctx context.Context, actor access.Actor, deployments, nodes []string,
) (of []controlplane.DeploymentID, all []controlplane.Route, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, nil, err
	}
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		of, err = tx.Deployments().ListAffectedBy(ctx, validIDs[controlplane.NodeID](nodes)...)
		if err != nil {
			return err
		}
		of = append(of, validIDs[controlplane.DeploymentID](deployments)...)
		// Hosts go from one to the other at once, so both are read at once.
		related, err := tx.Lifetimes().ListSuccession(ctx, of...)
		if err != nil {
			return err
		}
		of = append(of, related...)
		all, err = tx.Hosts().ListRoutesOf(ctx, of...)
		return err
	})
	return of, all, err
}

func validIDs[ID ~string](all []string) (valid []ID) {
	for _, id := range all {
		if controlplane.ValidID(id) {
			valid = append(valid, ID(id))
		}
	}
	return valid
}
