package catalog

import (
	"context"
	"strings"
	"sync"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/pipeline"
)

// BranchTag is the tag that one service has for a branch.
type BranchTag struct {
	Step    pipeline.StepKey
	Service string
	// Tag is the service's default where none matches, which may be none.
	Tag     string
	Matched bool
	// Reason is why no tag matches.
	Reason string
}

// branchAsks bounds the questions to registries at once.
const branchAsks = 8

// BranchTags chooses the same branch everywhere: for each selectable service of
// a project the newest tag that was built from the branch, or its default.
func (c *Catalog) BranchTags(
	ctx context.Context, actor access.Actor, project, branch string,
) (all []BranchTag, err error) {
	var v controlplane.PipelineVersion
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		p, err := readProject(ctx, tx, actor, project)
		if err != nil {
			return err
		}
		v, _, err = tx.Pipelines().GetLatest(ctx, p.ID)
		return err
	})
	if err != nil {
		return nil, err
	}
	all = []BranchTag{}
	var images []pipeline.Image
	for _, s := range v.Pipeline.Steps {
		c := s.Container()
		if c != nil && c.Image.TagMode == pipeline.Selectable {
			all = append(all, BranchTag{Step: s.Key, Service: c.Name, Tag: c.Image.Tag})
			images = append(images, *c.Image)
		}
	}
	var asking sync.WaitGroup
	free := make(chan struct{}, branchAsks)
	for i := range all {
		free <- struct{}{}
		asking.Go(func() {
			defer func() { <-free }()
			c.branchTag(ctx, images[i], branch, &all[i])
		})
	}
	asking.Wait()
	return all, nil
}

func (c *Catalog) branchTag(
	ctx context.Context, image pipeline.Image, branch string, out *BranchTag,
) {
	source, err := c.sourceOf(ctx, image)
	var list registry.TagList
	if err == nil {
		list, err = c.images.ListTags(ctx, source)
	}
	if err != nil {
		out.Reason = "The registry does not answer: " + err.Error() + "."
		return
	}
	tags, err := selectableTags(list, image.Pattern, "")
	if err != nil {
		out.Reason = err.Error() + "."
		return
	}
	var built []string
	for _, tag := range tags {
		switch {
		case normalizeBranch(tag) == normalizeBranch(branch):
			// The branch's own tag is its newest build by definition.
			out.Tag, out.Matched = tag, true
			return
		case ofBranch(tag, branch):
			built = append(built, tag)
		}
	}
	if len(built) == 0 {
		out.Reason = "No tag of this branch."
		return
	}
	out.Tag, out.Matched = c.sortTags(ctx, source, list.Known, built, Newest)[0].Tag, true
}

// normalizeBranch writes a branch and a tag alike: builds turn "/" into one of "-", "_"
// and ".", and some write everything small.
func normalizeBranch(s string) string {
	return strings.ToLower(strings.NewReplacer("/", "-", "_", "-", ".", "-").Replace(s))
}

// ofBranch reports whether a tag is the branch followed by a build: a commit or a
// number, as in feature-cart-51d0e7b.
func ofBranch(tag, branch string) bool {
	build, ok := strings.CutPrefix(normalizeBranch(tag), normalizeBranch(branch)+"-")
	if !ok || build == "" {
		return false
	}
	build = strings.TrimPrefix(build, "g")
	hex := strings.Trim(build, "0123456789abcdef") == "" && len(build) >= 7
	return hex || strings.Trim(build, "0123456789") == ""
}
