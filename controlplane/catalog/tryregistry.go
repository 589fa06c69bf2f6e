package catalog

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// RegistryTry is what an admin wants to know of a registry: whether it answers
// and takes the credentials and, with an image, which of its tags a pattern
// would let people choose.
type RegistryTry struct {
	Name    string
	Image   string
	Pattern string
	TagQuery
}

// RegistryTestResult is the result of a test. A refusal by the registry is a result, not an
// error: Refused has its sentence.
type RegistryTestResult struct {
	Refused *controlplane.Error
	Took    time.Duration
	Page    TagPage
}

// TestRegistry asks a stored registry, for the forms of registries and services.
func (c *Catalog) TestRegistry(
	ctx context.Context, actor access.Actor, t RegistryTry,
) (tried RegistryTestResult, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return tried, err
	}
	if _, err := pipeline.MatchTag(t.Pattern, "probe"); err != nil {
		return tried, controlplane.NewInvalidError("pattern", "pattern_invalid", err.Error(),
			"A star stands for any letters: feat/*.")
	}
	var r controlplane.Registry
	err = c.store.Read(ctx, func(tx *postgres.Tx) error {
		r, err = tx.RegistryByName(ctx, t.Name)
		return err
	})
	if err != nil {
		return tried, err
	}
	begun := c.now()
	tried.Page, err = c.tryRegistry(ctx, r, t)
	tried.Took = c.now().Sub(begun)
	if errors.As(err, &tried.Refused) {
		return tried, nil
	}
	return tried, err
}

func (c *Catalog) tryRegistry(
	ctx context.Context, r controlplane.Registry, t RegistryTry,
) (page TagPage, err error) {
	source, err := c.registrySource(r, t.Image)
	if err != nil {
		return page, err
	}
	if t.Image == "" {
		return page, c.images.Ping(ctx, source)
	}
	page.Service = controlplane.Service{
		Registry: r.Name, Image: t.Image, TagMode: pipeline.Selectable, Pattern: t.Pattern,
	}
	return c.listTags(ctx, source, page, t.TagQuery)
}
