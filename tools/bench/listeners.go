package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// manyListeners follow the list of deployments at once.
	manyListeners = 1000
	// shots is how many events one round sends.
	shots = 10
	// shotWithin is when an event counts as lost.
	shotWithin = 30 * time.Second
	// openedAtOnce is how many streams are opened side by side.
	openedAtOnce = 32
)

func listenersGroup() group {
	return group{
		figures: []figure{
			{name: "events_1000_p99", unit: "ms", peer: goalPeer, better: "lower", goal: 250},
			{name: "events_1000_p50", unit: "ms", peer: "one listener", better: "lower"},
		},
		prepare: prepareListeners,
	}
}

// crier changes a deployment that everybody sees, and waits for all to hear.
type crier struct {
	l          *lab
	deployment string
	heard      chan time.Time
}

func prepareListeners(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	if err := l.seedDatabase(ctx); err != nil {
		return nil, nil, err
	}
	common, err := l.common(ctx)
	if err != nil {
		return nil, nil, err
	}
	many := manyListeners
	if l.small {
		many = 30
	}
	do := func(ctx context.Context, s *samples) error {
		var alone, crowded []time.Duration
		err := s.inTurn(func() (err error) {
			crowded, err = l.cry(ctx, common, many)
			return err
		}, func() (err error) {
			alone, err = l.cry(ctx, common, 1)
			return err
		})
		if err != nil {
			return err
		}
		s.addOurs("events_1000_p99", computePercentile(crowded, 0.99))
		s.addOurs("events_1000_p50", computePercentile(crowded, 0.5))
		s.addPeer("events_1000_p50", computePercentile(alone, 0.5))
		return nil
	}
	return do, func(context.Context) error { return nil }, nil
}

// common is a deployment of the environment that all teams read.
func (l *lab) common(ctx context.Context) (string, error) {
	body, err := newAsker(l.uiURL).get(ctx, l.bearer,
		"/api/v1/deployments?status=ready&environment=seed-1")
	if err != nil {
		return "", err
	}
	var page struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(body, &page); err != nil || len(page.Items) == 0 {
		return "", errors.Join(errors.New("nobody is in the environment of all"), err)
	}
	return page.Items[0].ID, nil
}

// cry opens the streams, and returns how long each listener waited for each event, from when the
// change was asked for.
func (l *lab) cry(ctx context.Context, deployment string, many int) ([]time.Duration, error) {
	ctx, hush := context.WithCancel(ctx)
	c := &crier{l: l, deployment: deployment, heard: make(chan time.Time, many*shots)}
	var streams sync.WaitGroup
	defer func() { hush(); streams.Wait() }()
	a := newAsker(l.uiURL)
	a.web.Timeout = 0 // a stream has no end
	opening, all := errgroup.WithContext(ctx)
	opening.SetLimit(openedAtOnce)
	for i := range many {
		opening.Go(func() error {
			lines, err := openStream(all, ctx, a, seedToken(1+i%l.company().users))
			if err == nil {
				streams.Go(func() { c.listen(lines) })
			}
			return err
		})
	}
	if err := opening.Wait(); err != nil {
		return nil, err
	}
	var took []time.Duration
	for range shots {
		waits, err := c.shoot(ctx, many)
		if err != nil {
			return nil, err
		}
		took = append(took, waits...)
	}
	return took, nil
}

// openStream opens a stream and reads until it follows. The first context bounds
// the opening, the second the stream.
func openStream(opening, ctx context.Context, a *asker, token string) (*bufio.Scanner, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, a.base+"/api/v1/events", nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := a.web.Do(r)
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, func() { _ = answer.Body.Close() })
	lines := bufio.NewScanner(answer.Body)
	lines.Buffer(nil, 1<<20)
	for opening.Err() == nil && lines.Scan() {
		if lines.Text() == "event: reset" {
			return lines, nil
		}
	}
	return nil, fmt.Errorf("a stream ended before it began: %s: %w", answer.Status, lines.Err())
}

// listen reports when each event about the deployment came.
func (c *crier) listen(lines *bufio.Scanner) {
	for lines.Scan() {
		if bytes.HasPrefix(lines.Bytes(), []byte("data:")) &&
			bytes.Contains(lines.Bytes(), []byte(c.deployment)) {
			c.heard <- time.Now()
		}
	}
}

// shoot makes one change: someone extends the deployment.
func (c *crier) shoot(ctx context.Context, many int) ([]time.Duration, error) {
	began := time.Now()
	r, err := c.l.api.ExtendDeploymentWithResponse(ctx, c.deployment)
	if err != nil {
		return nil, err
	}
	if r.StatusCode() != http.StatusOK {
		return nil, fmt.Errorf("extend a deployment: %s: %s", r.Status(), r.Body)
	}
	late := time.After(shotWithin)
	took := make([]time.Duration, 0, many)
	for len(took) < many {
		select {
		case at := <-c.heard:
			took = append(took, at.Sub(began))
		case <-late:
			return nil, fmt.Errorf("%d of %d listeners heard of a change", len(took), many)
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return took, nil
}
