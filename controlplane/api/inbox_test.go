package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// inbox returns what waits for a person.
func (w *world) inbox(who string) (box api.Inbox) {
	w.t.Helper()
	w.expect(http.StatusOK, "GET", "/me/inbox", w.token(who), nil, &box)
	return box
}

// A comment reaches those whom it mentions, as far as they may see the deployment, and nobody else.
func TestComments_MentionsReachWhoMaySee(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	path := "/deployments/" + string(d.ID) + "/comments"
	reader, full := w.token("reader"), w.token("full")
	var made api.DeploymentComment
	w.expect(http.StatusCreated, "POST", path, reader, object{
		"body": " @full, @stranger and @reader: <b>the cart</b> is\u0007 empty. Not @ada@example.org "},
		&made)
	if made.Author != "reader" || strings.Join(made.Mentions, " ") != "full reader" ||
		made.Body != "@full, @stranger and @reader: <b>the cart</b> is empty. Not @ada@example.org" {
		t.Errorf("the comment: %+v", made)
	}
	if box := w.inbox("full"); box.Unread != 1 || box.Items[0].Kind != "mention" ||
		!strings.Contains(*box.Items[0].Body, "the cart") ||
		*box.Items[0].Link != "/d/"+string(d.ID)+"/comments" {
		t.Errorf("the notice: %+v", box)
	}
	for _, who := range []string{"stranger", "reader", "root"} {
		if box := w.inbox(who); len(box.Items) != 0 {
			t.Errorf("%s got a notice: %+v", who, box)
		}
	}
	var list api.DeploymentCommentList
	w.expect(http.StatusOK, "GET", path, full, nil, &list)
	if len(list.Items) != 1 || list.Items[0].Id != made.Id {
		t.Errorf("the list: %+v", list)
	}
	w.mentionable(d, full)
	w.readsNotices(full)
	one := path + "/" + made.Id
	w.expect(http.StatusForbidden, "DELETE", one, full, nil, nil)
	w.expect(http.StatusNotFound, "DELETE", one, w.token("stranger"), nil, nil)
	w.expect(http.StatusNoContent, "DELETE", one, reader, nil, nil)
	w.expect(http.StatusNotFound, "DELETE", one, reader, nil, nil)
}

// mentionable offers exactly those who may see the deployment.
func (w *world) mentionable(d controlplane.Deployment, token string) {
	w.t.Helper()
	var people api.MentionableList
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/people", token, nil, &people)
	names := ""
	for _, p := range people.Items {
		names += p.Name + " "
	}
	if names != "full reader root " {
		w.t.Errorf("who can be mentioned: %s", names)
	}
	w.expect(http.StatusOK, "GET", "/deployments/"+string(d.ID)+"/people?prefix=re", token, nil,
		&people)
	if len(people.Items) != 1 || people.Items[0].Name != "reader" {
		w.t.Errorf("who begins with re: %+v", people)
	}
}

// readsNotices marks the only notice read and unread. That of another person stays as it is, and
// one about a deployment that a person may not see any more is gone.
func (w *world) readsNotices(full string) {
	w.t.Helper()
	id := w.inbox("full").Items[0].Id
	mark := func(token string, read bool) (box api.Inbox) {
		w.t.Helper()
		w.expect(http.StatusOK, "PUT", "/me/inbox", token,
			object{"ids": []string{id}, "read": read}, &box)
		return box
	}
	mark(w.token("reader"), true)
	if box := w.inbox("full"); box.Unread != 1 {
		w.t.Errorf("somebody else read it: %+v", box)
	}
	if box := mark(full, true); box.Unread != 0 || !box.Items[0].Read {
		w.t.Errorf("after it was read: %+v", box)
	}
	if box := mark(full, false); box.Unread != 1 {
		w.t.Errorf("marked as not read: %+v", box)
	}
	w.expect(http.StatusBadRequest, "PUT", "/me/inbox", full,
		object{"ids": []string{"x"}, "read": true}, nil)
	team := accounts.TeamPut{Name: "team-full", Members: []string{"full"}}
	w.expectSaved(w.accounts.PutTeam(w.t.Context(), system, team))
	if box := w.inbox("full"); len(box.Items) != 0 {
		w.t.Errorf("without access: %+v", box)
	}
	team.Grants = []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelFull}}
	w.expectSaved(w.accounts.PutTeam(w.t.Context(), system, team))
}

// Comments are bounded: in length, in how many people they call, and in how fast one writes them.
func TestComments_Limits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	path := "/deployments/" + string(w.deploy("first").ID) + "/comments"
	reader := w.token("reader")
	refuse := func(status int, body, code string) {
		t.Helper()
		a := w.call("POST", "/api/v1"+path, reader, object{"body": body})
		if a.status != status || a.field("code") != code {
			t.Errorf("%.20q: %d %s, want %d %s", body, a.status, a.body, status, code)
		}
	}
	refuse(http.StatusBadRequest, " \n ", "comment_length")
	refuse(http.StatusBadRequest, "@a @b @c @d @e @f @g @h @i @j @k", "too_many_mentions")
	for range 30 {
		w.expect(http.StatusCreated, "POST", path, reader, object{"body": "again"}, nil)
	}
	refuse(http.StatusTooManyRequests, "and again", "comments_too_fast")
	w.expect(http.StatusCreated, "POST", path, w.token("full"), object{"body": "others may"}, nil)
}

