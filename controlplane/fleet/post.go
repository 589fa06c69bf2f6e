package fleet

import (
	"context"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane/lifecycle"
)

const (
	// postsAtOnce bounds how many nodes' events share a commit: whoever asks for
	// one of their deployments waits for it.
	postsAtOnce = 8
	// togetherWithin is how long a commit for several may take.
	togetherWithin = 2 * time.Second
	// clerks is how many commits are under way at once; what arrives meanwhile
	// waits for the next. It leaves connections to the database for others.
	clerks = 3
)

// posts stores what nodes report. Nodes whose reports arrive at the same time
// share a commit: each costs the disk a moment, and PostgreSQL a lock that all
// who wake others take one after another.
type posts struct {
	apply   func(context.Context, ...lifecycle.Report) error
	waiting chan post
}

// post is what a node reported of one deployment.
type post struct {
	ctx     context.Context
	reports []lifecycle.Report
	stored  chan<- error
}

func newPosts(apply func(context.Context, ...lifecycle.Report) error) *posts {
	return &posts{apply: apply, waiting: make(chan post)}
}

// store returns once the reports are committed, or why they are not.
func (p *posts) store(ctx context.Context, reports []lifecycle.Report) error {
	stored := make(chan error, 1)
	select {
	case p.waiting <- post{ctx, reports, stored}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// Also at the end of ctx, which takes a moment then: nothing of a session may be
	// stored once the next one counts.
	return <-stored
}

// run stores what waits until the context ends.
func (p *posts) run(ctx context.Context) error {
	var group errgroup.Group
	for range clerks {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case first := <-p.waiting:
					p.together(ctx, p.gather(first))
				}
			}
		})
	}
	return group.Wait()
}

// gather takes what waits already.
func (p *posts) gather(first post) []post {
	all := []post{first}
	for len(all) < postsAtOnce {
		select {
		case next := <-p.waiting:
			all = append(all, next)
		default:
			return all
		}
	}
	return all
}

// together commits once for all. One whose deployment somebody holds, or that
// cannot be stored, must not keep the others from it: then each is stored by itself.
func (p *posts) together(ctx context.Context, all []post) {
	// In one order, so that no two commits wait for each other.
	slices.SortFunc(all, func(a, b post) int {
		return strings.Compare(string(a.reports[0].Deployment), string(b.reports[0].Deployment))
	})
	var reports []lifecycle.Report
	for _, one := range all {
		reports = append(reports, one.reports...)
	}
	within, cancel := context.WithTimeout(ctx, togetherWithin)
	defer cancel()
	err := p.apply(within, reports...)
	for _, one := range all {
		if err == nil || len(all) == 1 && within.Err() == nil {
			one.stored <- err
			continue
		}
		go func() { one.stored <- p.apply(one.ctx, one.reports...) }()
	}
}
