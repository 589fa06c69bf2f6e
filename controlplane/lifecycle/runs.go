package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// RunView is a run with its steps.
type RunView struct {
	controlplane.Run
	Steps []controlplane.StepRow
	// Usual holds the steps' usual durations in seconds, where known.
	Usual map[pipeline.StepKey]float64
	// Queue is its way through the queue.
	Queue *controlplane.QueueEntry
	// Offers are what nodes answered that had to be asked before the run.
	Offers   []controlplane.Offer
	Versions []controlplane.ServiceVersion
}

// Runs returns every run of a deployment, newest first.
func (l *Lifecycle) Runs(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (all []RunView, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		runs, err := tx.Runs().List(ctx, id)
		if err != nil {
			return err
		}
		for _, r := range runs {
			v, err := runView(ctx, tx, d, r)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return nil
	})
	return all, err
}

// Run returns one run of a deployment. Its failure names the line of the log that says why.
func (l *Lifecycle) Run(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, number int) (v RunView, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, r, err := readRun(ctx, tx, actor, id, number)
		if err != nil {
			return err
		}
		if v, err = runView(ctx, tx, d, r); err != nil || v.Failure == nil {
			return err
		}
		v.Failure.Line, err = findCauseLine(ctx, tx, r.ID, *v.Failure)
		return err
	})
	return v, err
}

// Tests returns the results of the test suite of one step of a run.
func (l *Lifecycle) Tests(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	number int, step pipeline.StepKey) (t controlplane.TestReport, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		if _, err := readDeployment(ctx, tx, actor, id); err != nil {
			return err
		}
		r, err := tx.Runs().Get(ctx, id, number)
		if err != nil {
			return err
		}
		t, err = tx.TestReports().Get(ctx, r.ID, step)
		return err
	})
	return t, err
}

func runView(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r controlplane.Run) (RunView, error) {
	steps, err := tx.Steps().ListOf(ctx, r.ID)
	if err != nil {
		return RunView{}, err
	}
	v := RunView{Run: r, Steps: steps, Versions: listVersions(r.Pipeline)}
	queue, err := tx.Queue().ListOf(ctx, false, d.ID)
	if err != nil {
		return RunView{}, err
	}
	for i, e := range queue {
		if e.Run == r.ID {
			v.Queue = &queue[i]
		}
	}
	offers, err := tx.Offers().ListOf(ctx, r.ID)
	if err != nil {
		return RunView{}, err
	}
	v.Offers = offers[r.ID]
	v.Usual, err = tx.Steps().ListUsualSeconds(ctx, d.ProjectID)
	return v, err
}

// readRun reads a run and its deployment, if the actor may read that.
func readRun(ctx context.Context, tx *postgres.Tx, actor access.Actor, id controlplane.DeploymentID,
	number int) (controlplane.Deployment, controlplane.Run, error) {
	d, err := readDeployment(ctx, tx, actor, id)
	if err != nil {
		return d, controlplane.Run{}, err
	}
	r, err := tx.Runs().Get(ctx, id, number)
	return d, r, err
}
