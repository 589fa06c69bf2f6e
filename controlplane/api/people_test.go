package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/pipeline"
)

// linkSecret returns the secret part of a link: it comes after the #, which no server sees.
func linkSecret(t *testing.T, a answer) string {
	t.Helper()
	_, secret, ok := strings.Cut(a.field("url"), "#")
	if a.status != http.StatusCreated || !ok || secret == "" {
		t.Fatalf("no link: %d %s", a.status, a.body)
	}
	return secret
}

// An invitation lets one person in, at the invited address, once.
func TestInvitation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	invite := func(key string) answer {
		return w.postWithKey("/api/v1/invitations", root, key, `{"address":"ada@example.org",
			"role":"user","teams":["team-reader"]}`)
	}
	first := invite("one")
	if again := invite("one"); again.status != http.StatusConflict ||
		again.field("code") != "already_created" {
		t.Errorf("the same key again: %d %s", again.status, again.body)
	}
	old := linkSecret(t, first)
	link := linkSecret(t, invite("two"))
	join := func(link, address, name string) answer {
		return w.call("POST", "/api/v1/invitations/accept", "", object{"link": link,
			"address": address, "name": name, "password": password})
	}
	for why, a := range map[string]answer{
		"replaced":        join(old, "ada@example.org", "ada"),
		"guessed":         join(strings.Repeat("A", 43), "ada@example.org", "ada"),
		"another address": join(link, "eve@example.org", "ada"),
	} {
		if a.status != http.StatusForbidden || a.field("code") != "link_invalid" {
			t.Errorf("%s: %d %s", why, a.status, a.body)
		}
	}
	in := join(link, "ADA@example.org", "ada")
	if in.status != http.StatusCreated || len(in.cookies) != 1 ||
		!strings.Contains(string(in.body), "team-reader") {
		t.Fatalf("join: %d %s", in.status, in.body)
	}
	if a := join(link, "ada@example.org", "bob"); a.status != http.StatusForbidden {
		t.Errorf("a used link: %d", a.status)
	}
}

// postWithKey posts with an Idempotency-Key.
func (w *world) postWithKey(path, token, key, body string) answer {
	w.t.Helper()
	return w.send("POST", path, http.Header{"Authorization": {"Bearer " + token},
		"Idempotency-Key": {key}, "Content-Type": {"application/json"}}, strings.NewReader(body))
}

// A reset link sets the password once, ends every session, and is worth
// nothing after another one was made.
func TestResetLink(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	cookie := w.signIn("full", password).cookies[0]
	old := linkSecret(t, w.call("POST", "/api/v1/users/full/reset", root, nil))
	link := linkSecret(t, w.call("POST", "/api/v1/users/full/reset", root, nil))
	next := "a brand new password"
	reset := func(link string) int {
		return w.call("POST", "/api/v1/password-resets", "",
			object{"link": link, "password": next}).status
	}
	if got := reset(old); got != http.StatusForbidden {
		t.Errorf("a replaced link: %d", got)
	}
	if got := w.signIn("full", password).status; got != http.StatusCreated {
		t.Errorf("the old password ended too early: %d", got)
	}
	if got := reset(link); got != http.StatusNoContent {
		t.Fatalf("reset: %d", got)
	}
	if got := reset(link); got != http.StatusForbidden {
		t.Errorf("a used link: %d", got)
	}
	me := w.send("GET", "/api/v1/me",
		http.Header{"Cookie": {cookie.Name + "=" + cookie.Value}}, nil)
	if me.status != http.StatusUnauthorized ||
		w.signIn("full", password).status == http.StatusCreated ||
		w.signIn("full", next).status != http.StatusCreated {
		t.Errorf("after the reset the old session answers %d", me.status)
	}
	robot := w.call("POST", "/api/v1/users/robot/reset", root, nil)
	if robot.field("code") != "service_user" {
		t.Errorf("a link for a service user: %d %s", robot.status, robot.body)
	}
}

