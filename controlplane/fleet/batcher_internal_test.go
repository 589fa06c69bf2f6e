package fleet

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

var errBad = errors.New("cannot be stored")

// desk is a database whose commits the test controls.
type desk struct {
	mu sync.Mutex
	// commits are the deployments of each, in order.
	commits [][]string
	// open lets commits through.
	open chan struct{}
	// under counts those under way, most what it came to.
	under, most int
}

func (d *desk) apply(ctx context.Context, all ...lifecycle.Report) error {
	defer d.count()()
	var names []string
	bad, held := false, false
	for _, r := range all {
		names = append(names, string(r.Deployment))
		bad = bad || r.Message == "bad"
		held = held || r.Message == "held"
	}
	select {
	case <-d.open:
	case <-ctx.Done():
		return ctx.Err()
	}
	if held {
		<-ctx.Done()
		return ctx.Err()
	}
	if bad {
		return errBad
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.commits = append(d.commits, names)
	return nil
}

func (d *desk) count() (done func()) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.under++
	d.most = max(d.most, d.under)
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.under--
	}
}

// postReports has so many nodes report at once, while all clerks are busy.
func postReports(t *testing.T, d *desk, messages ...string) []chan error {
	t.Helper()
	p := newPosts(d.apply)
	ctx, stop := context.WithCancel(t.Context())
	var helpers sync.WaitGroup
	helpers.Go(func() { _ = p.run(ctx) })
	t.Cleanup(func() { stop(); helpers.Wait() })
	var answers []chan error
	say := func(name, message string) {
		answer := make(chan error, 1)
		answers = append(answers, answer)
		go func() {
			answer <- p.storeReports(ctx, []lifecycle.Report{
				{Deployment: controlplane.DeploymentID(name), Message: message}})
		}()
	}
	for i := range clerks {
		say(fmt.Sprintf("first-%d", i), "")
		synctest.Wait()
	}
	for i, m := range messages {
		say(fmt.Sprintf("d-%d", len(messages)-i), m)
	}
	synctest.Wait()
	return answers
}

// What waits while commits are under way shares the next one, in one order, and
// nobody is answered before the commit.
func TestPosts_ShareACommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{open: make(chan struct{})}
		answers := postReports(t, d, "", "", "")
		for i, a := range answers {
			if len(a) > 0 {
				t.Errorf("%d was answered before its commit: %v", i, <-a)
			}
		}
		// One clerk is free first. Of several, each could take a part of what waits.
		d.open <- struct{}{}
		synctest.Wait()
		close(d.open)
		for i, a := range answers {
			if err := <-a; err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		together := slices.ContainsFunc(d.commits, func(names []string) bool {
			return slices.Equal(names, []string{"d-1", "d-2", "d-3"})
		})
		if len(d.commits) != clerks+1 || !together {
			t.Errorf("commits were %q", d.commits)
		}
	})
}

func TestPosts_OneThatCannotBeStoredFailsAlone(t *testing.T) {
	for _, kind := range []string{"bad", "held"} {
		t.Run(kind, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				d := &desk{open: make(chan struct{})}
				answers := postReports(t, d, "", kind, "")
				close(d.open)
				began := time.Now()
				for _, i := range []int{0, 1, 2, 3, 5} {
					if err := <-answers[i]; err != nil {
						t.Errorf("%d suffers from another's report: %v", i, err)
					}
				}
				if took := time.Since(began); took > 2*togetherWithin {
					t.Errorf("the others waited %v", took)
				}
				synctest.Wait()
				switch bad := answers[4]; {
				case kind == "bad" && !errors.Is(<-bad, errBad):
					t.Error("a report that cannot be stored was acknowledged")
				case kind == "held" && len(bad) > 0:
					t.Errorf("one that waits was answered: %v", <-bad)
				}
			})
		})
	}
}

// While the database takes its time, reports leave most connections to others; and
// nobody tries again at once to share a commit.
func TestPosts_SlowDatabase(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &desk{open: make(chan struct{})}
		answers := postReports(t, d, make([]string, 10*postsAtOnce)...)
		time.Sleep(2 * togetherWithin)
		synctest.Wait()
		if d.most > clerks+loners {
			t.Errorf("%d commits at once", d.most)
		}
		close(d.open)
		for i, a := range answers {
			if err := <-a; err != nil {
				t.Errorf("%d: %v", i, err)
			}
		}
		if len(d.commits) != len(answers) {
			t.Errorf("%d reports came in %d commits just after one took too long",
				len(answers), len(d.commits))
		}
	})
}
