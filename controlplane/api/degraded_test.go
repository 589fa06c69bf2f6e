package api_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// reportHealth reports the health of the service api of a deployment.
func (w *world) reportHealth(
	d controlplane.Deployment, health pipeline.Health, detail string, restarts int,
) {
	w.t.Helper()
	err := w.lifecycle.ObserveHealth(w.t.Context(), system, w.node, []controlplane.ServiceHealth{
		{Deployment: d.ID, Step: "api", Health: health, Detail: detail, Restarts: restarts}})
	if err != nil {
		w.t.Fatal(err)
	}
}

func conditionText(c *api.DeploymentCondition, reason *string) (said string) {
	if c != nil {
		said = " " + string(*c)
	}
	if reason != nil {
		said += " (" + *reason + ")"
	}
	return said
}

// shownAs reports under which filters a deployment is listed, and as what.
func (w *world) shownAs(d controlplane.Deployment) string {
	w.t.Helper()
	var now api.Deployment
	w.got("/api/v1/deployments/"+string(d.ID), w.token("root"), &now)
	condition := conditionText(now.Condition, now.ConditionReason)
	said := string(now.Status) + condition
	var capsule api.Capsule
	w.got("/api/v1/deployments/"+string(d.ID)+"/capsule", w.token("root"), &capsule)
	c := capsule.Deployment
	if inside := conditionText(c.Condition, c.ConditionReason); inside != condition {
		said += ", in the capsule" + inside
	}
	var under []string
	for _, filter := range []string{"applying", "ready", "degraded", "offline", "removing"} {
		for _, sort := range []string{"", "&sort=name"} {
			var list api.DeploymentList
			w.got("/api/v1/deployments?status="+filter+sort, w.token("root"), &list)
			if len(list.Items) > 0 {
				under = append(under, filter)
			}
		}
	}
	return fmt.Sprintf("%s under %s", said, strings.Join(under, " "))
}

// A ready deployment whose services do not work is degraded, wherever people
// look, and ready again when they do.
func TestDegraded_FollowsTheServices(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	r := startReceiver(t, 0)
	w.makeWebhook("ci", r.URL, object{"events": []string{"deployment.degraded",
		"deployment.recovered", "deployment.offline", "deployment.online"}})
	d := w.deploy("first")
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.reportHealth(d, "starting", "", 0)
	expect := func(want string) {
		t.Helper()
		var counts postgres.Counts
		w.expectSaved(nil, w.store.Read(t.Context(), func(tx *postgres.Tx) (err error) {
			counts, err = tx.Metrics().Count(t.Context())
			return err
		}))
		if degraded := strings.Contains(want, "under degraded"); degraded != (counts.Degraded == 1) {
			t.Errorf("%d are counted as degraded; it is %s", counts.Degraded, want)
		}
		if got := w.shownAs(d); got != want {
			t.Errorf("it is %s, want %s", got, want)
		}
	}
	expect("applying under applying applying")
	w.reportHealth(d, "healthy", "", 0)
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	expect("ready ready under ready ready")
	for _, c := range []struct {
		health   pipeline.Health
		detail   string
		restarts int
		want     string
	}{
		{"stopped", "exited with code 3", 2,
			"service api is not running: exited with code 3 (restarted 2 times)"},
		{"starting", "", 3, "service api is restarting (restarted 3 times)"},
		{"unhealthy", "GET / answered 503", 0, "service api is unhealthy: GET / answered 503"},
	} {
		w.reportHealth(d, c.health, c.detail, c.restarts)
		expect("ready degraded (" + c.want + ") under degraded degraded")
	}
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'offline'")
	expect("ready offline (node node-1 is offline) under offline offline")
	// From offline to untrusted, nothing changes for the deployment.
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'untrusted'")
	expect("ready offline (node node-1 is untrusted) under offline offline")
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'offline'")
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'online'")
	expect("ready degraded (service api is unhealthy: GET / answered 503) under degraded degraded")
	w.reportHealth(d, "unknown", "", 0)
	expect("ready ready under ready ready")
	w.reportHealth(d, "stopped", "", 0)
	w.reportHealth(d, "healthy", "", 0)
	expect("ready ready under ready ready")
	_, bodies := r.wait(t, 6)
	all := strings.Join(bodies, "\n")
	for said, times := range map[string]int{`"event":"deployment.degraded"`: 2,
		`"event":"deployment.recovered"`: 2, `"status":"degraded"`: 2,
		`"reason":"Service api is not running: exited with code 3`: 1,
		`"event":"deployment.offline"`:                             1,
		`"event":"deployment.online"`:                              1, `"status":"offline"`: 1,
		`"reason":"Node node-1 is offline."`: 1} {
		if n := strings.Count(all, said); n != times {
			t.Errorf("%s was said %d times, want %d:\n%s", said, n, times, all)
		}
	}
}

// What is being removed is not degraded, and services that a move has stopped
// do not count.
func TestDegraded_OnlyWhatShouldRun(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	w.report(d, lifecycle.Report{Status: controlplane.Applying})
	w.report(d, lifecycle.Report{Status: controlplane.Ready})
	pgtest.Exec(t, w.database, "INSERT INTO relocations (deployment_id, node_id, phase, by_name) "+
		"SELECT id, node_id, 'copying', 'root' FROM deployments")
	w.reportHealth(d, "stopped", "", 0)
	if got := w.shownAs(d); got != "ready ready under ready ready" {
		t.Errorf("while it moves it is %s", got)
	}
	pgtest.Exec(t, w.database, "DELETE FROM relocations")
	w.reportHealth(d, "stopped", "", 0)
	if got := w.shownAs(d); !strings.HasPrefix(got, "ready degraded") {
		t.Errorf("when the move was called off it is %s", got)
	}
	w.expect(202, "DELETE", "/deployments/"+string(d.ID), w.token("root"), nil, nil)
	if got := w.shownAs(d); got != "removing under removing removing" {
		t.Errorf("while it is removed it is %s", got)
	}
}

// A service that ended as it should is healthy and says that it ended, until it runs again or its
// node cannot be asked. Its deployment is not degraded.
func TestHealth_TellsWhatHasEnded(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, onThisMachine)
	w.shop()
	w.deploy("first")
	d := w.deployReady("first")
	expect := func(health api.Health, ended bool) {
		t.Helper()
		shown := w.showDeployment(w.token("root"), string(d.ID))
		s := shown.Services[0]
		if s.Health != health || (s.Ended != nil && *s.Ended) != ended ||
			*shown.Condition == api.DeploymentConditionDegraded {
			t.Errorf("it is %v, and shown as %+v", *shown.Condition, s)
		}
	}
	w.reportHealth(d, "healthy", "", 0)
	expect("healthy", false)
	over := controlplane.ServiceHealth{Deployment: d.ID, Step: "api", Health: "healthy",
		Ended: true, Detail: "it ended with exit code 0"}
	w.expectSaved(nil, w.lifecycle.ObserveHealth(t.Context(), system, w.node,
		[]controlplane.ServiceHealth{over}))
	expect("healthy", true)
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'offline'")
	expect("unknown", false)
	pgtest.Exec(t, w.database, "UPDATE nodes SET status = 'online'")
	w.reportHealth(d, "healthy", "", 0)
	expect("healthy", false)
}
