package api_test

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// addWebService adds a second service with selectable tags to the project.
func (w *world) addWebService() {
	w.t.Helper()
	w.expectSaved(w.catalog.PutService(w.t.Context(), system, catalog.ServicePut{Name: "web",
		Registry: "local", Image: "shop/web", TagMode: pipeline.Selectable, Tag: "1.0"}))
	p := shopPipeline()
	web := p.Steps[0]
	web.Key = "web"
	web.Service = &pipeline.ServiceStep{Name: "web", Resources: web.Service.Resources,
		Ports: []pipeline.Port{{Name: "http", Port: 8081, Expose: true}}}
	p.Steps = append(p.Steps, web)
	w.expectSaved(w.catalog.SavePipeline(w.t.Context(), system, "shop", p, "with web"))
}

func beingRemoved(d controlplane.Deployment) bool { return isLeaving(d) && !d.Status.IsGone() }

func tagsOf(d controlplane.Deployment) map[pipeline.StepKey]string {
	tags := map[pipeline.StepKey]string{}
	for _, v := range d.Versions {
		tags[v.Step] = v.Tag
	}
	return tags
}

// The image of the second service comes when the first one's is deployed. It is deployed, too, and
// the code host is notified again.
func TestReview_TheSecondImageIsDeployed(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.addWebService()
	h := newCodeHost(t)
	w.makeRule("two", "github", h.URL, object{"tag": "two-{short}", "updates": "replace"})
	for _, commit := range []string{"abc1111", "abc2222"} {
		missing.Store("shop/web:two-"+commit, true)
	}
	w.github("two", pullRequest("opened", "fix", "abc1111", "acme/shop"))
	for i, commit := range []string{"abc1111", "abc2222"} {
		if i > 0 { // an update: both services run what was built before
			w.github("two", pullRequest("synchronize", "fix", commit, "acme/shop"))
			w.report(w.awaitDeployment("two-12", beingRemoved),
				lifecycle.Report{Status: controlplane.Removed})
		}
		first := w.awaitDeployment("two-12", isQueued)
		if tags := tagsOf(first); tags["api"] != "two-"+commit || tags["web"] == "two-"+commit {
			t.Fatalf("first: %v", tags)
		}
		w.settle(first)
		h.wait(t, "POST /repos/acme/shop/statuses/"+commit, `"state":"success"`)
		h.forget()
		missing.Delete("shop/web:two-" + commit)
		w.report(w.awaitDeployment("two-12", beingRemoved),
			lifecycle.Report{Status: controlplane.Removed})
		second := w.awaitDeployment("two-12", isQueued)
		if tags := tagsOf(second); tags["api"] != "two-"+commit || tags["web"] != "two-"+commit {
			t.Fatalf("second: %v", tags)
		}
		w.settle(second)
		h.wait(t, "POST /repos/acme/shop/statuses/"+commit, `"state":"success"`)
		h.forget()
	}
	// Nothing more comes: what runs stays.
	w.awaitReview("two", func(r api.Review) bool { return r.State == api.ReviewStateReady })
}

// forget lets a test wait for what comes from now on.
func (h *codeHost) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.calls = nil
}
