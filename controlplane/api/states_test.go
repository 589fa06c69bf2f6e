package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/testpart"
)

// stage is a world with one node, on which a deployment is brought somewhere.
type stage struct {
	*world
	root string
	// node is the one that deployments get; nodes are all there are.
	node  string
	nodes []string
	made  int
}

// another begins with an empty node; what was before is given up.
func (s *stage) another() {
	s.t.Helper()
	for _, name := range s.nodes {
		s.call("POST", "/api/v1/nodes/"+name+"/forget", s.root, nil)
	}
	s.nodes = nil
	s.node, s.world.node = s.newcomer()
}

func (s *stage) newcomer() (string, controlplane.NodeID) {
	s.t.Helper()
	name := s.fresh("node")
	s.nodes = append(s.nodes, name)
	return name, s.machine(name, roomy)
}

var roomy = controlplane.Inventory{CPU: 64, Memory: 64 << 30, Disk: 1 << 40}

func (s *stage) fresh(what string) string {
	s.made++
	return fmt.Sprintf("%s-%d", what, s.made)
}

func (s *stage) beginDeployment(more object) string {
	s.t.Helper()
	a := s.create(s.root, s.fresh("one"), more)
	if a.status != http.StatusCreated {
		s.t.Fatalf("create: %d %s", a.status, a.body)
	}
	return a.field("id")
}

func (s *stage) reportStatuses(more object, all ...controlplane.DeploymentStatus) string {
	s.t.Helper()
	id := s.beginDeployment(more)
	s.becomes(s.root, id, all...)
	return id
}

// deleteDeployment asks for its end, and has the node report the rest.
func (s *stage) deleteDeployment(id string, all ...controlplane.DeploymentStatus) string {
	s.t.Helper()
	s.expect(http.StatusAccepted, "DELETE", "/deployments/"+id, s.root, nil, nil)
	s.becomes(s.root, id, all...)
	return id
}

// node status without its agent.
func (s *stage) nodeIs(to ...controlplane.NodeStatus) {
	s.t.Helper()
	s.expectSaved(nil, s.store.InTx(s.t.Context(), func(tx *postgres.Tx) error {
		for _, status := range to {
			if _, err := tx.Nodes().Move(s.t.Context(), s.world.node, status, ""); err != nil {
				return err
			}
		}
		return nil
	}))
}

// waitForRoom waits for room, with no node that has any, until someone enables it.
func (s *stage) waitForRoom(more object) string {
	s.t.Helper()
	s.expect(http.StatusOK, "POST", "/nodes/"+s.node+"/disable", s.root, nil, nil)
	id := s.beginDeployment(more)
	if s.showDeployment(s.root, id).Queue == nil {
		s.t.Fatal("it does not wait")
	}
	return id
}

// unplacedLate waited for its deadline, and never got a node.
func (s *stage) unplacedLate() string {
	s.t.Helper()
	id := s.waitForRoom(object{"wait": true, "deadline_seconds": 1800})
	s.overdue(id)
	s.admit()
	return id
}

const (
	applying = controlplane.Applying
	ready    = controlplane.Ready
	undoing  = controlplane.Undoing
	failed   = controlplane.Failed
	removing = controlplane.Removing
	removed  = controlplane.Removed
	stuck    = controlplane.Stuck
)

