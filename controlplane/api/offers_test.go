package api_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// answerOffer answers the next offer to the node, as its agent would.
func (w *world) answerOffer(claim bool, reason string) {
	w.t.Helper()
	for range 3000 {
		id := pgtest.QueryValue[string](w.t, w.database, `SELECT coalesce(max(id::text), '') FROM offers
			WHERE status = 'open'`)
		if id != "" {
			w.expectSaved(nil, w.lifecycle.AnswerOffer(w.t.Context(), system, lifecycle.OfferAnswer{
				Offer: controlplane.OfferID(id), Node: w.node, Claim: claim, Reason: reason}))
			return
		}
		time.Sleep(5 * time.Millisecond)
	}
	w.t.Fatal("the node was not asked")
}

// A node is reactive by its template. Who creates a deployment sees why it declined, and which
// nodes were asked; a dry run says that it would be.
func TestPlacement_AReactiveNodeIsAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusOK, "PUT", "/node-templates/site", root,
		object{"settings": object{"reactive": true}}, nil)
	w.expect(http.StatusOK, "PUT", "/nodes/node-1", root, object{"environment": "qa",
		"address": "127.0.0.1:5000", "template": "site"}, nil)
	var node api.Node
	w.got("/api/v1/nodes/node-1", root, &node)
	if s := node.AppliedSettings; s == nil || s.Reactive == nil || !*s.Reactive ||
		node.Settings != nil && node.Settings.Reactive != nil {
		t.Errorf("its settings are %+v, and apply as %+v", node.Settings, s)
	}
	body := object{"name": "one", "project": "shop", "environment": "qa",
		"versions": object{"api": "1.0"}}
	checked := decodeAnswer[api.Preflight](t,
		w.call("POST", "/api/v1/deployments/preflight", root, body))
	if n := checked.Nodes[0]; !checked.Ok || !n.Fits || n.Asks == nil || !*n.Asks {
		t.Errorf("the dry run says %+v", checked)
	}
	answers := make(chan answer, 1)
	create := func() { answers <- w.create(root, "one", nil) }
	go create()
	w.answerOffer(false, "<b>closed</b>")
	// promise: B-29
	if a := <-answers; a.status != http.StatusConflict || !strings.Contains(string(a.body),
		`"No node takes this deployment."`) || !strings.Contains(string(a.body),
		`It declined: \u003cb\u003eclosed\u003c/b\u003e.`) {
		t.Errorf("declined: %d %s", a.status, a.body)
	}
	go create()
	w.answerOffer(true, "")
	a := <-answers
	if a.status != http.StatusCreated {
		t.Fatalf("claimed: %d %s", a.status, a.body)
	}
	var list api.DeploymentList
	w.got("/api/v1/deployments", root, &list)
	var run api.Run
	w.got(fmt.Sprintf("/api/v1/deployments/%s/runs/1", list.Items[0].Id), root, &run)
	// promise: B-29
	if run.Offers == nil || len(*run.Offers) != 1 || (*run.Offers)[0].Node != "node-1" ||
		(*run.Offers)[0].Status != api.NodeOfferStatusTaken {
		t.Errorf("the run says that nodes answered %+v", run.Offers)
	}
}
