package catalog

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/pipeline"
)

// Registries do not say when a tag was made; finding out takes two requests
// for each. So many tags are worth that, and so long a person waits for it.
const (
	describeMost   = 60
	describeWithin = 2 * time.Second
)

// TagOrder is how a list of tags is sorted.
type TagOrder string

// The orders.
const (
	Newest    TagOrder = "newest"
	ByVersion TagOrder = "version"
)

// TagQuery asks for a part of a service's tags.
type TagQuery struct {
	Search string
	Order  TagOrder
	controlplane.Page
}

// TagPage is a part of a service's tags.
type TagPage struct {
	Items []registry.Image
	Next  string
	// Total counts the repository's tags, Matching those the person may
	// choose from and that hold what they searched.
	Total    int
	Matching int
	Service  controlplane.Service
	ReadAt   time.Time
	Stale    bool
	Reason   string
}

// ListServiceTags returns the tags that may be chosen for a service.
func (c *Catalog) ListServiceTags(
	ctx context.Context, actor access.Actor, name string, q TagQuery,
) (page TagPage, err error) {
	if err := checkSeesCatalog(actor, "service", name); err != nil {
		return page, err
	}
	var r controlplane.Registry
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		if page.Service, err = tx.Services().ByName(ctx, name); err != nil {
			return err
		}
		r, err = tx.Registries().ByName(ctx, page.Service.Registry)
		return err
	})
	if err != nil {
		return page, err
	}
	source, err := c.registrySource(r, page.Service.Image)
	if err != nil {
		return page, err
	}
	return c.listTags(ctx, source, page, q)
}

// DescribedImage is what the image of a service's tag says about how it runs.
type DescribedImage struct {
	registry.ImageConfig
	Service controlplane.Service
	Tag     string
}

// DescribeServiceImage reads the image of a tag that may be chosen for a service: of
// the service's own tag or the newest one, unless a tag is named.
func (c *Catalog) DescribeServiceImage(
	ctx context.Context, actor access.Actor, name, tag string,
) (out DescribedImage, err error) {
	if out.Service, err = c.GetService(ctx, actor, name); err != nil {
		return out, err
	}
	image := *out.Service.Reference()
	if tag != "" {
		if err := checkChoice(image, tag); err != nil {
			return out, err
		}
	}
	if out.Tag = cmp.Or(tag, image.Tag); out.Tag == "" {
		if out.Tag, err = c.NewestTag(ctx, actor, image); err != nil {
			return out, err
		}
	}
	if out.Tag == "" {
		return out, controlplane.NewInvalidError("tag", "tag_none",
			"no tag of "+name+" can be chosen", "Push an image, or change the service's pattern.")
	}
	source, err := c.sourceOf(ctx, image)
	if err != nil {
		return out, err
	}
	out.ImageConfig, err = c.images.DescribeImage(ctx, source, out.Tag)
	return out, err
}

func (c *Catalog) listTags(
	ctx context.Context, s registry.Source, page TagPage, q TagQuery,
) (TagPage, error) {
	list := registry.TagList{Tags: []string{page.Service.Tag}, ReadAt: c.now()}
	if page.Service.TagMode == pipeline.Selectable {
		var err error
		if list, err = c.images.ListTags(ctx, s); err != nil {
			return page, err
		}
	}
	page.Total, page.ReadAt, page.Stale, page.Reason = len(list.Tags), list.ReadAt,
		list.Stale, list.Reason
	tags, err := selectableTags(list, page.Service.Pattern, q.Search)
	if err != nil {
		return page, err
	}
	page.Matching = len(tags)
	all := c.sortTags(ctx, s, list.Known, tags, q.Order)
	start, err := parseOffset(q.After)
	if err != nil {
		return page, err
	}
	all = all[min(start, len(all)):]
	page.Items, page.Next = controlplane.CutPage(q.Page, all, func(registry.Image) string {
		return strconv.Itoa(start + q.FetchLimit() - 1)
	})
	c.describeTags(ctx, s, page.Items)
	return page, nil
}

// selectableTags returns the tags that match pattern and search, the highest version
// first.
func selectableTags(list registry.TagList, pattern, search string) ([]string, error) {
	tags, err := filterTags(list.Tags, pattern, search)
	if !list.Sorted {
		registry.SortVersions(tags)
	}
	return tags, err
}

// describeTags fills in what a page's tags mean, as far as it can be found out.
func (c *Catalog) describeTags(ctx context.Context, s registry.Source, items []registry.Image) {
	tags := make([]string, 0, describeMost)
	for _, image := range items[:min(len(items), describeMost)] {
		tags = append(tags, image.Tag)
	}
	facts := c.images.DescribeTags(ctx, s, tags, describeWithin)
	for i := range items {
		if found, ok := facts[items[i].Tag]; ok {
			items[i] = found
		}
	}
}

