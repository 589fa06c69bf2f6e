package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/wait"
)

// sse is one server-sent event.
type sse struct{ ID, Event, Data string }

// followEvents reads an event stream until handle returns done, and resumes after the
// last event when the connection breaks, until ctx ends.
func (c *client) followEvents(ctx context.Context, path string, query url.Values,
	handle func(sse) (done bool, err error)) error {
	var last string
	for attempt := 0; ; attempt++ {
		done, err := c.followOnce(ctx, path, query, &last, handle)
		if done || err != nil {
			return err
		}
		err = wait.Sleep(ctx, min(time.Duration(attempt+1)*200*time.Millisecond, 5*time.Second))
		if err != nil {
			return err
		}
	}
}

// followOnce returns an error only when trying again cannot help.
func (c *client) followOnce(ctx context.Context, path string, query url.Values, last *string,
	handle func(sse) (bool, error)) (bool, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet,
		strings.TrimRight(c.login.URL, "/")+path+"?"+query.Encode(), nil)
	if err != nil {
		return false, fmt.Errorf("ask the control plane: %w", err)
	}
	r.Header.Set("Authorization", "Bearer "+c.login.Token)
	r.Header.Set("Accept", "text/event-stream")
	if *last != "" {
		r.Header.Set("Last-Event-ID", *last)
	}
	response, err := c.http.Do(r)
	if err != nil {
		return false, context.Cause(ctx)
	}
	defer response.Body.Close()
	if response.StatusCode >= 500 {
		return false, nil
	}
	if response.StatusCode >= 400 {
		body, _ := io.ReadAll(io.LimitReader(response.Body, 1<<20))
		return false, problemOf(response.StatusCode, response.Status, body)
	}
	return readEvents(response.Body, last, handle)
}

func readEvents(r io.Reader, last *string, handle func(sse) (bool, error)) (bool, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 4<<20)
	var e sse
	for lines.Scan() {
		name, value, _ := strings.Cut(lines.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case lines.Text() == "":
			if done, err := dispatchEvent(&e, last, handle); done || err != nil {
				return done, err
			}
		case name == "id":
			e.ID = value
		case name == "event":
			e.Event = value
		case name == "data":
			e.Data += value
		}
	}
	return false, nil
}

func dispatchEvent(e *sse, last *string, handle func(sse) (bool, error)) (bool, error) {
	defer func() { *e = sse{} }()
	if e.ID != "" {
		*last = e.ID
	}
	if e.Event == "" {
		return false, nil
	}
	return handle(*e)
}
