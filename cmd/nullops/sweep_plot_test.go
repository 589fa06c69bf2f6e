package main_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// plot is what a user does, each part of it such that it may be repeated when
// the answer was lost. A part is false when there was nobody to answer.
type plot struct {
	parts []func(*teller) bool
	// ledger is all that plugins do in it, ever.
	ledger []string
	runs   int
	end    apiclient.DeploymentStatus
	// bend changes the dummy engine's behaviour.
	bend func(*dummyMachine)
}

// plotOf is the story in which a verb occurs; most occur in a plain life.
func plotOf(verb string) *plot {
	life := []string{"create first", "delete first"}
	// When a story is told again, it may have continued.
	present := []apiclient.DeploymentStatus{apiclient.DeploymentStatusReady,
		apiclient.DeploymentStatusRemoving, apiclient.DeploymentStatusRemoved,
		apiclient.DeploymentStatusStuck, apiclient.DeploymentStatusForgotten}
	switch verb {
	case "retry":
		again := func(c *teller) bool { return c.act(apiclient.DeploymentStatusFailed, "/retry") }
		return &plot{ledger: slices.Concat(life, life), runs: 2,
			end: apiclient.DeploymentStatusRemoved, bend: failsOnce,
			parts: []func(*teller) bool{createAgain, awaitStatus(append(present,
				apiclient.DeploymentStatusFailed)...), again, awaitStatus(present...), awaitAnswer, removeAgain,
				awaitStatus(apiclient.DeploymentStatusRemoved)}}
	case "cancel":
		return &plot{ledger: life, runs: 1, end: apiclient.DeploymentStatusCanceled, bend: hangPlugins,
			parts: []func(*teller) bool{createAgain, awaitBusy, removeAgain,
				awaitStatus(apiclient.DeploymentStatusCanceled)}}
	case "forget":
		forget := func(c *teller) bool { return c.act(apiclient.DeploymentStatusStuck, "/forget") }
		return &plot{ledger: life, runs: 1, end: apiclient.DeploymentStatusForgotten, bend: refuseUndo,
			parts: []func(*teller) bool{createAgain, awaitStatus(present...), awaitAnswer,
				removeOnce, awaitStatus(apiclient.DeploymentStatusStuck,
					apiclient.DeploymentStatusForgotten), forget,
				awaitStatus(apiclient.DeploymentStatusForgotten)}}
	}
	return &plot{ledger: life, runs: 1, end: apiclient.DeploymentStatusRemoved,
		parts: []func(*teller) bool{createAgain, awaitStatus(present...), awaitAnswer, removeAgain,
			awaitStatus(apiclient.DeploymentStatusRemoved)}}
}

// teller plays the story of one deployment.
type teller struct {
	t       *testing.T
	p       *product
	name    string
	machine machine
	watcher *watcher
	// victim is the process that will be killed; nil when there are no more kills.
	victim *process
	id     string
}

// tell stops when the victim is dead.
func (c *teller) tell(s *plot) {
	c.t.Helper()
	for _, part := range s.parts {
		if !part(c) {
			return
		}
	}
}

func (c *teller) dead() bool { return c.victim != nil && c.victim.hasEnded() }

// ask is false when nobody answers, which only a victim may do.
func (c *teller) ask(method, path string, body any, header ...string) (answer, bool) {
	c.t.Helper()
	a := c.p.admin.ask(c.t, method, path, body, header...)
	if a.status == -1 {
		if c.victim == nil {
			c.t.Fatalf("%s %s: %s", method, path, a.body)
		}
		return a, false
	}
	return a, !c.dead()
}

// createAgain sends the same request each time, and gets the same answer.
func createAgain(c *teller) bool {
	c.t.Helper()
	a, ok := c.ask(http.MethodPost, "/deployments",
		object{"name": c.name, "project": "sweep", "environment": "qa"}, "Idempotency-Key", "once")
	if a.status == -1 {
		return false
	}
	var d apiclient.Deployment
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || a.status != http.StatusCreated {
		c.t.Fatalf("create: %s", a)
	}
	if c.id != "" && c.id != d.Id {
		c.t.Fatalf("the same key gave %s, and %s before", d.Id, c.id)
	}
	if c.id == "" {
		c.id = d.Id
		c.watcher.begin(c)
	}
	return ok
}

