package catalog

import (
	"context"
	"slices"
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
		case sameBranch(tag, branch):
			// The branch's own tag is its newest build by definition.
			out.Tag, out.Matched = tag, true
			return
		case isBuildOf(tag, branch):
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

// isBuildOf reports whether a tag is the branch followed by a build: a commit or a
// number, as in feature-cart-51d0e7b.
func isBuildOf(tag, branch string) bool {
	build, ok := strings.CutPrefix(normalizeBranch(tag), normalizeBranch(branch)+"-")
	if !ok || build == "" {
		return false
	}
	build = strings.TrimPrefix(build, "g")
	hex := strings.Trim(build, "0123456789abcdef") == "" && len(build) >= 7
	return hex || strings.Trim(build, "0123456789") == ""
}

// NewestOfBranch returns the branch that a tag was built from, and the newest tag of
// that branch which the image's rules allow. Both are empty if the tag names no
// branch, as that of a release.
func (c *Catalog) NewestOfBranch(
	ctx context.Context, actor access.Actor, image pipeline.Image, tag string,
) (branch, newest string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return "", "", err
	}
	source, err := c.sourceOf(ctx, image)
	if err != nil {
		return "", "", err
	}
	list, err := c.images.ListTags(ctx, source)
	if err != nil {
		return "", "", err
	}
	tags, err := selectableTags(list, image.Pattern, "")
	if err != nil {
		return "", "", err
	}
	// The tag may be none of those that can be chosen any more.
	facts := c.images.DescribeTags(ctx, source,
		append([]string{tag}, tags[:min(len(tags), describeMost-1)]...), describeWithin)
	if branch = branchOf(tag, facts[tag]); branch == "" {
		return "", "", nil
	}
	built := slices.DeleteFunc(tags, func(t string) bool {
		return !isBuildOf(t, branch) && !sameBranch(branchOf(t, facts[t]), branch)
	})
	for _, t := range built {
		if sameBranch(t, branch) {
			// The branch's own tag is its newest build by definition.
			return branch, t, nil
		}
	}
	if len(built) == 0 {
		return branch, "", nil
	}
	known := list.Known
	if len(known) == 0 {
		known = facts
	}
	return branch, c.sortTags(ctx, source, known, built, Newest)[0].Tag, nil
}

// branchOf is the branch that a tag was built from: as the image says it, or else
// what stands before the build in the tag.
func branchOf(tag string, image registry.Image) string {
	if image.Branch != "" {
		if sameBranch(image.Branch, tag) && startsWithNumber(tag) {
			// Builds of a release name its tag where others name their branch.
			return ""
		}
		return image.Branch
	}
	for i := len(tag) - 1; i > 0; i-- {
		if name := tag[:i]; strings.ContainsRune("-_.", rune(tag[i])) && isBuildOf(tag, name) &&
			!startsWithNumber(name) {
			return name
		}
	}
	return ""
}

// startsWithNumber reports whether a tag is one of a version, such as v1.2 or 2026.46.
func startsWithNumber(tag string) bool {
	rest := strings.TrimPrefix(tag, "v")
	return rest != "" && rest[0] >= '0' && rest[0] <= '9'
}

func sameBranch(a, b string) bool { return normalizeBranch(a) == normalizeBranch(b) }

// DescribeBuild says what the image of a service's version was built from, as its labels or its tag
// say, and the newest tag of the branch.
func (c *Catalog) DescribeBuild(
	ctx context.Context, actor access.Actor, v controlplane.ServiceVersion,
) (b controlplane.ServiceBuild, err error) {
	b.ServiceVersion = v
	host, repository, ok := strings.Cut(v.Image, "/")
	if !ok || v.Tag == "" {
		return b, nil
	}
	image := pipeline.Image{Registry: host, Repository: repository, TagMode: v.TagMode}
	b.Branch, b.Newer, err = c.NewestOfBranch(ctx, actor, image, v.Tag)
	if err != nil {
		return b, err
	}
	source, err := c.sourceOf(ctx, image)
	if err != nil {
		return b, err
	}
	facts := c.images.DescribeTags(ctx, source, []string{v.Tag}, describeWithin)[v.Tag]
	b.Commit = facts.Commit
	if !facts.CreatedAt.IsZero() {
		b.BuiltAt = &facts.CreatedAt
	}
	return b, nil
}