// A request for access is stored once, reaches every admin and a webhook, is limited, and the
// person hears how it ended.
func TestAccessRequests(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	reader, root := w.token("reader"), w.token("root")
	chat := startReceiver(t, 0)
	w.makeWebhook("chat", chat.URL, object{"kind": "slack", "events": []string{"access.asked"}})
	var first, again api.AccessRequest
	ask := object{"object": "deployment/" + string(w.deploy("first").ID), "note": "to test the cart"}
	w.expect(http.StatusOK, "POST", "/me/access-requests", reader, ask, &first)
	w.expect(http.StatusOK, "POST", "/me/access-requests", reader, ask, &again)
	if first.Id != again.Id || first.Object != "project/shop" ||
		first.Wanted != "full access to project shop" {
		t.Errorf("asked twice: %+v, %+v", first, again)
	}
	if box := w.inbox("root"); len(box.Items) != 1 || box.Items[0].Kind != "access_asked" ||
		*box.Items[0].Body != "to test the cart" ||
		box.Items[0].Subject != "reader asks for full access to project shop" {
		t.Errorf("what the admin reads: %+v", box)
	}
	if _, bodies := chat.wait(t, 1); !strings.Contains(bodies[0],
		"reader asks an admin for full access to project shop: http://nullops.test/teams/access") {
		t.Errorf("what the chat is told: %s", bodies)
	}
	var list api.AccessRequestList
	w.expect(http.StatusOK, "GET", "/access-requests", root, nil, &list)
	if len(list.Items) != 1 || list.Items[0].User != "reader" {
		t.Errorf("what waits: %+v", list)
	}
	w.answersRequests(reader, root, first)
	w.expect(http.StatusNotFound, "POST", "/me/access-requests", w.token("stranger"), ask, nil)
	w.expect(http.StatusConflict, "POST", "/me/access-requests", w.token("full"), ask, nil)
	w.expect(http.StatusConflict, "POST", "/me/access-requests", root, object{"object": "admin"}, nil)
}

// answersRequests closes one without a grant, and one after it was granted, and asks too often.
func (w *world) answersRequests(reader, root string, first api.AccessRequest) {
	w.t.Helper()
	w.expect(http.StatusNoContent, "DELETE", "/access-requests/"+first.Id, root, nil, nil)
	w.expect(http.StatusNotFound, "DELETE", "/access-requests/"+first.Id, root, nil, nil)
	if box := w.inbox("reader"); box.Items[0].Kind != "access_answered" ||
		box.Items[0].Subject != "root closed your request for full access to project shop" {
		w.t.Errorf("closed without a grant: %+v", box)
	}
	var asked api.AccessRequest
	for range 9 {
		w.expect(http.StatusOK, "POST", "/me/access-requests", reader,
			object{"object": "project/shop"}, &asked)
		w.expect(http.StatusNoContent, "DELETE", "/access-requests/"+asked.Id, root, nil, nil)
	}
	limited := w.call("POST", "/api/v1/me/access-requests", reader, object{"object": "admin"})
	if limited.status != http.StatusTooManyRequests || limited.field("code") != "too_many_requests" {
		w.t.Errorf("the eleventh of a day: %d %s", limited.status, limited.body)
	}
}

// Who gets what they asked for reads that they have it.
func TestAccessRequests_Granted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	var asked api.AccessRequest
	w.expect(http.StatusOK, "POST", "/me/access-requests", w.token("reader"),
		object{"object": "project/shop"}, &asked)
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "more",
		Members: []string{"reader"},
		Grants:  []controlplane.TeamGrant{{Project: "shop", Level: controlplane.LevelFull}}}))
	w.expect(http.StatusNoContent, "DELETE", "/access-requests/"+asked.Id, w.token("root"), nil, nil)
	if box := w.inbox("reader"); box.Items[0].Subject !=
		"You have full access to project shop now" {
		t.Errorf("closed after a grant: %+v", box)
	}
}

// The creator of a deployment hears that it failed, others do not.
func TestInbox_OwnDeploymentFailed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	var made api.Deployment
	w.expect(http.StatusCreated, "POST", "/deployments", w.token("full"), object{"name": "mine",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.1"}}, &made)
	d, err := w.lifecycle.Get(t.Context(), system, controlplane.DeploymentID(made.Id))
	if err != nil {
		t.Fatal(err)
	}
	w.report(d, lifecycle.Report{Status: controlplane.Failed, Code: "x", Message: "it broke"})
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(50 * time.Millisecond) {
		box := w.inbox("full")
		if len(box.Items) == 1 && box.Items[0].Kind == "failed" &&
			box.Items[0].Subject == "mine in qa failed" &&
			strings.Contains(strings.ToLower(*box.Items[0].Body), "it broke") {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("what the creator reads: %+v", box)
		}
	}
	if box := w.inbox("reader"); len(box.Items) != 0 {
		t.Errorf("others hear of it: %+v", box)
	}
}
