package lifecycle_test

import (
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// progressOf reports how a step of a deployment goes on, with a message for each.
func (r *rig) progressOf(id controlplane.DeploymentID, at time.Time) (all []lifecycle.Report) {
	r.t.Helper()
	for i, s := range []pipeline.StepStatus{pipeline.StepPulling, pipeline.StepPulling,
		pipeline.StepRunning, pipeline.StepDone} {
		one := r.stepReport(id, "api", s)
		one.At, one.Message = at.Add(time.Duration(i)*time.Second), fmt.Sprintf("report %d", i)
		all = append(all, one)
	}
	return all
}

// Progress that is stored in a set leaves the same behind as reports that are stored one by one:
// the step, each event of its history, and what people read.
func TestApply_ASetLeavesWhatSingleReportsLeave(t *testing.T) {
	r := newRig(t)
	at := time.Now().Add(-time.Minute)
	alone, together := r.createDeployment("alone"), r.createDeployment("together")
	for _, one := range r.progressOf(alone.ID, at) {
		r.apply(one)
	}
	r.apply(r.progressOf(together.ID, at)...)
	read := func(id controlplane.DeploymentID, what string) string {
		return pgtest.QueryValue[string](t, r.url, what, id)
	}
	for name, what := range map[string]string{
		"the step": `SELECT (to_jsonb(s) - 'run_id')::text FROM run_steps s JOIN runs r ON r.id = s.run_id
			WHERE r.deployment_id = $1 AND s.key = 'api'`,
		"the events": `SELECT string_agg((data #- '{step,Run}')::text, ',' ORDER BY seq)
			FROM deployment_events WHERE deployment_id = $1 AND kind = 'step'`,
		"the detail": `SELECT detail FROM deployments WHERE id = $1`,
		"the health": `SELECT string_agg(step || ' ' || health, ',') FROM service_health
			WHERE deployment_id = $1`,
		"the numbers": `SELECT (max(seq) = count(*) AND max(seq) = max(d.last_event))::text
			FROM deployment_events e JOIN deployments d ON d.id = e.deployment_id
			WHERE d.id = $1`,
	} {
		if one, set := read(alone.ID, what), read(together.ID, what); one != set || one == "" ||
			one == "false" {
			t.Errorf("%s one by one:\n%s\nin a set:\n%s", name, one, set)
		}
	}
	if _, last, err := r.NodeGoals(t.Context(), system, r.node); err != nil || last != r.seq {
		t.Errorf("the last report is %d, %v; not %d", last, err, r.seq)
	}
}

// What a set of reports costs does not depend on how many they are, nor on of how many deployments.
func TestApply_StatementsOfASetAreBounded(t *testing.T) {
	r := newRig(t)
	proxy, through := pgtest.NewProxy(t, r.url)
	l := lifecycle.New(lifecycle.Config{Store: pgtest.Open(t, through),
		Log: slog.New(slog.DiscardHandler)})
	var ids []controlplane.DeploymentID
	for i := range 6 {
		ids = append(ids, r.createDeployment(fmt.Sprintf("d%d", i)).ID)
	}
	store := func(deployments, times int) int64 {
		var all []lifecycle.Report
		for range times {
			for _, id := range ids[:deployments] {
				all = append(all, r.progressOf(id, time.Now())...)
			}
		}
		before := proxy.CountStatements()
		if err := l.Apply(t.Context(), system, all...); err != nil {
			t.Fatal(err)
		}
		return proxy.CountStatements() - before
	}
	store(6, 1)
	few, many := store(1, 1), store(6, 5)
	// promise: P-05
	if few != many || many > 12 || few < 5 {
		t.Errorf("4 reports of one deployment take %d statements, 120 of six take %d", few, many)
	}
}
