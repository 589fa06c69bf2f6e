package accounts

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ExplanationView is an explanation, and who can grant what is missing.
type ExplanationView struct {
	access.Explanation
	Ask []string
}

// Explain says why the actor has the level they have on an object they may see;
// the empty object means all others. The names are of the object's project
// and environment.
func (a *Accounts) Explain(
	ctx context.Context, actor access.Actor, o access.Object, project, environment string,
) (x ExplanationView, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return x, err
	}
	err = a.store.Read(ctx, func(tx *postgres.Tx) error {
		var grants []controlplane.GrantOfTeam
		if actor.UserID() != "" {
			if grants, err = tx.Teams().ListGrantsByTeam(ctx, actor.UserID()); err != nil {
				return err
			}
		}
		x.Explanation = access.Explain(actor, o, project, environment, grants)
		x.Ask, err = tx.Users().ListAdminNames(ctx)
		return err
	})
	if x.Missing == "" {
		x.Ask = nil
	}
	return x, err
}