// awaitStatus waits for a status.
func awaitStatus(statuses ...apiclient.DeploymentStatus) func(*teller) bool {
	return func(c *teller) bool {
		c.t.Helper()
		alive := true
		eventually(c.t, "deployment is "+string(statuses[0]), func() string {
			var now apiclient.DeploymentStatus
			if now, alive = c.status(); !alive || slices.Contains(statuses, now) {
				return ""
			}
			return c.p.admin.ask(c.t, http.MethodGet, "/deployments/"+c.id, nil).body
		})
		return alive
	}
}

func (c *teller) status() (apiclient.DeploymentStatus, bool) {
	c.t.Helper()
	a, ok := c.ask(http.MethodGet, "/deployments/"+c.id, nil)
	if !ok {
		return "", false
	}
	var d apiclient.Deployment
	if err := json.Unmarshal([]byte(a.body), &d); err != nil || a.status != http.StatusOK {
		c.t.Fatalf("deployment: %s", a)
	}
	return d.Status, true
}

// awaitAnswer asks the ingress, when there is one and the deployment is ready: it
// has to reach this deployment and no other.
func awaitAnswer(c *teller) bool {
	c.t.Helper()
	now, ok := c.status()
	if !ok || now != apiclient.DeploymentStatusReady || c.p.ingress == nil {
		return ok
	}
	eventually(c.t, "it answers", func() string {
		if a := c.p.visit(c.t, c.url()); a.status != http.StatusOK && !c.dead() {
			return a.String()
		}
		return ""
	})
	return !c.dead()
}

func (c *teller) url() string {
	return "http://web." + c.name + ".qa.localhost:" + portOf(c.p.ingressAddr) + "/healthz"
}

// awaitBusy waits until the plugin runs, or the deployment is on its way out.
func awaitBusy(c *teller) bool {
	c.t.Helper()
	alive := true
	eventually(c.t, "the plugin runs", func() string {
		var now apiclient.DeploymentStatus
		now, alive = c.status()
		on := now == apiclient.DeploymentStatusQueued || now == apiclient.DeploymentStatusApplying
		if !alive || !on || len(c.machine.ledger()) > 0 {
			return ""
		}
		return string(now)
	})
	return alive
}

// removeAgain may be asked again: that changes nothing.
func removeAgain(c *teller) bool {
	c.t.Helper()
	a, ok := c.ask(http.MethodDelete, "/deployments/"+c.id, nil)
	if a.status != -1 && a.status != http.StatusAccepted {
		c.t.Fatalf("remove: %s", a)
	}
	return ok
}

// removeOnce leaves alone what is stuck: asking again would be another try.
func removeOnce(c *teller) bool {
	c.t.Helper()
	now, ok := c.status()
	if !ok || now == apiclient.DeploymentStatusStuck {
		return ok
	}
	return removeAgain(c)
}

// act does what only a deployment in a certain status can have done to it. One
// that is in another one has had it done before.
func (c *teller) act(in apiclient.DeploymentStatus, what string) bool {
	c.t.Helper()
	now, ok := c.status()
	if !ok || now != in {
		return ok
	}
	a, ok := c.ask(http.MethodPost, "/deployments/"+c.id+what, nil)
	if a.status != -1 && a.status/100 != 2 {
		c.t.Fatalf("%s: %s", what, a)
	}
	return ok
}

// check looks at everything that could be wrong at the end.
func (c *teller) check(s *plot) {
	t := c.t
	t.Helper()
	// promise: G-06
	if now, _ := c.status(); now != s.end {
		t.Errorf("it ended as %s, wanted %s", now, s.end)
	}
	got := c.machine.ledger()
	if s.end == apiclient.DeploymentStatusForgotten {
		// An agent that learns that it is no longer wanted tries to undo it once more, and may have
		// done so by now.
		got = slices.Compact(slices.Clone(got))
	}
	if !slices.Equal(got, s.ledger) {
		t.Errorf("plugins did %q, wanted %q", got, s.ledger)
	}
	// promise: N-150
	c.machine.nothingLeft(t, c.id)
	c.nothingStored(s)
	eventually(t, "its routes are gone", func() string {
		if a := c.p.visit(t, c.url()); a.status != http.StatusGone {
			return a.String()
		}
		return ""
	})
	c.watcher.check(c, s.end)
}

