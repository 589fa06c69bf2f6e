package postgres

import (
	"cmp"
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// ListGoals returns the goals of a node.
func (t NodeSessions) ListGoals(
	ctx context.Context,
	node controlplane.NodeID,
) ([]controlplane.NodeGoal, error) {
	rows, err := t.q.ListNodeGoals(ctx, nullIfEmpty(node))
	if err != nil {
		return nil, fmt.Errorf("list goals of node %s: %w", node, err)
	}
	all := make([]controlplane.NodeGoal, len(rows))
	for i, r := range rows {
		all[i] = controlplane.NodeGoal{Deployment: controlplane.DeploymentID(r.ID), Name: r.Name,
			Renamed: r.Renamed, Generation: r.Generation, Goal: controlplane.Goal(r.Want),
			Elsewhere: r.Elsewhere, Still: r.Still, Attempt: zeroIfNull(cmp.Or(r.Attempt, r.Restore)),
			Resume: fromStrings[pipeline.StepKey](r.Resume), RequestID: r.RequestID,
			Traceparent: r.Traceparent,
			Limits:      pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)},
			Status:      controlplane.DeploymentStatus(r.Status), Project: r.Project,
			Environment: r.Environment, Domain: r.Domain, Run: controlplane.RunID(r.RunID),
			Version: int(r.PipelineVersion)}
		if err := decodeJSON(r.Pipeline, &all[i].Pipeline); err != nil {
			return nil, err
		}
		if err := decodeJSON(r.Input, &all[i].Input); err != nil {
			return nil, err
		}
	}
	return all, t.addAnswers(ctx, all)
}

func (t NodeSessions) addAnswers(ctx context.Context, all []controlplane.NodeGoal) error {
	runs := make([]controlplane.RunID, len(all))
	for i, o := range all {
		runs[i] = o.Run
	}
	said, err := t.tx.Approvals().readAnswers(ctx, runs)
	for i, o := range all {
		all[i].Answers = said[o.Run]
	}
	return err
}

// SessionStart is what it takes to begin a session with a node.
type SessionStart struct {
	Node controlplane.Node
	// Token is the active one; its Kid is empty when there is none.
	Token controlplane.NodeToken
	// Refuse are revoked tokens that the agent does not yet refuse.
	Refuse []string
	// NodeReports.GetLast is the last that is committed.
	LastReport int64
	// Busy is set if the node has, or may have, deployments.
	Busy bool
}

// ListStarts reads many nodes at once.
func (t NodeSessions) ListStarts(
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

// ListDigestsOf returns the digests of those of some nodes that the holder commands, as
// ListDigests does for all.
func (t NodeSessions) ListDigestsOf(
	ctx context.Context, holder string, ids []controlplane.NodeID,
) (map[controlplane.NodeID]string, error) {
	rows, err := t.q.ListDigestsOf(ctx, holder, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("read what sessions begin with: %w", err)
	}
	all := make(map[controlplane.NodeID]string, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.NodeID)] = r.Digest
	}
	return all, nil
}

// ListDigests returns one digest for each node that the holder commands; it changes with
// everything that a session has to act on. The digest of all these is of: if it is known,
// nothing has changed and all is nil.
func (t NodeSessions) ListDigests(
	ctx context.Context, holder, known string,
) (all map[controlplane.NodeID]string, of string, err error) {
	rows, err := t.q.ListDigests(ctx, known, holder)
	if err != nil {
		return nil, "", fmt.Errorf("read what changed: %w", err)
	}
	for _, r := range rows {
		of = r.Fleet
		if of == known {
			return nil, of, nil
		}
		if all == nil {
			all = make(map[controlplane.NodeID]string, len(rows))
		}
		if r.NodeID != "" {
			all[controlplane.NodeID(r.NodeID)] = r.Digest
		}
	}
	return all, of, nil
}

// ListAwaited returns the holder's nodes where a run waits for room on any node.
func (t NodeSessions) ListAwaited(
	ctx context.Context, holder string,
) ([]controlplane.NodeID, error) {
	rows, err := t.q.ListAwaitedNodes(ctx, holder)
	if err != nil {
		return nil, fmt.Errorf("list nodes that runs wait for: %w", err)
	}
	ids := make([]controlplane.NodeID, len(rows))
	for i, id := range rows {
		ids[i] = controlplane.NodeID(id)
	}
	return ids, nil
}
