package registry

import (
	"context"
	"errors"
	"time"
)

const (
	// keepEvery is how often recently requested lists are refreshed.
	keepEvery = 30 * time.Second
	// wantedFor is how long after its last request a list is refreshed.
	wantedFor = 10 * time.Minute
)

// requestedList is a recently requested list.
type requestedList struct {
	source Source
	at     time.Time
}

func (c *Client) recordUse(s Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	evictSome(c.wanted)
	// Without the credentials: those from before are never used again.
	c.wanted[s.Registry.Host+"\x00"+s.Repository] = requestedList{source: s, at: c.now()}
}

// Run refreshes the recently requested lists until ctx ends.
func (c *Client) Run(ctx context.Context) error {
	ticker := time.NewTicker(keepEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			// Errors are stored with the list itself.
			_ = c.Refresh(ctx)
		}
	}
}

// Refresh reads each recently requested list again.
func (c *Client) Refresh(ctx context.Context) error {
	var failed error
	for _, s := range c.recentSources() {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err, _ := c.flights.Do(
			"tags "+s.cacheKey(),
			func() (any, error) { return c.fetchTags(ctx, s) },
		)
		failed = errors.Join(failed, err)
	}
	return failed
}

func (c *Client) recentSources() (all []Source) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key, w := range c.wanted {
		if c.now().Sub(w.at) > wantedFor {
			delete(c.wanted, key)
			continue
		}
		all = append(all, w.source)
	}
	return all
}
