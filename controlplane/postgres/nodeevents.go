package postgres

import (
	"context"
	"fmt"
	"math"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Add records what happened to a node. Changes of its status are recorded by
// a trigger.
func (t NodeEvents) Add(ctx context.Context, id controlplane.NodeID,
	kind controlplane.NodeEventKind, detail string) error {
	if err := t.q.AddNodeEvent(ctx, string(id), string(kind), detail); err != nil {
		return fmt.Errorf("note event of node %s: %w", id, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// List returns up to most events of a node below the number, newest first.
func (t NodeEvents) List(
	ctx context.Context, name string, before int64, most int,
) ([]controlplane.NodeEvent, error) {
	if before <= 0 {
		before = math.MaxInt64
	}
	rows, err := t.q.ListNodeEvents(ctx, name, before, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list events of node %s: %w", name, err)
	}
	all := make([]controlplane.NodeEvent, len(rows))
	for i, r := range rows {
		all[i] = nodeEvent(dbsqlc.ListNodeEventsSinceRow(r))
	}
	return all, nil
}

// ListSince returns the events of all nodes after the mark.
func (t NodeEvents) ListSince(
	ctx context.Context, mark controlplane.NodeEventMark, most int,
) ([]controlplane.NodeEvent, error) {
	rows, err := t.q.ListNodeEventsSince(ctx, mark.Xact, mark.ID, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list node events: %w", err)
	}
	all := make([]controlplane.NodeEvent, len(rows))
	for i, r := range rows {
		all[i] = nodeEvent(r)
	}
	return all, nil
}

// GetMark returns the mark after everything that can be read now.
func (t NodeEvents) GetMark(ctx context.Context) (controlplane.NodeEventMark, error) {
	xact, err := t.q.GetNodeEventMark(ctx)
	if err != nil {
		return controlplane.NodeEventMark{}, fmt.Errorf("read the mark of node events: %w", err)
	}
	return controlplane.NodeEventMark{Xact: xact}, nil
}

func nodeEvent(r dbsqlc.ListNodeEventsSinceRow) controlplane.NodeEvent {
	return controlplane.NodeEvent{ID: r.ID, Node: r.Node, At: r.At,
		Kind: controlplane.NodeEventKind(r.Kind), Detail: r.Detail,
		Mark: controlplane.NodeEventMark{Xact: r.Xact, ID: r.ID}}
}