func parseOffset(cursor string) (int, error) {
	if cursor == "" {
		return 0, nil
	}
	n, err := strconv.Atoi(cursor)
	if err != nil || n < 0 {
		return 0, controlplane.NewInvalidError(
			"cursor", "cursor_invalid", "this cursor is not one of ours",
			"Begin again without a cursor.")
	}
	return n, nil
}

func filterTags(tags []string, pattern, search string) ([]string, error) {
	matches, err := pipeline.TagMatcher(pattern)
	if err != nil {
		return nil, err
	}
	search = strings.ToLower(search)
	all := make([]string, 0, len(tags))
	for _, tag := range tags {
		if matches(tag) && (search == "" || strings.Contains(strings.ToLower(tag), search)) {
			all = append(all, tag)
		}
	}
	return all, nil
}

// sortTags sorts the newest first, or by version. If the registry's list has no dates,
// the highest versions are inspected. Tags without a date come last, by version.
func (c *Catalog) sortTags(ctx context.Context, s registry.Source,
	known map[string]registry.Image, tags []string, order TagOrder) []registry.Image {
	if order != ByVersion && len(known) == 0 {
		known = c.images.DescribeTags(ctx, s, tags[:min(len(tags), describeMost)], describeWithin)
	}
	all := make([]registry.Image, len(tags))
	for i, tag := range tags {
		all[i] = known[tag]
		all[i].Tag = tag
	}
	if order == ByVersion {
		return all
	}
	slices.SortStableFunc(all, func(a, b registry.Image) int {
		return b.CreatedAt.Compare(a.CreatedAt)
	})
	return all
}

// ResolveTag resolves a tag of a saved pipeline's image, if the image's rules allow
// it. It asks the registry and never the cache, because the result is deployed.
func (c *Catalog) ResolveTag(
	ctx context.Context, actor access.Actor, image pipeline.Image, tag string,
) (facts controlplane.ImageFacts, err error) {
	if err := checkChoice(image, tag); err != nil {
		return facts, err
	}
	return c.inspectImage(ctx, actor, image, tag)
}

// NewestTag returns the newest tag that an image's rules allow; the highest version,
// if the registry has no dates.
func (c *Catalog) NewestTag(
	ctx context.Context, actor access.Actor, image pipeline.Image,
) (string, error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return "", err
	}
	source, err := c.sourceOf(ctx, image)
	if err != nil {
		return "", err
	}
	list, err := c.images.ListTags(ctx, source)
	if err != nil {
		return "", err
	}
	tags, err := selectableTags(list, image.Pattern, "")
	if err != nil || len(tags) == 0 {
		return "", err
	}
	return c.sortTags(ctx, source, list.Known, tags, Newest)[0].Tag, nil
}

// InspectPinned asks whether the registry still has the image that a saved
// pipeline holds by its digest.
func (c *Catalog) InspectPinned(
	ctx context.Context, actor access.Actor, image pipeline.Image,
) (controlplane.ImageFacts, error) {
	return c.inspectImage(ctx, actor, image, image.Digest)
}

func (c *Catalog) inspectImage(
	ctx context.Context, actor access.Actor, image pipeline.Image, reference string,
) (facts controlplane.ImageFacts, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return facts, err
	}
	source, err := c.sourceOf(ctx, image)
	if err != nil {
		return facts, err
	}
	return c.images.Inspect(ctx, source, reference)
}

func checkChoice(image pipeline.Image, tag string) error {
	if err := registry.CheckTag("tag", tag); err != nil {
		return err
	}
	if image.TagMode == pipeline.Pinned && tag != image.Tag {
		return controlplane.NewInvalidError(
			"tag", "tag_pinned", "this service is pinned to "+image.Tag,
			"Leave the tag out.")
	}
	ok, err := pipeline.MatchTag(image.Pattern, tag)
	if err != nil || !ok {
		return controlplane.NewInvalidError("tag", "tag_outside_pattern",
			"tag "+tag+" does not match the pattern "+image.Pattern,
			"Choose a tag of the service's list.")
	}
	return nil
}

// sourceOf finds the registry of an image. If it is not in the catalogue, no
// credentials are used.
func (c *Catalog) sourceOf(ctx context.Context, image pipeline.Image) (registry.Source, error) {
	r := controlplane.Registry{Host: image.Registry, Insecure: image.Insecure}
	err := c.store.Read(ctx, func(tx *postgres.Tx) error {
		known, ok, err := tx.Registries().ByHost(ctx, image.Registry)
		if ok {
			r = known
		}
		return err
	})
	if err != nil {
		return registry.Source{}, err
	}
	return c.registrySource(r, image.Repository)
}
