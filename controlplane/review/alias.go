package review

import (
	"context"
	"errors"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

// followAliases has the aliases of a rule lead to what of it is ready. An alias that cannot be had
// is said with the review.
func (r *Reviews) followAliases(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	var wanted map[string]controlplane.ReviewAlias
	var have []controlplane.ReviewAlias
	err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		if have, err = tx.Reviews().ListAliases(ctx, rule.ID); err != nil || !rule.Aliases {
			return err
		}
		targets, err := tx.Reviews().ListAliasTargets(ctx, rule.ID)
		wanted = aliasesOf(rule, targets)
		return err
	})
	if err != nil {
		return err // nothing is dropped because it could not be read
	}
	for _, a := range have {
		to, ok := wanted[a.Name]
		switch {
		case !ok:
			err = errors.Join(err, r.Lifecycle.DropAlias(ctx, worker, a))
		case to.Deployment == a.Deployment:
			delete(wanted, a.Name)
		}
	}
	for _, a := range wanted {
		one := r.Lifecycle.PointAlias(ctx, worker, a)
		switch controlplane.CodeOf(one) {
		case "alias_taken", "host_taken":
			x.Remark = clipText(controlplane.Sentence(messageOf(one)), 500)
		case "wrong_state": // it is gone since; the next look finds another one
		default:
			err = errors.Join(err, one)
		}
	}
	return err
}

// mendAliases has aliases lead on whose deployment is gone, whoever removed it.
func (r *Reviews) mendAliases(ctx context.Context) error {
	var lost []controlplane.ReviewRuleID
	err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		lost, err = tx.Reviews().ListLostAliases(ctx)
		return err
	})
	for _, id := range lost {
		x := controlplane.Review{Rule: id}
		rule, one := r.ruleOf(ctx, x)
		if one == nil {
			one = r.followAliases(ctx, rule, &x)
		}
		err = errors.Join(err, one)
	}
	return err
}

// aliasesOf returns where the aliases of a rule should lead. Targets begin with the newest.
func aliasesOf(rule controlplane.ReviewRule, targets []postgres.AliasTarget,
) map[string]controlplane.ReviewAlias {
	all := map[string]controlplane.ReviewAlias{}
	for _, t := range targets {
		a := controlplane.ReviewAlias{Rule: rule.ID, Environment: t.Environment,
			Deployment: t.Deployment}
		names := []string{lifecycle.LatestAlias(rule.Name)}
		if branch := nameOfBranch(t.Branch); branch != "" {
			names = append(names, lifecycle.BranchAlias(branch))
		}
		for _, name := range names {
			if _, ok := all[name]; !ok {
				a.Name = name
				all[name] = a
			}
		}
	}
	return all
}

// nameOfBranch spells a branch as names of deployments do.
func nameOfBranch(branch string) string {
	name := strings.NewReplacer(".", "-", "_", "-").Replace(
		strings.ToLower(normalizeBranch(branch)))
	return strings.Trim(name, "-")
}
