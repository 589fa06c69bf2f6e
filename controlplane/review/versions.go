package review

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// chooseVersions selects the review's tag for each service whose image has it, and
// leaves the others at their defaults. news is set if something differs from what
// runs.
func (r *Reviews) chooseVersions(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d *lifecycle.View,
) (versions map[pipeline.StepKey]string, news bool, err error) {
	var target postgres.RunTarget
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		target, err = tx.Projects().LoadRunTarget(ctx, rule.Project)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	versions = map[pipeline.StepKey]string{}
	tagOf := func(pipeline.StepKey) string { return x.Tag }
	if rule.Source == controlplane.ReviewSchedule {
		tags, err := r.branchVersions(ctx, rule)
		if err != nil {
			return nil, false, err
		}
		tagOf = func(step pipeline.StepKey) string { return tags[step] }
	}
	var last error
	for _, s := range target.Pipeline.Steps {
		c := s.Container()
		if c == nil || c.Image == nil || c.Image.TagMode != pipeline.Selectable {
			continue
		}
		tag := tagOf(s.Key)
		if tag == "" {
			continue // the branch has no image of this service
		}
		facts, err := r.Catalog.ResolveTag(ctx, worker, *c.Image, tag)
		if err != nil && controlplane.KindOf(err) != controlplane.Invalid &&
			d != nil && runningVersion(*d, s.Key).Tag == tag {
			return nil, false, err // a registry that is down takes no service back to its default
		}
		if err != nil {
			last = err
			continue
		}
		versions[s.Key] = tag
		news = news || d == nil || runningVersion(*d, s.Key).Digest != facts.Digest
	}
	if len(versions) > 0 {
		return versions, news, nil
	}
	if last == nil || controlplane.KindOf(last) == controlplane.Invalid {
		last = &controlplane.Error{Kind: controlplane.Unavailable, Code: "tag_awaited",
			Message: "no service has the tag " + x.Tag + " yet"}
	}
	return nil, false, last
}

func runningVersion(d lifecycle.View, step pipeline.StepKey) controlplane.ServiceVersion {
	for _, v := range d.Versions {
		if v.Step == step {
			return v
		}
	}
	return controlplane.ServiceVersion{}
}
