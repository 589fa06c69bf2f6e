package api_test

import (
	"encoding/csv"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// newest returns the newest entries of one person, as an admin sees them.
func (w *world) newest(root, actor string) api.AuditList {
	w.t.Helper()
	return decodeAnswer[api.AuditList](w.t, w.call("GET", "/api/v1/audit?actor="+actor, root, nil))
}

// Every operation that changes something leaves an entry when it is refused to
// a reader, whatever it was.
func TestAudit_RefusalsHaveEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	root, reader := w.token("root"), w.token("reader")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		readersMay := id == "createComment"
		if o.reads() || readersMay || o.access == access.Public || o.access == access.Self {
			continue
		}
		before := w.newest(root, "reader").Items[0].Id
		w.call(o.method, fillPath(o.visit.path, d), reader, o.visit.body)
		entry := w.newest(root, "reader").Items[0]
		// promise: N-288
		if entry.Id == before || entry.Result != api.AuditResultRefused {
			t.Errorf("%s, refused to a reader, has no entry: the newest is %+v", id, entry)
		}
		if entry.From == nil || entry.RequestId == nil || entry.Credential == nil ||
			*entry.Credential != "token "+reader[4:14] {
			t.Errorf("%s: from where, by which request or with which token is missing: %+v", id, entry)
		}
	}
}

// Filters narrow the list, pages follow each other, and the exported file has
// the same entries.
func TestAudit_FilterAndExport(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	for _, name := range []string{"one", "two", "three"} {
		a := w.call("PUT", "/api/v1/teams/"+name, root, object{"members": []string{}})
		if a.status >= 300 {
			t.Fatalf("put team: %s", a.body)
		}
	}
	const query = "?actor=root&action=put&object=team"
	got := []string{}
	for cursor := ""; ; {
		page := decodeAnswer[api.AuditList](t, w.call("GET",
			"/api/v1/audit"+query+"&limit=2&cursor="+cursor, root, nil))
		for _, e := range page.Items {
			got = append(got, e.Object)
		}
		if page.NextCursor == nil {
			break
		}
		cursor = *page.NextCursor
	}
	// promise: N-327
	if strings.Join(got, ",") != "team three,team two,team one" {
		t.Errorf("filtered: %q", got)
	}
	rows, err := csv.NewReader(strings.NewReader(
		string(w.call("GET", "/api/v1/audit/export"+query, root, nil).body))).ReadAll()
	// promise: N-327
	if err != nil || len(rows) != 4 || rows[1][5] != "team three" || rows[0][5] != "object" {
		t.Errorf("exported %q: %v", rows, err)
	}
	lines := w.call("GET", "/api/v1/audit/export"+query+"&format=jsonl", root, nil)
	if strings.Count(string(lines.body), "\n") != 3 {
		t.Errorf("lines: %s", lines.body)
	}
	for _, bad := range []string{"?result=maybe", "?cursor=x", "?since=yesterday"} {
		if a := w.call("GET", "/api/v1/audit"+bad, root, nil); a.status != 400 && a.status != 422 {
			t.Errorf("%s: %d", bad, a.status)
		}
	}
}

// What was wrong is corrected by doing it again: that is a new entry, and those
// before it stay as they were, to the letter.
func TestAudit_CorrectionsAreNewEntries(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusOK, "PUT", "/teams/wrong", root, object{"members": []string{}}, nil)
	before := w.newest(root, "root").Items
	w.expect(http.StatusOK, "PUT", "/teams/wrong", root, object{"members": []string{"full"}}, nil)
	w.expect(http.StatusNoContent, "DELETE", "/teams/wrong", root, nil, nil)
	after := w.newest(root, "root").Items
	// promise: G-22
	if len(after) != len(before)+2 || !reflect.DeepEqual(after[2:], before) {
		t.Errorf("entries before two corrections: %+v\nand after: %+v", before, after)
	}
}

// A name that a spreadsheet would run stays a name.
func TestAudit_ExportIsHarmless(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	e := controlplane.AuditEntry{Actor: "=1+1", Action: "try", Object: "@x"}
	_ = w.store.RecordRefusal(t.Context(), e, controlplane.NewNotFoundError("x", "y"))
	a := w.call("GET", "/api/v1/audit/export?action=try", w.token("root"), nil)
	if !strings.Contains(string(a.body), ",'=1+1,try,'@x,") {
		t.Errorf("exported: %s", a.body)
	}
}

// A member of another team sees none of it.
func TestAudit_FollowsAccess(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("first")
	list := func(user string) api.AuditList {
		return decodeAnswer[api.AuditList](t, w.call("GET", "/api/v1/audit?object=first",
			w.token(user), nil))
	}
	if n := len(list("reader").Items); n == 0 {
		t.Error("a member does not see what was done to their deployment")
	}
	// promise: N-289
	if n := len(list("stranger").Items); n != 0 {
		t.Errorf("a stranger sees %d entries of a foreign deployment", n)
	}
}

