package registry

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/nullops/nullops/controlplane"
)

// Inspect asks the registry which digest a tag or digest resolves to, and which
// processors the image is built for. The digest is never answered from memory.
func (c *Client) Inspect(
	ctx context.Context, s Source, reference string,
) (facts controlplane.ImageFacts, err error) {
	byDigest := strings.HasPrefix(reference, "sha256:")
	if !byDigest {
		if err := CheckTag("tag", reference); err != nil {
			return facts, err
		}
	}
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return facts, err
	}
	defer q.cancel()
	var ref name.Reference = q.repo.Tag(reference)
	if byDigest {
		ref = q.repo.Digest(reference)
	}
	d, err := remote.Get(ref, q.options...)
	if err != nil {
		return facts, c.explainMissing(s, reference, q, err)
	}
	if err := isManifest(d.Manifest); err != nil {
		return facts, invalidAnswerError(s.Registry.Host, err)
	}
	facts.Digest = d.Digest.String()
	facts.Arches = c.archesOf(s, d)
	return facts, nil
}

// explainMissing distinguishes an image that was deleted from a tag that never
// existed.
func (c *Client) explainMissing(s Source, reference string, q *conversation, err error) error {
	var answer *transport.Error
	if strings.HasPrefix(reference, "sha256:") && errors.As(err, &answer) &&
		answer.StatusCode == http.StatusNotFound {
		return &controlplane.Error{Kind: controlplane.Invalid, Code: "image_gone", Cause: err,
			Message: fmt.Sprintf("%s/%s no longer has the image %.19s…", s.Registry.Host,
				s.Repository, reference),
			Remedy: "Push it again, or have an admin choose another."}
	}
	return c.explainError(s, reference, q, err)
}

// archesOf reads the architectures of an image; nil if image or registry do not
// declare them.
func (c *Client) archesOf(s Source, d *remote.Descriptor) []string {
	key := s.cacheKey() + "\x00" + d.Digest.String()
	c.mu.Lock()
	known, ok := c.arches[key]
	c.mu.Unlock()
	if ok {
		return known
	}
	arches, err := readArches(d)
	if err != nil {
		return nil
	}
	slices.Sort(arches)
	arches = slices.Compact(arches)
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.arches)
	c.arches[key] = arches
	return arches
}

func readArches(d *remote.Descriptor) (arches []string, err error) {
	if !d.MediaType.IsIndex() {
		img, err := d.Image()
		if err != nil {
			return nil, err
		}
		config, err := img.ConfigFile()
		if err != nil || config.Architecture == "" {
			return nil, err
		}
		return []string{config.Architecture}, nil
	}
	index, err := d.ImageIndex()
	if err != nil {
		return nil, err
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, m := range manifest.Manifests {
		// Attestations of builders are stored beside the images, with an unknown platform.
		if p := m.Platform; p != nil && p.OS == "linux" && p.Architecture != "unknown" {
			arches = append(arches, p.Architecture)
		}
	}
	return arches, nil
}
