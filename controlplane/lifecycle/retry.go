package lifecycle

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Retry makes a new run of a failed deployment, with the latest pipeline
// version and the tags chosen before. Name and URLs stay.
func (l *Lifecycle) Retry(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (controlplane.Deployment, error) {
	d, err := l.Get(ctx, actor, id)
	if err != nil {
		return d, err
	}
	p, err := l.plan(ctx, actor, Request{Name: d.Name, Project: d.Project,
		Environment: d.Environment, Versions: selected(d.Versions)})
	if err != nil {
		return d, l.refused(ctx, actor, "retry", d.Name, err)
	}
	return l.change(ctx, actor, "retry deployment", access.WriteDeployment, id,
		func(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment) error {
			return l.again(ctx, tx, actor, d, p)
		})
}

func (l *Lifecycle) again(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	d controlplane.Deployment, p plan) error {
	if d.Status != controlplane.Failed {
		return wrongState(d, "retried", "Only a failed deployment is retried.")
	}
	node, err := choose(ctx, tx, d.EnvironmentID, p.ask)
	if err != nil {
		return err
	}
	reserve(&d, &p, node)
	if err := tx.Replace(ctx, d); err != nil {
		return err
	}
	if err := tx.SetGoal(ctx, d.ID, controlplane.GoalPresent, false); err != nil {
		return err
	}
	if _, err := tx.Move(ctx, d.ID, controlplane.Queued, "", nil); err != nil {
		return err
	}
	if err := tx.Touch(ctx, d.ID); err != nil {
		return err
	}
	if err := tx.ReplaceHosts(ctx, d.ID, hosts(d, p.pipeline)); err != nil {
		return err
	}
	return l.insertRun(ctx, tx, actor, d, p)
}

// selected keeps the choices people made; pinned ones follow the pipeline.
func selected(versions []controlplane.ServiceVersion) map[pipeline.StepKey]string {
	tags := map[pipeline.StepKey]string{}
	for _, v := range versions {
		if v.TagMode == pipeline.Selectable {
			tags[v.Step] = v.Tag
		}
	}
	return tags
}
