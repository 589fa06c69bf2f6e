package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

func toProject(
	r dbsqlc.Project, ids, names []string, version, deployments int32,
) (controlplane.Project, error) {
	var cleanup controlplane.Cleanup
	if r.CleanupAfterHours != nil {
		cleanup = controlplane.Cleanup{Given: true, Hours: int(*r.CleanupAfterHours)}
	}
	p := controlplane.Project{
		Cleanup: cleanup,
		ID:      controlplane.ProjectID(r.ID), Name: r.Name, Description: r.Description,
		Resources: pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)},
		Version:   int(version), Deployments: int(deployments),
		Environments: environmentIDs(ids), EnvironmentNames: names,
	}
	return p, decodeJSON(r.Placement, &p.Placement)
}

// ByName loads a project; not found is a *controlplane.Error.
func (t Projects) ByName(ctx context.Context, name string) (controlplane.Project, error) {
	r, err := t.q.GetProject(ctx, name)
	if err != nil {
		return controlplane.Project{}, fmt.Errorf("load project: %w",
			translateMissing(err, "project", name))
	}
	return toProject(r.Project, r.EnvironmentIds, r.EnvironmentNames, r.Version,
		r.Deployments)
}

// CountVisibleDeployments counts the living deployments of each of the projects,
// of those that grants on these projects and environments show.
func (t Projects) CountVisibleDeployments(ctx context.Context, of,
	projects []controlplane.ProjectID,
	environments []controlplane.EnvironmentID) (map[controlplane.ProjectID]int, error) {
	rows, err := t.q.CountVisibleDeployments(
		ctx,
		toStrings(of),
		toStrings(environments),
		toStrings(projects),
	)
	if err != nil {
		return nil, fmt.Errorf("count visible deployments: %w", err)
	}
	counts := make(map[controlplane.ProjectID]int, len(rows))
	for _, r := range rows {
		counts[controlplane.ProjectID(r.ProjectID)] = int(r.Deployments)
	}
	return counts, nil
}

// Lock loads a project and locks it, so that concurrent saves wait.
func (t Projects) Lock(ctx context.Context, name string) (controlplane.Project, error) {
	if _, err := t.q.LockProject(ctx, name); err != nil {
		return controlplane.Project{}, fmt.Errorf("lock project: %w",
			translateMissing(err, "project", name))
	}
	return t.ByName(ctx, name)
}

// List returns up to most visible projects after the name.
func (t Projects) List(
	ctx context.Context, v VisibleScope, after string, most int,
) ([]controlplane.Project, error) {
	rows, err := t.q.ListProjects(ctx, dbsqlc.ListProjectsParams{
		After: after, Everything: v.All, Granted: v.Granted, Deployable: v.Deployable,
		Most: int32(most),
	})
	if err != nil {
		return nil, fmt.Errorf("list projects: %w", err)
	}
	all := make([]controlplane.Project, len(rows))
	for i, r := range rows {
		if all[i], err = toProject(r.Project, r.EnvironmentIds, r.EnvironmentNames, r.Version,
			r.Deployments); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces the project of that id.
func (t Projects) Put(ctx context.Context, p controlplane.Project) error {
	var cleanup *int32
	if p.Cleanup.Given {
		hours := int32(p.Cleanup.Hours)
		cleanup = &hours
	}
	placement, err := encodeJSON(p.Placement)
	if err != nil {
		return err
	}
	err = t.q.PutProject(ctx, dbsqlc.PutProjectParams{
		Placement:         placement,
		CleanupAfterHours: cleanup,
		ID:                string(p.ID), Name: p.Name, Description: p.Description,
		Cpu: p.Resources.CPU, MemoryMib: int32(p.Resources.MemoryMiB),
		Environments: toStrings(p.Environments),
	})
	if err != nil {
		return fmt.Errorf("put project: %w", translateError(err))
	}
	return nil
}

// ListDeploymentsOutside names the living deployments of a project that are in none of
// the environments.
func (t Projects) ListDeploymentsOutside(ctx context.Context, id controlplane.ProjectID,
	environments []controlplane.EnvironmentID) ([]string, error) {
	all, err := t.q.ListDeploymentsOutside(ctx, string(id), toStrings(environments))
	if err != nil {
		return nil, fmt.Errorf("list deployments outside: %w", err)
	}
	return all, nil
}

// Delete removes a project without deployments, with its versions,
// secrets and grants.
func (t Projects) Delete(ctx context.Context, id controlplane.ProjectID) error {
	users, err := t.q.ListUsersOfProject(ctx, string(id))
	if err := inUseError("project", users, err); err != nil {
		return err
	}
	if err := t.q.ForgetGoneOfProject(ctx, string(id)); err != nil {
		return fmt.Errorf("forget gone deployments: %w", translateError(err))
	}
	if err := t.q.DeleteProject(ctx, string(id)); err != nil {
		return fmt.Errorf("delete project: %w", translateError(err))
	}
	return nil
}

// SetUses notes what the current pipeline uses, so that it cannot be
// deleted from the catalogue.
func (t Projects) SetUses(
	ctx context.Context, id controlplane.ProjectID, services, plugins []string,
) error {
	err := errors.Join(
		t.q.ClearProjectServices(ctx, string(id)),
		t.q.ClearProjectPlugins(ctx, string(id)),
		t.q.AddProjectServices(ctx, string(id), services),
		t.q.AddProjectPlugins(ctx, string(id), plugins),
	)
	if err != nil {
		return fmt.Errorf("note what the pipeline uses: %w", translateError(err))
	}
	return nil
}
