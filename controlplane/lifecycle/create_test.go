package lifecycle_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

func TestCreate_StoresWhatWasAskedForAndReservesIt(t *testing.T) {
	r := newRig(t)
	d, err := r.Create(t.Context(), r.newProjectUser("uma", controlplane.LevelFull), newRequest("d"))
	r.failOnError(nil, err)
	if d.Status != controlplane.Queued || d.Goal != controlplane.GoalPresent ||
		d.NodeID != r.node || d.CreatedBy != "uma" || d.Run != 1 || d.Version != 1 {
		t.Errorf("it is %+v", d)
	}
	if d.Resources.CPU != 0.1 || d.Resources.MemoryMiB != 64 {
		t.Errorf("reserved: %+v", d.Resources)
	}
	if len(d.Versions) != 1 || d.Versions[0].Tag != "1.0" ||
		d.Versions[0].Digest != digestOf("shop/api", "1.0") {
		t.Errorf("its tag is not fixed to a digest: %+v", d.Versions)
	}
	steps := r.stepStatuses(d.ID)
	if len(steps) != 2 || steps["api"] != pipeline.StepPending ||
		steps["ask"] != pipeline.StepPending {
		t.Errorf("its steps are %v", steps)
	}
	orders, _, err := r.NodeGoals(t.Context(), system, r.node)
	r.failOnError(nil, err)
	if len(orders) != 1 || orders[0].Deployment != d.ID ||
		orders[0].URLs["api"] != "http://api.d.qa.localhost:8000" {
		t.Errorf("its node is told %+v", orders)
	}
	if n := r.queryCount("SELECT count(*) FROM audit WHERE action = 'create deployment'"); n != 1 {
		t.Errorf("%d entries in the audit", n)
	}
}

// refusal is a request that must not be accepted, and why.
type refusal struct {
	name   string
	actor  func(*rig) access.Actor
	change func(*rig, *lifecycle.Request)
	code   string
	// asks is set if the registry has to be asked to find that out.
	asks bool
}

var refusals = []refusal{
	{name: "malformed name", code: "name_invalid",
		change: func(_ *rig, q *lifecycle.Request) { q.Name = "Not A Name" }},
	{name: "malformed name and unknown tag", code: "name_invalid",
		change: func(_ *rig, q *lifecycle.Request) {
			q.Name, q.Versions["api"] = "Not A Name", "missing"
		}},
	{name: "unknown project", code: "not_found",
		change: func(_ *rig, q *lifecycle.Request) { q.Project = "attic" }},
	{name: "unknown environment", code: "not_found",
		change: func(_ *rig, q *lifecycle.Request) { q.Environment = "attic" }},
	{name: "name taken", code: "name_taken", asks: true,
		change: func(r *rig, q *lifecycle.Request) { r.createDeployment(q.Name) }},
	{name: "address taken", code: "host_taken", change: func(r *rig, q *lifecycle.Request) {
		// The flat name of service api of deployment a--b is that of api--a's of b.
		p := shopPipeline()
		p.Steps[0].Key, p.Steps[1].Needs = "api--a", []pipeline.StepKey{"api--a"}
		r.failOnError(r.catalog.PutProject(r.t.Context(), system, catalogProject("other")))
		r.failOnError(r.catalog.SavePipeline(r.t.Context(), system, "other", p, "first"))
		r.failOnError(r.Create(r.t.Context(), system, lifecycle.Request{Name: "b", Project: "other",
			Environment: "qa", Versions: map[pipeline.StepKey]string{"api--a": "1.0"}}))
		q.Name = "a--b"
	}, asks: true},
	{name: "no version chosen", code: "version_refused",
		change: func(_ *rig, q *lifecycle.Request) { q.Versions = nil }},
	{name: "unknown tag", code: "tag_unknown", asks: true,
		change: func(_ *rig, q *lifecycle.Request) { q.Versions["api"] = "missing" }},
	{name: "other processor", code: "platform_missing", asks: true,
		change: func(_ *rig, q *lifecycle.Request) { q.Versions["api"] = "arm" }},
	{name: "no pipeline", code: "no_pipeline", change: func(r *rig, q *lifecycle.Request) {
		r.failOnError(r.catalog.PutProject(r.t.Context(), system, catalogProject("empty")))
		q.Project = "empty"
	}},
	{name: "reader", code: "forbidden", actor: func(r *rig) access.Actor {
		return r.newProjectUser("reader", controlplane.LevelRead)
	}},
	{name: "stranger", code: "not_found", actor: func(r *rig) access.Actor {
		return r.newProjectUser("stranger", controlplane.LevelNone)
	}},
	// The last: the node stays away.
	{name: "nodes offline", code: "node_offline", asks: true,
		change: func(r *rig, _ *lifecycle.Request) { r.nodeGoesOffline() }},
}

