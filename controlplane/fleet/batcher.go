package fleet

import (
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane/lifecycle"
)

const (
	// postsAtOnce bounds how many nodes' events share a commit, since the commit holds the
	// row locks of their deployments.
	postsAtOnce = 32
	// togetherWithin is how long a commit for several may take.
	togetherWithin = 2 * time.Second
	// clerks is how many group commits may run at once; reports that arrive meanwhile wait for the
	// next one. Together with loners it leaves database connections for others.
	clerks = 3
	// loners is how many commits of a single report may run at once, besides the group commits.
	loners = 3
	// aloneFor is how long reports are stored one by one after a shared commit took too
	// long. While the database is slow, trying to share only adds delay.
	aloneFor = 5 * time.Second
)

// reportBatcher stores what nodes report (group commit). Reports that arrive at the
// same time share a transaction: each commit costs a disk flush and PostgreSQL's
// global lock for notifications.
type reportBatcher struct {
	apply   func(context.Context, ...lifecycle.Report) error
	waiting chan pendingReports
	// alone has a place for each commit for one.
	alone chan struct{}

	mu sync.Mutex
	// apart is the time until which reports are stored one by one.
	apart time.Time
}

// pendingReports is what a node reported of one deployment.
type pendingReports struct {
	ctx     context.Context
	reports []lifecycle.Report
	stored  chan<- error
}

func newPosts(apply func(context.Context, ...lifecycle.Report) error) *reportBatcher {
	return &reportBatcher{
		apply:   apply,
		waiting: make(chan pendingReports),
		alone:   make(chan struct{}, loners),
	}
}

// storeReports returns once the reports are committed, or why they are not.
func (p *reportBatcher) storeReports(ctx context.Context, reports []lifecycle.Report) error {
	stored := make(chan error, 1)
	select {
	case p.waiting <- pendingReports{ctx, reports, stored}:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	// Also at the end of ctx, which takes a moment then: nothing of a session may be
	// stored once the next one counts.
	return <-stored
}

// run stores what waits until the context ends.
func (p *reportBatcher) run(ctx context.Context) error {
	var group errgroup.Group
	for range clerks {
		group.Go(func() error {
			for {
				select {
				case <-ctx.Done():
					return nil
				case first := <-p.waiting:
					p.storeTogether(ctx, p.gatherWaiting(first))
				}
			}
		})
	}
	return group.Wait()
}

// gatherWaiting takes what waits already.
func (p *reportBatcher) gatherWaiting(first pendingReports) []pendingReports {
	all := []pendingReports{first}
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

// storeTogether stores all in one transaction. If that fails, each is stored by
// itself: one that is invalid, or whose deployment is locked, must not delay the
// others.
func (p *reportBatcher) storeTogether(ctx context.Context, all []pendingReports) {
	// In one order, so that no two commits wait for each other.
	slices.SortFunc(all, func(a, b pendingReports) int {
		return strings.Compare(string(a.reports[0].Deployment), string(b.reports[0].Deployment))
	})
	stored, err := p.tryGroupCommit(ctx, all)
	for _, one := range all {
		if stored || len(all) == 1 && err != nil {
			one.stored <- err
			continue
		}
		// Store these off the batching goroutine; each may block on its deployment's row lock.
		go func() { one.stored <- p.storeAlone(one) }()
	}
}

// tryGroupCommit reports whether all were stored. (false, nil) means that the group
// commit was skipped or timed out; the caller stores each report alone.
func (p *reportBatcher) tryGroupCommit(
	ctx context.Context,
	all []pendingReports,
) (stored bool, err error) {
	p.mu.Lock()
	apart := time.Now().Before(p.apart)
	p.mu.Unlock()
	if apart {
		return false, nil
	}
	var reports []lifecycle.Report
	for _, one := range all {
		reports = append(reports, one.reports...)
	}
	within, cancel := context.WithTimeout(ctx, togetherWithin)
	defer cancel()
	if err = p.apply(within, reports...); err == nil || within.Err() == nil {
		return err == nil, err
	}
	if ctx.Err() == nil {
		p.mu.Lock()
		p.apart = time.Now().Add(aloneFor)
		p.mu.Unlock()
	}
	return false, nil
}

// storeAlone stores one by itself, when it is its turn.
func (p *reportBatcher) storeAlone(one pendingReports) error {
	select {
	case p.alone <- struct{}{}:
		defer func() { <-p.alone }()
		return p.apply(one.ctx, one.reports...)
	case <-one.ctx.Done():
		return context.Cause(one.ctx)
	}
}
