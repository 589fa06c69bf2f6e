package catalog

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

// openRunValues returns the values that are sealed with the run. One that is
// not yet, since the run is new or older than this table, is sealed with the
// value that the project's secret has now. Names come sorted, so that two
// openings of one run wait for each other and do not deadlock.
func (c *Catalog) openRunValues(ctx context.Context, tx *postgres.Tx, run controlplane.Run,
	names []string) (map[string]controlplane.Plain, error) {
	sealed, err := tx.RunSecrets(ctx, run.ID)
	if err != nil {
		return nil, err
	}
	made, err := tx.DeploymentSecrets(ctx, run.Deployment)
	if err != nil {
		return nil, err
	}
	values := make(map[string]controlplane.Plain, len(names))
	for _, name := range names {
		if s, ok := sealed[name]; ok {
			values[name], err = c.keys.OpenRunSecret(run.ID, name, s)
		} else {
			values[name], err = c.sealCurrentValue(ctx, tx, run, name, made)
		}
		if err != nil {
			return nil, err
		}
	}
	return values, nil
}

// sealCurrentValue stores the secret's current value with the run. If another
// opening stored one at the same time, that one counts.
func (c *Catalog) sealCurrentValue(ctx context.Context, tx *postgres.Tx, run controlplane.Run,
	name string, made map[string]controlplane.Sealed) (controlplane.Plain, error) {
	value, err := c.currentValue(ctx, tx, run, name, made)
	if err != nil {
		return value, err
	}
	sealed, err := c.keys.SealRunSecret(run.ID, name, value)
	if err != nil {
		return value, err
	}
	added, err := tx.InsertRunSecret(ctx, run, name, sealed)
	if err != nil || added {
		return value, err
	}
	stored, err := tx.RunSecrets(ctx, run.ID)
	if err != nil {
		return value, err
	}
	return c.keys.OpenRunSecret(run.ID, name, stored[name])
}

// notUsedByRuns refuses while a deployment exists whose pipeline, perhaps an
// older version, refers to the secret.
func notUsedByRuns(
	ctx context.Context, tx *postgres.Tx, id controlplane.ProjectID, name string,
) error {
	runs, err := tx.LiveRunsWithText(ctx, id, name)
	if err != nil {
		return err
	}
	var users []string
	for _, r := range runs {
		refs, err := secretRefs(r.Pipeline)
		if err != nil {
			return err
		}
		if len(refs[name]) > 0 {
			users = append(users, "deployment "+r.Name)
		}
	}
	if len(users) == 0 {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "in_use", Users: slices.Compact(users),
		Message: "deployments that still exist use this secret",
		Remedy:  "Remove these deployments first.",
	}
}
