package lifecycle

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// RecreateOptions has the options of creating a deployment once more.
type RecreateOptions struct {
	// Name is another one, for a copy beside the original; empty is the same.
	Name string
	// Pinned runs the same images by their digests, and the same pipeline
	// version, whatever tags and pipeline mean by now.
	Pinned bool
}

// Recreate creates a removed deployment again: the same name in the same environment, and so the
// same URLs.
func (l *Lifecycle) Recreate(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, how RecreateOptions) (controlplane.Deployment, error) {
	d, err := l.Get(ctx, actor, id)
	if err != nil {
		return d, err
	}
	if err := l.checkPublished(ctx, d, "recreated"); err != nil {
		return d, err
	}
	if !d.Status.IsGone() && (how.Name == "" || how.Name == d.Name) {
		return d, wrongState(d, "recreated under the same name",
			"Remove it first, or give another name.")
	}
	r := likeBefore(d, how)
	if r.Required, err = l.requiredLabels(ctx, d.ID); err != nil {
		return d, err
	}
	return l.Create(ctx, actor, r)
}

// requiredLabels returns the labels that the deployment's creator asked for.
func (l *Lifecycle) requiredLabels(
	ctx context.Context, id controlplane.DeploymentID,
) (labels []controlplane.Selector, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		labels, err = lastRequired(ctx, tx, id)
		return err
	})
	return labels, err
}

// lastRequired reads them from what the latest run asked for; a run keeps that for good.
func lastRequired(
	ctx context.Context, tx *postgres.Tx, id controlplane.DeploymentID,
) ([]controlplane.Selector, error) {
	all, err := tx.Queue().ListOf(ctx, false, id)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	var ask ResourceRequest
	if err := json.Unmarshal(all[0].Ask, &ask); err != nil {
		return nil, fmt.Errorf("read what run %s asks for: %w", all[0].Run, err)
	}
	return ask.Required, nil
}

// likeBefore asks for what a deployment was.
func likeBefore(d controlplane.Deployment, how RecreateOptions) Request {
	r := Request{Name: cmp.Or(how.Name, d.Name), Project: d.Project, Environment: d.Environment,
		Versions: selectedTags(d.Versions), From: d.ID, Priority: controlplane.DefaultPriority,
		Input: d.Input, Inherited: true}
	if how.Pinned {
		r.Version, r.Digests = d.Version, map[pipeline.StepKey]string{}
		for _, v := range d.Versions {
			r.Digests[v.Step] = v.Digest
		}
	}
	return r
}