// A service user has tokens of admins' making, no password and no session.
func TestServiceUser(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "robots",
		Members: []string{"robot"},
		Grants:  []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelFull}}}))
	if a := w.signIn("robot", ""); a.status == http.StatusCreated {
		t.Error("a service user signs in")
	}
	made := w.call("POST", "/api/v1/users/robot/tokens", root, object{"name": "ci", "scope": "full"})
	token := made.field("token")
	created := w.call("POST", "/api/v1/deployments", token, object{"name": "by-robot",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.0"}})
	if created.status != http.StatusCreated {
		t.Fatalf("a service user deploys: %d %s", created.status, created.body)
	}
	listed := w.call("GET", "/api/v1/users/robot/tokens", root, nil)
	if !strings.Contains(string(listed.body), "last_used_at") ||
		strings.Contains(string(listed.body), token) {
		t.Errorf("the list: %s", listed.body)
	}
	if a := w.call("POST", "/api/v1/me/tokens", token, object{"name": "more"}); a.field("code") !=
		"session_needed" {
		t.Errorf("a token makes tokens: %d %s", a.status, a.body)
	}
	person := w.call("POST", "/api/v1/users/full/tokens", root, object{"name": "sneaky"})
	if person.field("code") != "not_a_service_user" {
		t.Errorf("an admin makes a person's token: %d %s", person.status, person.body)
	}
	gone := w.call("DELETE", "/api/v1/users/robot/tokens/"+made.field("id"), root, nil)
	if gone.status != http.StatusNoContent ||
		w.call("GET", "/api/v1/me", token, nil).status != http.StatusUnauthorized {
		t.Errorf("revoke: %d", gone.status)
	}
}

// An admin sees through a user's eyes, changes nothing, and is written down.
// Nobody else gets anybody's eyes, and nobody gets an admin's.
func TestViewAs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "chief", Active: true,
		Role: controlplane.RoleAdmin, Password: controlplane.NewPlain(password)}))
	root := w.token("root")
	as := func(token, name, method, path string, body string) answer {
		h := http.Header{"Authorization": {"Bearer " + token}, "X-Nullops-View-As": {name}}
		var sent io.Reader
		if body != "" {
			h.Set("Content-Type", "application/json")
			sent = strings.NewReader(body)
		}
		return w.send(method, path, h, sent)
	}
	path := "/api/v1/deployments/" + string(d.ID)
	if a := as(root, "stranger", "GET", path, ""); a.status != http.StatusNotFound {
		t.Errorf("a deployment through a stranger's eyes: %d", a.status)
	}
	me := as(root, "full", "GET", "/api/v1/me", "")
	if me.field("name") != "full" || me.field("viewed_by") != "root" {
		t.Errorf("me: %s", me.body)
	}
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		if o.method == http.MethodGet || o.access == "public" || o.access == "admin" {
			continue
		}
		a := as(root, "full", o.method, fillPath(o.visit.path, d), "{}")
		if a.status != http.StatusForbidden || a.field("code") != "view_only" {
			t.Errorf("%s through another's eyes: %d %s", id, a.status, a.body)
		}
	}
	for why, a := range map[string]answer{
		"an admin's eyes": as(root, "chief", "GET", "/api/v1/me", ""),
		"no admin":        as(w.token("full"), "reader", "GET", "/api/v1/me", ""),
	} {
		if a.status != http.StatusForbidden {
			t.Errorf("%s: %d %s", why, a.status, a.body)
		}
	}
	journal := w.call("GET", "/api/v1/audit?action=view+as&actor=root", root, nil)
	if !strings.Contains(string(journal.body), "user full") ||
		!strings.Contains(string(journal.body), "view_refused") {
		t.Errorf("the journal: %s", journal.body)
	}
	w.expectUnchanged(d)
}

// The explanation names the grant, what is missing and whom to ask; what may
// not be seen is explained like what does not exist.
func TestExplainAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	ask := func(user, object string) api.AccessExplained {
		a := w.call("GET", "/api/v1/me/access?object="+object, w.token(user), nil)
		if a.status != http.StatusOK {
			t.Fatalf("%s %s: %d %s", user, object, a.status, a.body)
		}
		var x api.AccessExplained
		w.expectSaved(nil, json.Unmarshal(a.body, &x))
		return x
	}
	x := ask("reader", "deployment/"+string(d.ID))
	if x.Level != "read" || !slices.Equal(x.Because,
		[]string{"team team-reader has read access to project shop"}) || x.Missing == nil ||
		!strings.Contains(*x.Missing, "full access to project shop or environment qa") ||
		!slices.Equal(x.Ask, []string{"root"}) {
		t.Errorf("reader: %+v", x)
	}
	if x := ask("full", "project/shop"); x.Level != "full" || x.Missing != nil || len(x.Ask) != 0 {
		t.Errorf("full: %+v", x)
	}
	unseen, ghost := ask("stranger", "project/shop"), ask("stranger", "project/ghost")
	if unseen.Level != "none" || *unseen.Missing != *ghost.Missing ||
		len(unseen.Because)+len(ghost.Because) != 0 {
		t.Errorf("stranger: %+v, %+v", unseen, ghost)
	}
}

