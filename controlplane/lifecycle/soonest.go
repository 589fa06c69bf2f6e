package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/quantity"
)

// describeSoonestEnd says which deployment of the environment ends by itself first, and so frees
// room without anybody's doing; "" if none does. One that the actor may not see has no name.
func describeSoonestEnd(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	env controlplane.EnvironmentID) (string, error) {
	id, in, err := tx.Lifetimes().GetSoonestEnd(ctx, env)
	if err != nil || id == "" {
		return "", err
	}
	d, err := tx.Deployments().Get(ctx, id)
	if err != nil {
		return "", err
	}
	name := "Another deployment"
	if access.Check(actor, access.ReadDeployment, accessObject(d)) == nil {
		name = d.Name
	}
	return fmt.Sprintf("%s ends by itself in %s, unless somebody uses it.", name,
		quantity.FormatAhead(in)), nil
}

// addSoonestEnd adds that sentence to the remedy of an error that says that there is no room.
func addSoonestEnd(err error, soonest string) error {
	e, ok := errors.AsType[*controlplane.Error](err)
	if ok && e.Code == "no_room" && soonest != "" {
		e.Remedy = strings.TrimSpace(soonest + " " + e.Remedy)
	}
	return err
}
