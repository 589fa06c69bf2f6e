package registry

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// Limits on one list of tags. Pages are not counted: how many tags are on one
// is the registry's choice.
const (
	// pageSize is how many tags to request per page. Many registries return fewer.
	pageSize = 1000
	// maxTags and maxTagBytes are for the whole list.
	maxTags     = 200_000
	maxTagBytes = 32 << 20
	// maxEmptyPages bounds consecutive pages without a new tag; such a list would never
	// end.
	maxEmptyPages = 10
	// listTimes is how many times the time of one answer a list may take.
	listTimes = 4
)

// common uses the tag list of the OCI distribution specification.
type common struct {
	source Source
	repo   name.Repository
	guard  *registryGuard
	// pageTime is for each page; the first shares it with signing in.
	pageTime time.Duration
}

var _ tagLister = (*common)(nil)

// tagPages collects the pages of a list, and stops one that would never end.
type tagPages struct {
	tags  map[string]bool
	all   []Image
	bytes int
	seen  map[string]bool
	empty int
}

func (l *common) list(ctx context.Context) (out listing, err error) {
	ctx, cancel := context.WithTimeout(ctx, listTimes*l.pageTime)
	defer cancel()
	p := &tagPages{tags: map[string]bool{}, seen: map[string]bool{}}
	if err := l.readPages(ctx, p); err != nil {
		if len(p.all) > 0 && errors.Is(err, context.DeadlineExceeded) {
			err = &slowList{tags: len(p.all), repository: l.repo.RepositoryStr(), cause: err}
		}
		return out, err
	}
	return listing{images: p.all, all: true}, nil
}

func (l *common) readPages(ctx context.Context, p *tagPages) error {
	first, cancel := context.WithTimeout(ctx, l.pageTime)
	defer cancel()
	signed, err := transport.NewWithContext(
		first,
		l.repo.Registry,
		newAuthenticator(l.source.Credentials),
		l.guard,
		[]string{l.repo.Scope(transport.PullScope)},
	)
	if err != nil {
		return err
	}
	client := &http.Client{Transport: signed}
	start := l.source.baseURL(l.repo.Registry)
	start.Path = "/v2/" + l.repo.RepositoryStr() + "/tags/list"
	start.RawQuery = fmt.Sprintf("n=%d", pageSize)
	address := start.String()
	p.seen[address] = true
	next, err := l.readPage(first, client, address, p)
	for err == nil && next != "" {
		if p.seen[next] {
			return l.guard.recordRefusal(errLoop)
		}
		p.seen[next] = true
		page, cancel := context.WithTimeout(ctx, l.pageTime)
		next, err = l.readPage(page, client, next, p)
		cancel()
	}
	return err
}

// readPage reads one page and returns the address of the next.
func (l *common) readPage(ctx context.Context, client *http.Client, address string,
	p *tagPages) (next string, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return "", err
	}
	answer, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = answer.Body.Close() }()
	if err := transport.CheckError(answer, http.StatusOK); err != nil {
		return "", err
	}
	var page struct{ Tags []string }
	if err := json.NewDecoder(answer.Body).Decode(&page); err != nil {
		return "", err
	}
	next, err = nextPage(answer.Request.URL, answer.Header)
	if err != nil {
		return "", l.guard.recordRefusal(err)
	}
	if err := p.add(page.Tags, next != ""); err != nil {
		return "", l.guard.recordRefusal(err)
	}
	return next, nil
}

// add takes the tags of one page.
func (p *tagPages) add(tags []string, more bool) error {
	before := len(p.all)
	for _, tag := range tags {
		if p.tags[tag] {
			continue
		}
		p.tags[tag] = true
		p.all = append(p.all, Image{Tag: tag})
		p.bytes += len(tag)
	}
	if len(p.all) > maxTags || p.bytes > maxTagBytes {
		return errLongList
	}
	if p.empty++; len(p.all) > before {
		p.empty = 0
	}
	if more && p.empty >= maxEmptyPages {
		return errLoop
	}
	return nil
}