// A deactivated person gets nothing more from any stream, and their connections into services end.
// A stream that is added to the contract is tested here automatically; a WebSocket has to be added
// by hand.
func TestStreams_EndWithTheAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) { c.Logs = hanging{} })
	w.shop()
	d := w.deploy("first")
	w.before("getProvision", d)
	w.expectSaved(w.accounts.PutUser(t.Context(), system,
		accounts.UserPut{Name: "leaver", Active: true,
			Role: controlplane.RoleAdmin, Password: controlplane.NewPlain(password)}))
	token, open := w.token("leaver"), map[string]*listener{}
	for id, o := range readOperations(t) {
		if o.op.Responses.Value("101") != nil && id != "openReach" {
			t.Errorf("%s is a WebSocket that this test does not open", id)
		}
		ok := o.op.Responses.Value("200")
		if ok == nil || ok.Value.Content.Get("text/event-stream") == nil {
			continue
		}
		path := fillPath(o.visit.path, d)
		if id == "streamServiceLogs" {
			path += "?follow=true"
		}
		open[id] = w.open(path, token, "")
	}
	if len(open) < 5 {
		t.Fatalf("only %d streams found", len(open))
	}
	lines := w.lines(d, token)
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "leaver",
		Role: controlplane.RoleAdmin, Active: false}))
	for id, l := range open {
		if l.status != http.StatusOK {
			t.Errorf("%s: %d", id, l.status)
		}
		ended := false
		for range 1000 {
			if _, more := l.next(); !more {
				ended = true
				break
			}
		}
		if !ended {
			t.Errorf("%s goes on", id)
		}
	}
	for kind, ws := range lines {
		awaitClose(t, kind, ws)
	}
}

// hanging is a service that neither answers nor ends.
type hanging struct{}

func (hanging) Follow(context.Context, controlplane.NodeID, controlplane.DeploymentID,
	pipeline.StepKey, logbook.NodeLogOptions) (io.ReadCloser, error) {
	r, _ := io.Pipe()
	return r, nil
}

// Of two who read and then change the same object, the second is informed. What can be read and
// replaced at one path has a tag; a path that gets both later is in this test by itself.
func TestIfMatch_NobodyIsOverwritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	root := w.token("root")
	all, tried := readOperations(t), 0
	for _, id := range operationNames(all) {
		o := all[id]
		if o.method != http.MethodPut || o.visit.body == nil {
			continue
		}
		w.call("PUT", fillPath(o.visit.path, d), root, o.visit.body)
		root = w.tokenAfter(id, "root", root)
		read := w.call("GET", fillPath(o.visit.path, d), root, nil)
		old := read.header.Get("ETag")
		if read.status != http.StatusOK || len(old) < 20 {
			continue
		}
		tried++
		conditional := func(name, value string) answer {
			body := must(json.Marshal(o.visit.body))(t)
			return w.send("PUT", fillPath(o.visit.path, d), http.Header{
				"Authorization": {"Bearer " + root}, "Content-Type": {"application/json"},
				name: {value}}, strings.NewReader(string(body)))
		}
		if a := conditional("If-Match", old); a.status >= 300 {
			t.Errorf("%s with the tag it has: %d %s", id, a.status, a.body)
		}
		for name, value := range map[string]string{"If-Match": `"0123"`, "If-None-Match": "*"} {
			if a := conditional(name, value); a.status != http.StatusPreconditionFailed ||
				a.field("code") != "changed_meanwhile" {
				t.Errorf("%s with %s %s: %d %s", id, name, value, a.status, a.body)
			}
		}
	}
	if tried < 7 {
		t.Errorf("only %d kinds of objects have a tag", tried)
	}
}

// A machine that joins while someone writes is no reason to refuse their save.
func TestIfMatch_NodesComeAndGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, path := w.token("root"), "/api/v1/environments/qa"
	opened := w.call("GET", path, root, nil)
	w.machine("late", controlplane.Inventory{})
	joined := w.call("GET", path, root, nil)
	if opened.field("nodes_online") == joined.field("nodes_online") {
		t.Fatalf("the machine is not counted: %s", joined.body)
	}
	a := w.send("PUT", path, http.Header{"Authorization": {"Bearer " + root},
		"Content-Type": {"application/json"}, "If-Match": {opened.header.Get("ETag")}},
		strings.NewReader(`{"domain":"qa.example.org"}`))
	if a.status != http.StatusOK {
		t.Errorf("saved over what was opened: %d %s", a.status, a.body)
	}
}

// Of many at once with the same tag, one comes through.
func TestIfMatch_OneOfMany(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	w.call("PUT", "/api/v1/teams/race", root, object{"description": "before"})
	old := w.call("GET", "/api/v1/teams/race", root, nil).header.Get("ETag")
	var through atomic.Int64
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			a := w.send("PUT", "/api/v1/teams/race", http.Header{"Authorization": {"Bearer " + root},
				"Content-Type": {"application/json"}, "If-Match": {old}},
				strings.NewReader(fmt.Sprintf(`{"description":"by %d"}`, i)))
			if a.status == http.StatusOK {
				through.Add(1)
			}
		})
	}
	all.Wait()
	if through.Load() != 1 {
		t.Errorf("%d of eight changes with one tag came through", through.Load())
	}
}
