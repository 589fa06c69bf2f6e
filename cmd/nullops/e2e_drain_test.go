package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// drainNode empties a node, changes its mind, and gives one up that is full.
func drainNode(t *testing.T, w *world) {
	testpart.Rotate(t)
	p := startProduct(t, w)
	p.applyShop(t)
	p.define(t, "small", webStep("web"))
	n := p.enrol(t, "emptied", "qa")
	live := p.admin.follow(t, "/events/nodes", "")
	one := p.admin.deployReady(t, "small", "one", nil)
	p.admin.expectProblem(t, http.StatusBadRequest, http.MethodPost, "/nodes/emptied/drain",
		object{"deadline": time.Now().Add(-time.Hour)}, "deadline", "past")
	var d apiclient.NodeDrain
	p.admin.want(t, http.StatusOK, http.MethodPost, "/nodes/emptied/drain", object{}, &d)
	if d.Drain == nil || d.Drain.Status != apiclient.DrainStatusDraining ||
		d.Drain.By != "admin" || len(d.Staying) != 1 || d.Staying[0].Name != "one" ||
		d.EndsAt != nil {
		t.Errorf("the drain begins as %+v", d)
	}
	live.awaitData(t, "node", `"kind":"draining"`)
	creation := object{"name": "two", "project": "small", "environment": "qa"}
	// promise: B-19
	a := p.admin.ask(t, http.MethodPost, "/deployments", creation)
	if a.status < 400 || !strings.Contains(a.body, "being drained") {
		t.Errorf("placed on a node that is drained: %d %s", a.status, a.body)
	}
	p.answers(t, serviceURL(t, one, "web")) // promise: B-19

	// An end that clean-up knows is an estimate; a deadline that passes is said.
	p.admin.put(t, "/environments/qa", object{"domain": "localhost",
		"cleanup_after_hours": 5}, nil)
	d = n.drainsSoon(t)
	if d.EndsAt == nil || !d.EndsAt.After(time.Now().Add(4*time.Hour)) {
		t.Errorf("with a timer the estimate is %v", d.EndsAt)
	}
	n.awaitDrain(t, apiclient.DrainStatusOverdue)
	p.admin.want(t, http.StatusOK, http.MethodDelete, "/nodes/emptied/drain", nil, nil)
	if shown := n.show(t); shown.Drain != nil {
		t.Errorf("a drain that was ended is %+v", shown.Drain)
	}
	two := p.admin.deployReady(t, "small", "two", nil)

	p.admin.want(t, http.StatusOK, http.MethodPost, "/nodes/emptied/drain", object{}, nil)
	p.admin.expectProblem(t, http.StatusConflict, http.MethodDelete, "/nodes/emptied", nil,
		"deployment one", "deployment two")
	p.admin.remove(t, one.Id)
	p.admin.get(t, "/nodes/emptied/drain", &d)
	if d.Drain == nil || d.Drain.Status != apiclient.DrainStatusDraining || len(d.Staying) != 1 {
		t.Errorf("one of two is gone: %+v", d)
	}
	p.admin.remove(t, two.Id)
	n.awaitDrain(t, apiclient.DrainStatusDrained)
	live.awaitData(t, "node", `"kind":"drained"`)
	out, errs, code := p.admin.cli(t, "node", "drain", "emptied")
	if code != 0 || !strings.Contains(out, "nothing is left on it") {
		t.Errorf("node drain: %d %s%s", code, out, errs)
	}
	if out, _, code := p.admin.cli(t, "node", "undrain", "emptied"); code != 0 {
		t.Errorf("node undrain: %d %s", code, out)
	}
	givenUp(t, n, creation)
}

// drainsSoon drains with a deadline that is about to pass. On a slow machine it has
// passed before the request is there: then it is refused, and a later one will do.
func (n *node) drainsSoon(t *testing.T) (d apiclient.NodeDrain) {
	t.Helper()
	for in := time.Second; ; in *= 2 {
		a := n.p.admin.ask(t, http.MethodPost, "/nodes/"+n.name+"/drain",
			object{"deadline": time.Now().Add(in)})
		if a.status == http.StatusBadRequest && strings.Contains(a.body, "past") {
			continue
		}
		if err := json.Unmarshal([]byte(a.body), &d); err != nil || a.status != http.StatusOK {
			t.Fatalf("drain: %s, %v", a, err)
		}
		return d
	}
}

func (n *node) awaitDrain(t *testing.T, status apiclient.DrainStatus) {
	t.Helper()
	eventually(t, "the drain is "+string(status), func() string {
		switch shown := n.show(t); {
		case shown.Drain == nil:
			return "there is none"
		case shown.Drain.Status != status:
			return "it is " + string(shown.Drain.Status)
		}
		return ""
	})
}

// givenUp forgets a node with a deployment on it. What was left is recorded, and
// its name is free for another machine.
func givenUp(t *testing.T, n *node, creation object) {
	t.Helper()
	admin := n.p.admin
	d := admin.deployReady(t, "small", "two", nil)
	n.agent.stop(t)
	n.await(t, apiclient.NodeStatusOffline)
	admin.expectProblem(t, http.StatusConflict, http.MethodDelete, "/nodes/"+n.name, nil,
		"deployment two")
	out, errs, code := admin.cli(t, "node", "remove", n.name, "--force")
	if code != 0 || !strings.Contains(out, "everything of it on node "+n.name) {
		t.Fatalf("node remove --force: %d %s%s", code, out, errs)
	}
	if now := admin.deployment(t, d.Id); now.Status != apiclient.DeploymentStatusForgotten {
		t.Errorf("what was on a forgotten node is %s", now.Status)
	}
	var all apiclient.ForgottenNodeList
	admin.get(t, "/forgotten-nodes", &all)
	if len(all.Items) != 1 || all.Items[0].Address != n.address || all.Items[0].By != "admin" ||
		len(all.Items[0].Left) != 1 || all.Items[0].Left[0].Name != "two" {
		t.Errorf("forgotten nodes: %+v", all.Items)
	}
	n.p.findAuditEntry(t, "forget node", n.name)
	// The machine itself was not touched; both names are free for another one.
	n.mustBeThere(t, d.Id, "container", "network")
	n.p.enrol(t, n.name, "qa")
	var again apiclient.Deployment
	admin.want(t, http.StatusCreated, http.MethodPost, "/deployments", creation, &again)
	admin.await(t, again.Id, apiclient.DeploymentStatusReady)
	admin.remove(t, again.Id)
}
