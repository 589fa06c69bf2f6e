package api_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/sources"
	"github.com/nullops/nullops/internal/gitfetch"
	"github.com/nullops/nullops/internal/gitfetch/gittest"
	"github.com/nullops/nullops/internal/testpart"
)

func (w *world) newSources(log *slog.Logger) *sources.Sources {
	w.sources = sources.New(sources.Config{Store: w.store, Keys: w.keys, Log: log,
		Off: controlplane.OffLimits{Loopback: true}, Limits: gitfetch.DefaultLimits()})
	return w.sources
}

const sourceCommit = "3f2a000000000000000000000000000000000000"

// leaveSource makes a source whose repository cannot be reached, and that has found a commit.
func (w *world) leaveSource(name string) {
	w.t.Helper()
	w.expectSaved(w.sources.PutSource(w.t.Context(), system, sources.SourcePut{
		Source: controlplane.DefinitionSource{Name: name, URL: "http://127.0.0.1:9/x.git",
			Period: time.Hour, Mode: controlplane.SourceConfirm, Active: true}}))
	pgtest.Exec(w.t, w.database, `UPDATE definition_sources SET state = '{"found": {"hash": "`+
		sourceCommit+`", "at": "2026-01-01T00:00:00Z"}, "found_generation": 1}'`)
}

// watchSources has due sources looked at until the test ends.
func (w *world) watchSources() {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = w.sources.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
}

const sourcesPath = "/api/v1/sources/"

type sourceAnswer struct {
	Name, Status, Owner string
	Found, Applied      struct{ Hash, Subject, Author string }
	AppliedBy           string `json:"applied_by"`
	Changes, Drift      []sourceChange
	Unlisted            []struct{ Kind, Name string }
	Failure             struct {
		Code, Message, Remedy, Commit string
		Problems                      []struct {
			File, What, Field, Message, Remedy string
			Line                               int
		}
	}
}

type sourceChange struct {
	Kind, Name, Part, Action, File string
	Line                           int
	ChangedBy                      string `json:"changed_by"`
	ChangedAt                      string `json:"changed_at"`
	Changes                        []struct {
		Path     string
		Old, New any
	}
}

func (a answer) source() (out sourceAnswer) {
	a.t.Helper()
	if err := json.Unmarshal(a.body, &out); err != nil || a.status != 200 {
		a.t.Fatalf("%d: %v: %s", a.status, err, a.body)
	}
	return out
}

func (s sourceAnswer) actions() (all []string) {
	for _, c := range s.Changes {
		all = append(all, strings.Join(strings.Fields(
			c.Kind+" "+c.Name+" "+c.Part+" "+c.Action), " "))
	}
	return all
}

// hasProblem reports whether one of the problems is at this place and says this.
func (s sourceAnswer) hasProblem(place, says string) bool {
	for _, p := range s.Failure.Problems {
		at := fmt.Sprintf("%s:%d %s", p.File, p.Line, p.Field)
		if strings.HasPrefix(at, place) && strings.Contains(p.Message+" "+p.Remedy, says) {
			return true
		}
	}
	return false
}

// shopFiles are documents that need each other, in two folders.
func shopFiles() map[string]string {
	return map[string]string{
		"nullops/base/registry.yaml": "kind: registry\nname: own\nhost: localhost:5009\ninsecure: true\n",
		"nullops/shop.yaml": `# The shop.
kind: service
name: web
registry: own
image: store/web
tag_mode: pinned
tag: "1.0"
---
kind: environment
name: night
domain: night.test
description: for the night
---
kind: project
name: store
resources: {memory_mib: 128}
secrets: {KEY: {generate: {length: 24}}}
pipeline:
  steps:
    - key: web
      service:
        name: web
        resources: {memory_mib: 64}
        env: {KEY: "${{ secrets.KEY }}"}
`,
		"README.md": "not a document",
	}
}

// gitWorld is a world with people, and a repository that a source leads to.
func gitWorld(t *testing.T, settings object) (w *world, root string, r *gittest.Repository) {
	w = newWorld(t)
	w.people()
	root, r = w.token("root"), gittest.New(t)
	r.Token = "very secret token"
	body := object{"url": r.URL, "folder": "nullops", "token": r.Token}
	maps.Copy(body, settings)
	if a := w.call("PUT", sourcesPath+"platform", root, body); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return w, root, r
}

func (w *world) sync(root string) sourceAnswer {
	w.t.Helper()
	return w.call("POST", sourcesPath+"platform/sync", root, nil).source()
}

