package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/sync/errgroup"
)

// Labels that builds put on images, as the OCI annotation keys name them.
const (
	labelRevision = "org.opencontainers.image.revision"
	labelBranch   = "org.opencontainers.image.ref.name"
)

// labelsBuilder are labels that name who built an image; there is no standard one.
var labelsBuilder = []string{
	"org.opencontainers.image.builder", "io.buildpacks.builder", "org.label-schema.build-agent",
	"ci.builder", "builder",
}

// Resolve asks now which digest a tag means. It is never answered from memory.
func (c *Client) Resolve(ctx context.Context, s Source, tag string) (digest string, err error) {
	if err := CheckTag("tag", tag); err != nil {
		return "", err
	}
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return "", err
	}
	defer q.cancel()
	d, err := remote.Get(q.repo.Tag(tag), q.options...)
	if err != nil {
		return "", c.explainError(s, tag, q, err)
	}
	if err := isManifest(d.Manifest); err != nil {
		return "", invalidAnswerError(s.Registry.Host, err)
	}
	return d.Digest.String(), nil
}

// isManifest distinguishes a manifest from a web page that a server returns for every
// path, whatever its content type: a page has a digest too.
func isManifest(body []byte) error {
	var manifest struct {
		SchemaVersion int `json:"schemaVersion"`
	}
	if err := json.Unmarshal(body, &manifest); err != nil {
		return fmt.Errorf("read manifest: %w", err)
	}
	if manifest.SchemaVersion == 0 {
		return errors.New("read manifest: it names no schema version")
	}
	return nil
}

// DescribeTags returns the images of tags, as far as they can be read within the time.
// Tags without a result are left out. A tag's digest is cached for minutes, and read
// again in the background after some seconds; facts of a digest are cached for ever.
func (c *Client) DescribeTags(
	ctx context.Context, s Source, tags []string, within time.Duration,
) map[string]Image {
	all, unknown, old := c.cachedMeanings(s, tags)
	if len(old) > 0 {
		c.flights.DoChan("meanings "+s.cacheKey(), func() (any, error) {
			if !c.beginTask() {
				return nil, context.Canceled
			}
			defer c.running.Done()
			return c.fetchMeanings(c.ctx, s, old), nil
		})
	}
	if len(unknown) == 0 {
		return all
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	maps.Copy(all, c.fetchMeanings(ctx, s, unknown))
	return all
}

// fetchMeanings asks what tags mean.
func (c *Client) fetchMeanings(ctx context.Context, s Source, unknown []string) map[string]Image {
	all := map[string]Image{}
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return all
	}
	defer q.cancel()
	puller, err := remote.NewPuller(q.options...)
	if err != nil {
		return all
	}
	found := make([]Image, len(unknown))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(4)
	for i, tag := range unknown {
		g.Go(func() error {
			image, err := c.describeTag(ctx, s, q, puller, tag)
			if err != nil {
				// Not the answer's concern, but a 429 must be honoured.
				_ = c.explainError(s, tag, q, err)
				return ctx.Err()
			}
			found[i] = image
			return nil
		})
	}
	_ = g.Wait()
	for i, image := range found {
		if image.Digest != "" {
			all[image.Tag] = image
			continue
		}
		c.recordNothing(s, unknown[i])
	}
	return all
}

// recordNothing caches that a tag could not be read, so that the next caller does not
// wait for it again.
func (c *Client) recordNothing(s Source, tag string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.meanings)
	c.meanings[s.cacheKey()+"\x00"+tag] = tagMeaning{at: c.now()}
}

// tagMeaning is what a tag meant at some time.
type tagMeaning struct {
	image Image
	at    time.Time
}

func (c *Client) cachedMeanings(
	s Source, tags []string,
) (all map[string]Image, unknown, old []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	all = make(map[string]Image, len(tags))
	for _, tag := range tags {
		d, ok := c.meanings[s.cacheKey()+"\x00"+tag]
		age := c.now().Sub(d.at)
		switch {
		case !ok || age >= meaningMost:
			unknown = append(unknown, tag)
			continue
		case age >= meaningFor:
			old = append(old, tag)
		}
		if d.image.Digest != "" {
			all[tag] = d.image
		}
	}
	return all, unknown, old
}

// describeTag asks for the digest, which is cheap, and for the rest only when
// that digest was never seen.
func (c *Client) describeTag(
	ctx context.Context, s Source, q *conversation, p *remote.Puller, tag string,
) (Image, error) {
	head, err := p.Head(ctx, q.repo.Tag(tag))
	if err != nil {
		return Image{}, err
	}
	key := s.cacheKey() + "\x00" + head.Digest.String()
	c.mu.Lock()
	image, ok := c.images[key]
	c.mu.Unlock()
	if !ok {
		if image, err = readImage(ctx, q, p, head.Digest); err != nil {
			return Image{}, err
		}
	}
	image.Tag = tag
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.images)
	evictSome(c.meanings)
	c.images[key] = image
	c.meanings[s.cacheKey()+"\x00"+tag] = tagMeaning{image: image, at: c.now()}
	return image, nil
}

func readImage(
	ctx context.Context, q *conversation, p *remote.Puller, digest v1.Hash,
) (Image, error) {
	d, err := p.Get(ctx, q.repo.Digest(digest.String()))
	if err != nil {
		return Image{}, err
	}
	img, err := d.Image()
	if err != nil {
		return Image{}, err
	}
	manifest, err := img.Manifest()
	if err != nil {
		return Image{}, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return Image{}, err
	}
	out := Image{Digest: digest.String(), CreatedAt: plausibleBuildTime(config.Created.Time)}
	for _, l := range manifest.Layers {
		out.Size += l.Size
	}
	out.Commit = clipLabel(config.Config.Labels[labelRevision])
	out.Branch = clipLabel(config.Config.Labels[labelBranch])
	out.Builder = builderLabel(config.Config.Labels)
	return out, nil
}

func builderLabel(labels map[string]string) string {
	for _, key := range labelsBuilder {
		if by := clipLabel(labels[key]); by != "" {
			return by
		}
	}
	return ""
}

// plausibleBuildTime drops the dates that reproducible builds put in: they say nothing.
func plausibleBuildTime(at time.Time) time.Time {
	if at.Year() < 1990 {
		return time.Time{}
	}
	return at
}

// clipLabel shortens a label, which is untrusted, to one line.
func clipLabel(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return -1
		}
		return r
	}, s)
	if len(s) > 200 {
		return s[:200]
	}
	return s
}