// standings are all the ways in which a deployment can stand, and what its status
// is then.
var standings = map[string]struct {
	status string
	make   func(*stage) string
}{
	"waits without a node": {"queued", func(s *stage) string {
		id := s.waitForRoom(object{"wait": true})
		s.nodeIs(controlplane.NodeOffline, controlplane.NodeOnline)
		return id
	}},
	"waits for its turn": {"queued", func(s *stage) string {
		s.expect(http.StatusOK, "PUT", "/nodes/"+s.node, s.root, object{"environment": "qa",
			"address": s.node + ".example:5000", "settings": object{"run_limit": 1}}, nil)
		s.beginDeployment(nil)
		return s.beginDeployment(object{"wait": true})
	}},
	"never told": {"queued", func(s *stage) string { return s.beginDeployment(nil) }},
	"made":       {"applying", func(s *stage) string { return s.reportStatuses(nil, applying) }},
	"asks": {"applying", func(s *stage) string {
		id := s.beginDeployment(nil)
		s.askApproval(s.root, id)
		return id
	}},
	"ready":  {"ready", func(s *stage) string { return s.reportStatuses(nil, applying, ready) }},
	"undone": {"undoing", func(s *stage) string { return s.reportStatuses(nil, applying, undoing) }},
	"canceled while made": {"undoing", func(s *stage) string {
		return s.deleteDeployment(s.reportStatuses(nil, applying))
	}},
	"undone for its deadline": {"undoing", func(s *stage) string {
		id := s.reportStatuses(object{"deadline_seconds": 1800}, applying)
		s.overdue(id)
		s.admit()
		return id
	}},
	"failed": {"failed", func(s *stage) string {
		return s.reportStatuses(nil, applying, undoing, failed)
	}},
	"failed without a node": {"failed", (*stage).unplacedLate},
	"retried without a node": {"queued", func(s *stage) string {
		id := s.unplacedLate()
		s.expect(http.StatusAccepted, "POST", "/deployments/"+id+"/retry", s.root, nil, nil)
		return id
	}},
	"removing": {"removing", func(s *stage) string {
		return s.deleteDeployment(s.reportStatuses(nil, applying, ready))
	}},
	"moving": {"removing", func(s *stage) string {
		id := s.reportStatuses(nil, applying, ready)
		other, _ := s.newcomer()
		s.expect(http.StatusAccepted, "POST", "/deployments/"+id+"/move", s.root, nil, nil)
		s.expect(http.StatusOK, "POST", "/nodes/"+other+"/disable", s.root, nil, nil)
		return id
	}},
	"stuck": {"stuck", func(s *stage) string {
		return s.deleteDeployment(s.reportStatuses(nil, applying, ready), stuck)
	}},
	"stuck while undone": {"stuck", func(s *stage) string {
		return s.reportStatuses(nil, applying, undoing, stuck)
	}},
	"removed": {"removed", func(s *stage) string {
		return s.deleteDeployment(s.reportStatuses(nil, applying, ready), removed)
	}},
	"removed without a node": {"removed", func(s *stage) string {
		return s.deleteDeployment(s.unplacedLate())
	}},
	"canceled": {"canceled", func(s *stage) string {
		return s.deleteDeployment(s.reportStatuses(nil, applying), removed)
	}},
	"forgotten": {"forgotten", func(s *stage) string {
		id := s.deleteDeployment(s.reportStatuses(nil, applying, ready))
		s.expect(http.StatusOK, "POST", "/deployments/"+id+"/forget", s.root, nil, nil)
		return id
	}},
}

// fates are what may have happened to the node since.
var fates = map[string]func(*stage){
	"online":  func(*stage) {},
	"offline": func(s *stage) { s.nodeIs(controlplane.NodeOffline) },
	"disabled": func(s *stage) {
		s.expect(http.StatusOK, "POST", "/nodes/"+s.node+"/disable", s.root, nil, nil)
	},
	"given up": func(s *stage) {
		s.expect(http.StatusOK, "POST", "/nodes/"+s.node+"/forget", s.root, nil, nil)
	},
}

// views are what people look at.
var views = []string{"", "/runs/1", "/capsule", "/clone-sheet"}

// acts are what people can do to a deployment; those that do the least come first,
// and its end comes last.
var acts = []struct {
	method, path string
	body         any
}{
	{"POST", "/hold", object{"reason": "mine"}}, {"POST", "/extend", nil},
	{"DELETE", "/hold", nil}, {"POST", "/recreate", object{}},
	{"POST", "/recreate", object{"name": "other", "pin_digests": true}},
	{"POST", "/runs/1/steps/ask/answer", object{"approved": true, "fields": object{"rows": 1}}},
	{"POST", "/forget", nil}, {"POST", "/retry", nil}, {"POST", "/move", object{}},
	{"DELETE", "", nil},
}

