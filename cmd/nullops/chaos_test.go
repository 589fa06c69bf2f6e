//go:build chaos

package main_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/migrations"
)

// chaos is a whole installation, people who use it, and what breaks meanwhile.
type chaos struct {
	t   *testing.T
	ctx context.Context
	// seed decides about everything that is not timing.
	seed  uint64
	began time.Time
	round int

	product  *product
	registry *failingRegistry
	clocks   chaosClocks
	database *pgtest.Server
	// direct is the URL of the database past the link that breaks.
	direct       string
	conn         *pgx.Conn
	databaseLink *pgtest.Proxy
	nodes        [2]*chaosNode
	// network is where links of this run are: another run may use the next one.
	network    int
	planes     []*server
	agents     []*server
	ingress    *server
	noEngine   [2]bool
	noDatabase bool

	// urls are where the control planes listen.
	urls     []string
	client   *http.Client
	people   map[string]*person
	effects  effects
	book     string
	watchers map[string]*chaosWatcher

	mu         sync.Mutex
	violations []string
	// done counts what people did and what broke: a run in which hardly anything happened shows
	// nothing.
	done map[string]int
}

// TestChaos breaks a real installation at random while people use it, and looks after each
// round whether all is as it has to be. `make chaos` runs it; docs/chaos.md says more.
func TestChaos(t *testing.T) {
	minutes, err := strconv.ParseFloat(os.Getenv("NULLOPS_CHAOS_MINUTES"), 64)
	if err != nil {
		t.Fatalf("NULLOPS_CHAOS_MINUTES: %v; run it with `make chaos`", err)
	}
	seed, err := strconv.ParseUint(os.Getenv("NULLOPS_CHAOS_SEED"), 10, 64)
	if err != nil {
		t.Fatalf("NULLOPS_CHAOS_SEED: %v; run it with `make chaos`", err)
	}
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	c := &chaos{t: t, ctx: ctx, seed: seed, began: time.Now(), client: &http.Client{},
		watchers: map[string]*chaosWatcher{}, done: map[string]int{},
		network: 1 + rand.N(250)}
	c.say("seed %d", seed)
	c.start(t)
	defer c.release(t)
	defer c.stopWatching()
	c.say("all is up; rounds begin for %.1f minutes", minutes)
	length := time.Duration(minutes * float64(time.Minute))
	for begin := time.Now(); time.Since(begin) < length; {
		c.round++
		c.play(t, planRound(seed, c.round))
		c.calm(t)
	}
	c.clear(t)
	c.say("%s", c.summarize())
	c.say("OK: %d rounds, seed %d", c.round, seed)
}

// say tells what happens, with the time since the beginning.
func (c *chaos) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	fmt.Fprintf(os.Stdout, "chaos %6.1f s  %s\n", time.Since(c.began).Seconds(),
		fmt.Sprintf(format, args...))
}

// violate notes what must not be.
func (c *chaos) violate(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	c.say("VIOLATION: %s", text)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.violations = append(c.violations, text)
}

// count notes that something happened.
func (c *chaos) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.done[what]++
}

// start starts all of it: the test's end stops it again.
func (c *chaos) start(t *testing.T) {
	t.Helper()
	w := &world{t: t, docker: dockertest.Host(t)}
	c.registry, w.registry = newFailingRegistry(t, readVariable(t, "NULLOPS_TEST_REGISTRY"))
	c.clocks = newClocks(t)
	c.interruptible(t)
	c.database = pgtest.NewServer(t, c.clocks.database.preload(t)...)
	c.direct = c.database.Database(migrations.FS)
	var through string
	c.databaseLink, through = pgtest.NewProxy(t, c.direct)
	w.binary = c.clocks.planes[0].wrap(t, c.clocks.binary)
	p := startProductOn(t, w, through)
	c.product = p
	w.binary = c.clocks.planes[1].wrap(t, c.clocks.binary)
	second := p.startReplica(t, "controlplane-2")
	w.binary = c.clocks.binary // which follows the machine's own clock without a variable
	c.urls = []string{"http://" + p.http, second.admin.p.url}
	c.planes = []*server{
		c.newServer("control plane 0", p.controlPlane),
		c.newServer("control plane 1", second.process)}
	c.ingress = c.newServer("ingress", p.ingress)
	c.interruptible(t)
	p.applyShop(t)
	p.defineHostile(t)
	for i := range c.nodes {
		c.nodes[i] = c.startNode(t, i)
		c.agents = append(c.agents, c.newServer(fmt.Sprintf("agent %d", i), c.nodes[i].agent))
		c.interruptible(t)
	}
	c.define(t)
	c.people = map[string]*person{"admin": p.admin,
		"eve":  p.member(t, "eve", object{"environment": "qa", "level": "full"}),
		"vera": p.member(t, "vera", object{"environment": "qa", "level": "read"})}
}

