package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// ListForRun returns the values that a run uses by name, sealed.
func (t Secrets) ListForRun(
	ctx context.Context, id controlplane.RunID,
) (map[string]controlplane.Sealed, error) {
	rows, err := t.q.ListRunSecrets(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list secrets of run %s: %w", id, err)
	}
	all := make(map[string]controlplane.Sealed, len(rows))
	for _, r := range rows {
		all[r.Name] = r.Sealed
	}
	return all, nil
}

// InsertForRun stores a value with a run; added is false when there was one
// already, which stays.
func (t Secrets) InsertForRun(
	ctx context.Context, run controlplane.Run, name string, value controlplane.Sealed,
) (added bool, err error) {
	n, err := t.q.InsertRunSecret(ctx, dbsqlc.InsertRunSecretParams{RunID: string(run.ID),
		DeploymentID: string(run.Deployment), Name: name, Sealed: value})
	if err != nil {
		return false, fmt.Errorf("store secret %s with run %s: %w", name, run.ID, translateError(err))
	}
	return n == 1, nil
}

func (t Secrets) deleteForRuns(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.DeleteRunSecrets(ctx, string(id)); err != nil {
		return fmt.Errorf("delete secrets of deployment %s: %w", id, err)
	}
	return nil
}