func TestCreate_RefusesAsAWholeAndPreflightSaysTheSame(t *testing.T) {
	r := newRig(t)
	for i, c := range refusals {
		t.Run(c.name, func(t *testing.T) {
			q, actor := newRequest(fmt.Sprintf("wanted-%d", i)), system
			if c.actor != nil {
				actor = c.actor(r)
			}
			if c.change != nil {
				c.change(r, &q)
			}
			before := r.queryCount("SELECT count(*) FROM deployments") +
				r.queryCount("SELECT count(*) FROM runs")
			p, err := r.Preflight(t.Context(), actor, q)
			r.failOnError(nil, err)
			asked := r.asked.Load()
			_, err = r.Create(t.Context(), actor, q)
			if got := controlplane.CodeOf(err); got != c.code {
				t.Errorf("it was refused with %q: %v", got, err)
			}
			if got := r.asked.Load() != asked; got != c.asks {
				t.Errorf("the registry was asked: %v, want %v", got, c.asks)
			}
			if p.OK() || !slices.ContainsFunc(p.Checks, func(one lifecycle.Check) bool {
				return one.State == lifecycle.CheckFailed && one.Code == c.code
			}) {
				t.Errorf("pre-flight does not say %s: %+v", c.code, p.Checks)
			}
			after := r.queryCount("SELECT count(*) FROM deployments") +
				r.queryCount("SELECT count(*) FROM runs")
			if after != before {
				t.Errorf("%d rows were stored", after-before)
			}
		})
	}
}

func TestPreflight_WritesNothingAndCreateThenWorks(t *testing.T) {
	r := newRig(t)
	p, err := r.Preflight(t.Context(), system, newRequest("d"))
	r.failOnError(nil, err)
	if !p.OK() || len(p.Nodes) != 1 || p.Nodes[0].Reason != "" {
		t.Fatalf("it objects: %+v %+v", p.Checks, p.Nodes)
	}
	if n := r.queryCount("SELECT count(*) FROM deployments"); n != 0 {
		t.Errorf("it stored %d deployments", n)
	}
	d := r.createDeployment("d")
	if len(p.Versions) != 1 || p.Versions[0].Digest != d.Versions[0].Digest {
		t.Errorf("it promised %+v, and made %+v", p.Versions, d.Versions)
	}
}

func TestCreate_NobodyMayNotEvenAsk(t *testing.T) {
	r := newRig(t)
	_, err := r.Create(t.Context(), access.Nobody(), newRequest("d"))
	if controlplane.KindOf(err) != controlplane.Unauthenticated {
		t.Errorf("it ended with %v", err)
	}
	if _, err := r.Preflight(t.Context(), access.Nobody(), newRequest("d")); err == nil {
		t.Error("pre-flight answers anybody")
	}
}

func TestCreate_WhatFailsBeforeTheCommitLeavesNothing(t *testing.T) {
	r := newRig(t)
	for _, place := range []string{"create.planned", "create.placed", "create.commit"} {
		r.failAt = place
		if _, err := r.Create(t.Context(), system, newRequest("d")); err == nil {
			t.Errorf("%s did not fail", place)
		}
		if n := r.queryCount("SELECT count(*) FROM deployments"); n != 0 {
			t.Fatalf("%s left %d deployments", place, n)
		}
	}
	r.createDeployment("d")
}

func TestCreate_NoRoomNamesEachNodeAndItsReason(t *testing.T) {
	r := newRig(t)
	r.addNode("node-2", controlplane.NodeSettings{Taints: []controlplane.Taint{{Key: "gpu",
		Effect: controlplane.NoSchedule}}})
	r.nodeGoesOffline()
	_, err := r.Create(t.Context(), system, newRequest("d"))
	e, ok := errors.AsType[*controlplane.Error](err)
	if !ok || e.Kind != controlplane.Exhausted || len(e.Placement) != 2 {
		t.Fatalf("it ended with %v", err)
	}
	said := map[string]string{}
	for _, p := range e.Placement {
		said[p.Node] = p.Reason
	}
	if said["node-1"] != "It is offline." || !strings.Contains(said["node-2"], "taint gpu") {
		t.Errorf("reasons: %v", said)
	}
}

