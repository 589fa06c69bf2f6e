package accounts

import (
	"context"

	"github.com/coreos/go-oidc/v3/oidc"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// TestProvider reads the OpenID provider's own description, as every sign-on begins. It returns
// why that failed, or "". Whether the provider knows the client's secret shows at a sign-on only.
func (a *Accounts) TestProvider(
	ctx context.Context, actor access.Actor, p *Provider,
) (problem string, err error) {
	e := actor.NewAuditEntry("test sign-on", "OpenID provider")
	err = a.store.InAuditedTx(ctx, e, func(*postgres.Tx) error {
		if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
			return err
		}
		if p == nil {
			return controlplane.NewConflictError("no_provider",
				"no OpenID provider is configured",
				"Set oidc.issuer and oidc.client, and restart the control plane.")
		}
		return nil
	})
	if err != nil {
		return "", err
	}
	if _, err := oidc.NewProvider(oidc.ClientContext(ctx, p.client), p.Issuer); err != nil {
		return err.Error(), nil
	}
	return "", nil
}
