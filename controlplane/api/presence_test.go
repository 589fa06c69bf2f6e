package api_test

import (
	"html"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/gate"
)

// enterDeployment lets a person in to a deployment, and has the ingress say that they are there.
func (w *world) enterDeployment(user string, d controlplane.Deployment, host string) {
	w.t.Helper()
	g := gate.New(w.store, nil)
	page := w.browse("/gate?"+url.Values{"host": {host}}.Encode(), w.cookieOf(user))
	code := hiddenPass.FindStringSubmatch(html.UnescapeString(string(page.body)))
	if code == nil {
		w.t.Fatalf("%s is not let in: %d %s", user, page.status, page.body)
	}
	pass, _, ok, err := g.Redeem(w.t.Context(), system, host, controlplane.NewPlain(code[1]))
	if !ok {
		w.t.Fatal(err)
	}
	w.expectSaved(nil, w.lifecycle.RecordPresence(w.t.Context(), system,
		controlplane.PresenceReport{Deployment: d.ID, Pass: w.listPasses(g, pass)[0].ID}))
}

// What would interrupt somebody is refused with their name, until it is done anyway. Whoever asks
// never stands in their own way.
func TestPresence_NobodyIsInterruptedUnannounced(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, nil)
	d := w.deployReady("first")
	path := "/deployments/" + string(d.ID)
	w.enterDeployment("reader", d, gateHost)
	w.enterDeployment("root", d, gateHost)
	var seen api.Deployment
	w.expect(http.StatusOK, "GET", path, root, nil, &seen)
	// promise: W-05
	if v := seen.Visitors; v == nil || len(*v) != 2 || *(*v)[0].Name != "root" ||
		(*v)[0].You == nil || *(*v)[1].Name != "reader" || (*v)[1].You != nil {
		t.Fatalf("who is there: %+v", v)
	}
	var list api.DeploymentList
	if w.expect(http.StatusOK, "GET", "/deployments", root, nil, &list); len(list.Items) != 1 ||
		list.Items[0].Visitors == nil {
		t.Errorf("the list does not say who is there: %+v", list.Items)
	}
	for _, ask := range []string{"DELETE " + path, "POST " + path + "/move",
		"POST " + path + "/retry"} {
		method, at, _ := strings.Cut(ask, " ")
		a := w.expect(http.StatusConflict, method, at, root, object{}, nil)
		// promise: W-05
		if text := string(a.body); a.field("code") != "people_present" ||
			!strings.Contains(text, "reader (") || strings.Contains(text, "root (") ||
			!strings.Contains(text, "anyway") {
			t.Errorf("%s: %s", ask, text)
		}
	}
	// Rights come first: strangers learn nothing of who is there.
	a := w.call("DELETE", "/api/v1"+path, w.token("stranger"), nil)
	if a.status != http.StatusNotFound || strings.Contains(string(a.body), "reader") {
		t.Errorf("a stranger: %d %s", a.status, a.body)
	}
	w.expect(http.StatusConflict, "POST", path+"/move", root, object{"anyway": true}, nil)
	w.expect(http.StatusOK, "PUT", "/environments/qa", root,
		object{"domain": "localhost", "ignore_presence": true}, nil)
	w.expect(http.StatusOK, "GET", path, root, nil, &seen)
	seen = api.Deployment{}
	if w.expect(http.StatusOK, "GET", path, root, nil, &seen); seen.Visitors != nil {
		t.Errorf("an environment that wants none of it shows %+v", seen.Visitors)
	}
	w.expect(http.StatusOK, "PUT", "/environments/qa", root, object{"domain": "localhost"}, nil)
	w.expect(http.StatusAccepted, "DELETE", path+"?anyway=true", root, nil, nil)
	w.expect(http.StatusAccepted, "DELETE", path, root, nil, nil) // it is going anyway
}

// Cutting off a node is refused with the names of those who are at its deployments, until it is
// done anyway. A node that is disabled cuts off nobody any more.
func TestPresence_NodesAskToo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, nil)
	d := w.deployReady("first")
	path := "/nodes/node-1"
	w.enterDeployment("root", d, gateHost)
	w.expect(http.StatusCreated, "POST", path+"/token", root, nil, nil)
	w.enterDeployment("reader", d, gateHost)
	deeds := []string{"POST " + path + "/disable", "DELETE " + path + "/token",
		"POST " + path + "/token", "POST " + path + "/forget"}
	for _, ask := range deeds {
		method, at, _ := strings.Cut(ask, " ")
		a := w.expect(http.StatusConflict, method, at, root, nil, nil)
		// promise: W-05
		if text := string(a.body); a.field("code") != "people_present" ||
			!strings.Contains(text, "first by reader (") || strings.Contains(text, "root (") ||
			!strings.Contains(text, "--anyway") {
			t.Errorf("%s: %s", ask, text)
		}
		// Rights come first: who may not do it learns nothing of who is there.
		a = w.call(method, "/api/v1"+at, w.token("full"), nil)
		if a.status != http.StatusForbidden || strings.Contains(string(a.body), "reader") {
			t.Errorf("%s by somebody who may not: %d %s", ask, a.status, a.body)
		}
	}
	var seen api.Node
	w.expect(http.StatusOK, "GET", path, root, nil, &seen)
	// promise: W-05
	if !seen.Enabled || seen.TokenKid == nil || seen.Deployments != 1 {
		t.Errorf("what was refused was done: %+v", seen)
	}
	w.expect(http.StatusCreated, "POST", path+"/token?anyway=true", root, nil, nil)
	w.expect(http.StatusOK, "DELETE", path+"/token?anyway=true", root, nil, nil)
	w.expect(http.StatusOK, "POST", path+"/disable?anyway=true", root, nil, nil)
	w.expect(http.StatusOK, "POST", path+"/disable", root, nil, nil)
	w.expect(http.StatusOK, "POST", path+"/forget", root, nil, nil)
	w.expect(http.StatusNotFound, "POST", path+"/disable", root, nil, nil)
}

// Where the gate is open, the one who asks may be the visitor who is counted. It is told, and
// refuses nothing.
func TestPresence_CountsRefuseNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, nil)
	d := w.deployReady("first")
	w.expectSaved(nil, w.lifecycle.RecordPresence(t.Context(), system,
		controlplane.PresenceReport{Deployment: d.ID, Visitors: 2, Ingress: "one"}))
	path := "/deployments/" + string(d.ID)
	var seen api.Deployment
	w.expect(http.StatusOK, "GET", path, root, nil, &seen)
	if v := seen.Visitors; v == nil || len(*v) != 1 || (*v)[0].Visitors != 2 {
		t.Errorf("who is there: %+v", v)
	}
	w.expect(http.StatusAccepted, "DELETE", path, root, nil, nil)
}
