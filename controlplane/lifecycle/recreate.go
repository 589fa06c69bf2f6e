package lifecycle

import (
	"cmp"
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
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
	return l.Create(ctx, actor, likeBefore(d, how))
}

// likeBefore asks for what a deployment was.
func likeBefore(d controlplane.Deployment, how RecreateOptions) Request {
	r := Request{Name: cmp.Or(how.Name, d.Name), Project: d.Project, Environment: d.Environment,
		Versions: selectedTags(d.Versions), From: d.ID, Priority: controlplane.DefaultPriority}
	if how.Pinned {
		r.Version, r.Digests = d.Version, map[pipeline.StepKey]string{}
		for _, v := range d.Versions {
			r.Digests[v.Step] = v.Digest
		}
	}
	return r
}
