package registry

import (
	"context"
	"maps"
	"slices"
	"time"
)

// ListTags returns the tags of a repository, the highest version first. A list that
// was read within the last minute is returned at once; after some seconds it is read
// again in the background. An older list is returned only if the registry does not
// answer, and marked stale if it could not be read again.
func (c *Client) ListTags(ctx context.Context, s Source) (TagList, error) {
	c.recordUse(s)
	old, have := c.cachedTags(s)
	age := c.now().Sub(old.ReadAt)
	if have && age < fresh {
		return old, nil
	}
	answer := c.flights.DoChan("tags "+s.cacheKey(), func() (any, error) {
		if !c.beginTask() {
			return TagList{}, context.Canceled
		}
		defer c.running.Done()
		return c.fetchTags(c.ctx, s)
	})
	if have && age < soon {
		return old, nil
	}
	// Longer than signing in and a first page may take: only a list that arrives page
	// after page is not waited for. Reading continues in the background.
	within := 2 * c.answerTime
	if have {
		within = patience
	}
	timer := time.NewTimer(within)
	defer timer.Stop()
	select {
	case r := <-answer:
		if r.Err == nil {
			return r.Val.(TagList), nil
		}
		if !have {
			return TagList{}, r.Err
		}
		return markStale(old, r.Err), nil
	case <-timer.C:
		if !have {
			return TagList{}, stillReading(s)
		}
		return markStale(old, slowError(s.Registry.Host, context.DeadlineExceeded)), nil
	case <-ctx.Done():
		err := slowError(s.Registry.Host, ctx.Err())
		if !have {
			return TagList{}, err
		}
		return markStale(old, err), nil
	}
}

func markStale(l TagList, why error) TagList {
	l.Stale, l.Reason = true, why.Error()
	return l
}

func (c *Client) cachedTags(s Source) (TagList, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l, ok := c.tags[s.cacheKey()]
	return l, ok
}

// fetchTags asks the registry. If that fails, it returns the cached list, marked
// stale.
func (c *Client) fetchTags(ctx context.Context, s Source) (TagList, error) {
	found, err := c.surveyTags(ctx, s)
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		if old, ok := c.tags[s.cacheKey()]; ok {
			c.tags[s.cacheKey()] = markStale(old, err)
		}
		return TagList{}, err
	}
	l := TagList{Tags: found.tags, Sorted: true, Known: found.known, ReadAt: c.now()}
	evictSome(c.tags)
	c.tags[s.cacheKey()] = l
	return l, nil
}

// evictSome makes room by forgetting some: which ones does not matter, each can be
// asked again.
func evictSome[K comparable, V any](m map[K]V) {
	if len(m) < maxCached {
		return
	}
	for _, k := range slices.Collect(maps.Keys(m))[:maxCached/10] {
		delete(m, k)
	}
}