// newServer takes a running process over, to start it again with the same arguments.
func (c *chaos) newServer(name string, first *process) *server {
	cmd := first.cmd
	return &server{name: name, process: first, start: func() *process {
		return startProcess(c.t, cmd.Path, first.name, c.product.dir, cmd.Env, cmd.Args[1:]...)
	}}
}

// define makes the projects that people deploy. The plugins of the book may run once.
func (c *chaos) define(t *testing.T) {
	t.Helper()
	// A machine that runs tests may be busy all the time.
	c.product.admin.put(t, "/environments/qa", object{"domain": "localhost",
		"capacity": object{"busy_cpu_percent": 100}}, nil)
	book := &ledger{URL: c.book}
	first := func(mode string, more object) object {
		return book.ledgerStep("first", mode, nil, more)
	}
	kept := webStep("web")
	kept["service"].(object)["volumes"] = []object{{"name": "data", "path": "/data"}}
	for project, steps := range map[string][]object{
		"plain": {webStep("web")},
		"booked": {first("ledger", nil), webStep("web", "first"),
			book.ledgerStep("last", "ledger", []string{"web"}, nil)},
		"slow": {first("ledger-sleep", object{"seconds": 6}), webStep("web", "first")},
		"doomed": {first("ledger", nil), webStep("web", "first"),
			hostileStep("no", []string{"web"}, object{"mode": "say-no"})},
		"kept": {kept},
	} {
		c.product.define(t, project, steps...)
	}
}

// interruptible ends the test when somebody interrupted it.
func (c *chaos) interruptible(t *testing.T) {
	t.Helper()
	if c.ctx.Err() != nil {
		c.describe()
		t.Fatal("interrupted")
	}
}

// describe says how to do it again, and where to look.
func (c *chaos) describe() {
	c.say("to replay: make chaos SEED=%d", c.seed)
	if c.product != nil {
		c.say("logs: %s/*.log; engines: %s, %s", c.product.dir, c.engineRoot(0), c.engineRoot(1))
	}
	for round := 1; round <= c.round; round++ {
		c.say("schedule of round %d:\n%s", round, planRound(c.seed, round))
	}
}

func (c *chaos) engineRoot(i int) string {
	if c.nodes[i] == nil {
		return "not started"
	}
	return c.nodes[i].engine.Root
}

// play lets people act while things break.
func (c *chaos) play(t *testing.T, p plan) {
	t.Helper()
	c.say("round %d:\n%s", c.round, p)
	began := time.Now()
	var acting sync.WaitGroup
	defer acting.Wait()
	for _, d := range p.deeds {
		acting.Go(func() {
			select {
			case <-time.After(time.Until(began.Add(d.at))):
				c.act(d)
			case <-c.ctx.Done():
			}
		})
	}
	type moment struct {
		at time.Duration
		do func()
	}
	var moments []moment
	for _, f := range p.faults {
		moments = append(moments, moment{f.begins, func() { c.begin(t, f) }},
			moment{f.ends, func() { c.end(t, f) }})
	}
	for at := time.Duration(0); at < roundTime; at += 100 * time.Millisecond {
		select {
		case <-time.After(time.Until(began.Add(at))):
		case <-c.ctx.Done():
			c.interruptible(t)
		}
		for i, m := range moments {
			if m.do != nil && m.at <= at {
				m.do()
				moments[i].do = nil
			}
		}
		c.supervise()
	}
	for _, m := range moments {
		if m.do != nil {
			m.do()
		}
	}
}