func (w *world) applyCommit(root, commit string) answer {
	w.t.Helper()
	return w.call("POST", sourcesPath+"platform/apply", root, object{"commit": commit})
}

// A commit is read and shown, changes nothing until a person confirms exactly that commit, and is
// applied then. What somebody changes by hand afterwards is listed with who and when, and undone
// when the commit is applied again.
func TestSources_ConfirmThenDrift(t *testing.T) {
	t.Parallel()
	w, root, r := gitWorld(t, nil)
	before := w.everything(root)
	first := r.Commit(shopFiles())
	found := w.sync(root)
	want := []string{"registry own created", "service web created", "environment night created",
		"project store created", "project store secret KEY created", "project store pipeline created"}
	if found.Status != "waiting" || found.Found.Hash != first || found.Found.Author != "Ada" ||
		!slices.Equal(found.actions(), want) {
		t.Fatalf("found %+v", found)
	}
	if c := found.Changes[2]; c.File != "nullops/shop.yaml" || c.Line != 9 {
		t.Errorf("the environment stands at %s:%d", c.File, c.Line)
	}
	if after := w.everything(root); after != before {
		t.Errorf("looking changed\n%s\nto\n%s", before, after)
	}
	if a := w.applyCommit(root, strings.Repeat("0", 40)); a.status != 409 ||
		a.field("code") != "commit_changed" {
		t.Errorf("another commit: %d %s", a.status, a.body)
	}
	applied := w.applyCommit(root, first).source()
	if applied.Status != "synced" || applied.Applied.Hash != first || applied.AppliedBy != "root" ||
		len(applied.Changes)+len(applied.Drift) > 0 {
		t.Fatalf("applied %+v", applied)
	}
	journal := w.listAudit(root)
	for _, entry := range []string{`"system:source platform"`, `"commit ` + first + `"`,
		`"apply source"`} {
		if !strings.Contains(journal, entry) {
			t.Errorf("no %s in the audit", entry)
		}
	}
	origin := w.call("GET", documentsPath+"/service/web/origin", root, nil)
	if !strings.Contains(string(origin.body), r.URL) || !strings.Contains(string(origin.body), first) {
		t.Errorf("the origin: %s", origin.body)
	}

	w.call("PUT", "/api/v1/environments/night", root,
		object{"domain": "night.test", "description": "by hand"})
	if a := w.call("DELETE", "/api/v1/projects/store", root, nil); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	drifted := w.sync(root)
	if drifted.Status != "synced" || len(drifted.Changes) > 0 {
		t.Errorf("after a change by hand: %+v", drifted)
	}
	var drift []string
	for _, c := range drifted.Drift {
		drift = append(drift, c.Kind+" "+c.Name+" "+c.Part+" "+c.Action)
		if c.ChangedBy != "root" || c.ChangedAt == "" {
			t.Errorf("who changed %s: %+v", c.Name, c)
		}
	}
	if len(drift) != 4 || drift[0] != "environment night  changed" ||
		drift[1] != "project store  created" {
		t.Fatalf("drift %q", drift)
	}
	if c := drifted.Drift[0].Changes; len(c) != 1 || c[0].Path != "description" ||
		c[0].Old != "by hand" || c[0].New != "for the night" {
		t.Errorf("the field %+v", c)
	}
	if again := w.applyCommit(root, first).source(); len(again.Drift) > 0 || again.Status != "synced" {
		t.Errorf("applied again: %+v", again)
	}
	if a := w.call("GET", "/api/v1/environments/night", root, nil); a.field("description") !=
		"for the night" {
		t.Errorf("the environment: %s", a.body)
	}
	if a := w.sync(root); len(a.Drift) > 0 || a.Status != "synced" {
		t.Errorf("at last: %+v", a)
	}
}

