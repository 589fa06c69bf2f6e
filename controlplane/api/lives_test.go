package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// expect calls and expects a status, and reads the answer.
func (w *world) expect(status int, method, path, token string, body, into any) answer {
	w.t.Helper()
	a := w.call(method, "/api/v1"+path, token, body)
	if a.status != status {
		w.t.Fatalf("%s %s: %d %s, wanted %d", method, path, a.status, a.body, status)
	}
	if into != nil {
		if err := json.Unmarshal(a.body, into); err != nil {
			w.t.Fatal(err)
		}
	}
	return a
}

// reaches has the node report a status.
func (w *world) reaches(d controlplane.Deployment, s controlplane.DeploymentStatus) {
	w.t.Helper()
	d, err := w.lifecycle.Get(w.t.Context(), system, d.ID)
	w.expectSaved(nil, err)
	w.report(d, lifecycle.Report{Status: s})
}

// publishPipeline saves a pipeline as the shop's next version.
func (w *world) publishPipeline(change func(*pipeline.Pipeline)) {
	w.t.Helper()
	p := shopPipeline()
	change(&p)
	w.expectSaved(w.catalog.SavePipeline(w.t.Context(), system, "shop", p, "next"))
}

// The sheet lists each change of the pipeline and says so when there is none;
// the clone runs the latest pipeline with the tags chosen, under its own URLs.
func TestClone_SheetAndClone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	first := w.deploy("first")
	root := w.token("root")
	path := "/deployments/" + string(first.ID)
	var sheet api.CloneSheet
	w.expect(200, "GET", path+"/clone-sheet", root, nil, &sheet)
	if len(sheet.PipelineChanges) != 0 || sheet.Name != "first-2" || len(sheet.Services) != 1 {
		t.Fatalf("nothing has changed: %+v", sheet)
	}
	w.publishPipeline(func(p *pipeline.Pipeline) { p.Steps[0].Service.Env["A"] = "1" })
	w.publishPipeline(func(p *pipeline.Pipeline) {
		p.Steps[0].Service.Env["A"] = "1"
		p.Steps[0].Service.Resources.MemoryMiB = 128
	})
	w.publishPipeline(func(p *pipeline.Pipeline) {
		p.Steps[0].Service.Env["A"] = "1"
		p.Steps[0].Service.Resources.MemoryMiB = 128
		p.Steps = append(p.Steps, toService("web", "api"))
	})
	w.expect(200, "GET", path+"/clone-sheet", root, nil, &sheet)
	var changes []string
	for _, c := range sheet.PipelineChanges {
		changes = append(changes, c.Step+" "+string(c.Kind))
		for _, f := range c.Fields {
			changes = append(changes, f.Path)
		}
	}
	// promise: I-06
	if got := strings.Join(changes, ", "); got !=
		"web added, api changed, service.env.A, service.resources.memory_mib" {
		t.Errorf("changes: %s", got)
	}
	one := sheet.Services[0]
	if sheet.PipelineVersion != 4 || one.Choice != "1.0" || *one.SourceTag != "1.0" ||
		one.NewestTag == nil || one.SourceMoved || sheet.Resources.After.MemoryMiB != 192 {
		t.Errorf("%+v", sheet)
	}
	w.cloneDeployment(first, root)
}

func (w *world) cloneDeployment(first controlplane.Deployment, root string) {
	w.t.Helper()
	var before, clone api.Deployment
	w.got("/api/v1/deployments/"+string(first.ID), root, &before)
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "copy",
		"project": "shop", "environment": "qa", "versions": object{"api": "1.0", "web": "1.1"},
		"cloned_from": first.ID}, &clone)
	// promise: N-259
	if clone.Versions[0].Tag != before.Versions[0].Tag || clone.PipelineVersion != 4 ||
		clone.ClonedFrom == nil || clone.ClonedFrom.Name != "first" {
		w.t.Errorf("%+v", clone)
	}
	if clone.Versions[1].Tag != "1.1" {
		w.t.Errorf("versions %+v", clone.Versions)
	}
	// promise: N-258
	if *clone.Services[0].Url == *before.Services[0].Url {
		w.t.Errorf("both answer at %s", *clone.Services[0].Url)
	}
	var diff api.DeploymentDiff
	w.got("/api/v1/deployments/"+string(first.ID)+"/diff?with="+clone.Id, root, &diff)
	var fields []string
	for _, f := range diff.Fields {
		fields = append(fields, f.Path+" "+jsonOf(f.Left)+" "+jsonOf(f.Right))
	}
	want := []string{`created_by "system:test" "root"`, `pipeline_version 1 4`,
		`resources.cpu 0.1 0.2`, `resources.memory_mib 64 192`, `steps.api.service.env.A null "1"`,
		`steps.api.service.resources.memory_mib 64 128`, `steps.web null {"key":"web"`,
		`versions.web null {"digest":"sha256:`}
	// Each field that differs, with both values, and none that does not.
	same := slices.EqualFunc(fields, want, strings.HasPrefix)
	// promise: N-323
	if !same || diff.Same {
		w.t.Errorf("they differ in %q", fields)
	}
	w.got("/api/v1/deployments/"+string(first.ID)+"/diff?with="+string(first.ID), root, &diff)
	if !diff.Same || len(diff.Fields) != 0 {
		w.t.Errorf("with itself: %+v", diff)
	}
}

