package lifecycle

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// reportTx is one transaction that stores a set of reports. It reads what they need in one
// statement per table, applies plain progress in memory, and writes that in one statement per
// table. Reports with more consequences are applied one by one, see flush.
type reportTx struct {
	*postgres.Tx
	// newest is the highest report number of each node, stored the one that is in the database.
	newest, stored map[controlplane.NodeID]int64
	// held are the deployments that are locked, as they are now.
	held map[controlplane.DeploymentID]controlplane.Deployment
	// runs have only their deployment and number; run is the one that was read last, whole.
	runs  map[controlplane.RunID]controlplane.Run
	run   *controlplane.Run
	steps map[postgres.StepID]controlplane.StepRow
	// moved, health and news wait to be written.
	moved  map[postgres.StepID]bool
	health map[postgres.StepID]controlplane.ServiceHealth
	news   map[controlplane.DeploymentID]*postgres.DeploymentNews
}

// beginReports reads, and locks, what the reports need.
func beginReports(ctx context.Context, tx *postgres.Tx, all []Report) (*reportTx, error) {
	l := &reportTx{Tx: tx, newest: map[controlplane.NodeID]int64{},
		held: map[controlplane.DeploymentID]controlplane.Deployment{}}
	l.clearPending()
	var nodes []controlplane.NodeID
	for _, r := range all {
		nodes = append(nodes, r.Node)
	}
	slices.Sort(nodes)
	var err error
	if l.stored, err = tx.NodeReports().LockLast(ctx, slices.Compact(nodes)); err != nil {
		return nil, err
	}
	var ids []controlplane.DeploymentID
	var runs []controlplane.RunID
	var steps []postgres.StepID
	for _, r := range all {
		l.newest[r.Node] = l.stored[r.Node]
		if r.Seq <= l.stored[r.Node] {
			continue
		}
		ids = append(ids, r.Deployment)
		if isPlainProgress(r) {
			runs = append(runs, r.Run)
			steps = append(steps, postgres.StepID{Run: r.Run, Key: r.Step.Key})
		}
	}
	slices.Sort(ids)
	locked, err := tx.Deployments().LockAll(ctx, slices.Compact(ids))
	if err != nil {
		return nil, err
	}
	for _, d := range locked {
		l.held[d.ID] = d
	}
	slices.Sort(runs)
	if l.runs, err = tx.Runs().ListNumbers(ctx, slices.Compact(runs)); err != nil {
		return nil, err
	}
	l.steps, err = tx.Steps().ListByID(ctx, distinct(steps))
	return l, err
}

func distinct[T comparable](all []T) (out []T) {
	seen := map[T]bool{}
	for _, v := range all {
		if !seen[v] {
			seen[v] = true
			out = append(out, v)
		}
	}
	return out
}

// advanceSeq reports whether a node's number is newer than all before.
func (l *reportTx) advanceSeq(node controlplane.NodeID, seq int64) bool {
	if seq <= l.newest[node] {
		return false
	}
	l.newest[node] = seq
	return true
}

// lockedDeployment returns a deployment that is held, or locks it.
func (l *reportTx) lockedDeployment(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	if d, ok := l.held[id]; ok {
		return d, nil
	}
	d, err := l.Deployments().Lock(ctx, id)
	if err == nil {
		l.held[id] = d
	}
	return d, err
}

func (l *reportTx) runOf(ctx context.Context, id controlplane.RunID) (controlplane.Run, error) {
	if l.run != nil && l.run.ID == id {
		return *l.run, nil
	}
	run, err := l.Runs().ByID(ctx, id)
	if err == nil {
		l.run = &run
	}
	return run, err
}

// forgetChanged drops the rows that a report which was not plain progress may have changed.
func (l *reportTx) forgetChanged(r Report) {
	if r.Step != nil {
		delete(l.steps, postgres.StepID{Run: r.Run, Key: r.Step.Key})
		switch r.Step.Status {
		case pipeline.StepPulling, pipeline.StepRunning, pipeline.StepDone:
			// It changed only what people read of the deployment.
			return
		}
	}
	delete(l.held, r.Deployment)
	l.run = nil
}

// newsOf returns what waits to be written of a deployment.
func (l *reportTx) newsOf(id controlplane.DeploymentID) *postgres.DeploymentNews {
	if l.news[id] == nil {
		l.news[id] = &postgres.DeploymentNews{ID: id}
	}
	return l.news[id]
}

func (l *reportTx) clearPending() {
	l.moved = map[postgres.StepID]bool{}
	l.health = map[postgres.StepID]controlplane.ServiceHealth{}
	l.news = map[controlplane.DeploymentID]*postgres.DeploymentNews{}
}

// flush writes what waits, so that the next statements find it.
func (l *reportTx) flush(ctx context.Context) error {
	if len(l.moved) > 0 {
		var steps []controlplane.StepRow
		for id := range l.moved {
			steps = append(steps, l.steps[id])
		}
		if err := l.Steps().Advance(ctx, steps); err != nil {
			return err
		}
	}
	if len(l.news) > 0 {
		var news []postgres.DeploymentNews
		for _, n := range l.news {
			news = append(news, *n)
		}
		if err := l.History().AddAll(ctx, news); err != nil {
			return err
		}
	}
	if len(l.health) > 0 {
		if err := l.flushHealth(ctx); err != nil {
			return err
		}
	}
	l.clearPending()
	return nil
}

func (l *reportTx) flushHealth(ctx context.Context) error {
	var all []controlplane.ServiceHealth
	for _, h := range l.health {
		all = append(all, h)
	}
	changed, err := l.Health().PutAll(ctx, all)
	if err != nil {
		return err
	}
	for _, id := range changed {
		if err := notifyHealth(ctx, l.Tx, l.held[id], true); err != nil {
			return err
		}
	}
	return nil
}

// close writes what is left to write.
func (l *reportTx) close(ctx context.Context) error {
	last := map[controlplane.NodeID]int64{}
	for node, newest := range l.newest {
		if newest > l.stored[node] {
			last[node] = newest
		}
	}
	if len(last) > 0 {
		if err := l.NodeReports().AdvanceAll(ctx, last); err != nil {
			return err
		}
	}
	return l.flush(ctx)
}
