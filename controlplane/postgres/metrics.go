package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// Counts is the state of the whole installation in numbers.
type Counts struct {
	Runs  map[controlplane.DeploymentStatus]int64
	Nodes map[controlplane.NodeStatus]int64
	// Waiting are runs whose turn has not come.
	Waiting int64
	// Degraded are ready deployments with services that do not work.
	Degraded int64
}

// Count reads the counts.
func (t Metrics) Count(ctx context.Context) (Counts, error) {
	c := Counts{Runs: map[controlplane.DeploymentStatus]int64{},
		Nodes: map[controlplane.NodeStatus]int64{}}
	runs, err := t.q.CountRuns(ctx)
	if err != nil {
		return c, fmt.Errorf("count runs: %w", err)
	}
	for _, r := range runs {
		c.Runs[controlplane.DeploymentStatus(r.Status)] = r.N
	}
	nodes, err := t.q.CountNodes(ctx)
	if err != nil {
		return c, fmt.Errorf("count nodes: %w", err)
	}
	for _, n := range nodes {
		c.Nodes[controlplane.NodeStatus(n.Status)] = n.N
	}
	if c.Waiting, err = t.q.CountWaiting(ctx); err != nil {
		return c, fmt.Errorf("count waiting runs: %w", err)
	}
	if c.Degraded, err = t.q.CountDegraded(ctx); err != nil {
		return c, fmt.Errorf("count degraded deployments: %w", err)
	}
	return c, nil
}
