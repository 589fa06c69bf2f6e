package registry

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

var (
	_ tagLister = (*hub)(nil)
	_ tagLister = (*gitHub)(nil)
	_ tagLister = (*gitLab)(nil)
	_ tagLister = (*harbor)(nil)
)

// appendImage adds an image from a vendor's response, if its tag is valid.
func appendImage(all []Image, tag, digest string, size int64, at time.Time) []Image {
	if CheckTag("tag", tag) != nil {
		return all
	}
	if _, err := name.NewDigest("x.test/x@" + digest); err != nil {
		digest = ""
	}
	return append(
		all,
		Image{Tag: tag, Digest: digest, Size: max(size, 0), CreatedAt: plausibleBuildTime(at)},
	)
}

// hub is Docker Hub's interface. It is asked without credentials, which it
// wants exchanged; a private repository goes the common way.
type hub struct{ *vendorClient }

func (h *hub) list(ctx context.Context) (out listing, err error) {
	first := h.base + "/v2/repositories/" + h.source.Repository +
		"/tags?page_size=100&ordering=last_updated"
	out.all, err = walkPages(first, func(address string) (string, error) {
		var page struct {
			Next    string
			Results []struct {
				Name        string
				Digest      string
				FullSize    int64     `json:"full_size"`
				LastUpdated time.Time `json:"last_updated"`
			}
		}
		if _, err := h.getPage(ctx, address, nil, &page); err != nil {
			return "", err
		}
		for _, r := range page.Results {
			out.images = appendImage(out.images, r.Name, r.Digest, r.FullSize, r.LastUpdated)
		}
		from, err := url.Parse(address)
		if err != nil {
			return "", err
		}
		return resolvePage(from, page.Next)
	})
	return out, err
}

// gitHub is the interface of GitHub's packages, which wants a token: the
// registry's password. An owner is an organization or a person.
type gitHub struct{ *vendorClient }

func (g *gitHub) list(ctx context.Context) (out listing, err error) {
	owner, image, ok := strings.Cut(g.source.Repository, "/")
	if !ok || g.source.Credentials.Password.IsEmpty() {
		return out, errNotOurs
	}
	for _, of := range []string{"orgs", "users"} {
		out = listing{}
		out.all, err = walkPages(g.base+"/"+of+"/"+url.PathEscape(owner)+"/packages/container/"+
			url.PathEscape(image)+"/versions?per_page=100", func(address string) (string, error) {
			return g.readPage(ctx, address, &out.images)
		})
		if err == nil {
			return out, nil
		}
	}
	return out, err
}

func (g *gitHub) readPage(ctx context.Context, address string, into *[]Image) (string, error) {
	var page []struct {
		Name      string
		CreatedAt time.Time `json:"created_at"`
		Metadata  struct{ Container struct{ Tags []string } }
	}
	next, err := g.getPage(ctx, address, func(r *http.Request) {
		r.Header.Set("Accept", "application/vnd.github+json")
		r.Header.Set("X-GitHub-Api-Version", "2022-11-28")
		r.Header.Set("Authorization", "Bearer "+g.source.Credentials.Password.Reveal())
	}, &page)
	for _, version := range page {
		for _, tag := range version.Metadata.Container.Tags {
			*into = appendImage(*into, tag, version.Name, 0, version.CreatedAt)
		}
	}
	return next, err
}

// gitLab is what GitLab's registry answers beside the common interface, with
// the same token.
type gitLab struct {
	*vendorClient
	repo name.Repository
}

func (g *gitLab) list(ctx context.Context) (out listing, err error) {
	signed, err := transport.NewWithContext(
		ctx,
		g.repo.Registry,
		newAuthenticator(g.source.Credentials),
		g.guard,
		[]string{g.repo.Scope(transport.PullScope)},
	)
	if err != nil {
		return out, err
	}
	out.all, err = walkPages(g.base+"/gitlab/v1/repositories/"+g.source.Repository+
		"/tags/list/?n=1000&sort=-published_at", func(address string) (string, error) {
		var page []struct {
			Name        string
			Digest      string
			SizeBytes   int64     `json:"size_bytes"`
			CreatedAt   time.Time `json:"created_at"`
			PublishedAt time.Time `json:"published_at"`
		}
		next, err := g.getPageVia(ctx, signed, address, nil, &page)
		for _, t := range page {
			at := t.PublishedAt
			if at.IsZero() {
				at = t.CreatedAt
			}
			out.images = appendImage(out.images, t.Name, t.Digest, t.SizeBytes, at)
		}
		return next, err
	})
	return out, err
}

// harbor is Harbor's interface: images with their tags, the newest first.
type harbor struct{ *vendorClient }

func (h *harbor) list(ctx context.Context) (out listing, err error) {
	project, repository, ok := strings.Cut(h.source.Repository, "/")
	if !ok {
		return out, errNotOurs
	}
	// A slash in the repository is encoded twice, as Harbor's documents say.
	first := h.base + "/api/v2.0/projects/" + url.PathEscape(project) + "/repositories/" +
		url.PathEscape(url.PathEscape(repository)) +
		"/artifacts?with_tag=true&page_size=100&sort=-push_time"
	out.all, err = walkPages(first, func(address string) (string, error) {
		var page []struct {
			Digest string
			Size   int64
			Tags   []struct {
				Name     string
				PushTime time.Time `json:"push_time"`
			}
		}
		next, err := h.getPage(ctx, address, func(r *http.Request) {
			if c := h.source.Credentials; c.Username != "" {
				r.SetBasicAuth(c.Username, c.Password.Reveal())
			}
		}, &page)
		for _, a := range page {
			for _, t := range a.Tags {
				out.images = appendImage(out.images, t.Name, a.Digest, a.Size, t.PushTime)
			}
		}
		return next, err
	})
	return out, err
}
