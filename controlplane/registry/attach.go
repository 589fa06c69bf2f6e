package registry

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"

	"github.com/nullops/nullops/controlplane"
)

// Artifact is something that belongs to an image, such as a signed statement about it.
type Artifact struct {
	// Type is its media type.
	Type        string
	Content     []byte
	Annotations map[string]string
}

// Attach puts an artifact beside the image of a digest, as an OCI referrer: whoever knows the image
// finds it. In a registry without that API it is in the index of the fallback tag. The same
// artifact again changes nothing.
func (c *Client) Attach(ctx context.Context, s Source, digest string, a Artifact) error {
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return err
	}
	defer q.cancel()
	subject, err := remote.Head(q.repo.Digest(digest), q.options...)
	if err != nil {
		return c.explainMissing(s, digest, q, err)
	}
	if err := q.attachArtifact(*subject, a); err != nil {
		return c.explainAttach(s, digest, q, err)
	}
	return nil
}

func (q *conversation) attachArtifact(subject v1.Descriptor, a Artifact) error {
	// It signs in once for all that is to be written.
	pusher, err := remote.NewPusher(q.options...)
	if err != nil {
		return err
	}
	options := append(slices.Clone(q.options), remote.Reuse(pusher))
	content := static.NewLayer(a.Content, types.MediaType(a.Type))
	// The config's type names the artifact for registries that do not read the manifest's own.
	config := static.NewLayer([]byte("{}"), types.MediaType(a.Type))
	m := manifest{v1.Manifest{SchemaVersion: 2, MediaType: types.OCIManifestSchema1,
		ArtifactType: a.Type, Annotations: a.Annotations,
		Subject: &v1.Descriptor{MediaType: subject.MediaType, Digest: subject.Digest,
			Size: subject.Size}}}
	for _, layer := range []v1.Layer{config, content} {
		if err := remote.WriteLayer(q.repo, layer, options...); err != nil {
			return err
		}
	}
	if m.Config, err = describeLayer(config, a.Type); err != nil {
		return err
	}
	described, err := describeLayer(content, a.Type)
	if err != nil {
		return err
	}
	m.Layers = []v1.Descriptor{described}
	raw, err := m.RawManifest()
	if err != nil {
		return err
	}
	hash, _, err := v1.SHA256(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	return remote.Put(q.repo.Digest(hash.String()), m, options...)
}

func describeLayer(layer v1.Layer, kind string) (d v1.Descriptor, err error) {
	d.MediaType = types.MediaType(kind)
	if d.Digest, err = layer.Digest(); err != nil {
		return d, fmt.Errorf("hash a blob: %w", err)
	}
	d.Size, err = layer.Size()
	return d, err
}

// manifest is a manifest that the library can put.
type manifest struct{ v1.Manifest }

func (m manifest) RawManifest() ([]byte, error) { return json.Marshal(m.Manifest) }

func (m manifest) MediaType() (types.MediaType, error) { return m.Manifest.MediaType, nil }

// explainAttach distinguishes a registry that lets us read but not write, and one that refuses what
// we write, such as one whose tags may not change.
func (c *Client) explainAttach(s Source, digest string, q *conversation, err error) error {
	answer, ok := errors.AsType[*transport.Error](err)
	if !ok || answer.StatusCode/100 != 4 || answer.StatusCode == http.StatusTooManyRequests {
		return c.explainMissing(s, digest, q, err)
	}
	switch answer.StatusCode {
	// The image was there: who may not write is told that there is no such thing.
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusNotFound,
		http.StatusMethodNotAllowed:
		return unavailableError("registry_read_only", fmt.Sprintf(
			"registry %s does not let us write to %s", s.Registry.Host, s.Repository),
			"Give the registry's user the right to push to this repository.", err)
	default:
		said := http.StatusText(answer.StatusCode)
		for _, d := range answer.Errors {
			said = string(d.Code) + " " + d.Message
		}
		return unavailableError("registry_refuses", fmt.Sprintf(
			"registry %s takes no statement beside images of %s: it answers %d, %s",
			s.Registry.Host, s.Repository, answer.StatusCode, controlplane.ClipText(said)),
			"Have it allow artifacts, and tags that begin with sha256- to change.", err)
	}
}