// nothingStored looks without going through the API: exactly one deployment was ever made, and
// nothing is held for it.
func (c *teller) nothingStored(s *plot) {
	t := c.t
	t.Helper()
	for query, want := range map[string]int{
		"SELECT count(*) FROM deployments":                         1,
		"SELECT count(*) FROM runs":                                s.runs,
		"SELECT count(*) FROM run_steps":                           2 * s.runs,
		"SELECT count(*) FROM deployment_hosts":                    0,
		"SELECT count(*) FROM idempotency_keys WHERE key = 'once'": 1,
		"SELECT count(*) - max(seq) FROM deployment_events":        0,
		"SELECT count(*) FROM deployment_events WHERE seq < 1":     0,
	} {
		if got := pgtest.QueryValue[int](t, c.p.database, query); got != want {
			t.Errorf("%s: %d, wanted %d", query, got, want)
		}
	}
	var n apiclient.Node
	c.p.admin.get(t, "/nodes/alpha", &n)
	if n.Deployments != 0 || n.Allocated.CPU != 0 || n.Allocated.MemoryMiB != 0 {
		t.Errorf("the node holds %d deployments and %+v", n.Deployments, n.Allocated)
	}
}

// watcher is a person's browser: it follows the deployment's events from the
// first one, across every restart.
type watcher struct {
	stream stream
}

func (w *watcher) begin(c *teller) {
	t := c.t
	done := make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			w.follow(c)
			select {
			case <-ctx.Done():
			case <-time.After(50 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { <-done })
}

// follow reads on after what was seen last, until the stream breaks.
func (w *watcher) follow(c *teller) {
	last := "0-0"
	if ids := w.stream.ids(); len(ids) > 0 {
		last = ids[len(ids)-1]
	}
	r, err := http.NewRequestWithContext(c.t.Context(), http.MethodGet,
		c.p.url+"/api/v1/deployments/"+c.id+"/events", nil)
	if err != nil {
		return
	}
	r.Header.Set("Authorization", "Bearer "+c.p.admin.token)
	r.Header.Set("Accept", "text/event-stream")
	r.Header.Set("Last-Event-ID", last)
	response, err := (&http.Client{}).Do(r)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode == http.StatusOK {
		w.stream.read(response.Body)
	}
}

// check compares with a fresh read of everything: nothing is missing, nothing came twice, nothing
// came in another order.
func (w *watcher) check(c *teller, end apiclient.DeploymentStatus) {
	t := c.t
	t.Helper()
	late := c.p.admin.follow(t, "/deployments/"+c.id+"/events", "0-0")
	// A deployment's event shows what it is by now, perhaps ahead of its steps'.
	told := pgtest.QueryValue[int](t, c.p.database,
		"SELECT count(*) FROM deployment_events WHERE kind = 'step'")
	for _, s := range []*stream{late, &w.stream} {
		s.awaitData(t, "deployment", `"status":"`+string(end)+`"`)
		eventually(t, "every step's event came", func() string {
			if n := len(s.all("step")); n < told {
				return fmt.Sprintf("%d of %d", n, told)
			}
			return ""
		})
	}
	got, want := w.stream.stepMoves(t), late.stepMoves(t)
	// promise: G-12, G-13
	if !slices.Equal(got, want) || len(got) != told {
		t.Errorf("of %d, who watched saw\n%q\nwho came late\n%q", told, got, want)
	}
	ids := w.stream.ids()
	for i := range ids[1:] {
		if orderOf(t, ids[i+1]) <= orderOf(t, ids[i]) {
			t.Errorf("event %s came after %s", ids[i+1], ids[i])
		}
	}
}

// orderOf makes an id comparable: the change it counts, then the line.
func orderOf(t *testing.T, id string) int {
	t.Helper()
	var change, line int
	if _, err := fmt.Sscanf(id, "%d-%d", &change, &line); err != nil {
		t.Fatalf("event id %q: %v", id, err)
	}
	return change<<32 + line
}
