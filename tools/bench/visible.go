package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// visibleEach is how many deployments one round makes, one after the other.
const visibleEach = 8

// visibleGroup is how long after a deployment is ready its address answers.
func visibleGroup() group {
	return group{
		figures: []figure{{name: "route_visible_p99", unit: "ms", peer: goalPeer, better: "lower",
			goal: 100}},
		prepare: prepareVisible,
	}
}

func prepareVisible(
	_ context.Context, l *lab,
) (round, func(context.Context) error, error) {
	many := visibleEach
	if l.small {
		many = 2
	}
	do := func(ctx context.Context, s *samples) error {
		var took []time.Duration
		for i := range many {
			late, err := l.visible(ctx, fmt.Sprintf("visible-%d", i))
			if err != nil {
				return err
			}
			took = append(took, late)
		}
		s.addOurs("route_visible_p99", computePercentile(took, 0.99))
		return nil
	}
	return do, func(context.Context) error { return nil }, nil
}

// visible makes a deployment while someone asks for its address all the time, and returns how long
// after the database's "ready" it answered first. An answer before that counts as none at all: the
// commit comes after its time.
func (l *lab) visible(ctx context.Context, name string) (time.Duration, error) {
	asking, stop := context.WithCancel(ctx)
	defer stop()
	answered := make(chan time.Time, 1)
	go func() {
		for asking.Err() == nil {
			err := checkAnswer(asking, "http://"+l.ingressAddr+"/healthz", "web."+name+".qa.localhost")
			if err == nil {
				answered <- time.Now()
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	}()
	d, _, err := l.deploy(ctx, crowdProject, name)
	if err != nil {
		return 0, err
	}
	if d.ReadyAt == nil {
		return 0, errors.New("a ready deployment does not say since when")
	}
	select {
	case first := <-answered:
		return max(0, first.Sub(*d.ReadyAt)), l.remove(ctx, d.Id)
	case <-time.After(startWithin):
		return 0, errors.Join(fmt.Errorf("%s is ready and does not answer", name),
			l.remove(ctx, d.Id))
	case <-ctx.Done():
		return 0, context.Cause(ctx)
	}
}
