package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// reportTx caches the rows read in one transaction while it stores a batch of reports, which are
// often about one deployment.
type reportTx struct {
	*postgres.Tx
	// newest is the highest new report number of each node, told the one that is stored in
	// the database.
	newest, told map[controlplane.NodeID]int64
	// held is the deployment that was locked last, run what was read of it last.
	held *controlplane.Deployment
	run  *controlplane.Run
	// detail waits to be written for held.
	detail *string
}

func newLedger(tx *postgres.Tx) *reportTx {
	return &reportTx{Tx: tx, newest: map[controlplane.NodeID]int64{},
		told: map[controlplane.NodeID]int64{}}
}

// advanceSeq reports whether a node's number is newer than all before. Once one was,
// the node's row is ours, and the others need no question.
func (l *reportTx) advanceSeq(
	ctx context.Context,
	node controlplane.NodeID,
	seq int64,
) (bool, error) {
	if newest, known := l.newest[node]; known {
		l.newest[node] = max(newest, seq)
		return seq > newest, nil
	}
	fresh, err := l.NodeReports().Advance(ctx, node, seq)
	if err == nil && fresh {
		l.newest[node], l.told[node] = seq, seq
	}
	return fresh, err
}

// lockedDeployment locks one, unless it is held.
func (l *reportTx) lockedDeployment(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	if l.held != nil && l.held.ID == id {
		return *l.held, nil
	}
	if err := l.flush(ctx); err != nil {
		return controlplane.Deployment{}, err
	}
	d, err := l.Deployments().Lock(ctx, id)
	if err == nil {
		l.held = &d
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

// forgetChanged drops cached rows that a report may have changed. Progress of a step
// changes only the deployment's detail, so the rows stay.
func (l *reportTx) forgetChanged(ctx context.Context, r Report) error {
	if r.Step != nil {
		switch r.Step.Status {
		case pipeline.StepPulling, pipeline.StepRunning, pipeline.StepDone:
			return nil
		}
	}
	return l.flush(ctx)
}

// flush writes the pending detail and drops the cached rows.
func (l *reportTx) flush(ctx context.Context) error {
	err := l.writeDetail(ctx)
	l.held, l.run = nil, nil
	return err
}

// writeDetail writes the last of the details; the earlier ones were never visible.
func (l *reportTx) writeDetail(ctx context.Context) error {
	detail := l.detail
	l.detail = nil
	if l.held == nil || detail == nil {
		return nil
	}
	return l.Deployments().SetDetail(ctx, l.held.ID, *detail)
}

// close writes what is left to write.
func (l *reportTx) close(ctx context.Context) error {
	for node, newest := range l.newest {
		if newest == l.told[node] {
			continue
		}
		if _, err := l.NodeReports().Advance(ctx, node, newest); err != nil {
			return err
		}
	}
	return l.flush(ctx)
}
