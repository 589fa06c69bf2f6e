package api_test

import (
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane/api"
)

// Admins may choose an older version of the pipeline. Everybody else runs the latest, and a version
// that does not exist is refused by the name of its field.
func TestCreateDeployment_ChoosesAPipelineVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, writer := w.token("root"), w.token("full")
	w.publishInput(root, nil)
	body := func(name string, version int) object {
		return object{"name": name, "project": "shop", "environment": "qa",
			"versions": object{"api": "1.0"}, "required_labels": []string{"nullops/node"},
			"pipeline_version": version}
	}
	var d api.Deployment
	w.expect(http.StatusCreated, "POST", "/deployments", root, body("first", 1), &d)
	// promise: B-13
	if d.PipelineVersion != 1 {
		t.Errorf("it runs version %d", d.PipelineVersion)
	}
	latest := body("latest", 2)
	latest["input"] = object{"seed": "x"}
	w.expect(http.StatusCreated, "POST", "/deployments", root, latest, &d)
	// promise: B-13
	if d.PipelineVersion != 2 || d.Input == nil || (*d.Input)["seed"] != "x" {
		t.Errorf("it runs version %d with input %v", d.PipelineVersion, d.Input)
	}
	for path, what := range map[string]string{"/deployments": "create",
		"/deployments/preflight": "check"} {
		var p api.Problem
		w.expect(http.StatusForbidden, "POST", path, writer, body("other", 1), &p)
		if p.Field == nil || *p.Field != "pipeline_version" || p.Remedy == nil {
			t.Errorf("%s by somebody who is no admin: %+v", what, p)
		}
	}
	var p api.Problem
	w.expect(http.StatusBadRequest, "POST", "/deployments", root, body("other", 9), &p)
	if p.Field == nil || *p.Field != "pipeline_version" || p.Code != "pipeline_version_unknown" {
		t.Errorf("a version that does not exist: %+v", p)
	}
}
