//go:build chaos

package main_test

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// chaosWatcher follows the events of one deployment from the first one, across everything that
// breaks: it asks the other control plane when one is silent.
type chaosWatcher struct {
	stream stream
	stop   context.CancelFunc
	done   chan struct{}
	// checked is set once the deployment was gone and all its events had come.
	checked bool
}

// watch begins to follow each deployment that is not followed yet.
func (c *chaos) watch(ids []string) {
	for _, id := range ids {
		if c.watchers[id] != nil {
			continue
		}
		ctx, stop := context.WithCancel(c.ctx)
		w := &chaosWatcher{stop: stop, done: make(chan struct{})}
		c.watchers[id] = w
		go func() {
			defer close(w.done)
			for through := 0; ctx.Err() == nil; through++ {
				c.follow(ctx, w, id, through)
				select {
				case <-time.After(100 * time.Millisecond):
				case <-ctx.Done():
				}
			}
		}()
	}
}

func (c *chaos) follow(ctx context.Context, w *chaosWatcher, id string, through int) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	last := "0-0"
	if ids := w.stream.ids(); len(ids) > 0 {
		last = ids[len(ids)-1]
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		c.urls[through%len(c.urls)]+"/api/v1/deployments/"+id+"/events", nil)
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+c.product.admin.token)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", last)
	// A control plane that is frozen says nothing, not even that it is there.
	answered := time.AfterFunc(deedTime, stop)
	response, err := c.client.Do(r)
	if err != nil {
		return
	}
	answered.Stop()
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		w.stream.read(response.Body)
	}
}

func (c *chaos) stopWatching() {
	for _, w := range c.watchers {
		w.stop()
		<-w.done
	}
}

// history is what the database says of a deployment's events.
type history struct {
	id, status  string
	first, last int
	all, steps  int
}

func (c *chaos) readHistories(t *testing.T) []history {
	t.Helper()
	conn := c.connect(t)
	rows, err := conn.Query(t.Context(), `SELECT d.id::text, d.status, min(e.seq), max(e.seq),
		count(*), count(*) FILTER (WHERE e.kind = 'step') FROM deployments d
		JOIN deployment_events e ON e.deployment_id = d.id GROUP BY d.id, d.status`)
	if err != nil {
		t.Fatal(err)
	}
	all, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (h history, err error) {
		return h, row.Scan(&h.id, &h.status, &h.first, &h.last, &h.all, &h.steps)
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// missingEvents compares each watcher with the database.
func (c *chaos) missingEvents(t *testing.T) string {
	t.Helper()
	for _, h := range c.readHistories(t) {
		w := c.watchers[h.id]
		if w == nil || w.checked {
			continue
		}
		if n := len(w.stream.all("step")); n < h.steps {
			return fmt.Sprintf("of %d events about steps of %s, %d came", h.steps, h.id, n)
		}
		if isGone(h.status) {
			w.checked = true
			w.stop()
		}
	}
	return ""
}

// checkEvents looks for gaps and doubles, in the database and in what was followed.
func (c *chaos) checkEvents(t *testing.T) {
	t.Helper()
	for _, h := range c.readHistories(t) {
		if h.first != 1 || h.last != h.all {
			c.violate("the %d events of %s are numbered %d to %d", h.all, h.id, h.first, h.last)
		}
		w := c.watchers[h.id]
		if w == nil {
			continue
		}
		if n := len(w.stream.all("step")); n > h.steps {
			c.violate("of %d events about steps of %s, %d came", h.steps, h.id, n)
		}
		ids := w.stream.ids()
		for i := range ids[:max(0, len(ids)-1)] {
			if orderOf(t, ids[i+1]) <= orderOf(t, ids[i]) {
				c.violate("event %s of %s came after %s", ids[i+1], h.id, ids[i])
			}
		}
	}
}

// isGone reports whether nothing may be left of a deployment in this status.
func isGone(status string) bool {
	return slices.Contains([]string{"removed", "canceled", "forgotten"}, status)
}

// connect returns a connection to the database itself. The server may have been killed since the
// last question.
func (c *chaos) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	if c.conn == nil || c.conn.Ping(t.Context()) != nil {
		conn, err := pgx.Connect(t.Context(), c.direct)
		if err != nil {
			t.Fatal(err)
		}
		c.conn = conn
	}
	return c.conn
}