// However a deployment stands, and whatever became of its node: everything that
// people can do to it is done, or refused with what to do instead; it never fails,
// and it is never the database that refuses. And there is always a way to its end,
// after which its name is free and nobody waits behind it.
func TestStates_EveryActHasAnAnswer(t *testing.T) {
	t.Parallel()
	for fate, befall := range fates {
		t.Run(fate, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.shop()
			w.asks()
			s := &stage{world: w, root: w.token("root"), nodes: []string{"node-1"}}
			for _, name := range testpart.Pick(t, slices.Sorted(maps.Keys(standings))) {
				s.end(name, s.everyAct(name, befall))
			}
		})
	}
}

// stands brings a new deployment there.
func (s *stage) stands(name string, befall func(*stage)) (id, status string) {
	s.t.Helper()
	s.another()
	id = standings[name].make(s)
	if got := s.showDeployment(s.root, id).Status; string(got) != standings[name].status {
		s.t.Fatalf("%s: it is %s", name, got)
	}
	befall(s)
	return id, string(s.showDeployment(s.root, id).Status)
}

// everyAct does all there is to do, to as many deployments as it takes. It returns
// the one that was removed.
func (s *stage) everyAct(name string, befall func(*stage)) string {
	s.t.Helper()
	id, was := s.stands(name, befall)
	for _, path := range views {
		s.tryRequest(name, "GET", "/deployments/"+id+path, nil)
	}
	for i, act := range acts {
		done := s.tryRequest(name, act.method, "/deployments/"+id+act.path, act.body)
		last := i == len(acts)-1
		if done && !last && string(s.showDeployment(s.root, id).Status) != was {
			id, was = s.stands(name, befall)
		}
	}
	return id
}

// tryRequest reports whether it was done.
func (s *stage) tryRequest(name, method, path string, body any) bool {
	s.t.Helper()
	a := s.call(method, "/api/v1"+path, s.root, body)
	if why := describeFault(a); why != "" {
		s.t.Errorf("%s: %s %s %v: %s: %d %s", name, method, path, body, why, a.status, a.body)
	}
	return a.status < 300
}

// describeFault says what is wrong with an answer; nothing is.
func describeFault(a answer) string {
	var p api.Problem
	switch {
	case a.status < 300:
		return ""
	case json.Unmarshal(a.body, &p) != nil:
		return "no problem"
	case a.status == 503 && p.Code == "node_offline":
		// A passing state, which says when to ask again.
		return ""
	case a.status >= 500, p.Code == "internal", p.Code == "not_allowed_now":
		return "nobody meant that"
	case p.Remedy == nil || strings.TrimSpace(*p.Remedy) == "":
		return "no remedy"
	}
	return ""
}

// end forgets a deployment that is being removed if its node cannot finish.
func (s *stage) end(name, id string) {
	s.t.Helper()
	d := s.showDeployment(s.root, id)
	gone := func() bool { return controlplane.DeploymentStatus(d.Status).IsGone() }
	if !gone() {
		s.expect(http.StatusOK, "POST", "/deployments/"+id+"/forget", s.root, nil, nil)
		d = s.showDeployment(s.root, id)
	}
	if !gone() || d.Queue != nil {
		s.t.Errorf("%s: at its end it is %s and waits %+v", name, d.Status, d.Queue)
	}
	s.another()
	s.admit()
	s.expectSaved(s.lifecycle.FinishMoves(s.t.Context(), system))
	if a := s.create(s.root, d.Name, nil); a.status != http.StatusCreated {
		s.t.Errorf("%s: the next of that name: %d %s", name, a.status, a.body)
	}
}
