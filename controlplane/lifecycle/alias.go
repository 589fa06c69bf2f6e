package lifecycle

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// LatestAlias is the alias of what of a rule became ready last, and BranchAlias that of a branch,
// which is spelled as in names.
func LatestAlias(rule string) string { return prefixName("latest", rule) }

// BranchAlias is the alias of what is of a branch.
func BranchAlias(branch string) string { return prefixName("branch", branch) }

// PointAlias has the hosts of an alias lead to a deployment. An alias belongs to the rule that had
// it first, and its hosts to whoever had them first.
func (l *Lifecycle) PointAlias(
	ctx context.Context, actor access.Actor, a controlplane.ReviewAlias,
) error {
	return l.changeAlias(ctx, actor, "point alias", a, func(tx *postgres.Tx) error {
		d, err := tx.Deployments().Lock(ctx, a.Deployment)
		if err != nil {
			return err
		}
		if d.Status.IsGone() {
			return wrongState(d, "given an alias", "Wait until another one is ready.")
		}
		before, known, err := tx.Reviews().GetAlias(ctx, a.Environment, a.Name)
		if err != nil {
			return err
		}
		if known && before.Rule != a.Rule {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "alias_taken",
				Message: fmt.Sprintf("The alias %s belongs to another rule", a.Name),
				Remedy:  "Delete that rule, or have it deploy to another environment."}
		}
		hosts, err := aliasHosts(ctx, tx, d, a.Name)
		if err != nil {
			return err
		}
		if known {
			if err := LeaveAlias(ctx, tx, before); err != nil {
				return err
			}
		}
		taken, err := tx.Hosts().ListInUse(ctx, hosts)
		if err != nil {
			return err
		}
		if len(taken) > 0 {
			return &controlplane.Error{Kind: controlplane.Conflict, Code: "host_taken",
				Message: "The address " + taken[0] + " of an alias belongs to another deployment",
				Remedy:  "Remove that deployment, or give it another name."}
		}
		if err := tx.Reviews().PutAlias(ctx, a, hosts); err != nil {
			return err
		}
		return notifyChanged(ctx, tx, d)
	})
}

// DropAlias has an alias lead nowhere.
func (l *Lifecycle) DropAlias(
	ctx context.Context, actor access.Actor, a controlplane.ReviewAlias,
) error {
	return l.changeAlias(ctx, actor, "drop alias", a,
		func(tx *postgres.Tx) error { return LeaveAlias(ctx, tx, a) })
}

func (l *Lifecycle) changeAlias(ctx context.Context, actor access.Actor, action string,
	a controlplane.ReviewAlias, do func(*postgres.Tx) error) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	entry := actor.NewAuditEntry(action, "alias "+a.Name)
	entry.Environment = a.Environment
	return l.store.InAuditedTx(ctx, entry, do)
}

// LeaveAlias takes the hosts of an alias from the deployment that has them, within a change that
// has its own entry in the audit log.
func LeaveAlias(ctx context.Context, tx *postgres.Tx, a controlplane.ReviewAlias) error {
	if err := tx.Reviews().DeleteAlias(ctx, a); err != nil {
		return err
	}
	d, err := tx.Deployments().Get(ctx, a.Deployment)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	return notifyChanged(ctx, tx, d)
}

// aliasHosts are the hosts that a deployment would have under another name.
func aliasHosts(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, alias string) (
	[]controlplane.Host, error) {
	run, err := tx.Runs().ByID(ctx, d.RunID)
	if err != nil {
		return nil, err
	}
	d.Name = alias
	hosts := deploymentHosts(d, run.Pipeline)
	for i := range hosts {
		hosts[i].Main, hosts[i].Alias = false, alias
	}
	return hosts, nil
}