// states are what can be done with a deployment, by its stage: the error code of each,
// empty if it works.
var states = map[string]map[string]string{
	"queued": {"retry": "wrong_state", "recreate": "wrong_state", "forget": "wrong_state"},
	"ready":  {"retry": "wrong_state", "recreate": "wrong_state", "forget": "wrong_state"},
	"failed": {"recreate": "wrong_state", "forget": "wrong_state"},
	"removing": {"retry": "wrong_state", "recreate": "wrong_state", "extend": "wrong_state",
		"hold": "wrong_state"},
	"stuck": {"retry": "wrong_state", "recreate": "wrong_state", "extend": "wrong_state",
		"hold": "wrong_state"},
	"removed": {"retry": "wrong_state", "extend": "wrong_state", "hold": "wrong_state",
		"forget": "wrong_state"},
	"canceled": {"retry": "wrong_state", "extend": "wrong_state", "hold": "wrong_state",
		"forget": "wrong_state"},
}

var verbs = map[string]func(*rig, controlplane.DeploymentID) error{
	"retry": func(r *rig, id controlplane.DeploymentID) error {
		_, err := r.Retry(r.t.Context(), system, id, lifecycle.RetryOptions{})
		return err
	},
	"recreate": func(r *rig, id controlplane.DeploymentID) error {
		_, err := r.Recreate(r.t.Context(), system, id, lifecycle.RecreateOptions{})
		return err
	},
	"extend": func(r *rig, id controlplane.DeploymentID) error {
		_, err := r.Extend(r.t.Context(), system, id)
		return err
	},
	"hold": func(r *rig, id controlplane.DeploymentID) error {
		_, err := r.Hold(r.t.Context(), system, id, "", nil)
		return err
	},
	"forget": func(r *rig, id controlplane.DeploymentID) error {
		_, err := r.Forget(r.t.Context(), system, id)
		return err
	},
}

func TestVerbs_WorkOnlyInTheStatesTheyAreFor(t *testing.T) {
	r := newRig(t)
	for stage, refused := range states {
		for verb, do := range verbs {
			d := r.createDeployment(stage + "-" + verb)
			stages[stage](r, d.ID)
			was := r.get(d.ID)
			err := do(r, d.ID)
			if got := controlplane.CodeOf(err); got != refused[verb] || err != nil && got == "" {
				t.Errorf("%s what is %s: %q, not %q: %v", verb, stage, got, refused[verb], err)
			}
			if err != nil && r.get(d.ID).Revision != was.Revision {
				t.Errorf("%s what is %s was refused, and changed it", verb, stage)
			}
		}
	}
}

func TestRemove_AgainChangesNothing(t *testing.T) {
	r := newRig(t)
	for _, stage := range []string{"applying", "ready", "removed", "canceled"} {
		d := r.createDeployment(stage)
		stages[stage](r, d.ID)
		first := r.removeDeployment(d.ID)
		again := r.removeDeployment(d.ID)
		if again.Generation != first.Generation || again.Status != first.Status {
			t.Errorf("%s, generation %d; then %s, generation %d", first.Status, first.Generation,
				again.Status, again.Generation)
		}
	}
}

func TestRemove_AStuckOneIsTriedAgain(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	stages["stuck"](r, d.ID)
	stuck := r.get(d.ID)
	if got := r.removeDeployment(d.ID); got.Status != controlplane.Removing ||
		got.Generation <= stuck.Generation {
		t.Errorf("it is %s, generation %d after %d", got.Status, got.Generation, stuck.Generation)
	}
}

func TestRemove_OnANodeThatIsAwaySaysWhatItWaitsFor(t *testing.T) {
	r := newRig(t)
	d := r.createDeployment("d")
	stages["ready"](r, d.ID)
	r.nodeGoesOffline()
	if got := r.removeDeployment(d.ID); got.Detail != "waiting for node node-1" {
		t.Errorf("its detail is %q", got.Detail)
	}
}

