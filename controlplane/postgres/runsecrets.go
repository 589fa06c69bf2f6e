package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// LiveRun is the latest run of a deployment that is not gone.
type LiveRun struct {
	// Name is the deployment's.
	Name     string
	Pipeline pipeline.Pipeline
}

// RunSecrets returns the values that a run uses by name, sealed.
func (t *Tx) RunSecrets(
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

// InsertRunSecret stores a value with a run; added is false when there was one
// already, which stays.
func (t *Tx) InsertRunSecret(
	ctx context.Context, run controlplane.Run, name string, value controlplane.Sealed,
) (added bool, err error) {
	n, err := t.q.InsertRunSecret(ctx, dbsqlc.InsertRunSecretParams{RunID: string(run.ID),
		DeploymentID: string(run.Deployment), Name: name, Sealed: value})
	if err != nil {
		return false, fmt.Errorf("store secret %s with run %s: %w", name, run.ID, translateError(err))
	}
	return n == 1, nil
}

func (t *Tx) deleteRunSecrets(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.DeleteRunSecrets(ctx, string(id)); err != nil {
		return fmt.Errorf("delete secrets of deployment %s: %w", id, err)
	}
	return nil
}

// LiveRunsWithText returns the latest run of each existing deployment of a project whose pipeline
// contains the text.
func (t *Tx) LiveRunsWithText(
	ctx context.Context, id controlplane.ProjectID, text string,
) ([]LiveRun, error) {
	rows, err := t.q.ListLiveRunsWithText(ctx, string(id), text)
	if err != nil {
		return nil, fmt.Errorf("list live runs: %w", err)
	}
	all := make([]LiveRun, len(rows))
	for i, r := range rows {
		all[i].Name = r.Name
		if err := decodeJSON(r.Pipeline, &all[i].Pipeline); err != nil {
			return nil, err
		}
	}
	return all, nil
}
