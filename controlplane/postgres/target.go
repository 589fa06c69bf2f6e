package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// RunTarget is what a new run is made from.
type RunTarget struct {
	ProjectID controlplane.ProjectID
	Project   string
	// Resources is the project's limit for a whole deployment.
	Resources pipeline.Resources
	// Placement is what the project asks of nodes.
	Placement controlplane.Placement
	// Environments are where the project may be deployed; none is everywhere.
	Environments []controlplane.EnvironmentID
	// Version is zero when the project has no pipeline yet.
	Version  int
	Pipeline pipeline.Pipeline
	// Secrets are the names that exist.
	Secrets []string
}

// LoadRunTarget reads a project with its current pipeline.
func (t Projects) LoadRunTarget(ctx context.Context, project string) (RunTarget, error) {
	row, err := t.q.GetTarget(ctx, project)
	if errors.Is(err, pgx.ErrNoRows) {
		bare, err := t.q.GetProjectIdentity(ctx, project)
		if err != nil {
			return RunTarget{}, translateMissing(err, "project", project)
		}
		return RunTarget{ProjectID: controlplane.ProjectID(bare.ID), Project: bare.Name,
			Environments: environmentIDs(bare.Environments)}, nil
	}
	if err != nil {
		return RunTarget{}, fmt.Errorf("read project %s: %w", project, err)
	}
	out := RunTarget{ProjectID: controlplane.ProjectID(row.ID), Project: row.Name,
		Resources:    pipeline.Resources{CPU: row.Cpu, MemoryMiB: int(row.MemoryMib)},
		Environments: environmentIDs(row.Environments), Version: int(row.Version)}
	if err := decodeJSON(row.Pipeline, &out.Pipeline); err != nil {
		return out, err
	}
	if err := decodeJSON(row.Placement, &out.Placement); err != nil {
		return out, err
	}
	out.Secrets, err = t.q.ListSecretNames(ctx, row.ID)
	if err != nil {
		return out, fmt.Errorf("list secrets of %s: %w", project, err)
	}
	return out, nil
}

// GetTarget reads the environment of a new deployment.
func (t Environments) GetTarget(
	ctx context.Context, name string,
) (controlplane.Environment, error) {
	row, err := t.q.GetEnvironmentIdentity(ctx, name)
	if err != nil {
		return controlplane.Environment{}, translateMissing(err, "environment", name)
	}
	e := controlplane.Environment{ID: controlplane.EnvironmentID(row.ID), Name: row.Name,
		Domain: row.Domain, Restricted: row.Restricted}
	return e, decodeJSON(row.Placement, &e.Placement)
}

func environmentIDs(ids []string) []controlplane.EnvironmentID {
	all := make([]controlplane.EnvironmentID, len(ids))
	for i, id := range ids {
		all[i] = controlplane.EnvironmentID(id)
	}
	return all
}