// The countdown begins again with everything that counts, each is listed, one who holds keeps
// others out, and notices come once each.
func TestLife_ExtendHoldNotice(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 48}))
	d := w.deploy("first")
	full, root := w.token("full"), w.token("root")
	path := "/deployments/" + string(d.ID)
	active := func(ago time.Duration) {
		pgtest.Exec(t, w.database, `UPDATE deployments SET active_at = now() - $1::interval
			WHERE id = $2`, ago.String(), string(d.ID))
	}
	notices := func(want int) {
		t.Helper()
		if got, err := w.lifecycle.NotifyExpiries(t.Context(), system); err != nil || got != want {
			t.Errorf("%d notices, %v; wanted %d", got, err, want)
		}
	}
	notices(0)
	active(30 * time.Hour)
	notices(1)
	notices(0)
	active(47*time.Hour + 30*time.Minute)
	notices(1)
	notices(0)
	var v api.Deployment
	begun := w.now()
	w.expect(200, "POST", path+"/extend", full, nil, &v)
	var list api.ActivityList
	w.expect(200, "GET", path+"/activity", w.token("reader"), nil, &list)
	// promise: N-266
	if at := list.Items[0].At; !v.ExpiresAt.Equal(at.Add(48*time.Hour)) || at.Before(begun) ||
		at.After(w.now()) {
		t.Errorf("extended at %s, it ends at %s", at, v.ExpiresAt)
	}
	// promise: I-09
	if len(list.Items) != 2 || list.Items[0].Kind != "extended" || list.Items[0].By != "full" ||
		list.Items[1].Kind != "created" || !strings.Contains(list.Rule, "48 hours after") {
		t.Errorf("%+v", list)
	}
	v = api.Deployment{}
	w.expect(200, "PUT", path+"/hold", full, object{"reason": "demo on Friday"}, &v)
	if v.Hold == nil || v.Hold.Owner != "full" || v.ExpiresAt != nil {
		t.Errorf("held: %+v, ends %v", v.Hold, v.ExpiresAt)
	}
	active(500 * time.Hour)
	if n, err := w.lifecycle.Expire(t.Context(), system); n != 0 || err != nil {
		t.Errorf("%d expired though it is held, %v", n, err)
	}
	refused := w.expect(http.StatusConflict, "DELETE", path, root, nil, nil)
	if refused.field("code") != "held" || !strings.Contains(string(refused.body), "demo on Friday") {
		t.Errorf("%s", refused.body)
	}
	w.expect(200, "DELETE", path+"/hold", root, nil, nil)
	if n, err := w.lifecycle.Expire(t.Context(), system); n != 1 || err != nil {
		t.Errorf("%d expired, %v; wanted 1", n, err)
	}
	w.expect(200, "GET", path, root, nil, &v)
	if *v.RemovedBy != "cleanup" {
		t.Errorf("removed by %v", v.RemovedBy)
	}
}