// The history of a deployment has a row for each action: who did what, and when. Its runs say what
// each of them deployed.
func TestAudit_DeploymentHistoryHasEachAction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	full, root := w.token("full"), w.token("root")
	begun := time.Now().Add(-time.Second)
	a := w.call("POST", "/api/v1/deployments", full, object{"name": "first", "project": "shop",
		"environment": "qa", "versions": object{"api": "1.0"}})
	if a.status != http.StatusCreated {
		t.Fatalf("create: %d %s", a.status, a.body)
	}
	d, err := w.lifecycle.Get(t.Context(), system, controlplane.DeploymentID(a.field("id")))
	w.expectSaved(d, err)
	w.report(d, lifecycle.Report{Status: controlplane.Failed, Code: "x", Message: "it broke"})
	path := "/api/v1/deployments/" + string(d.ID)
	for _, c := range []struct {
		method, path, token string
		body                any
	}{
		{"POST", path + "/passes", root, object{"label": "ACME", "hours": 2}},
		{"PUT", path + "/gate", full, object{"gate": "members"}},
		{"POST", path + "/retry", root, nil},
		{"DELETE", path, full, nil},
	} {
		if a := w.call(c.method, c.path, c.token, c.body); a.status >= 300 {
			t.Fatalf("%s %s: %d %s", c.method, c.path, a.status, a.body)
		}
	}
	var rows []string
	list := decodeAnswer[api.AuditList](t, w.call("GET",
		"/api/v1/audit?object="+url.QueryEscape("deployment first"), full, nil))
	for _, e := range slices.Backward(list.Items) {
		rows = append(rows, e.Actor+" "+e.Action+" "+string(e.Result))
		if e.At.Before(begun) || time.Until(e.At) > time.Second {
			t.Errorf("%s happened at %s", e.Action, e.At)
		}
	}
	// promise: N-287
	if want := []string{"full create deployment ok", "root make guest link ok", "full set gate ok",
		"root retry deployment ok", "full remove deployment ok"}; !slices.Equal(rows, want) {
		t.Errorf("its history is %q, want %q", rows, want)
	}
	var runs []string
	for _, r := range decodeAnswer[api.RunList](t, w.call("GET", path+"/runs", full, nil)).Items {
		for _, v := range r.Versions {
			runs = append(runs, fmt.Sprint(r.Number, " ", r.StartedBy, " ", v.Step, ":", v.Tag))
		}
		if r.CreatedAt.Before(begun) || time.Until(r.CreatedAt) > time.Second {
			t.Errorf("run %d began at %s", r.Number, r.CreatedAt)
		}
	}
	// promise: N-287
	if want := []string{"2 root api:1.0", "1 full api:1.0"}; !slices.Equal(runs, want) {
		t.Errorf("its runs are %q, want %q", runs, want)
	}
}

// What a stranger sends cannot keep their refusal out of the audit: bytes that
// the database refuses are escaped there, and headers that hold them are
// answered by name instead of with a fault of ours.
func TestAudit_KeepsRefusalsOfUnstorableText(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, reader := w.token("root"), w.token("reader")
	for sent, kept := range map[string]string{
		"%00": `teams/a\x00b`, "%FF": `teams/a\xffb`, "%ED%A0%80": `teams/a\xed\xa0\x80b`,
	} {
		before := w.newest(root, "reader").Items[0].Id
		got := w.call("DELETE", "/api/v1/teams/a"+sent+"b", reader, nil)
		entry := w.newest(root, "reader").Items[0]
		// promise: N-288
		if got.status != 403 || entry.Id == before || entry.Object != kept {
			t.Errorf("%s: status %d, newest entry %+v, want object %s", sent, got.status, entry, kept)
		}
	}
	// A header that is looked up or stored as it is must be storable.
	for _, name := range []string{"Idempotency-Key", "X-Nullops-View-As"} {
		header := http.Header{"Authorization": {"Bearer " + root},
			"Content-Type": {"application/json"}, name: {"a\xffb"}}
		got := w.send("POST", "/api/v1/deployments", header, strings.NewReader(`{}`))
		if got.status != 400 || got.field("field") != name {
			t.Errorf("%s that is not UTF-8 answers %d: %s", name, got.status, got.body)
		}
	}
	// What a program calls itself is only shown, so it signs in all the same.
	header := http.Header{"Content-Type": {"application/json"}, "User-Agent": {"caf\xe9"}}
	body := strings.NewReader(`{"user":"root","password":"` + password + `"}`)
	if got := w.send("POST", "/api/v1/sessions", header, body); got.status >= 300 {
		t.Errorf("signing in with a program's name in Latin-1 answers %d: %s", got.status, got.body)
	}
}

// An entry of a changed definition says what it was and what it is; one of a new definition, or of
// the same once more, says nothing of the kind.
func TestAudit_BeforeAndAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	detail := func(method, path string, body object) string {
		t.Helper()
		if a := w.call(method, "/api/v1"+path, root, body); a.status >= http.StatusBadRequest {
			t.Fatalf("%s: %d %s", path, a.status, a.body)
		}
		entry := w.newest(root, "root").Items[0]
		if entry.Detail == nil {
			return ""
		}
		return *entry.Detail
	}
	environment := object{"domain": "localhost", "cleanup_after_hours": 48}
	if got := detail("PUT", "/environments/spare", environment); got != "" {
		t.Errorf("a new one: %q", got)
	}
	if got := detail("PUT", "/environments/spare", environment); got != "" {
		t.Errorf("the same once more: %q", got)
	}
	environment["cleanup_after_hours"] = 24
	got := detail("PUT", "/environments/spare", environment)
	if got != "cleanup after hours: 48 → 24" {
		t.Errorf("a changed one: %q", got)
	}
	got = detail("PUT", "/registries/local", object{"host": "localhost:5000", "insecure": true,
		"username": "other", "password": "not-to-be-said"})
	if got != `username: "puller" → "other"` {
		t.Errorf("a registry: %q", got)
	}
	got = detail("PUT", "/teams/team-full", object{"members": []string{"full"},
		"grants": []object{{"project": "shop", "level": "read"}}})
	if got != `grants: ["full on project shop"] → ["read on project shop"]` {
		t.Errorf("a team: %q", got)
	}
	got = detail("PUT", "/users/full", object{"role": "user", "active": false,
		"address": "full@example.org"})
	if got != "active: true → false" {
		t.Errorf("a person: %q", got)
	}
}
