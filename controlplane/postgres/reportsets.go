package postgres

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// This file reads and writes what belongs to many reports, in one statement per table.

// LockLast returns the last report of each node that is committed, and holds the numbers until the
// transaction ends.
func (t NodeReports) LockLast(
	ctx context.Context, nodes []controlplane.NodeID,
) (map[controlplane.NodeID]int64, error) {
	rows, err := t.q.LockReports(ctx, toStrings(nodes))
	if err != nil {
		return nil, fmt.Errorf("lock the reports of nodes: %w", translateError(err))
	}
	all := make(map[controlplane.NodeID]int64, len(rows))
	for _, r := range rows {
		all[controlplane.NodeID(r.NodeID)] = r.LastSeq
	}
	return all, nil
}

// AdvanceAll stores up to which report each node's are applied.
func (t NodeReports) AdvanceAll(ctx context.Context, last map[controlplane.NodeID]int64) error {
	nodes := slices.Sorted(maps.Keys(last))
	seqs := make([]int64, len(nodes))
	for i, id := range nodes {
		seqs[i] = last[id]
	}
	if err := t.q.AdvanceReportsOf(ctx, toStrings(nodes), seqs); err != nil {
		return fmt.Errorf("advance the reports of nodes: %w", translateError(err))
	}
	return nil
}

// LockAll locks those that exist, in one order, and reads them.
func (t Deployments) LockAll(ctx context.Context, ids []controlplane.DeploymentID) (
	[]controlplane.Deployment, error) {
	valid := slices.DeleteFunc(slices.Clone(ids), func(id controlplane.DeploymentID) bool {
		return !controlplane.ValidID(string(id))
	})
	locked, err := t.q.LockDeployments(ctx, toStrings(valid))
	if err != nil {
		return nil, fmt.Errorf("lock deployments: %w", translateError(err))
	}
	found := make([]controlplane.DeploymentID, len(locked))
	for i, id := range locked {
		found[i] = controlplane.DeploymentID(id)
	}
	return t.ListExisting(ctx, found)
}

// ListNumbers returns the deployment and number of each run that exists, and nothing else of it.
func (t Runs) ListNumbers(ctx context.Context, ids []controlplane.RunID) (
	map[controlplane.RunID]controlplane.Run, error) {
	valid := slices.DeleteFunc(slices.Clone(ids), func(id controlplane.RunID) bool {
		return !controlplane.ValidID(string(id))
	})
	rows, err := t.q.ListRunNumbers(ctx, toStrings(valid))
	if err != nil {
		return nil, fmt.Errorf("list runs: %w", err)
	}
	all := make(map[controlplane.RunID]controlplane.Run, len(rows))
	for _, r := range rows {
		id := controlplane.RunID(r.ID)
		all[id] = controlplane.Run{ID: id, Deployment: controlplane.DeploymentID(r.DeploymentID),
			Number: int(r.Number)}
	}
	return all, nil
}

// StepID names a step of a run.
type StepID struct {
	Run controlplane.RunID
	Key pipeline.StepKey
}

// ListByID reads the steps that exist.
func (t Steps) ListByID(ctx context.Context, ids []StepID) (
	map[StepID]controlplane.StepRow, error) {
	var runs, keys []string
	for _, id := range ids {
		if controlplane.ValidID(string(id.Run)) {
			runs, keys = append(runs, string(id.Run)), append(keys, string(id.Key))
		}
	}
	rows, err := t.q.ListStepsByKey(ctx, runs, keys)
	if err != nil {
		return nil, fmt.Errorf("list steps: %w", translateError(err))
	}
	all := make(map[StepID]controlplane.StepRow, len(rows))
	for _, r := range rows {
		s, err := toStepRow(r)
		if err != nil {
			return nil, err
		}
		all[StepID{s.Run, s.Key}] = s
	}
	return all, nil
}

// Advance writes the status, times, code and message of steps. None may come twice.
func (t Steps) Advance(ctx context.Context, all []controlplane.StepRow) error {
	var p dbsqlc.AdvanceRunStepsParams
	for _, s := range all {
		p.Runs, p.Keys = append(p.Runs, string(s.Run)), append(p.Keys, string(s.Key))
		p.Statuses, p.Codes = append(p.Statuses, string(s.Status)), append(p.Codes, s.Code)
		p.Results, p.Messages = append(p.Results, string(s.Result)), append(p.Messages, s.Message)
		p.Starts = append(p.Starts, timeOrZero(s.StartedAt))
		p.Ends = append(p.Ends, timeOrZero(s.EndedAt))
		parts, err := encodeParts(s.Parts)
		if err != nil {
			return err
		}
		p.Parts = append(p.Parts, string(parts))
	}
	if err := t.q.AdvanceRunSteps(ctx, p); err != nil {
		return fmt.Errorf("store steps: %w", translateError(err))
	}
	return nil
}

func timeOrZero(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return *t
}

// DeploymentNews is what happened to a deployment, and what people read beside its status from
// now on; nil leaves that.
type DeploymentNews struct {
	ID     controlplane.DeploymentID
	Events []controlplane.History
	Detail *string
}

// AddAll numbers the changes of many deployments and notifies their watchers. The caller must hold
// the deployments' row locks; none may come twice.
func (t History) AddAll(ctx context.Context, all []DeploymentNews) error {
	var p dbsqlc.InsertHistoriesParams
	for _, n := range all {
		detail := ""
		if n.Detail != nil {
			detail = *n.Detail
		}
		p.Ids, p.Events = append(p.Ids, string(n.ID)), append(p.Events, int64(len(n.Events)))
		p.Told, p.Details = append(p.Told, n.Detail != nil), append(p.Details, detail)
		for i, h := range n.Events {
			data, err := encodeHistory(h)
			if err != nil {
				return err
			}
			p.Deployments = append(p.Deployments, string(n.ID))
			p.Positions, p.Kinds = append(p.Positions, int64(i+1)), append(p.Kinds, string(h.Kind))
			p.AllData = append(p.AllData, string(data))
		}
		t.tx.NotifyOnCommit(controlplane.TopicDeployment, string(n.ID))
	}
	if err := t.q.InsertHistories(ctx, p); err != nil {
		return fmt.Errorf("add histories: %w", translateError(err))
	}
	return nil
}

// PutAll stores health that follows from steps, and returns the deployments of which people see
// a change.
func (t Health) PutAll(ctx context.Context, all []controlplane.ServiceHealth) (
	[]controlplane.DeploymentID, error) {
	var deployments, steps, healths []string
	for _, h := range all {
		deployments = append(deployments, string(h.Deployment))
		steps = append(steps, string(h.Step))
		healths = append(healths, string(h.Health))
	}
	rows, err := t.q.PutHealths(ctx, deployments, steps, healths)
	if err != nil {
		return nil, fmt.Errorf("put health: %w", translateError(err))
	}
	slices.Sort(rows)
	var changed []controlplane.DeploymentID
	for _, id := range slices.CompactFunc(rows, strings.EqualFold) {
		changed = append(changed, controlplane.DeploymentID(id))
	}
	return changed, nil
}
