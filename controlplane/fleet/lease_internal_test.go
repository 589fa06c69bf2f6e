package fleet

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// fakeNodes is a node table with programmed answers. What is not set here must not
// be called.
type fakeNodes struct {
	Nodes
	begin func([]controlplane.NodeID) (map[controlplane.NodeID]SessionStart, error)
	renew func(context.Context) (lost, busy []controlplane.NodeID, err error)

	mu     sync.Mutex
	images []pipeline.Image
	// digests are the nodes', ofAll is the digest of all of them.
	digests map[controlplane.NodeID]string
	ofAll   string
	// reads counts the questions for the list of images.
	reads int
}

func (n *fakeNodes) BeginSessions(_ context.Context, ids []controlplane.NodeID, _ string) (
	map[controlplane.NodeID]SessionStart, error) {
	return n.begin(ids)
}

func (n *fakeNodes) RenewLeases(ctx context.Context, _ []controlplane.NodeID, _ string) (
	lost, busy []controlplane.NodeID, err error) {
	return n.renew(ctx)
}

func (n *fakeNodes) Digests(_ context.Context, _, known string) (
	all map[controlplane.NodeID]string, of string, err error) {
	if known == n.ofAll {
		return nil, known, nil
	}
	return n.digests, n.ofAll, nil
}

func (n *fakeNodes) KeptImages(context.Context) ([]pipeline.Image, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.reads++
	if n.images == nil {
		return nil, errBad
	}
	return n.images, nil
}

func newFakeFleet(n *fakeNodes) *Fleet {
	return New(Config{Nodes: n, Holder: "us", Log: slog.New(slog.DiscardHandler)})
}

// openFake adds a session without a connection, whose lease was renewed just now.
func openFake(f *Fleet, id controlplane.NodeID) *session {
	ctx, stop := context.WithCancelCause(context.Background())
	s := &session{Fleet: f, link: NodeLink{Node: controlplane.Node{ID: id}}, ctx: ctx, stop: stop,
		good: time.Now()}
	f.roster.add(s, "")
	return s
}

func TestRenew_EndsTheSessionsOfLostLeasesOnly(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNodes{renew: func(context.Context) (lost, busy []controlplane.NodeID, err error) {
			return []controlplane.NodeID{"lost"}, []controlplane.NodeID{"busy"}, nil
		}}
		f := newFakeFleet(n)
		lost, busy, ours := openFake(f, "lost"), openFake(f, "busy"), openFake(f, "ours")
		time.Sleep(renewEvery)
		f.roster.renewOnce(t.Context())
		if got := context.Cause(lost.ctx); !errors.Is(got, errElsewhere) {
			t.Errorf("the lost one goes on: %v", got)
		}
		if busy.ctx.Err() != nil || ours.ctx.Err() != nil {
			t.Error("another one was ended")
		}
		if busy.sinceRenewed() != renewEvery || ours.sinceRenewed() != 0 {
			t.Errorf("renewed %v and %v ago", busy.sinceRenewed(), ours.sinceRenewed())
		}
	})
}

// While the database does not answer a session continues, but never past the end of its
// lease: another control plane may have the node then.
//
// fault: F17
func TestRenew_WithoutADatabaseTheSessionEndsBeforeItsLease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := &fakeNodes{renew: func(ctx context.Context) (lost, busy []controlplane.NodeID, err error) {
			<-ctx.Done()
			return nil, nil, ctx.Err()
		}}
		f := newFakeFleet(n)
		s := openFake(f, "n")
		began := time.Now()
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan struct{})
		go func() { defer close(done); _ = f.roster.renewAll(ctx) }()
		<-s.ctx.Done()
		if took := time.Since(began); took < leaseFor/2 || took >= leaseFor {
			t.Errorf("it ended after %v, with a lease of %v", took, leaseFor)
		}
		stop()
		<-done
	})
}

