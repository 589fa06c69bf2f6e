package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// PlacementNode is one node as placement needs it, with what is reserved.
type PlacementNode struct {
	Node controlplane.Node
	// Reserved is promised, MemoryUsed (bytes) is what of it is really used.
	Reserved   pipeline.Resources
	MemoryUsed int64
	// GPUs are the ids of those that are taken, VRAMMiB what is promised of their memory.
	GPUs    []string
	VRAMMiB int64
	// Deployments counts those that have an address range there.
	Deployments int
	// Rules are the environment's. Busy is set if the node's CPU was in use for as long as
	// they say.
	Rules controlplane.CapacityRules
	Busy  bool
	// Runs counts what is being created, or undone, on the node now; Queued what
	// waits for its turn there.
	Runs, Queued int
}

// LockNodes holds the environment's nodes until the transaction ends, so that
// two placements never count the same room.
func (t Placement) LockNodes(
	ctx context.Context, env controlplane.EnvironmentID,
) ([]PlacementNode, error) {
	rows, err := t.q.LockNodesOfEnvironment(ctx, string(env))
	if err != nil {
		return nil, fmt.Errorf("lock nodes: %w", err)
	}
	return t.readNodes(ctx, env, rows)
}

func (t Placement) readNodes(ctx context.Context, env controlplane.EnvironmentID,
	rows []dbsqlc.LockNodesOfEnvironmentRow) ([]PlacementNode, error) {
	reserved, err := t.q.ListReservations(ctx, string(env))
	if err != nil {
		return nil, fmt.Errorf("list reservations: %w", err)
	}
	rules, err := t.readCapacityRules(ctx, env)
	if err != nil {
		return nil, err
	}
	all := make([]PlacementNode, len(rows))
	at := map[controlplane.NodeID]*PlacementNode{}
	for i, r := range rows {
		n := controlplane.Node{ID: controlplane.NodeID(r.ID), Name: r.Name,
			Status: controlplane.NodeStatus(r.Status)}
		if r.Drain != "" {
			n.Drain = &controlplane.Drain{Status: controlplane.DrainStatus(r.Drain)}
		}
		for _, column := range []struct {
			from []byte
			into any
		}{{r.Inventory, &n.Inventory}, {r.Vitals, &n.Vitals}, {r.Settings, &n.Settings}} {
			if err := decodeJSON(column.from, column.into); err != nil {
				return nil, err
			}
		}
		all[i] = PlacementNode{Node: n, Rules: rules}
		at[n.ID] = &all[i]
	}
	for _, r := range reserved {
		if n := at[emptyIfNull[controlplane.NodeID](r.NodeID)]; n != nil {
			n.addReservation(r)
		}
	}
	if err := t.addOffers(ctx, env, at); err != nil {
		return nil, err
	}
	return all, t.markBusy(ctx, rules, at)
}

func (t Placement) readCapacityRules(
	ctx context.Context, env controlplane.EnvironmentID,
) (rules controlplane.CapacityRules, err error) {
	stored, err := t.q.GetCapacityRules(ctx, string(env))
	if err != nil {
		return rules, fmt.Errorf("read capacity rules: %w", err)
	}
	return rules, decodeJSON(stored, &rules)
}

// A node that uses less of its CPU than restingShare may report its measurements together, once a
// minute. Where already that counts as busy, it takes restingFor to know.
const (
	restingShare = 0.25
	restingFor   = 150 * time.Second
)

// markBusy finds the nodes whose CPU has been in use all the time. Few are at any moment,
// and only of these it reads what was measured before.
func (t Placement) markBusy(ctx context.Context, rules controlplane.CapacityRules,
	nodes map[controlplane.NodeID]*PlacementNode) error {
	share, during, may := rules.BusyShare()
	var high []controlplane.NodeID
	for id, n := range nodes {
		i, v := n.Node.Inventory, n.Node.Vitals
		if may && i != nil && v != nil && i.CPU > 0 && v.CPU >= share*i.CPU {
			high = append(high, id)
		}
	}
	if len(high) == 0 {
		return nil
	}
	if share <= restingShare {
		during = max(during, restingFor)
	}
	least, err := t.q.ListLeastCPU(ctx, toStrings(high), during.Seconds())
	if err != nil {
		return fmt.Errorf("read what nodes used: %w", err)
	}
	for _, u := range least {
		n := nodes[controlplane.NodeID(u.Subject)]
		n.Busy = u.Cpu >= share*n.Node.Inventory.CPU
	}
	return nil
}

// addReservation counts one deployment that is on the node.
func (n *PlacementNode) addReservation(r dbsqlc.ListReservationsRow) {
	n.Reserved.CPU += r.Cpu
	n.Reserved.MemoryMiB += int(r.MemoryMib)
	n.MemoryUsed += r.MemoryUsed
	n.GPUs = append(n.GPUs, r.Gpus...)
	n.VRAMMiB += r.VramMib
	n.Deployments++
	switch controlplane.DeploymentStatus(r.Status) {
	case controlplane.Queued, controlplane.Applying, controlplane.Undoing:
		switch {
		case r.Waiting:
			n.Queued++
		case r.Asking:
			// The run waits for a person, perhaps for days, and uses no CPU.
		default:
			n.Runs++
		}
	}
}

// ListNodes reads the same as Placement.LockNodes without locking.
func (t Placement) ListNodes(
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
	return t.readNodes(ctx, env, all)
}
