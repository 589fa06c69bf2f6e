package review

import (
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// A deployment that was degraded counts as ready again once nothing has changed for some looks, so
// that a crash loop does not change the pull request each time.
func TestWatch_ReportsARecoveryOnceItIsCalm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	id := controlplane.NewID[controlplane.DeploymentID]()
	pgtest.Exec(t, w.url, `INSERT INTO deployments (id, name, project_id, environment_id, node_name,
		created_by, cpu, memory_mib, status, last_event)
		SELECT '`+string(id)+`', 'pr-12', p.id, e.id, 'n1', 'ada', 0, 0, 'failed', 1
		FROM projects p, environments e`)
	pgtest.Exec(t, w.url, `INSERT INTO deployment_events (deployment_id, seq, kind, data)
		VALUES ('`+string(id)+`', 1, 'health', '{}')`)
	d := lifecycle.View{Deployment: controlplane.Deployment{ID: id, Revision: 1,
		Status: controlplane.Ready, Goal: controlplane.GoalPresent}}
	const detail = degradedDetail + ": service api is unhealthy"
	for _, c := range []struct {
		ago  time.Duration
		want controlplane.ReviewState
	}{{0, controlplane.ReviewFailed}, {calmLooks*w.Ask + time.Minute, controlplane.ReviewReady}} {
		pgtest.Exec(t, w.url, `UPDATE deployment_events SET at = now() - interval '`+
			c.ago.String()+`'`)
		x := controlplane.Review{State: controlplane.ReviewFailed, Detail: detail,
			GiveUpAt: time.Now().Add(-time.Hour)}
		w.failOnError(w.watchDeployment(t.Context(), controlplane.ReviewRule{}, &x, d))
		if x.State != c.want {
			t.Errorf("%s after the last change it is %s, want %s", c.ago, x.State, c.want)
		}
		if time.Until(x.DueAt) <= 0 {
			t.Errorf("%s after the last change nobody looks again", c.ago)
		}
	}
}
