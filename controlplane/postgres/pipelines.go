package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

func toPipelineVersion(r dbsqlc.PipelineVersion) (controlplane.PipelineVersion, error) {
	p, err := pipeline.Decode(r.Pipeline)
	if err != nil {
		return controlplane.PipelineVersion{}, fmt.Errorf("pipeline version %d: %w",
			r.Version, err)
	}
	return controlplane.PipelineVersion{
		Project: controlplane.ProjectID(r.ProjectID), Version: int(r.Version), Pipeline: p,
		Digest: r.Digest, Note: r.Note, CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
	}, nil
}

// InsertVersion saves a pipeline version, which never changes.
func (t Pipelines) InsertVersion(ctx context.Context, v controlplane.PipelineVersion) error {
	encoded, err := pipeline.Encode(v.Pipeline)
	if err != nil {
		return fmt.Errorf("save pipeline: %w", err)
	}
	err = t.q.InsertVersion(ctx, dbsqlc.InsertVersionParams{
		ProjectID: string(v.Project), Version: int32(v.Version), Pipeline: encoded,
		Digest: v.Digest, Note: v.Note, CreatedBy: v.CreatedBy,
	})
	if err != nil {
		return fmt.Errorf("save pipeline: %w", translateError(err))
	}
	return nil
}

// GetVersion loads one saved pipeline; not found is a *controlplane.Error.
func (t Pipelines) GetVersion(
	ctx context.Context, id controlplane.ProjectID, number int,
) (controlplane.PipelineVersion, error) {
	r, err := t.q.GetVersion(ctx, string(id), int32(number))
	if err != nil {
		return controlplane.PipelineVersion{}, fmt.Errorf("load pipeline version: %w",
			translateMissing(err, "pipeline version", fmt.Sprint(number)))
	}
	return toPipelineVersion(r)
}

// GetLatest loads the version that new runs use. ok is false before the
// first save.
func (t Pipelines) GetLatest(
	ctx context.Context, id controlplane.ProjectID,
) (v controlplane.PipelineVersion, ok bool, err error) {
	r, err := t.q.GetLatestVersion(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return v, false, nil
	}
	if err != nil {
		return v, false, fmt.Errorf("load latest pipeline version: %w", err)
	}
	v, err = toPipelineVersion(r)
	return v, err == nil, err
}

// ListLatestStates returns one string for each project that stays the same as long as its
// latest version does. Projects without a version are left out.
func (t Pipelines) ListLatestStates(
	ctx context.Context, ids ...controlplane.ProjectID,
) (map[controlplane.ProjectID]string, error) {
	rows, err := t.q.ListLatestStates(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read states of pipelines: %w", err)
	}
	all := make(map[controlplane.ProjectID]string, len(rows))
	for _, r := range rows {
		all[controlplane.ProjectID(r.ProjectID)] = r.State
	}
	return all, nil
}

// ListVersions returns up to most versions below the number, newest first.
func (t Pipelines) ListVersions(
	ctx context.Context, id controlplane.ProjectID, before, most int,
) ([]controlplane.PipelineVersion, error) {
	rows, err := t.q.ListVersions(ctx, string(id), int32(before), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list pipeline versions: %w", err)
	}
	all := make([]controlplane.PipelineVersion, len(rows))
	for i, r := range rows {
		if all[i], err = toPipelineVersion(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// ListDeployments returns the existing deployments whose latest run has a version in the
// range, by name.
func (t Pipelines) ListDeployments(
	ctx context.Context, id controlplane.ProjectID, oldest, newest int,
) ([]controlplane.PipelineUser, error) {
	rows, err := t.q.ListVersionUsers(ctx, string(id), int32(oldest), int32(newest))
	if err != nil {
		return nil, fmt.Errorf("list users of pipeline versions: %w", err)
	}
	all := make([]controlplane.PipelineUser, len(rows))
	for i, r := range rows {
		all[i] = controlplane.PipelineUser{
			Deployment: controlplane.DeploymentID(r.ID), Name: r.Name,
			Status:        controlplane.DeploymentStatus(r.Status),
			EnvironmentID: controlplane.EnvironmentID(r.EnvironmentID), Environment: r.Environment,
			Restricted: r.Restricted, Version: int(r.PipelineVersion),
		}
	}
	return all, nil
}
