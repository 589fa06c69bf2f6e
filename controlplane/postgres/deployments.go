package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Insert stores a new deployment with its hosts. Its resources are
// reserved from then on.
func (t Deployments) Insert(
	ctx context.Context, d controlplane.Deployment, hosts []controlplane.Host,
) error {
	versions, err := encodeJSON(d.Versions)
	if err != nil {
		return err
	}
	err = t.q.InsertDeployment(ctx, dbsqlc.InsertDeploymentParams{
		ID: string(d.ID), Name: d.Name, ProjectID: string(d.ProjectID),
		EnvironmentID: string(d.EnvironmentID), NodeID: nullIfEmpty(d.NodeID), NodeName: d.Node,
		CreatedBy: d.CreatedBy, Cpu: d.Resources.CPU, MemoryMib: int64(d.Resources.MemoryMiB),
		Gpus: toStrings(d.GPUs), VramMib: d.VRAMMiB, Versions: versions,
	})
	if err != nil {
		return fmt.Errorf("insert deployment: %w", translateError(err))
	}
	return t.tx.Hosts().insert(ctx, d.ID, hosts)
}

// Get reads one deployment.
func (t Deployments) Get(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	if !controlplane.ValidID(string(id)) {
		return controlplane.Deployment{}, controlplane.NewNotFoundError("deployment", string(id))
	}
	row, err := t.q.GetDeploymentRow(ctx, string(id))
	if err != nil {
		return controlplane.Deployment{}, translateMissing(err, "deployment", string(id))
	}
	return toDeployment(row)
}

// DeploymentFilter chooses what a list holds; empty fields choose everything. Unless
// Everything is set, only Projects and Environments are visible.
type DeploymentFilter struct {
	Everything   bool
	Projects     []controlplane.ProjectID
	Environments []controlplane.EnvironmentID
	Project      string
	Environment  string
	Name         string
	Search       string
	Statuses     []controlplane.DeploymentStatus
	Removed      bool
	// After is the last place of the previous page.
	After controlplane.DeploymentPlace
	Order controlplane.DeploymentOrder
	Most  int
}

// Find returns the ids of a page in the filter's order.
func (t Deployments) Find(
	ctx context.Context, f DeploymentFilter,
) ([]controlplane.DeploymentID, error) {
	ids, err := t.listIDs(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("list deployments: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](ids), nil
}

func (t Deployments) listIDs(ctx context.Context, f DeploymentFilter) ([]string, error) {
	if f.Order == controlplane.NewestFirst {
		return t.q.ListDeploymentIDs(ctx, dbsqlc.ListDeploymentIDsParams{
			Everything: f.Everything, Projects: toStrings(f.Projects),
			Environments: toStrings(f.Environments), Project: nullIfEmpty(f.Project),
			Environment: nullIfEmpty(f.Environment), Name: nullIfEmpty(f.Name),
			Search: nullIfEmpty(f.Search), Statuses: toStrings(f.Statuses), Removed: f.Removed,
			Before: nullIfEmpty(f.After.ID), Most: int32(f.Most),
		})
	}
	return t.q.ListDeploymentIDsSorted(ctx, dbsqlc.ListDeploymentIDsSortedParams{
		Everything: f.Everything, Projects: toStrings(f.Projects),
		Environments: toStrings(f.Environments),
		Project:      nullIfEmpty(f.Project), Environment: nullIfEmpty(f.Environment),
		Name: nullIfEmpty(f.Name), Search: nullIfEmpty(f.Search), Statuses: toStrings(f.Statuses),
		Removed: f.Removed, ByName: f.Order.ByName(),
		Backwards: f.Order == controlplane.NameBackwards,
		AfterName: f.After.Name, AfterID: nullIfEmpty(f.After.ID), Most: int32(f.Most),
	})
}

// ListStates returns one string for each deployment that stays the same as long
// as the rows of the deployment, its lifetime and its hosts do.
func (t Deployments) ListStates(
	ctx context.Context, ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]string, error) {
	rows, err := t.q.ListDeploymentStates(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read states of deployments: %w", err)
	}
	all := make(map[controlplane.DeploymentID]string, len(rows))
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = r.State
	}
	return all, nil
}

