package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// Put stores a probe's answer and reports whether people see a change.
func (t Health) Put(ctx context.Context, h controlplane.ServiceHealth) (bool, error) {
	n, err := t.q.PutHealth(ctx, dbsqlc.PutHealthParams{
		DeploymentID: string(h.Deployment), Step: string(h.Step), Health: string(h.Health),
		Ended: h.Ended, Detail: h.Detail, Restarts: int32(h.Restarts), Cpu: h.CPU, Memory: h.Memory,
	})
	if err != nil {
		return false, fmt.Errorf("put health: %w", translateError(err))
	}
	if n > 0 {
		return true, nil
	}
	err = t.q.PutUse(ctx, dbsqlc.PutUseParams{DeploymentID: string(h.Deployment),
		Step: string(h.Step), Detail: h.Detail, Cpu: h.CPU, Memory: h.Memory})
	return false, err
}

// RefreshDegraded computes whether and why a deployment is degraded, and reports
// whether that changed. The caller must hold the deployment's row lock.
func (t Health) RefreshDegraded(ctx context.Context, id controlplane.DeploymentID) (bool, error) {
	n, err := t.q.RefreshDegraded(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("refresh the condition of %s: %w", id, translateError(err))
	}
	return n > 0, nil
}

// ListOf returns the health of each service of the deployments.
func (t Health) ListOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID][]controlplane.ServiceHealth, error) {
	rows, err := t.q.ListHealthOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list health: %w", err)
	}
	all := map[controlplane.DeploymentID][]controlplane.ServiceHealth{}
	for _, r := range rows {
		id := controlplane.DeploymentID(r.DeploymentID)
		all[id] = append(all[id], controlplane.ServiceHealth{Deployment: id,
			Step: pipeline.StepKey(r.Step), Health: pipeline.Health(r.Health), Ended: r.Ended,
			Detail: r.Detail, Restarts: int(r.Restarts), CPU: r.Cpu, Memory: r.Memory})
	}
	return all, nil
}
