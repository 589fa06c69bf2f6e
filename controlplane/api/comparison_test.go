package api_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/pipeline"
)

// A run is compared with the last good one before it, wherever that was deployed, of those that the
// reader may see.
func TestCompareRun_FindsTheLastGoodRunThatTheReaderSees(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, reader := w.token("root"), w.token("reader")
	good := w.deploy("good")
	w.runStep(good, pipeline.StepDone, 3*time.Second)
	w.report(good, lifecycle.Report{Status: controlplane.Ready})
	var c api.RunComparison
	w.expect(http.StatusOK, "GET", "/deployments/"+string(good.ID)+"/runs/1/comparison", root, nil, &c)
	if c.Good != nil || len(c.Fields) != 0 || len(c.Steps) != 2 || len(c.Versions) != 1 {
		t.Errorf("the only good run is compared with %+v", c)
	}
	hidden := w.goodRunInRestricted()

	w.publishPipeline(func(p *pipeline.Pipeline) {
		p.Steps[0].Service.Env["A"] = "1"
		p.Steps[0].Service.Env["DB"] = "${{ secrets.API_TOKEN }}"
		p.Steps = p.Steps[:1]
	})
	bad, err := w.lifecycle.Create(t.Context(), system, lifecycle.Request{Name: "bad",
		Project: "shop", Environment: "qa", Versions: map[pipeline.StepKey]string{"api": "1.1"}})
	w.expectSaved(bad, err)
	w.runStep(bad, pipeline.StepFailed, 4*time.Second)
	later := w.deploy("later")
	w.runStep(later, pipeline.StepDone, time.Second)
	w.report(later, lifecycle.Report{Status: controlplane.Ready})

	path := "/deployments/" + string(bad.ID) + "/runs/1/comparison"
	w.expect(http.StatusOK, "GET", path, root, nil, &c)
	if c.Good == nil || c.Good.Deployment.Id != string(hidden.ID) {
		t.Errorf("an admin's last good run is %+v", c.Good)
	}
	c = api.RunComparison{}
	a := w.expect(http.StatusOK, "GET", path, reader, nil, &c)
	if c.Good == nil || c.Good.Deployment.Id != string(good.ID) || c.Good.Environment != "qa" ||
		c.Good.PipelineVersion != 1 || c.Run.PipelineVersion != 2 {
		t.Fatalf("a reader's last good run is %+v", c.Good)
	}
	if strings.Contains(string(a.body), projectSecret) {
		t.Error("it has the value of a secret")
	}
	if v := c.Versions[0]; v.Same || v.Good.Tag != "1.0" || v.Run.Tag != "1.1" {
		t.Errorf("the versions are %+v", v)
	}
	first, seed := c.Steps[0], c.Steps[1]
	if valueOf(first.Good.Seconds) != 3 || valueOf(first.Run.Seconds) != 4 ||
		valueOf(first.Run.Result) != "failed" || seed.Run != nil || seed.Good == nil {
		t.Errorf("the steps are %+v", c.Steps)
	}
	var fields []string
	for _, f := range c.Fields {
		fields = append(fields, f.Path)
	}
	want := "steps.api.service.env.A steps.api.service.env.DB steps.seed"
	if got := strings.Join(fields, " "); got != want {
		t.Errorf("fields %s, want %s", got, want)
	}
}

// goodRunInRestricted has a good run of the shop where only admins see it.
func (w *world) goodRunInRestricted() controlplane.Deployment {
	w.t.Helper()
	before := w.node
	defer func() { w.node = before }()
	w.expectSaved(w.catalog.PutEnvironment(w.t.Context(), system, catalog.EnvironmentPut{
		Name: "stage", Domain: "stage.localhost", Restricted: true}))
	w.onlineIn("node-2", "stage", "127.0.0.1:5001")
	d, err := w.lifecycle.Create(w.t.Context(), system, lifecycle.Request{Name: "hidden",
		Project: "shop", Environment: "stage", Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	w.expectSaved(d, err)
	w.runStep(d, pipeline.StepDone, time.Second)
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	return d
}

// runStep has the node run the step api, which takes that long.
func (w *world) runStep(d controlplane.Deployment, end pipeline.StepStatus, took time.Duration) {
	w.t.Helper()
	all := w.reportInOrder(d, lifecycle.Report{Status: controlplane.Applying},
		stepReport(pipeline.StepRunning, ""), stepReport(end, "it says so"))
	if end == pipeline.StepFailed {
		all[2].Code = "exit_code"
	}
	all[2].At = all[1].At.Add(took)
	w.expectSaved(nil, w.applyReports(all...))
}
