package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// AliasTarget is a deployment of a rule that is ready.
type AliasTarget struct {
	Branch      string
	Deployment  controlplane.DeploymentID
	Environment controlplane.EnvironmentID
}

// ListAliasTargets returns what of a rule is ready, the newest first.
func (t Reviews) ListAliasTargets(
	ctx context.Context, rule controlplane.ReviewRuleID,
) ([]AliasTarget, error) {
	rows, err := t.q.ListAliasTargets(ctx, string(rule))
	if err != nil {
		return nil, fmt.Errorf("list what is ready of a rule: %w", err)
	}
	all := make([]AliasTarget, len(rows))
	for i, r := range rows {
		all[i] = AliasTarget{Branch: r.Branch, Deployment: controlplane.DeploymentID(r.ID),
			Environment: controlplane.EnvironmentID(r.EnvironmentID)}
	}
	return all, nil
}

// ListAliases returns where the aliases of a rule lead, by name.
func (t Reviews) ListAliases(
	ctx context.Context, rule controlplane.ReviewRuleID,
) ([]controlplane.ReviewAlias, error) {
	rows, err := t.q.ListAliases(ctx, string(rule))
	if err != nil {
		return nil, fmt.Errorf("list aliases: %w", err)
	}
	all := make([]controlplane.ReviewAlias, len(rows))
	for i, r := range rows {
		all[i] = toReviewAlias(r)
	}
	return all, nil
}

// GetAlias returns where an alias leads; ok is false if there is none.
func (t Reviews) GetAlias(ctx context.Context, env controlplane.EnvironmentID, name string) (
	a controlplane.ReviewAlias, ok bool, err error) {
	r, err := t.q.GetAlias(ctx, string(env), name)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("load alias %s: %w", name, err)
	}
	return toReviewAlias(r), true, nil
}

// ListLostAliases returns the rules with an alias that leads to what is gone, or that have none any
// more.
func (t Reviews) ListLostAliases(ctx context.Context) ([]controlplane.ReviewRuleID, error) {
	ids, err := t.q.ListLostAliases(ctx)
	if err != nil {
		return nil, fmt.Errorf("list lost aliases: %w", err)
	}
	return fromStrings[controlplane.ReviewRuleID](ids), nil
}

// PutAlias has an alias lead to a deployment by these hosts, and no longer to another one.
func (t Reviews) PutAlias(
	ctx context.Context, a controlplane.ReviewAlias, hosts []controlplane.Host,
) error {
	err := t.q.DeleteAliasHosts(ctx, a.Name, string(a.Environment))
	if err == nil {
		err = t.q.PutAlias(ctx, dbsqlc.PutAliasParams{EnvironmentID: string(a.Environment),
			Name: a.Name, RuleID: string(a.Rule), DeploymentID: string(a.Deployment)})
	}
	if err != nil {
		return fmt.Errorf("store alias %s: %w", a.Name, translateError(err))
	}
	return t.tx.Hosts().insert(ctx, a.Deployment, hosts)
}

// DeleteAlias has an alias lead nowhere.
func (t Reviews) DeleteAlias(ctx context.Context, a controlplane.ReviewAlias) error {
	err := t.q.DeleteAliasHosts(ctx, a.Name, string(a.Environment))
	if err == nil {
		err = t.q.DeleteAlias(ctx, string(a.Environment), a.Name)
	}
	if err != nil {
		return fmt.Errorf("delete alias %s: %w", a.Name, translateError(err))
	}
	return nil
}

func toReviewAlias(r dbsqlc.ReviewAlias) controlplane.ReviewAlias {
	return controlplane.ReviewAlias{Name: r.Name, Rule: controlplane.ReviewRuleID(r.RuleID),
		Environment: controlplane.EnvironmentID(r.EnvironmentID),
		Deployment:  controlplane.DeploymentID(r.DeploymentID)}
}