// ListExisting returns those that are still there, newest first.
func (t Deployments) ListExisting(
	ctx context.Context, ids []controlplane.DeploymentID,
) ([]controlplane.Deployment, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	rows, err := t.q.GetDeploymentRows(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read deployments: %w", err)
	}
	all := make([]controlplane.Deployment, len(rows))
	for i, r := range rows {
		if all[i], err = toDeployment(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func toDeployment(r dbsqlc.DeploymentRow) (controlplane.Deployment, error) {
	d := controlplane.Deployment{
		ID: controlplane.DeploymentID(r.ID), Name: r.Name,
		ProjectID: controlplane.ProjectID(r.ProjectID), Project: r.Project,
		EnvironmentID: controlplane.EnvironmentID(r.EnvironmentID), Environment: r.Environment,
		Restricted: r.Restricted, Domain: r.Domain,
		Status: controlplane.DeploymentStatus(r.Status), Goal: controlplane.Goal(r.Want),
		Canceled: r.Canceled, Generation: r.Generation, Revision: r.LastEvent, Detail: r.Detail,
		Degraded: r.Degraded,
		NodeID:   emptyIfNull[controlplane.NodeID](r.NodeID), Node: r.NodeName,
		NodeStatus: controlplane.NodeStatus(r.NodeStatus), NodeSince: r.NodeSince,
		Version: int(r.PipelineVersion), RunID: controlplane.RunID(r.RunID), Run: int(r.Run),
		StepsDone: int(r.StepsDone), StepsTotal: int(r.StepsTotal),
		Resources: pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)},
		CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt, ChangedAt: r.ChangedAt, ReadyAt: r.ReadyAt,
		RequestID: r.RequestID, Left: r.LeftBehind,
		Failure: toFailure(r.FailureStep, r.FailureCode, r.FailureMessage),
	}
	if err := decodeJSON(r.Input, &d.Input); err != nil {
		return d, err
	}
	return d, decodeJSON(r.Versions, &d.Versions)
}

func toFailure(step, code, message string) *controlplane.Failure {
	if code == "" {
		return nil
	}
	return &controlplane.Failure{Step: pipeline.StepKey(step), Code: code, Message: message}
}

// Lock holds the row until the transaction ends, and reads it.
func (t Deployments) Lock(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	if !controlplane.ValidID(string(id)) {
		return controlplane.Deployment{}, controlplane.NewNotFoundError("deployment", string(id))
	}
	if _, err := t.q.LockDeployment(ctx, string(id)); err != nil {
		return controlplane.Deployment{}, translateMissing(err, "deployment", string(id))
	}
	return t.Get(ctx, id)
}

// Move is the only way to change a status. It reports false if another transaction
// changed it first.
func (t Deployments) Move(ctx context.Context, id controlplane.DeploymentID,
	to controlplane.DeploymentStatus, detail string, left []string) (bool, error) {
	if left == nil {
		left = []string{}
	}
	n, err := t.q.MoveDeployment(ctx, dbsqlc.MoveDeploymentParams{
		ID: string(id), Status: string(to), Detail: detail, LeftBehind: left,
		Before: toStrings(controlplane.DeploymentsBefore(to)),
	})
	if err != nil {
		return false, fmt.Errorf("move deployment %s to %s: %w", id, to, translateError(err))
	}
	if n > 0 && to.IsGone() {
		// Nothing is left that could use the values its runs were made with.
		err = t.tx.Secrets().deleteForRuns(ctx, id)
	}
	return n > 0 && err == nil, err
}

// SetGoal writes what people want, as a new generation.
func (t Deployments) SetGoal(ctx context.Context, id controlplane.DeploymentID,
	goal controlplane.Goal,
	canceled bool) error {
	if err := t.q.SetDeploymentGoal(ctx, string(goal), canceled, string(id)); err != nil {
		return fmt.Errorf("set goal of deployment %s: %w", id, translateError(err))
	}
	return nil
}

// SetDetail writes the one line people read beside the status.
func (t Deployments) SetDetail(
	ctx context.Context, id controlplane.DeploymentID, detail string,
) error {
	if err := t.q.SetDeploymentDetail(ctx, detail, string(id)); err != nil {
		return fmt.Errorf("set detail of deployment %s: %w", id, err)
	}
	return nil
}

// ReplaceRunTarget writes where a retry goes and which versions it runs.
func (t Deployments) ReplaceRunTarget(ctx context.Context, d controlplane.Deployment) error {
	versions, err := encodeJSON(d.Versions)
	if err != nil {
		return err
	}
	err = t.q.SetDeploymentNode(ctx, dbsqlc.SetDeploymentNodeParams{
		ID: string(d.ID), NodeID: nullIfEmpty(d.NodeID), NodeName: d.Node, Versions: versions,
		Cpu: d.Resources.CPU, MemoryMib: int64(d.Resources.MemoryMiB), Gpus: toStrings(d.GPUs),
		VramMib: d.VRAMMiB,
	})
	if err != nil {
		return fmt.Errorf("place deployment %s: %w", d.ID, translateError(err))
	}
	return nil
}

// ListAffectedBy returns the deployments whose state as shown depends on these nodes.
func (t Deployments) ListAffectedBy(
	ctx context.Context, nodes ...controlplane.NodeID,
) ([]controlplane.DeploymentID, error) {
	ids, err := t.q.ListLivingOn(ctx, toStrings(nodes))
	if err != nil {
		return nil, fmt.Errorf("list deployments of nodes: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](ids), nil
}

// DeleteRemoved deletes at most so many deployments that were gone before.
func (t Deployments) DeleteRemoved(
	ctx context.Context,
	before time.Time,
	most int,
) (int, error) {
	n, err := t.q.DeleteTombstones(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget removed deployments: %w", translateError(err))
	}
	return int(n), nil
}

// ListRecorded returns the rows of the deployments that a node remembers, and of those
// that it should have, by id.
func (t Deployments) ListRecorded(ctx context.Context, node controlplane.NodeID,
	ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.RecordedDeployment, error) {
	rows, err := t.q.ListRecorded(ctx, toStrings(ids), nullIfEmpty(node))
	if err != nil {
		return nil, fmt.Errorf("look for deployments: %w", translateError(err))
	}
	all := map[controlplane.DeploymentID]controlplane.RecordedDeployment{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = controlplane.RecordedDeployment{
			ID: controlplane.DeploymentID(r.ID), Name: r.Name, Project: r.Project,
			Environment: r.Environment, Generation: r.Generation,
			Status: controlplane.DeploymentStatus(r.Status),
			Node:   emptyIfNull[controlplane.NodeID](r.NodeID), Run: controlplane.RunID(r.RunID),
			Relocating: r.Relocating}
	}
	return all, nil
}

// AlignGoal sets a row's goal to the one that its node works on.
func (t Deployments) AlignGoal(ctx context.Context, id controlplane.DeploymentID, generation int64,
	goal controlplane.Goal) error {
	if err := t.q.AlignDeployment(ctx, generation, string(goal), string(id)); err != nil {
		return fmt.Errorf("align deployment %s: %w", id, translateError(err))
	}
	return nil
}

// RaiseGeneration makes sure that the next goal is newer than what was seen.
func (t Deployments) RaiseGeneration(
	ctx context.Context, id controlplane.DeploymentID, seen int64,
) error {
	if err := t.q.RaiseGeneration(ctx, seen+1, string(id), seen); err != nil {
		return fmt.Errorf("raise generation of %s: %w", id, translateError(err))
	}
	return nil
}

// MarkAdopted stores which goal the node has, and who adopted the deployment.
func (t Deployments) MarkAdopted(
	ctx context.Context, id controlplane.DeploymentID, generation int64, by string,
) error {
	if err := t.q.AdoptDeployment(ctx, generation, by, string(id)); err != nil {
		return fmt.Errorf("adopt deployment %s: %w", id, translateError(err))
	}
	return nil
}
