package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// presenceSeconds is how long a last request is kept and shown.
const presenceSeconds = float64(controlplane.PresenceFor) / 1e9

// Put stores that somebody is at a deployment's addresses, unless its environment wants none of it.
func (t Presence) Put(ctx context.Context, p controlplane.PresenceReport) (err error) {
	if p.Pass != "" {
		err = t.q.PutPassPresence(ctx, string(p.Pass), string(p.Deployment))
	} else {
		err = t.q.PutVisitorCount(ctx, p.Ingress, int32(p.Visitors), string(p.Deployment))
	}
	if err != nil {
		return fmt.Errorf("store who is at %s: %w", p.Deployment, translateError(err))
	}
	return nil
}

// ListOf returns who made a request to the deployments lately, the last first.
func (t Presence) ListOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID][]controlplane.Visitor, error) {
	rows, err := t.q.ListVisitors(ctx, toStrings(ids), presenceSeconds)
	if err != nil {
		return nil, fmt.Errorf("list visitors: %w", err)
	}
	all := map[controlplane.DeploymentID][]controlplane.Visitor{}
	for _, r := range rows {
		id := controlplane.DeploymentID(r.DeploymentID)
		all[id] = append(all[id], controlplane.Visitor{Kind: controlplane.VisitorKind(r.Kind),
			User: controlplane.UserID(r.UserID), Name: r.Name, Visitors: int(r.Visitors),
			LastSeen: r.SeenAt})
	}
	return all, nil
}

// DeleteOld deletes what is not shown any more.
func (t Presence) DeleteOld(ctx context.Context) error {
	if _, err := t.q.DeleteOldVisitors(ctx, presenceSeconds); err != nil {
		return fmt.Errorf("delete old visitors: %w", err)
	}
	return nil
}
