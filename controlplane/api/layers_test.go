package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/api"
)

// Before every operation stands the same door, and asks in the same order: who
// it is, whether they may, and whether the request has the contract's form. Only
// then something is written. A request in which everything is wrong is refused
// for the first of these; so nobody learns of a form that is not theirs to use.
func TestDoor_AsksInOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	root, stranger := w.token("root"), w.token("stranger")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.access == access.Public || o.op.RequestBody == nil ||
			o.op.RequestBody.Value.Content["application/json"] == nil {
			continue
		}
		wrong := func(token string) answer {
			return w.call(o.method, fillPath(o.visit.path, d), token, `{"no_such_field":[}`)
		}
		// promise: G-04
		if a := wrong(""); a.status != http.StatusUnauthorized {
			t.Errorf("%s as nobody, malformed: %d %s", id, a.status, a.body)
		}
		a := wrong(stranger)
		// promise: G-04
		if o.access == access.Admin && a.status != http.StatusForbidden {
			t.Errorf("%s as a stranger, malformed: %d %s", id, a.status, a.body)
		}
		// promise: G-04
		if a := wrong(root); a.status != http.StatusBadRequest &&
			a.status != http.StatusUnprocessableEntity || a.field("code") != "body_invalid" {
			t.Errorf("%s as admin, malformed: %d %s", id, a.status, a.body)
		}
	}
	w.expectUnchanged(d)
}

// A token is minted behind all of that, in a request of its own whose state is
// written with it: the one that was refused mints none.
func TestDoor_MintsLast(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, reader := w.token("root"), w.token("reader")
	const path = "/api/v1/users/robot/tokens"
	for who, c := range map[string]struct {
		token string
		body  any
		want  int
	}{
		"nobody":            {"", object{"name": "ci"}, http.StatusUnauthorized},
		"a reader":          {reader, object{"name": "ci"}, http.StatusForbidden},
		"an admin, no form": {root, object{"name": "ci", "scope": "all"}, http.StatusBadRequest},
	} {
		a := w.call("POST", path, c.token, c.body)
		// promise: G-04
		if a.status != c.want || strings.Contains(string(a.body), "nop_") {
			t.Errorf("%s: %d %s", who, a.status, a.body)
		}
	}
	made := w.call("POST", path, root, object{"name": "ci"})
	list := decodeAnswer[api.TokenList](t, w.call("GET", path, root, nil))
	// promise: G-04
	if made.status != http.StatusCreated || len(list.Items) != 1 ||
		w.call("GET", "/api/v1/me", made.field("token"), nil).field("name") != "robot" {
		t.Errorf("minted: %d, then there are %+v", made.status, list.Items)
	}
}

// Everything the product speaks of is an object with a list of its own, and is
// in it. Components are what plugins implement and steps are made of; a tag mode
// is each service's.
func TestTerms_AreListed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	root := w.token("root")
	for term, c := range map[string]struct{ path, holds string }{
		"environment": {"/environments", `"name":"qa"`},
		"service":     {"/services", `"name":"api"`},
		"tag mode":    {"/services", `"tag_mode":"selectable"`},
		"project":     {"/projects", `"name":"shop"`},
		"deployment":  {"/deployments", `"name":"first"`},
		"step":        {"/deployments/{id}/runs", `"key":"seed"`},
		"component":   {"/plugins", `"component":{`},
		"plugin":      {"/plugins", `"name":"seed"`},
		"team":        {"/teams", `"name":"team-full"`},
		"agent":       {"/nodes", `"name":"node-1"`},
		"registry":    {"/registries", `"name":"local"`},
	} {
		a := w.call("GET", fillPath("/api/v1"+c.path, d), root, nil)
		// promise: N-008
		if a.status != http.StatusOK || !strings.Contains(string(a.body), `"items":[`) ||
			!strings.Contains(string(a.body), c.holds) {
			t.Errorf("%s: %d %s, want %s in it", term, a.status, a.body, c.holds)
		}
	}
}
