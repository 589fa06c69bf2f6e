package lifecycle

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// RetryOptions is what people may choose when they try again.
type RetryOptions struct {
	// SameVersion runs the pipeline version of the last run, not the latest.
	SameVersion bool
	// Patience is how long it may take until it is ready, zero for ever; nil is
	// as long as the last run had.
	Patience *time.Duration
}

// Retry makes a new run of a failed deployment, with the tags chosen before and
// the latest pipeline version, or the same one. Name and URLs stay.
func (l *Lifecycle) Retry(ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
	how RetryOptions) (controlplane.Deployment, error) {
	d, err := l.Get(ctx, actor, id)
	if err != nil {
		return d, err
	}
	if err := l.checkPublished(ctx, d, "retried"); err != nil {
		return d, err
	}
	r := Request{Name: d.Name, Project: d.Project, Environment: d.Environment,
		Versions: selectedTags(d.Versions), Input: d.Input, Inherited: true}
	if r.Required, err = l.requiredLabels(ctx, id); err != nil {
		return d, err
	}
	// The node that has it need not be asked again.
	r.Claimed = string(d.NodeID)
	if how.SameVersion {
		r.Version = d.Version
	}
	p, err := l.makePlan(ctx, actor, r)
	if err != nil {
		return d, l.recordRefusal(ctx, actor, "retry", d.Name, err)
	}
	if p.answers, err = l.askForRetry(ctx, actor, d, p); err != nil {
		return d, l.recordRefusal(ctx, actor, "retry", d.Name, err)
	}
	defer l.withdrawOffer(ctx, p.answers.claim)
	return l.changeDeployment(ctx, actor, "retry deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			return l.retryRun(ctx, tx, actor, d, p, how.Patience)
		})
}

// askForRetry asks nodes for the next run, unless that one may wait in the queue.
func (l *Lifecycle) askForRetry(ctx context.Context, actor access.Actor,
	d controlplane.Deployment, p plan) (a nodeAnswers, err error) {
	var before controlplane.QueueEntry
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		before, err = requestAsBefore(ctx, tx, d)
		return err
	})
	if err != nil || before.Wait {
		return a, err
	}
	return l.askNodes(ctx, nodeQuestion{deployment: d, user: actor.Name(), plan: p,
		check: func(ctx context.Context, tx *postgres.Tx) error {
			now, err := tx.Deployments().Get(ctx, d.ID)
			if err != nil {
				return err
			}
			return mayRetry(ctx, tx, now)
		}})
}

func mayRetry(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
	if d.Status != controlplane.Failed {
		return wrongState(d, "retried", "Only a failed deployment is retried.")
	}
	return notDisputed(ctx, tx, d)
}

func (l *Lifecycle) retryRun(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, p plan, patience *time.Duration) error {
	if err := mayRetry(ctx, tx, d); err != nil {
		return err
	}
	before, err := requestAsBefore(ctx, tx, d)
	if err != nil {
		return err
	}
	if patience != nil {
		before.Patience = *patience
	}
	spot, err := choosePlacement(ctx, tx, d.EnvironmentID, p, before.Wait)
	if err != nil {
		return l.countRefusals(err)
	}
	assignNode(&d, &p, spot.node)
	if err := tx.Deployments().ReplaceRunTarget(ctx, d); err != nil {
		return err
	}
	if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalPresent, false); err != nil {
		return err
	}
	if _, err := tx.Deployments().Move(ctx, d.ID, controlplane.Queued, "", nil); err != nil {
		return err
	}
	err = tx.Lifetimes().AddActivity(ctx, d.ID, controlplane.ActivityRetried, actor.Name())
	if err != nil {
		return err
	}
	if err := tx.Hosts().Replace(ctx, d.ID, deploymentHosts(d, p.pipeline)); err != nil {
		return err
	}
	if err := awaitDataAgain(ctx, tx, actor, d, p.pipeline); err != nil {
		return err
	}
	return l.insertRun(ctx, tx, d,
		plannedRun{actor: actor, plan: p, place: spot, entry: before})
}

// requestAsBefore waits like the run before: as ready to, as important, and as long.
func requestAsBefore(ctx context.Context, tx *postgres.Tx,
	d controlplane.Deployment) (controlplane.QueueEntry, error) {
	next := controlplane.QueueEntry{Priority: controlplane.DefaultPriority}
	all, err := tx.Queue().ListOf(ctx, false, d.ID)
	if err != nil || len(all) == 0 {
		return next, err
	}
	last := all[0]
	next.Wait, next.Priority = last.Wait, last.Priority
	if last.Deadline != nil {
		next.Patience = last.Deadline.Sub(last.QueuedAt)
	}
	return next, nil
}

// selectedTags returns the tags that people chose; pinned ones follow the pipeline.
func selectedTags(versions []controlplane.ServiceVersion) map[pipeline.StepKey]string {
	tags := map[pipeline.StepKey]string{}
	for _, v := range versions {
		if v.TagMode == pipeline.Selectable {
			tags[v.Step] = v.Tag
		}
	}
	return tags
}