// A tag means one image for a whole run: whoever moves it changes neither what the node is
// told when the run is to start, nor what it is told of the deployment that is ready. Only
// what is created afterwards gets the new one.
//
// fault: F54
// threat: T19
func TestCreate_KeepsTheDigestWhenTheTagMoves(t *testing.T) {
	r := newRig(t)
	asks := newRequest("d")
	asks.Versions["api"] = "moving"
	d, err := r.Create(t.Context(), system, asks)
	r.failOnError(nil, err)
	chosen := d.Versions[0].Digest
	asks.Name = "later"
	later, err := r.Create(t.Context(), system, asks)
	r.failOnError(nil, err)
	if later.Versions[0].Digest == chosen {
		t.Fatal("the tag did not move")
	}
	for _, state := range []string{"queued", "ready"} {
		stages[state](r, d.ID)
		orders, _, err := r.NodeGoals(t.Context(), system, r.node)
		r.failOnError(nil, err)
		i := slices.IndexFunc(orders, func(g controlplane.NodeGoal) bool { return g.Deployment == d.ID })
		if i < 0 {
			t.Fatalf("%s: the node is not told of it", state)
		}
		image := orders[i].Pipeline.Steps[0].Service.Image
		if image == nil || image.Tag != "moving" || image.Digest != chosen {
			t.Errorf("%s: the node is told to run %+v, not %s", state, image, chosen)
		}
	}
}

func TestRetry_KeepsWhatWasChosenAndMakesANewRun(t *testing.T) {
	r := newRig(t)
	asks := newRequest("d")
	asks.Priority, asks.Patience = 7, time.Hour
	d, err := r.Create(t.Context(), system, asks)
	r.failOnError(nil, err)
	stages["failed"](r, d.ID)
	r.failOnError(nil, verbs["retry"](r, d.ID))
	got := r.get(d.ID)
	if got.Status != controlplane.Queued || got.Run != 2 || got.RunID == d.RunID ||
		got.Generation <= d.Generation || got.Failure != nil {
		t.Errorf("it is %s, run %d, generation %d, failure %+v", got.Status, got.Run, got.Generation,
			got.Failure)
	}
	if len(got.Versions) != 1 || got.Versions[0].Digest != d.Versions[0].Digest {
		t.Errorf("its versions are %+v", got.Versions)
	}
	var all []controlplane.QueueEntry
	r.failOnError(nil, r.store.Read(t.Context(), func(tx *postgres.Tx) error {
		all, err = tx.Queue().ListOf(t.Context(), false, d.ID)
		return err
	}))
	if e := all[0]; e.Run != got.RunID || e.Priority != 7 || e.Deadline == nil ||
		e.Deadline.Sub(e.QueuedAt).Round(time.Second) != time.Hour {
		t.Errorf("it waits as %+v", e)
	}
}

// Pre-flight stops where nothing more can be found out, and an image for another processor is
// reported once, not again as a lack of room.
func TestPreflight_ReportsEachFaultOnce(t *testing.T) {
	r := newRig(t)
	failed := func(change func(*lifecycle.Request)) (failed, ok string) {
		t.Helper()
		q := newRequest("d")
		change(&q)
		p, err := r.Preflight(t.Context(), system, q)
		r.failOnError(nil, err)
		for _, c := range p.Checks {
			switch c.State {
			case lifecycle.CheckFailed:
				failed += c.ID + " "
			case lifecycle.CheckOK:
				ok += c.ID + " "
			}
		}
		return failed, ok
	}
	asked := r.asked.Load()
	bad, ok := failed(func(q *lifecycle.Request) { q.Project = "none" })
	if bad != "project " || strings.Contains(ok, "tag") || strings.Contains(ok, "capacity") ||
		r.asked.Load() != asked {
		t.Errorf("of an unknown project: failed %q, fine %q", bad, ok)
	}
	bad, ok = failed(func(q *lifecycle.Request) { q.Versions["api"] = "arm" })
	if bad != "platform " || !strings.Contains(ok, "capacity") {
		t.Errorf("for another processor: failed %q, fine %q", bad, ok)
	}
	bad, ok = failed(func(*lifecycle.Request) {})
	if bad != "" || !strings.Contains(ok, "capacity address disk") {
		t.Errorf("of a good one: failed %q, fine %q", bad, ok)
	}
}