// A commit that people were shown cannot be applied once the branch was pushed over.
func TestSources_ForcePushBetweenShownAndConfirmed(t *testing.T) {
	t.Parallel()
	w, root, r := gitWorld(t, nil)
	shown := r.Commit(shopFiles())
	w.sync(root)
	r.Git("commit", "--amend", "--quiet", "--message", "Another one")
	pushed := r.Push()
	if now := w.sync(root); now.Found.Hash != pushed || now.Found.Subject != "Another one" {
		t.Fatalf("now %+v", now)
	}
	if a := w.applyCommit(root, shown); a.status != 409 || a.field("code") != "commit_changed" {
		t.Errorf("%d %s", a.status, a.body)
	}

	// The same holds if nobody has looked since the push.
	r.Git("commit", "--amend", "--quiet", "--message", "A third one")
	third := r.Push()
	if a := w.applyCommit(root, pushed); a.status != 409 || a.field("code") != "commit_changed" {
		t.Errorf("pushed over a moment ago: %d %s", a.status, a.body)
	}
	now := w.call("GET", sourcesPath+"platform", root, nil).source()
	if now.Found.Hash != third || now.Status != "waiting" || len(now.Changes) == 0 {
		t.Errorf("then it is %+v", now)
	}
	if now = w.applyCommit(root, third).source(); now.Status != "synced" {
		t.Errorf("applied: %+v", now)
	}
	// Without its branch, nothing is applied any more.
	files := shopFiles()
	files["nullops/more.yaml"] = "kind: environment\nname: more\ndomain: more.test\n"
	last := r.Commit(files)
	w.sync(root)
	r.Git("push", "--quiet", "--receive-pack=git -c receive.denyDeleteCurrent=ignore receive-pack",
		"origin", "--delete", "main")
	if now = w.applyCommit(root, last).source(); now.Failure.Code != "branch_missing" {
		t.Errorf("without the branch: %+v", now)
	}
	if a := w.call("GET", "/api/v1/environments/more", root, nil); a.status != 404 {
		t.Errorf("what the branch does not have any more: %d %s", a.status, a.body)
	}
}

// With an invalid document among good ones nothing is applied, and each problem has its file, line,
// field and remedy. A secret in clear text is one, and so is a kind that the source may not define.
func TestSources_RefuseDocuments(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w, root, r := gitWorld(t, object{"mode": "automatic"})
	before := w.everything(root)
	for name, c := range map[string]struct{ text, place, says string }{
		"a wrong field": {"kind: service\nname: x\nregistry: own\nimage: a\ncolour: red\n",
			"nullops/x.yaml:5 colour", "no field colour"},
		"no YAML": {"a: [",
			"nullops/x.yaml:1", "not YAML"},
		"a bomb": {"kind: service\nname: x\na: &a [x]\nb: [*a, *a]\n",
			"nullops/x.yaml:4 b[0]", "aliases are not supported"},
		"a secret": {"kind: project\nname: x\nresources: {memory_mib: 9}\n" +
			"secrets: {A: {value: hunter2hunter2}}\n",
			"nullops/x.yaml:4 secrets.A.value", "does not stand in a document"},
		"a password": {"kind: registry\nname: x\nhost: x.test\npassword: hunter2\n",
			"nullops/x.yaml:4 password", "password_from_env"},
		"no value": {"kind: project\nname: x\nresources: {memory_mib: 9}\nsecrets:\n  A: {from_env: A}\n",
			"nullops/x.yaml:5 secrets.A", "Save the value in NullOps"},
		"an admin": {"kind: user\nname: eve\nrole: admin\n",
			"nullops/x.yaml:1", "may not define a user"},
		"twice": {"kind: service\nname: web\nregistry: own\nimage: a\n",
			"nullops/x.yaml:1", "already defined at nullops/shop.yaml:2"},
		"a missing file": {"kind: plugin\nname: p\nregistry: own\nimage: p\ntag: a\n" +
			"component_file: ../../etc/passwd\n",
			"nullops/x.yaml:6 component_file", "below the source's folder"},
		"no such service": {"kind: project\nname: x\nresources: {memory_mib: 9}\n" +
			"pipeline: {steps: [{key: a, service: {name: nope, resources: {memory_mib: 9}}}]}\n",
			"nullops/x.yaml:4 service.name", "nope"},
	} {
		files := shopFiles()
		files["nullops/x.yaml"] = c.text
		commit := r.Commit(files)
		got := w.sync(root)
		if got.Status != "failed" || got.Failure.Commit != commit || !got.hasProblem(c.place, c.says) ||
			got.Failure.Remedy == "" {
			t.Errorf("%s: %+v", name, got.Failure)
		}
		if after := w.everything(root); after != before {
			t.Fatalf("%s changed\n%s\nto\n%s", name, before, after)
		}
	}
	for field, c := range map[string]struct{ value, code string }{
		"branch": {"gone", "branch_missing"}, "folder": {"none", "folder_missing"},
		"token": {"wrong", "token_refused"}, "url": {r.URL + "x", "repository_missing"},
	} {
		body := object{"url": r.URL, "folder": "nullops", "token": r.Token}
		body[field] = c.value
		w.call("PUT", sourcesPath+"platform", root, body)
		if got := w.sync(root); got.Status != "failed" || got.Failure.Code != c.code ||
			got.Failure.Remedy == "" {
			t.Errorf("%s: %+v", field, got.Failure)
		}
		w.alertsOfSource(1)
	}
	body := object{"url": r.URL, "folder": "nullops", "token": r.Token}
	w.call("PUT", sourcesPath+"platform", root, body)
	files := shopFiles()
	files["nullops/x.yaml"] = "kind: service\nname: x\nregistry: own\nimage: a\n" +
		"tag_mode: selectable\n"
	r.Commit(files)
	if got := w.sync(root); got.Failure.Code != "" {
		t.Errorf("once all is right: %+v", got.Failure)
	}
	w.alertsOfSource(0)
}

