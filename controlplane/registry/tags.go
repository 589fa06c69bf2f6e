package registry

import (
	"context"
	"maps"
	"slices"

	"github.com/google/go-containerregistry/pkg/v1/remote"
)

// ListTags gives the tags of a repository in the registry's order. A list read
// within the last seconds is given at once; an older one only when the
// registry does not answer, and then it is marked stale.
func (c *Client) ListTags(ctx context.Context, s Source) (TagList, error) {
	old, have := c.cached(s)
	if have && c.now().Sub(old.ReadAt) < fresh {
		return old, nil
	}
	answer := c.flights.DoChan("tags "+s.key(), func() (any, error) {
		c.running.Add(1)
		defer c.running.Done()
		return c.fetchTags(c.ctx, s)
	})
	if have {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, patience)
		defer cancel()
	}
	select {
	case r := <-answer:
		if r.Err == nil {
			return r.Val.(TagList), nil
		}
		if !have {
			return TagList{}, r.Err
		}
		return stale(old, r.Err), nil
	case <-ctx.Done():
		err := slow(s.Registry.Host, ctx.Err())
		if !have {
			return TagList{}, err
		}
		return stale(old, err), nil
	}
}

func stale(l TagList, why error) TagList {
	l.Stale, l.Reason = true, why.Error()
	return l
}

func (c *Client) cached(s Source) (TagList, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.tags[s.key()]
	return l, ok
}

func (c *Client) fetchTags(ctx context.Context, s Source) (TagList, error) {
	q, err := c.ask(ctx, s)
	if err != nil {
		return TagList{}, err
	}
	defer q.cancel()
	tags, err := remote.List(q.repo, q.options...)
	if err != nil {
		return TagList{}, c.explain(s, "", q, err)
	}
	l := TagList{Tags: tags, ReadAt: c.now()}
	c.mu.Lock()
	defer c.mu.Unlock()
	bound(c.tags)
	c.tags[s.key()] = l
	return l, nil
}

// bound makes room by forgetting some: which ones does not matter, each can be
// asked again.
func bound[V any](m map[string]V) {
	if len(m) < maxCached {
		return
	}
	for _, k := range slices.Collect(maps.Keys(m))[:maxCached/10] {
		delete(m, k)
	}
}
