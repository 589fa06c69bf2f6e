// Command http-check is a plugin that asks a URL until it answers as expected,
// so that a deployment is called ready only when it can be used.
//
// It changes nothing, so its delete has nothing to do. It never prints the body of an
// answer beyond the words that were looked for: a body may hold anything.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/internal/wait"
	"github.com/nullops/nullops/plugins/stdio"
)

func main() {
	stdio.Main(stdio.Handlers{Create: waitForURL, Delete: stdio.NothingToUndo})
}

// maxBody is how much of an answer is searched for the expected words.
const maxBody = 1 << 20

type parameters struct {
	URL             string            `json:"url"`
	Status          int               `json:"status"`
	Contains        string            `json:"contains"`
	Headers         map[string]string `json:"headers"`
	Retries         int               `json:"retries"`
	IntervalSeconds float64           `json:"interval_seconds"`
	TimeoutSeconds  float64           `json:"timeout_seconds"`
}

type check struct {
	parameters
	client *http.Client
	token  string
	log    *slog.Logger
}

func waitForURL(ctx context.Context, req stdio.Request, log *slog.Logger) (stdio.Response, error) {
	// The defaults are those component.json shows.
	p := parameters{Status: 200, Retries: 30, IntervalSeconds: 1, TimeoutSeconds: 5}
	if err := req.Bind(&p); err != nil {
		return stdio.Response{}, err
	}
	if !strings.HasPrefix(p.URL, "http://") && !strings.HasPrefix(p.URL, "https://") {
		return stdio.Response{}, fmt.Errorf(
			"parameter \"url\" must begin with http:// or https://, not %q", p.URL)
	}
	c := check{parameters: p, token: req.Secrets["bearerToken"], log: log}
	c.client = &http.Client{
		Timeout: wait.Seconds(p.TimeoutSeconds),
		// A redirect is an answer: following it could leave the deployment.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c.untilGood(ctx)
}

func (c check) untilGood(ctx context.Context) (stdio.Response, error) {
	var last error
	for try := 1; try <= c.Retries+1; try++ {
		took, err := c.requestOnce(ctx)
		if err == nil {
			c.log.Info("answered as expected", "url", c.URL, "status", c.Status,
				"took", took.Round(time.Millisecond), "try", try)
			return goodResponse(c.parameters, took, try), nil
		}
		c.log.Warn("not yet", "try", try, "of", c.Retries+1, "reason", err)
		last = err
		if try <= c.Retries {
			if wait.Sleep(ctx, wait.Seconds(c.IntervalSeconds)) != nil {
				return stdio.Response{}, fmt.Errorf("%w; last: %w", ctx.Err(), last)
			}
		}
	}
	return stdio.Response{}, fmt.Errorf("%s: %w (tried %d times)", c.URL, last, c.Retries+1)
}

// requestOnce asks the URL one time.
func (c check) requestOnce(ctx context.Context) (time.Duration, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.URL, nil)
	if err != nil {
		return 0, fmt.Errorf("parameter \"url\": %w", err)
	}
	req.Header.Set("User-Agent", "nullops-http-check")
	for name, value := range c.Headers {
		req.Header.Set(name, value)
	}
	if c.token != "" {
		req.Header.Set("Authorization", "Bearer "+c.token)
	}
	started := time.Now()
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, err
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return 0, fmt.Errorf("read the answer: %w", err)
	}
	if resp.StatusCode != c.Status {
		return 0, fmt.Errorf("answered with status %d instead of %d", resp.StatusCode, c.Status)
	}
	if !strings.Contains(string(body), c.Contains) {
		return 0, errors.New("the answer does not contain " + strconv.Quote(c.Contains))
	}
	return time.Since(started), nil
}

func goodResponse(p parameters, took time.Duration, tries int) stdio.Response {
	return stdio.Response{
		Success: true,
		Output:  fmt.Sprintf("%s answered %d", p.URL, p.Status),
		Outputs: map[string]any{
			"status": p.Status, "milliseconds": took.Milliseconds(), "tries": tries,
		},
		Metadata: []stdio.Metadatum{
			{Name: "Answer time", Value: took.Round(time.Millisecond).String()},
			{Name: "Tries", Value: strconv.Itoa(tries)},
		},
	}
}