// alertsOfSource holds that a source that fails is a cause of an alert, and none that works.
func (w *world) alertsOfSource(want int) {
	w.t.Helper()
	causes, err := alerts.DefinitionSources(w.store).Find(w.t.Context())
	// promise: O-02
	if err != nil || len(causes) != want ||
		want > 0 && (causes[0].Label != "platform" || causes[0].Detail == "") {
		w.t.Errorf("there are the causes %+v, error %v, want %d", causes, err, want)
	}
}

// An automatic source applies what was pushed, as soon as the code host says so with a signature
// that holds. What vanishes is removed only if the source may, and only if nothing uses it.
func TestSources_AutomaticWithWebhook(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w, root, r := gitWorld(t, object{"mode": "automatic", "webhook": "gitea",
		"secret": "a secret that is long enough", "period_minutes": 1440})
	w.watchSources()
	files := shopFiles()
	files["nullops/extra.yaml"] = "kind: environment\nname: extra\ndomain: extra.test\n"
	await := func(commit string) sourceAnswer {
		t.Helper()
		var last sourceAnswer
		end := time.Now().Add(30 * time.Second)
		for ; time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
			if last = w.call("GET", sourcesPath+"platform", root, nil).source(); last.Applied.Hash ==
				commit {
				return last
			}
		}
		t.Fatalf("%s is not applied: %+v", commit, last)
		return last
	}
	post := func(secret string) int {
		body := `{"ref":"refs/heads/main"}`
		return w.send("POST", "/hooks/sources/platform", http.Header{"X-Gitea-Signature": {
			signWith(secret, body)}}, strings.NewReader(body)).status
	}
	first := r.Commit(files)
	post("a secret that is long enough")
	await(first)
	// What a fork proposes is on another branch, and under the ref of its pull request, until
	// somebody merges it. The code host announces that push as well.
	r.Git("checkout", "--quiet", "-b", "pull")
	r.Write(map[string]string{
		"nullops/extra.yaml": "kind: environment\nname: extra\ndomain: evil.test\n"})
	r.Git("commit", "--quiet", "--all", "--message", "Give the fork what it wants")
	r.Git("push", "--quiet", "origin", "HEAD:refs/heads/pull", "HEAD:refs/pull/7/head")
	post("a secret that is long enough")
	if now := w.sync(root); now.Applied.Hash != first || now.Status != "synced" {
		t.Errorf("a fork edits the definitions: %+v", now)
	}
	if a := w.call("GET", "/api/v1/environments/extra", root, nil); a.field("domain") != "extra.test" {
		t.Errorf("a fork's environment: %s", a.body)
	}
	r.Git("checkout", "--quiet", "main")
	second := r.Commit(map[string]string{"nullops/extra.yaml": ""})
	if got := post("another secret, as long as it"); got != 401 {
		t.Errorf("a wrong signature: %d", got)
	}
	if a := w.send("POST", "/hooks/sources/none", http.Header{}, strings.NewReader("")); a.status !=
		401 {
		t.Errorf("another source: %d", a.status)
	}
	if got := post("a secret that is long enough"); got != 202 {
		t.Errorf("a signature: %d", got)
	}
	if got := await(second); got.AppliedBy != "" || len(got.Unlisted) != 1 ||
		got.Unlisted[0].Name != "extra" {
		t.Errorf("what vanished stays: %+v", got)
	}
	w.call("PUT", sourcesPath+"platform", root, object{"url": r.URL, "folder": "nullops",
		"mode": "automatic", "removes": true})
	if got := w.sync(root); len(got.Unlisted) > 0 || got.Status != "synced" {
		t.Errorf("what vanished goes: %+v", got)
	}
	if a := w.call("GET", "/api/v1/environments/extra", root, nil); a.status != 404 {
		t.Errorf("the environment: %d", a.status)
	}
	// The service is used by a pipeline of somebody else.
	w.call("POST", documentsPath, root, object{"documents": []object{newDocument("project", "other",
		object{"resources": object{"memory_mib": 64}, "pipeline": object{"steps": []object{{"key": "a",
			"service": object{"name": "web", "resources": object{"memory_mib": 64}}}}}})}})
	rest := shopFiles()
	rest["nullops/shop.yaml"] = "kind: environment\nname: night\ndomain: night.test\n"
	r.Commit(rest)
	got := w.sync(root)
	if got.Status != "synced" || len(got.Unlisted) != 1 || got.Unlisted[0].Name != "web" {
		t.Errorf("what is in use stays: %+v", got)
	}
}

