package main_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
)

// sweepAtOnce is bounded by the processors: a start of a control plane takes about
// two seconds of one, and gives up when the database keeps it waiting for five. The
// rest of a case is waiting: a node's lease outlives the control plane that died by
// up to ten seconds.
const sweepAtOnce = 6

// settleWithin is generous: the lease takes ten seconds of it, and many more of
// these share two cores. What it really took is logged.
const settleWithin = 2 * patience

// death is one place where a control plane, or an ingress, dies.
type death struct {
	place string
	// visit is the how manieth time there.
	visit string
	story *plot
	// real is set where the node is a process on a real Docker Engine.
	real bool
}

func (d death) String() string { return d.place + "@" + d.visit }

// listDeaths visits each failpoint, and those that mean something else later, later
// as well.
func listDeaths() (all []death) {
	for _, place := range controlplane.Failpoints() {
		verb, _, _ := strings.Cut(place, ".")
		all = append(all, death{place: place, visit: "1", story: plotOf(verb)})
	}
	later := plotOf("")
	for _, at := range []death{{place: "report.committed", visit: "3"},
		{place: "report.received", visit: "5"}, {place: "report.acked", visit: "5"},
		{place: "routes.read", visit: "2"}, {place: "routes.published", visit: "3"},
		{place: "routes.read", visit: "4"}, {place: "goals.sent", visit: "1", real: true},
		{place: "report.committed", visit: "4", real: true},
		{place: "gone.sent", visit: "1", real: true}} {
		at.story = later
		all = append(all, at)
	}
	return all
}

// sweep is what all deaths begin from.
type sweep struct {
	*product
	book *ledger
	mu   sync.Mutex
	took []time.Duration
}

// kill -9 of the real control plane at every place: what is started on what it left settles, the
// caller who asks again gets the same deployment, and nothing is left, done twice, reported twice
// or never reported.
//
// fault: F1, F2, F3, F4, F5, F6, F7, F8
func TestControlPlane_SurvivesKillAtEveryFailpoint(t *testing.T) {
	deaths := testpart.Pick(t, listDeaths())
	s := newSweep(t)
	var all sync.WaitGroup
	slots := make(chan struct{}, sweepAtOnce)
	for _, d := range deaths {
		all.Go(func() {
			slots <- struct{}{}
			defer func() { <-slots }()
			t.Run(d.String(), func(t *testing.T) { s.die(t, d) })
		})
	}
	all.Wait()
	slices.Sort(s.took)
	if n := len(s.took); n > 0 {
		t.Logf("%d kills; settled after the restart: p50 %s, p90 %s, max %s", n, s.took[n/2],
			s.took[n*9/10], s.took[n-1])
	}
}

// newSweep defines everything once, in a database that each death gets a copy of.
func newSweep(t *testing.T) *sweep {
	t.Helper()
	w := &world{t: t, docker: dockertest.Host(t), registry: readVariable(t, "NULLOPS_TEST_REGISTRY")}
	w.binary = w.build(t, sweepBuild, "-tags", "failpoints")
	s := &sweep{product: startProduct(t, w), book: newLedger(t)}
	s.applyShop(t)
	s.defineHostile(t)
	s.define(t, "sweep", s.book.ledgerStep("first", "ledger", nil, nil), webStep("web", "first"))
	s.define(t, "rows", webStep("web"))
	s.admin.put(t, "/rules/rows", object{"source": "generic", "project": "rows", "environment": "qa",
		"tag": "{tag}", "secret": keepSecret}, nil)
	s.ingress.stop(t)
	s.controlPlane.stop(t)
	return s
}

const sweepBuild = "sweep"

// product is an installation of a death's own.
func (s *sweep) fresh(t *testing.T) *product {
	t.Helper()
	p := &product{w: s.w, dir: shortDir(t), database: pgtest.Copy(t, s.database), key: s.key,
		http: freeAddress(t), ingressAddr: freeAddress(t), nodes: &sync.Map{}}
	p.url, p.ingressURL = "http://localhost:"+portOf(p.http), "http://localhost:"+portOf(p.ingressAddr)
	p.admin = &person{p: p, name: "admin", token: s.admin.token}
	return p
}

// die runs a story until a process dies of it, restarts the process, and runs the story again from
// the beginning, as a caller does who got no answer.
func (s *sweep) die(t *testing.T, d death) {
	if strings.HasPrefix(d.place, "switch.") {
		s.dieInSwitch(t, d)
		return
	}
	p := s.fresh(t)
	fail := "NULLOPS_FAILPOINT=" + d.place + "=kill@" + d.visit
	ofRoutes := strings.HasPrefix(d.place, "routes.")
	if ofRoutes {
		p.startControlPlane(t)
		p.startIngress(t, fail)
	} else {
		p.startControlPlane(t, fail)
	}
	c := &teller{t: t, p: p, name: strings.NewReplacer(".", "-", "@", "-").Replace(d.String())}
	c.settle(s, d)
	c.victim = p.controlPlane
	if ofRoutes {
		c.victim = p.ingress
	}
	c.tell(d.story)
	select {
	case <-c.victim.done:
	case <-time.After(patience):
		t.Fatalf("it lived: %s was not visited", d)
	}
	if state := c.victim.cmd.ProcessState; state.Success() || state.Exited() {
		t.Fatalf("it ended by itself: %v\n%s", state, lastLines(c.victim.log, 30))
	}
	c.victim = nil
	began := time.Now()
	if ofRoutes {
		p.startIngress(t)
	} else {
		p.startControlPlane(t)
		p.startIngress(t)
	}
	c.tell(d.story)
	took := time.Since(began).Round(10 * time.Millisecond)
	c.check(d.story)
	if took > settleWithin {
		t.Errorf("it took %s to settle; %s are the most", took, settleWithin)
	}
	s.mu.Lock()
	s.took = append(s.took, took)
	s.mu.Unlock()
}

// settle returns a node and a watcher to the caller.
func (c *teller) settle(s *sweep, d death) {
	if d.real {
		c.machine = realMachine{node: c.p.enrol(c.t, "alpha", "qa"), book: s.book, name: c.name}
	} else {
		c.machine = newDummyMachine(c, d.story)
	}
	c.watcher = &watcher{}
}
