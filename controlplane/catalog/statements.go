package catalog

import (
	"context"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/internal/intoto"
	"github.com/nullops/nullops/pipeline"
)

// AttachStatement puts the signed statement of a verdict beside an image in its registry.
func (c *Catalog) AttachStatement(
	ctx context.Context, actor access.Actor, p controlplane.PendingAttachment,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	host, repository, _ := strings.Cut(p.Image, "/")
	source, err := c.sourceOf(ctx, pipeline.Image{Registry: host, Repository: repository})
	if err != nil {
		return err
	}
	return c.images.Attach(ctx, source, p.Digest, registry.Artifact{
		Type: intoto.BundleType, Content: p.Bundle, Annotations: map[string]string{
			"org.opencontainers.image.created":  p.At.UTC().Format(time.RFC3339),
			"dev.sigstore.bundle.content":       "dsse-envelope",
			"dev.sigstore.bundle.predicateType": controlplane.VerdictPredicate,
		}})
}
