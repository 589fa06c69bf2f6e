package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Difference is what two deployments do not have in common.
type Difference struct {
	Left, Right controlplane.Deployment
	// Fields are sorted; a side without the field is empty.
	Fields []pipeline.FieldChange
}

// Diff compares two deployments field by field: what was chosen, what they run,
// and the pipelines that their latest runs follow.
func (l *Lifecycle) Diff(ctx context.Context, actor access.Actor,
	left, right controlplane.DeploymentID) (out Difference, err error) {
	var trees [2]any
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		for i, one := range []struct {
			id   controlplane.DeploymentID
			into *controlplane.Deployment
		}{{left, &out.Left}, {right, &out.Right}} {
			if *one.into, err = readDeployment(ctx, tx, actor, one.id); err != nil {
				return err
			}
			run, err := tx.Runs().ByID(ctx, one.into.RunID)
			if err != nil {
				return err
			}
			if trees[i], err = diffTree(*one.into, run.Pipeline); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	if out.Fields, err = pipeline.CompareJSON(trees[0], trees[1]); err != nil {
		return out, err
	}
	slices.SortFunc(out.Fields, func(a, b pipeline.FieldChange) int {
		return cmp.Compare(a.Path, b.Path)
	})
	return out, nil
}

// diffTree is a deployment as people compare it. Where a step stands on the
// canvas, and its image, which is among the versions, is left out.
func diffTree(d controlplane.Deployment, p pipeline.Pipeline) (any, error) {
	versions, steps := map[string]any{}, map[string]any{}
	for _, v := range d.Versions {
		versions[string(v.Step)] = map[string]any{"service": v.Service, "image": v.Image,
			"tag": v.Tag, "digest": v.Digest}
	}
	for _, s := range p.Steps {
		s.Position = nil
		s = s.WithContainer(func(c *pipeline.ServiceStep) { c.Image = nil })
		steps[string(s.Key)] = s
	}
	text, err := json.Marshal(map[string]any{"project": d.Project, "environment": d.Environment,
		"node": d.Node, "status": d.Status, "pipeline_version": d.Version,
		"input": d.Input, "created_by": d.CreatedBy, "resources": d.Resources, "versions": versions,
		"steps": steps})
	if err != nil {
		return nil, err
	}
	var tree any
	return tree, json.Unmarshal(text, &tree)
}