// A source applies only while the admin in whose name it does is one, two sources cannot define one
// thing, people cannot apply in a source's name, and what it defined outlives it.
func TestSources_Ownership(t *testing.T) {
	t.Parallel()
	w, root, r := gitWorld(t, object{"mode": "automatic"})
	r.Commit(shopFiles())
	w.call("PUT", "/api/v1/users/ada", root, object{"role": "admin", "display_name": "Ada",
		"password": password, "active": true})
	ada := w.token("ada")
	body := object{"url": r.URL, "folder": "nullops", "token": r.Token, "mode": "automatic"}
	w.call("PUT", sourcesPath+"platform", ada, body)
	w.call("PUT", "/api/v1/users/ada", root,
		object{"role": "user", "display_name": "Ada", "active": true})
	if got := w.sync(root); got.Status != "failed" || got.Failure.Code != "owner_no_admin" {
		t.Fatalf("of a former admin: %+v", got)
	}
	if a := w.call("GET", "/api/v1/services/web", root, nil); a.status != 404 {
		t.Errorf("it was applied: %d", a.status)
	}
	w.call("PUT", sourcesPath+"platform", root, body)
	if got := w.sync(root); got.Status != "synced" || got.Owner != "root" {
		t.Fatalf("saved again: %+v", got)
	}
	w.call("PUT", sourcesPath+"second", root, body)
	second := w.call("POST", sourcesPath+"second/sync", root, nil).source()
	if second.Status != "failed" || !second.hasProblem("nullops/shop.yaml:2",
		"belongs to the owner platform") {
		t.Errorf("a second source: %+v", second.Failure)
	}
	apply := object{"owner": "platform", "prune": true, "documents": []object{}}
	if a := w.call("POST", documentsPath, root, apply); a.status != 409 ||
		a.field("code") != "owner_is_source" {
		t.Errorf("in its name: %d %s", a.status, a.body)
	}
	full := w.token("full")
	for _, c := range [][2]string{{"GET", ""}, {"POST", "/sync"}} {
		if a := w.call(c[0], sourcesPath+"platform"+c[1], full, nil); a.status != 403 {
			t.Errorf("%s %s of somebody else: %d", c[0], c[1], a.status)
		}
	}
	if a := w.call("DELETE", sourcesPath+"platform", root, nil); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := w.call("GET", documentsPath+"/service/web/origin", root, nil); a.field("owner") != "" {
		t.Errorf("after its end: %s", a.body)
	}
	if a := w.call("GET", "/api/v1/services/web", root, nil); a.status != 200 {
		t.Errorf("the service is gone: %d", a.status)
	}
}

func signWith(secret, body string) string {
	m := hmac.New(sha256.New, []byte(secret))
	m.Write([]byte(body))
	return hex.EncodeToString(m.Sum(nil))
}

// Settings that cannot work are refused with the field.
func TestSources_RefuseSettings(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	for field, values := range map[string][]any{
		"url": {"ftp://x.test/a", "https://user:pass@x.test/a", "http://git.test/a", "not one",
			"https://x.test/a?b=c"},
		"branch": {"a..b", "-x", "a b"}, "folder": {"../x", "a/../b"}, "ca": {"no certificate"},
		"secret": {"short"},
	} {
		for _, value := range values {
			body := object{"url": "https://git.test/a.git", "webhook": "github"}
			body[field] = value
			if a := w.call("PUT", sourcesPath+"x", root, body); a.status != 422 && a.status != 400 ||
				!strings.Contains(string(a.body), `"`+field) {
				t.Errorf("%s %v: %d %s", field, value, a.status, a.body)
			}
		}
	}
}
