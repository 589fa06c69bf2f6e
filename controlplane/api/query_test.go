package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// An unknown parameter is refused by its name: if it were ignored, a misspelt filter would return
// everything.
func TestQuery_UnknownParameterIsRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	for path, field := range map[string]string{
		"/deployments?projcet=shop":          "projcet",
		"/deployments?limit=1&Project=shop":  "Project",
		"/me?" + strings.Repeat("x", 100):    strings.Repeat("x", 64),
		"/deployments?limit=1&zone=a&zone=b": "zone",
	} {
		a := w.expect(http.StatusBadRequest, "GET", path, root, nil, nil)
		if a.field("code") != "unknown_parameter" || a.field("field") != field {
			t.Errorf("%s: %s", path, a.body)
		}
	}
	a := w.expect(http.StatusBadRequest, "GET", "/deployments?projcet=shop", root, nil, nil)
	if !strings.Contains(a.field("remedy"), "project") {
		t.Errorf("it does not say what there is: %s", a.body)
	}
	w.expect(http.StatusOK, "GET", "/deployments?project=shop&limit=1", root, nil, nil)
}

// What the last check said is shown of what is well too. That it says another thing
// each time wakes nobody.
func TestHealth_ShowsWhatTheLastCheckSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.expect(http.StatusCreated, "POST", "/deployments", root, object{"name": "first",
		"project": "shop", "environment": "qa", "versions": object{"api": "moving"}}, nil)
	d := w.deployReady("first")
	lastEvent := func() int {
		return pgtest.QueryValue[int](t, w.database, "SELECT last_event::int FROM deployments")
	}
	for i, c := range []struct {
		health, said string
		news         bool
	}{{"healthy", "one", true}, {"healthy", "two", false}, {"unhealthy", "no", true},
		{"unhealthy", "no more", true}, {"unhealthy", "no more", false}, {"healthy", "", true}} {
		before := lastEvent()
		err := w.lifecycle.ObserveHealth(t.Context(), system, w.node, []controlplane.ServiceHealth{
			{Deployment: d.ID, Step: "api", Health: c.health, Detail: c.said}})
		var now api.Deployment
		w.got("/api/v1/deployments/"+string(d.ID), root, &now)
		said := ""
		for _, s := range now.Services {
			if s.Step == "api" && s.Detail != nil {
				said = *s.Detail
			}
		}
		if err != nil || said != c.said || (lastEvent() != before) != c.news {
			t.Errorf("%d: it says %q instead of %q: %v", i, said, c.said, err)
		}
	}
}
