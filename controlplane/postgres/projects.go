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

func toEnvironment(
	r dbsqlc.Environment, nodes, online int32,
) (controlplane.Environment, error) {
	e := controlplane.Environment{
		ID: controlplane.EnvironmentID(r.ID), Name: r.Name, Domain: r.Domain,
		Description: r.Description, Restricted: r.Restricted,
		CleanupAfterHours: int(r.CleanupAfterHours), IgnoreVisits: r.IgnoreVisits,
		Nodes: int(nodes), NodesOnline: int(online),
	}
	return e, errors.Join(decodeJSON(r.Placement, &e.Placement),
		decodeJSON(r.Capacity, &e.Capacity))
}

// EnvironmentByName loads an environment; not found is a *controlplane.Error.
func (t *Tx) EnvironmentByName(
	ctx context.Context, name string,
) (controlplane.Environment, error) {
	r, err := t.q.GetEnvironment(ctx, name)
	if err != nil {
		return controlplane.Environment{}, fmt.Errorf("load environment: %w",
			translateMissing(err, "environment", name))
	}
	return toEnvironment(r.Environment, r.Nodes, r.NodesOnline)
}

// VisibleScope limits a list of environments or projects to what may be seen.
type VisibleScope struct {
	// All shows everything.
	All bool
	// Granted are ids that may be seen.
	Granted []string
	// Unrestricted shows every environment that is not restricted.
	Unrestricted bool
	// Deployable are environments that show every project that may be deployed there.
	Deployable []string
}

// ListEnvironments returns up to most visible environments after the name.
func (t *Tx) ListEnvironments(
	ctx context.Context, v VisibleScope, after string, most int,
) ([]controlplane.Environment, error) {
	rows, err := t.q.ListEnvironments(ctx, dbsqlc.ListEnvironmentsParams{
		After: after, Everything: v.All, Granted: v.Granted,
		Unrestricted: v.Unrestricted, Most: int32(most),
	})
	if err != nil {
		return nil, fmt.Errorf("list environments: %w", err)
	}
	all := make([]controlplane.Environment, len(rows))
	for i, r := range rows {
		if all[i], err = toEnvironment(r.Environment, r.Nodes, r.NodesOnline); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// PutEnvironment inserts or replaces the environment of that id.
func (t *Tx) PutEnvironment(ctx context.Context, e controlplane.Environment) error {
	placement, err := encodeJSON(e.Placement)
	if err != nil {
		return err
	}
	capacity, err := encodeJSON(e.Capacity)
	if err != nil {
		return err
	}
	err = t.q.PutEnvironment(ctx, dbsqlc.PutEnvironmentParams{
		ID: string(e.ID), Name: e.Name, Domain: e.Domain, Description: e.Description,
		Restricted: e.Restricted, CleanupAfterHours: int32(e.CleanupAfterHours),
		IgnoreVisits: e.IgnoreVisits, Placement: placement, Capacity: capacity,
	})
	if err != nil {
		return fmt.Errorf("put environment: %w", translateError(err))
	}
	return nil
}

// DeleteEnvironment removes an environment without nodes and deployments.
func (t *Tx) DeleteEnvironment(ctx context.Context, id controlplane.EnvironmentID) error {
	users, err := t.q.ListUsersOfEnvironment(ctx, string(id))
	if err := inUseError("environment", users, err); err != nil {
		return err
	}
	if err := t.q.ForgetGoneOfEnvironment(ctx, string(id)); err != nil {
		return fmt.Errorf("forget gone deployments: %w", translateError(err))
	}
	if err := t.q.DeleteEnvironment(ctx, string(id)); err != nil {
		return fmt.Errorf("delete environment: %w", translateError(err))
	}
	return nil
}

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

// ProjectByName loads a project; not found is a *controlplane.Error.
func (t *Tx) ProjectByName(ctx context.Context, name string) (controlplane.Project, error) {
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
func (t *Tx) CountVisibleDeployments(ctx context.Context, of, projects []controlplane.ProjectID,
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

// LockProject loads a project and locks it, so that concurrent saves wait.
func (t *Tx) LockProject(ctx context.Context, name string) (controlplane.Project, error) {
	if _, err := t.q.LockProject(ctx, name); err != nil {
		return controlplane.Project{}, fmt.Errorf("lock project: %w",
			translateMissing(err, "project", name))
	}
	return t.ProjectByName(ctx, name)
}

// ListProjects returns up to most visible projects after the name.
func (t *Tx) ListProjects(
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

// PutProject inserts or replaces the project of that id.
func (t *Tx) PutProject(ctx context.Context, p controlplane.Project) error {
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

// DeploymentsOutside names the living deployments of a project that are in none of
// the environments.
func (t *Tx) DeploymentsOutside(ctx context.Context, id controlplane.ProjectID,
	environments []controlplane.EnvironmentID) ([]string, error) {
	all, err := t.q.ListDeploymentsOutside(ctx, string(id), toStrings(environments))
	if err != nil {
		return nil, fmt.Errorf("list deployments outside: %w", err)
	}
	return all, nil
}

// DeleteProject removes a project without deployments, with its versions,
// secrets and grants.
func (t *Tx) DeleteProject(ctx context.Context, id controlplane.ProjectID) error {
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
func (t *Tx) InsertVersion(ctx context.Context, v controlplane.PipelineVersion) error {
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

// Version loads one saved pipeline; not found is a *controlplane.Error.
func (t *Tx) Version(
	ctx context.Context, id controlplane.ProjectID, number int,
) (controlplane.PipelineVersion, error) {
	r, err := t.q.GetVersion(ctx, string(id), int32(number))
	if err != nil {
		return controlplane.PipelineVersion{}, fmt.Errorf("load pipeline version: %w",
			translateMissing(err, "pipeline version", fmt.Sprint(number)))
	}
	return toPipelineVersion(r)
}

// LatestVersion loads the version that new runs use. ok is false before the
// first save.
func (t *Tx) LatestVersion(
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

// LatestStates returns one string for each project that stays the same as long as its
// latest version does. Projects without a version are left out.
func (t *Tx) LatestStates(
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
func (t *Tx) ListVersions(
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

// SetProjectUses notes what the current pipeline uses, so that it cannot be
// deleted from the catalogue.
func (t *Tx) SetProjectUses(
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

// VersionUsers returns the existing deployments whose latest run has a version in the
// range, by name.
func (t *Tx) VersionUsers(
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
