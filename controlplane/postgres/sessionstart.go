package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// AcquireLeases acquires or renews leases. It returns the epochs of those that the
// holder has now; the others belong to another holder.
func (t *Tx) AcquireLeases(ctx context.Context, ids []controlplane.NodeID, holder string,
	d time.Duration) (map[controlplane.NodeID]int64, error) {
	rows, err := t.q.AcquireLeases(ctx, holder, d.Seconds(), toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("acquire leases: %w", translateError(err))
	}
	all := make(map[controlplane.NodeID]int64, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.NodeID)] = r.Epoch
	}
	return all, nil
}

// RenewLeases renews leases of the holder. It returns those that were not renewed:
// lost ones belong to another holder, busy ones are retried next time.
func (t *Tx) RenewLeases(ctx context.Context, ids []controlplane.NodeID, holder string,
	d time.Duration) (lost, busy []controlplane.NodeID, err error) {
	rows, err := t.q.RenewLeases(ctx, holder, toStrings(ids), d.Seconds())
	if err != nil {
		return nil, nil, fmt.Errorf("renew leases: %w", translateError(err))
	}
	for _, r := range rows {
		if r.Lost {
			lost = append(lost, controlplane.NodeID(r.ID))
		} else {
			busy = append(busy, controlplane.NodeID(r.ID))
		}
	}
	return lost, busy, nil
}

// SessionStart is what it takes to begin a session with a node.
type SessionStart struct {
	Node controlplane.Node
	// Token is the active one; its Kid is empty when there is none.
	Token controlplane.NodeToken
	// Refuse are revoked tokens that the agent does not yet refuse.
	Refuse []string
	// LastReport is the last that is committed.
	LastReport int64
	// Busy is set if the node has, or may have, deployments.
	Busy bool
}

// SessionStarts reads many nodes at once.
func (t *Tx) SessionStarts(
	ctx context.Context, ids []controlplane.NodeID,
) (map[controlplane.NodeID]SessionStart, error) {
	rows, err := t.q.ListBeginnings(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read nodes: %w", err)
	}
	all := make(map[controlplane.NodeID]SessionStart, len(rows))
	for _, r := range rows {
		n, err := toNode(dbsqlc.ListNodesRow{Node: r.Node, Environment: r.Environment, Kid: r.Kid})
		if err != nil {
			return nil, err
		}
		all[n.ID] = SessionStart{Node: n, Refuse: r.Pending, LastReport: r.LastSeq, Busy: r.Busy,
			Token: controlplane.NodeToken{Kid: r.Kid, Node: n.ID, Verifier: r.Verifier}}
	}
	return all, nil
}

// Digests returns one digest for each node that the holder commands, or for some of
// them; it changes with everything that a session has to act on.
func (t *Tx) Digests(
	ctx context.Context, holder string, ids ...controlplane.NodeID,
) (map[controlplane.NodeID]string, error) {
	rows, err := t.q.ListDigests(ctx, holder, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read what changed: %w", err)
	}
	all := make(map[controlplane.NodeID]string, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.ID)] = r.Digest
	}
	return all, nil
}