func TestClaim_ManyNodesShareAQuestionAndEachGetsItsOwnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var asked [][]controlplane.NodeID
		n := &fakeNodes{}
		n.begin = func(ids []controlplane.NodeID) (map[controlplane.NodeID]SessionStart, error) {
			asked = append(asked, ids)
			// The first question takes a while, so that the others wait together.
			time.Sleep(time.Second)
			return map[controlplane.NodeID]SessionStart{"a": {Epoch: 1}, "b": {Epoch: 2}}, nil
		}
		f := newFakeFleet(n)
		ctx, stop := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { _ = f.answerAll(ctx) })
		claim := func(id controlplane.NodeID, epoch int64, why error) {
			tasks.Go(func() {
				b, err := f.claimNode(ctx, id)
				if b.Epoch != epoch || !errors.Is(err, why) {
					t.Errorf("%s: epoch %d, %v", id, b.Epoch, err)
				}
			})
		}
		claim("a", 1, nil)
		synctest.Wait()
		claim("b", 2, nil)
		claim("held by another", 0, errElsewhere)
		time.Sleep(3 * time.Second)
		stop()
		tasks.Wait()
		if len(asked) != 2 || len(asked[1]) != 2 {
			t.Errorf("the database was asked for %v", asked)
		}
	})
}

func TestKeepList_IsReadOnceForAllSessionsAndAgainWhenOld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n, k := &fakeNodes{}, &keepListCache{}
		if _, err := k.list(t.Context(), n); !errors.Is(err, errBad) {
			t.Errorf("without a database: %v", err)
		}
		n.images = []pipeline.Image{{Repository: "shop/api"}}
		for range 3 {
			got, err := k.list(t.Context(), n)
			if err != nil || len(got) != 1 {
				t.Errorf("it is %v, %v", got, err)
			}
		}
		if n.reads != 2 {
			t.Errorf("it was read %d times, the failure included", n.reads)
		}
		time.Sleep(keepFor)
		n.images = append(n.images, pipeline.Image{Repository: "shop/web"})
		if got, err := k.list(t.Context(), n); err != nil || len(got) != 2 {
			t.Errorf("when it was old: %v, %v", got, err)
		}
	})
}

func TestChangedSessions_NamesEachChangeOnce(t *testing.T) {
	t.Parallel()
	n := &fakeNodes{}
	f := newFakeFleet(n)
	a, held := openFake(f, "a"), openFake(f, "held")
	held.holding = true
	count := func(digest string) (changed, left int) {
		n.digests, n.ofAll = map[controlplane.NodeID]string{"a": digest}, "all: "+digest
		all, err := f.roster.changedSessions(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range all {
			if s == a {
				changed++
			} else {
				left++
			}
		}
		return changed, left
	}
	for _, c := range []struct {
		digest string
		want   int
	}{{"", 0}, {"x", 1}, {"x", 0}, {"y", 1}} {
		if changed, left := count(c.digest); changed != c.want || left != 1 {
			t.Errorf("digest %q: %d changed, %d wait for a decision", c.digest, changed, left)
		}
	}
	// A session that begins again may have been sent less than is known of all nodes.
	a = openFake(f, "a")
	if changed, _ := count("y"); changed != 1 {
		t.Error("a session that began with an older digest was not updated")
	}
}

// The order of one node's reports is kept, and each is stored in one commit, whatever
// else is stored with them.
func TestPosts_KeepTheOrderOfANodesReports(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := &desk{open: make(chan struct{})}
		close(d.open)
		p := newPosts(d.apply)
		ctx, stop := context.WithCancel(t.Context())
		var tasks sync.WaitGroup
		tasks.Go(func() { _ = p.run(ctx) })
		for _, node := range []string{"b", "a", "c"} {
			tasks.Go(func() {
				for _, name := range []string{"1", "2", "3", "4"} {
					if err := p.storeReports(ctx, duplicateReports(node+name)); err != nil {
						t.Error(err)
					}
				}
			})
		}
		time.Sleep(time.Second)
		stop()
		tasks.Wait()
		var order = map[byte]string{}
		for _, names := range d.commits {
			for _, n := range names {
				order[n[0]] += n[1:]
			}
		}
		for node, got := range order {
			if got != "11223344" {
				t.Errorf("node %c's were stored as %s", node, got)
			}
		}
		if len(order) != 3 {
			t.Errorf("%d nodes were heard", len(order))
		}
	})
}

func duplicateReports(deployment string) []lifecycle.Report {
	r := lifecycle.Report{Deployment: controlplane.DeploymentID(deployment)}
	return []lifecycle.Report{r, r}
}
