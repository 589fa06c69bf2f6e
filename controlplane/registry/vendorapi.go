package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

// tagLister lists a repository's tags: with the common API of all registries, or a
// vendor's API, which returns more with fewer requests.
type tagLister interface {
	// list returns at least the newest tags, and every one if all is set.
	list(ctx context.Context) (l listing, err error)
}

// listing is what a lister found. All it knows about an image besides its tag may
// be nothing.
type listing struct {
	images []Image
	all    bool
}

// vendorKind is which vendor's registry it is.
type vendorKind string

const (
	kindPlain  vendorKind = "plain"
	kindHub    vendorKind = "docker hub"
	kindGitHub vendorKind = "github"
	kindGitLab vendorKind = "gitlab"
	kindHarbor vendorKind = "harbor"
)

// vendorAPI is where a registry's own interface is.
type vendorAPI struct {
	kind vendorKind
	// base is scheme and host.
	base string
}

// publicWays are registries whose own interface is on a host of its own.
func publicWays() map[string]vendorAPI {
	return map[string]vendorAPI{
		"index.docker.io": {kindHub, "https://hub.docker.com"},
		"ghcr.io":         {kindGitHub, "https://api.github.com"},
	}
}

// wayPages bounds the questions to a registry's own interface: its newest tags
// are worth more than all of them.
const wayPages = 10

// tagSurvey is what is known of a repository after asking.
type tagSurvey struct {
	tags  []string
	known map[string]Image
}

// surveyTags asks the vendor's API, and then the common one unless the vendor's
// returned all tags. Errors of the vendor's API are ignored.
func (c *Client) surveyTags(ctx context.Context, s Source) (out tagSurvey, err error) {
	own, err := c.askOwn(ctx, s)
	if err != nil {
		return out, err
	}
	if own.all {
		return summarizeTags(own.images, own.images), nil
	}
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return out, err
	}
	defer q.cancel()
	l, err := (&common{source: s, repo: q.repo, guard: q.guard, pageTime: c.answerTime}).list(ctx)
	if err != nil {
		return out, c.explainError(s, "", q, err)
	}
	return summarizeTags(l.images, own.images), nil
}

// askOwn asks a registry's own interface, if it has one, for half the time that
// an answer may take.
func (c *Client) askOwn(ctx context.Context, s Source) (own listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, c.answerTime/2)
	defer cancel()
	q, err := c.startConversation(ctx, s)
	if err != nil {
		return own, err
	}
	defer q.cancel()
	l, a := c.itsOwn(ctx, s, q)
	if l == nil {
		return own, nil
	}
	defer c.finishAsking(a)
	found, err := l.list(ctx)
	if err != nil {
		return own, nil
	}
	return found, nil
}

// summarizeTags leaves out what cannot be deployed: names that are no valid tags,
// signatures, and tags that a registry repeats because something was pushed between
// two pages.
func summarizeTags(found, known []Image) tagSurvey {
	out := tagSurvey{tags: make([]string, 0, len(found)), known: make(map[string]Image, len(known))}
	for _, image := range known {
		if isDeployable(image.Tag) {
			out.known[image.Tag] = image
		}
	}
	listed := make(map[string]bool, len(found))
	for _, image := range found {
		if isDeployable(image.Tag) && !listed[image.Tag] {
			listed[image.Tag] = true
			out.tags = append(out.tags, image.Tag)
		}
	}
	SortVersions(out.tags)
	return out
}

// itsOwn finds a registry's own interface; nil if it has none that we know.
func (c *Client) itsOwn(ctx context.Context, s Source, q *conversation) (tagLister, *vendorClient) {
	w, ok := c.ways[q.repo.RegistryStr()]
	if !ok {
		w = vendorAPI{kind: c.kindOf(ctx, s, q), base: s.baseURL(q.repo.Registry).String()}
	}
	u, err := url.Parse(w.base)
	if err != nil || c.checkPaused(u.Host, s.Credentials) != nil {
		return nil, nil
	}
	s.Repository = q.repo.RepositoryStr()
	// The vendor's API gets a guard of its own: its refusals must not affect the common
	// API.
	a := &vendorClient{
		base:   w.base,
		host:   u.Host,
		guard:  newGuard(s.Registry, u.Host, c.own),
		source: s,
	}
	switch w.kind {
	case kindHub:
		return &hub{a}, a
	case kindGitHub:
		return &gitHub{a}, a
	case kindGitLab:
		return &gitLab{vendorClient: a, repo: q.repo}, a
	case kindHarbor:
		return &harbor{a}, a
	}
	return nil, nil
}

// finishAsking ends the connections, and heeds a request to wait.
func (c *Client) finishAsking(a *vendorClient) {
	a.guard.close()
	a.guard.mu.Lock()
	wait := a.guard.wait
	a.guard.mu.Unlock()
	if wait > 0 {
		c.recordPause(a.host, a.source.Credentials, wait)
	}
}

// kindOf detects the vendor from an anonymous request.
func (c *Client) kindOf(ctx context.Context, s Source, q *conversation) vendorKind {
	host := q.repo.RegistryStr()
	c.mu.Lock()
	known, ok := c.kinds[host]
	c.mu.Unlock()
	if ok {
		return known
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet,
		s.baseURL(q.repo.Registry).String()+"/v2/", http.NoBody)
	if err != nil {
		return kindPlain
	}
	answer, err := q.guard.RoundTrip(request)
	if err != nil {
		return kindPlain
	}
	_ = answer.Body.Close()
	if answer.StatusCode != http.StatusOK && answer.StatusCode != http.StatusUnauthorized {
		// Not its usual answer, so nothing to remember.
		return kindPlain
	}
	k := kindPlain
	switch says := answer.Header.Get("WWW-Authenticate"); {
	case strings.Contains(says, `service="harbor-registry"`):
		k = kindHarbor
	case strings.Contains(says, `/jwt/auth",service="container_registry"`):
		k = kindGitLab
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.kinds)
	c.kinds[host] = k
	return k
}

// vendorClient asks a registry's own interface. All its requests pass the guard.
type vendorClient struct {
	base   string
	host   string
	guard  *registryGuard
	source Source
}

// errNotOurs is returned if the vendor's API does not know this repository.
var errNotOurs = errors.New("its own interface does not know this repository")

// getPage reads one page. The address of the next one is empty after the last.
func (a *vendorClient) getPage(ctx context.Context, address string, sign func(*http.Request),
	into any) (next string, err error) {
	return a.getPageVia(ctx, a.guard, address, sign, into)
}

func (a *vendorClient) getPageVia(ctx context.Context, way http.RoundTripper, address string,
	sign func(*http.Request), into any) (next string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", err
	}
	request.Header.Set("Accept", "application/json")
	if sign != nil {
		sign(request)
	}
	answer, err := way.RoundTrip(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode != http.StatusOK {
		_, _ = io.Copy(io.Discard, answer.Body)
		return "", fmt.Errorf("it answers %d", answer.StatusCode)
	}
	if err := json.NewDecoder(answer.Body).Decode(into); err != nil {
		return "", err
	}
	return nextPage(request.URL, answer.Header)
}

// walkPages reads page by page, up to wayPages. It stops at a page that was read
// before; then the common API returns the rest.
func walkPages(
	first string,
	page func(address string) (next string, err error),
) (all bool, err error) {
	seen := map[string]bool{}
	for n := 0; first != "" && n < wayPages && !seen[first]; n++ {
		seen[first] = true
		if first, err = page(first); err != nil {
			return false, err
		}
	}
	return first == "", nil
}
