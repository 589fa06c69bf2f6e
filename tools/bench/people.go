package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// readers is how many people ask; each is in five teams.
const readers = 40

func peopleGroup() group {
	return group{
		figures: []figure{
			{name: "api_list_p99", unit: "ms", peer: goalPeer, better: "lower", goal: 25},
			{name: "api_list_p50", unit: "ms", peer: "one asker, no load", better: "lower"},
			{name: "api_p99", unit: "ms", peer: "one asker, no load", better: "lower"},
			{name: "api_p50", unit: "ms", peer: "one asker, no load", better: "lower"},
		},
		prepare: preparePeople,
	}
}

// reader is one of the people: where they look again and again.
type reader struct {
	token                            string
	deployment, project, environment string
}

func preparePeople(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	if err := l.seedDatabase(ctx); err != nil {
		return nil, nil, err
	}
	a := newAsker(l.uiURL)
	all, err := lookUpReaders(ctx, a, min(readers, l.company().users))
	if err != nil {
		return nil, nil, err
	}
	rate, lasts := 200, 15*time.Second
	if l.small {
		rate, lasts = 20, 3*time.Second
	}
	do := func(ctx context.Context, s *samples) error {
		var calm, busy calls
		err := s.inTurn(func() (err error) {
			busy, err = a.calls(ctx, all, rate, lasts)
			return err
		}, func() (err error) {
			calm, err = a.calls(ctx, all, 10, 5*time.Second)
			return err
		})
		if err != nil {
			return err
		}
		s.addOurs("api_list_p99", computePercentile(busy.lists, 0.99))
		s.addOurs("api_list_p50", computePercentile(busy.lists, 0.5))
		s.addPeer("api_list_p50", computePercentile(calm.lists, 0.5))
		s.addOurs("api_p99", computePercentile(busy.all, 0.99))
		s.addPeer("api_p99", computePercentile(calm.all, 0.99))
		s.addOurs("api_p50", computePercentile(busy.all, 0.5))
		s.addPeer("api_p50", computePercentile(calm.all, 0.5))
		return nil
	}
	return do, func(context.Context) error { a.web.CloseIdleConnections(); return nil }, nil
}

// lookUpReaders reads what each reader sees.
func lookUpReaders(ctx context.Context, a *asker, n int) ([]reader, error) {
	all := make([]reader, n)
	for i := range all {
		all[i].token = seedToken(1 + i)
		body, err := a.get(ctx, all[i].token, "/api/v1/deployments")
		if err != nil {
			return nil, err
		}
		var page struct {
			Items []struct{ ID, Project, Environment string }
		}
		if err := json.Unmarshal(body, &page); err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		if len(page.Items) == 0 {
			return nil, errors.New("a reader sees nothing")
		}
		d := page.Items[len(page.Items)/2]
		all[i].deployment, all[i].project, all[i].environment = d.ID, d.Project, d.Environment
	}
	return all, nil
}

// paths are what people ask for; the first lists of them are lists.
func (r reader) paths() (paths []string, lists int) {
	return []string{
		"/api/v1/deployments",
		"/api/v1/deployments?environment=" + r.environment,
		"/api/v1/deployments?project=" + r.project,
		"/api/v1/deployments?search=seed-9",
		"/api/v1/deployments?status=failed",
		"/api/v1/projects",
		"/api/v1/environments",
		"/api/v1/me",
		"/api/v1/deployments/" + r.deployment,
		"/api/v1/deployments/" + r.deployment + "/runs",
	}, 7
}

// calls are the times that answers took.
type calls struct{ all, lists []time.Duration }

func (a *asker) calls(
	ctx context.Context, who []reader, rate int, lasts time.Duration,
) (c calls, err error) {
	_, lists := reader{}.paths()
	n := 10
	c.all, err = callAtRate(ctx, rate, lasts, func(ctx context.Context, i int) error {
		r := who[i/n%len(who)]
		paths, _ := r.paths()
		_, err := a.get(ctx, r.token, paths[i%n])
		return err
	})
	for i, took := range c.all {
		if i%n < lists {
			c.lists = append(c.lists, took)
		}
	}
	return c, err
}