// What is removed can be looked at, and comes again with the same name, URLs
// and digests, though its tag means something else by then.
func TestCapsule_OfARemovedDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	var made api.Deployment
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, &made)
	d, err := w.lifecycle.Get(t.Context(), system, controlplane.DeploymentID(made.Id))
	w.expectSaved(nil, err)
	path := "/deployments/" + made.Id
	w.reaches(d, controlplane.Applying)
	w.reaches(d, controlplane.Ready)
	w.write(d, "api", 1, "the last words")
	var before api.Deployment
	w.got("/api/v1"+path, root, &before)
	w.expect(http.StatusConflict, "POST", path+"/recreate", root, object{}, nil)
	w.expect(http.StatusAccepted, "DELETE", path, root, nil, nil)
	w.reaches(d, controlplane.Removed)
	w.publishPipeline(func(p *pipeline.Pipeline) { p.Steps[0].Service.Env["A"] = "1" })
	var c api.Capsule
	w.expect(200, "GET", path+"/capsule", w.token("reader"), nil, &c)
	if c.PipelineVersion != 1 || *c.Deployment.RemovedBy != "root" || len(c.Services) != 1 ||
		c.Services[0].Digest != before.Versions[0].Digest ||
		!slices.Equal(c.Services[0].Log, []string{"the last words"}) ||
		c.Parameters["api"]["API_TOKEN"] != "${{ secrets.API_TOKEN }}" {
		t.Errorf("%+v", c)
	}
	var version api.PipelineVersion
	w.got("/api/v1/projects/shop/pipeline/versions/1", root, &version)
	if c.PipelineDigest != version.Digest {
		t.Errorf("the capsule shows pipeline %s, its version is %s", c.PipelineDigest, version.Digest)
	}
	var again api.Deployment
	w.expect(http.StatusCreated, "POST", path+"/recreate", root, object{"pin_digests": true}, &again)
	// promise: I-09
	if again.Name != "first" || *again.Services[0].Url != *before.Services[0].Url ||
		again.Versions[0].Digest != before.Versions[0].Digest || again.PipelineVersion != 1 {
		t.Errorf("%+v\nwanted as before: %+v", again, before)
	}
	var old api.Deployment
	w.got("/api/v1"+path, root, &old)
	if old.TombstoneUntil == nil || *old.RemovedBy != "root" {
		t.Errorf("%+v", old)
	}
}

// A template fills a form in; anyone who only reads cannot change it.
func TestTemplates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	full, path := w.token("full"), "/projects/shop/templates/nightly"
	body := object{"description": "What runs at night", "environment": "qa",
		"versions": object{"api": "1.1"}, "deployment_name": "nightly"}
	w.expect(200, "PUT", path, full, body, nil)
	var all api.TemplateList
	w.expect(200, "GET", "/projects/shop/templates", w.token("reader"), nil, &all)
	if len(all.Items) != 1 || all.Items[0].Name != "nightly" || all.Items[0].UpdatedBy != "full" ||
		all.Items[0].Versions["api"] != "1.1" || *all.Items[0].DeploymentName != "nightly" {
		t.Errorf("%+v", all)
	}
	w.expect(http.StatusNoContent, "DELETE", path, full, nil, nil)
	w.expect(http.StatusNotFound, "GET", path, full, nil, nil)
}

// The same branch everywhere: a tag of it where there is one, else the default,
// which is marked.
func TestBranchTags(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.service("branchy", "branchy/api", "")
	w.project("two", toService("a", "branchy"), toService("b", "api"))
	var all api.BranchTags
	w.expect(200, "GET", "/projects/two/branch-tags?branch=feature/cart", w.token("root"), nil, &all)
	if len(all.Services) != 2 || !all.Services[0].Matched ||
		*all.Services[0].Tag != "feature-cart-51d0e7b" || all.Services[1].Matched ||
		all.Services[1].Reason == nil {
		t.Errorf("%+v", all)
	}
}

// The newest of a clone is the newest of its source's branch, whatever else was built since.
func TestCloneSheet_NewestOfBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.service("branchy", "branchy/api", "")
	w.project("two", toService("a", "branchy"), toService("b", "api"))
	root := w.token("root")
	var made api.Deployment
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "old",
		"project": "two", "environment": "qa",
		"versions": object{"a": "feature-cart-0badf00", "b": "1.0"}}, &made)
	var sheet api.CloneSheet
	w.expect(200, "GET", "/deployments/"+made.Id+"/clone-sheet", root, nil, &sheet)
	of, release := sheet.Services[0], sheet.Services[1]
	// promise: U-04
	if of.Branch == nil || *of.Branch != "feature-cart" || of.NewestOfBranch == nil ||
		*of.NewestOfBranch != "feature-cart-51d0e7b" {
		t.Errorf("%+v", of)
	}
	if *of.NewestTag == *of.NewestOfBranch {
		t.Error("the newest of all is the newest of the branch: the test shows nothing")
	}
	if release.Branch != nil || release.NewestOfBranch != nil {
		t.Errorf("a release is of no branch: %+v", release)
	}
	facts := must(w.lifecycle.BuildFacts(t.Context(), system, controlplane.DeploymentID(made.Id)))(t)
	built, fixed := facts.Services[0], facts.Services[1]
	// promise: W-04
	if facts.CreatedBy != "root" || facts.Project != "two" || facts.PipelineVersion != 1 ||
		built.Branch != "feature-cart" || built.Newer != "feature-cart-51d0e7b" ||
		!strings.HasPrefix(built.Digest, "sha256:") || fixed.Branch != "" || fixed.Newer != "" {
		t.Errorf("what it runs: %+v", facts)
	}
	headers := must(w.lifecycle.BuildHeaders(t.Context(), system))(t)
	// promise: W-04
	if got := headers[facts.Deployment]; got != "a=feature-cart-0badf00@"+built.Digest[7:14]+
		", b=1.0@"+fixed.Digest[7:14] {
		t.Errorf("in one line: %q", got)
	}
}

