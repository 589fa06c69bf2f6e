package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// PlacementNodes reads the same as LockNodes without locking.
func (t *Tx) PlacementNodes(
	ctx context.Context, env controlplane.EnvironmentID,
) ([]PlacementNode, error) {
	rows, err := t.q.ListNodesOfEnvironment(ctx, string(env))
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	all := make([]dbsqlc.LockNodesOfEnvironmentRow, len(rows))
	for i, r := range rows {
		all[i] = dbsqlc.LockNodesOfEnvironmentRow(r)
	}
	return t.placementNodes(ctx, env, all)
}

// HostsInUse returns those of the hosts that another deployment has.
func (t *Tx) HostsInUse(ctx context.Context, hosts []controlplane.Host) ([]string, error) {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Host
	}
	taken, err := t.q.ListTakenHosts(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("list taken hosts: %w", err)
	}
	return taken, nil
}
