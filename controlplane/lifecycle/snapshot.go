package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Capsule is a diagnostic bundle of a deployment: what ran, its health, and its last
// log lines. It is available while the deployment has a row, and outlives the
// containers.
type Capsule struct {
	View View
	// Run is the latest, with its steps.
	Run RunView
	// PipelineDigest is the digest of the saved pipeline version, the same one
	// that the project's versions show. The images that were chosen for it are in
	// View.
	PipelineDigest string
	// Kept is how the services were when they were removed; nil before.
	Kept *controlplane.DeploymentSnapshot
	// Logs hold the last lines of each step, and of each removed service.
	Logs map[pipeline.StepKey][]string
	// Tests are the results of the run's test suites.
	Tests map[pipeline.StepKey]controlplane.TestReport
}

// Capsule reads the capsule of a deployment, alive or gone.
func (l *Lifecycle) Capsule(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (c Capsule, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		views, err := l.buildViews(ctx, tx, actor, []controlplane.Deployment{d})
		if err != nil {
			return err
		}
		c.View = views[0]
		run, err := tx.Runs().ByID(ctx, d.RunID)
		if err != nil {
			return err
		}
		if c.Run, err = runView(ctx, tx, d, run); err != nil {
			return err
		}
		if c.PipelineDigest, err = digestOfVersion(ctx, tx, run); err != nil {
			return err
		}
		if err := c.addSteps(ctx, tx); err != nil {
			return err
		}
		c.Kept, err = tx.Snapshots().Get(ctx, id)
		return err
	})
	return c, err
}

// addSteps adds what the steps of the run wrote.
func (c *Capsule) addSteps(ctx context.Context, tx *postgres.Tx) (err error) {
	c.Logs = map[pipeline.StepKey][]string{}
	c.Tests = map[pipeline.StepKey]controlplane.TestReport{}
	for _, s := range c.Run.Steps {
		if c.Logs[s.Key], err = tx.LogLines().ListLast(ctx, c.Run.ID, s.Key,
			lastLines); err != nil {
			return err
		}
		if s.Tests == nil {
			continue
		}
		if c.Tests[s.Key], err = tx.TestReports().Get(ctx, c.Run.ID, s.Key); err != nil {
			return err
		}
	}
	return nil
}

// digestOfVersion returns the digest of the saved version that a run was made
// from. A preview runs an unpublished pipeline, so that pipeline's own digest is
// what names it.
func digestOfVersion(ctx context.Context, tx *postgres.Tx, run controlplane.Run) (string, error) {
	lives, err := tx.Lifetimes().ListOf(ctx, run.Deployment)
	if err != nil {
		return "", err
	}
	if lives[run.Deployment].Scratch {
		return pipeline.Digest(run.Pipeline)
	}
	v, err := tx.Pipelines().GetVersion(ctx, run.Project, run.Version)
	return v.Digest, err
}

// keepHealth stores the health of a deployment's services before they are removed. The
// node stores their last log lines in the logbook.
func keepHealth(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	health, err := tx.Health().ListOf(ctx, d.ID)
	if err != nil || len(health[d.ID]) == 0 {
		return err
	}
	services := map[string]controlplane.ServiceSnapshot{}
	for _, h := range health[d.ID] {
		services[string(h.Step)] = controlplane.ServiceSnapshot{Health: h.Health, Detail: h.Detail,
			Restarts: h.Restarts}
	}
	return tx.Snapshots().Put(ctx, d.ID, services)
}

// lastLines is how much of each log a capsule holds.
const lastLines = 50