// A visit restarts the countdown, one after the other is one entry of the list, and an environment
// can say that visits are none.
func TestLife_VisitsCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	environment := catalog.EnvironmentPut{Name: "qa", Domain: "localhost", CleanupAfterHours: 48}
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, environment))
	d := w.deploy("first")
	w.reaches(d, controlplane.Applying)
	w.reaches(d, controlplane.Ready)
	root, path := w.token("root"), "/deployments/"+string(d.ID)
	// visited looks at the deployment thirty hours after its last activity, and
	// says what a visit makes of its end.
	visited := func() (moved time.Duration, list api.ActivityList) {
		t.Helper()
		pgtest.Exec(t, w.database, `UPDATE deployments SET active_at = now() - interval '30 hours'
			WHERE id = $1`, string(d.ID))
		var before, after api.Deployment
		w.expect(200, "GET", path, root, nil, &before)
		w.expectSaved(nil, w.lifecycle.RecordVisit(t.Context(), system, d.ID))
		w.expect(200, "GET", path, root, nil, &after)
		w.expect(200, "GET", path+"/activity", root, nil, &list)
		return after.ExpiresAt.Sub(*before.ExpiresAt), list
	}
	_, _ = visited()
	moved, list := visited()
	// promise: N-264
	if moved < 30*time.Hour || moved > 31*time.Hour {
		t.Errorf("a visit moved the end by %s", moved)
	}
	if len(list.Items) != 2 || list.Items[0].Kind != "visited" || list.Items[1].Kind != "created" ||
		!strings.Contains(list.Rule, "extended or visited") {
		t.Errorf("%+v", list)
	}
	w.expect(200, "PUT", "/environments/qa", root, object{"domain": "localhost",
		"cleanup_after_hours": 48, "ignore_visits": true}, nil)
	if moved, list = visited(); moved != 0 || !strings.Contains(list.Rule, "visits do not count") {
		t.Errorf("a visit that does not count moved the end by %s: %+v", moved, list)
	}
}

func jsonOf(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// now is what the database's clock says.
func (w *world) now() (at time.Time) {
	w.t.Helper()
	w.expectSaved(nil, w.store.Read(w.t.Context(), func(tx *postgres.Tx) (err error) {
		at, err = tx.DatabaseTime(w.t.Context())
		return err
	}))
	return at
}

// A deployment may be extended any number of times: the hundredth extension is as long as the
// first.
func TestLife_ExtendsWithoutLimit(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost", CleanupAfterHours: 48}))
	path, full := "/deployments/"+string(w.deploy("first").ID), w.token("full")
	var before, v api.Deployment
	w.expect(200, "GET", path, full, nil, &before)
	last := *before.ExpiresAt
	for range 100 {
		w.expect(200, "POST", path+"/extend", full, nil, &v)
		if !v.ExpiresAt.After(last) {
			t.Fatalf("the end stayed at %s", last)
		}
		last = *v.ExpiresAt
	}
	var list api.ActivityList
	w.expect(200, "GET", path+"/activity", full, nil, &list)
	// promise: N-267
	if len(list.Items) != 101 || !last.Equal(list.Items[0].At.Add(48*time.Hour)) {
		t.Errorf("%d resets are listed, the end is %s", len(list.Items), last)
	}
}

// Nobody can pause a deployment: no operation of the contract does so, and no
// state is of one that does not run but will again.
func TestLife_NobodyPauses(t *testing.T) {
	t.Parallel()
	spec, err := api.GetSpec()
	if err != nil {
		t.Fatal(err)
	}
	pausing := regexp.MustCompile(`(?i)pause|suspend|hibernat|freeze|sleep|resume|unpause`)
	for path, item := range spec.Paths.Map() {
		if !strings.Contains(path, "/deployments") {
			continue
		}
		for method, o := range item.Operations() {
			// promise: N-269
			if said := path + " " + o.OperationID + " " + o.Summary; pausing.MatchString(said) {
				t.Errorf("%s %s", method, said)
			}
		}
	}
	for _, status := range spec.Components.Schemas["DeploymentStatus"].Value.Enum {
		// promise: N-269
		if pausing.MatchString(fmt.Sprint(status)) {
			t.Errorf("a deployment can be %v", status)
		}
	}
}
