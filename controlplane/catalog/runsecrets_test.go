package catalog_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/seal"
)

// ran is deployed with its run's row, as lifecycle stores it.
func (w *world) ran(t *testing.T, name string) (controlplane.DeploymentID, controlplane.Run) {
	t.Helper()
	id, run := w.deployed(t, name)
	w.rerun(t, id, run, 1)
	return id, run
}

func (w *world) rerun(
	t *testing.T, id controlplane.DeploymentID, run controlplane.Run, number int,
) {
	t.Helper()
	w.exec(t, `INSERT INTO runs (id, deployment_id, number, project_id, pipeline_version, pipeline,
		key_sealed, started_by) SELECT $1, $2, $3, project_id, version, pipeline, $4, 'ada'
		FROM pipeline_versions ORDER BY version DESC LIMIT 1`,
		string(run.ID), string(id), number, []byte(run.Key))
}

func (w *world) put(t *testing.T, name, value string) {
	t.Helper()
	plain := controlplane.NewPlain(value)
	must(w.PutSecret(t.Context(), w.admin, catalog.SecretPut{
		Project: "shop", Name: name, Value: &plain}))(t)
}

// Whatever becomes of the project's secrets, a run that has fetched its values
// gets the same ones again; another run gets the current ones.
func TestOpenRun_ValuesBelongToTheRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx, fleet := t.Context(), access.System("fleet")
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.ran(t, "cart")
	made := must(w.OpenRun(ctx, fleet, id, run))(t).Values["DB_PASSWORD"].Reveal()
	check := func(after string) {
		t.Helper()
		b, err := w.OpenRun(ctx, fleet, id, run)
		if err != nil || len(b.Values) != 2 || b.Values["API_TOKEN"].Reveal() != canary ||
			b.Values["DB_PASSWORD"].Reveal() != made {
			t.Errorf("after %s: %d values, API_TOKEN %q: %v", after, len(b.Values),
				b.Values["API_TOKEN"].Reveal(), err)
		}
	}
	w.put(t, "API_TOKEN", "rotated-1")
	check("a new value")
	w.put(t, "DB_PASSWORD", "given-by-hand")
	check("a value instead of a rule")
	must(w.PutSecret(ctx, w.admin, catalog.SecretPut{Project: "shop", Name: "API_TOKEN",
		Rule: &controlplane.SecretRule{Length: 20}}))(t)
	check("a rule instead of a value")
	w.put(t, "API_TOKEN", "rotated-2")
	w.exec(t, `DELETE FROM secrets WHERE name = 'DB_PASSWORD'`)
	check("a secret was lost")

	// A retry is another run of the same deployment.
	w.put(t, "DB_PASSWORD", "given-by-hand")
	retry := run
	retry.ID = controlplane.NewID[controlplane.RunID]()
	retry.Key = must(w.keys.NewRunKey(retry.ID))(t)
	w.rerun(t, id, retry, 2)
	b := must(w.OpenRun(ctx, fleet, id, retry))(t)
	if b.Values["API_TOKEN"].Reveal() != "rotated-2" ||
		b.Values["DB_PASSWORD"].Reveal() != "given-by-hand" {
		t.Errorf("a retry got %q and %q", b.Values["API_TOKEN"].Reveal(),
			b.Values["DB_PASSWORD"].Reveal())
	}
	check("a retry")
	if n := w.query(t, `SELECT count(*) FROM audit WHERE action = 'open secrets' AND
		result = 'ok' AND detail = 'API_TOKEN DB_PASSWORD'`); n != 7 {
		t.Errorf("%d openings in the journal, want 7", n)
	}
	w.noCanary(t, made, "rotated-2")
}

// A run from before values were sealed with runs keeps what was generated for
// its deployment, also if the secret has a value of its own by now.
func TestOpenRun_BegunBeforeTheUpgrade(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx, fleet := t.Context(), access.System("fleet")
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.ran(t, "cart")
	made := must(w.OpenRun(ctx, fleet, id, run))(t).Values["DB_PASSWORD"].Reveal()
	w.exec(t, `DELETE FROM run_secrets`)
	w.put(t, "DB_PASSWORD", "given-by-hand")
	run.Status = controlplane.Ready
	for range 2 {
		b := must(w.OpenRun(ctx, fleet, id, run))(t)
		if got := b.Values["DB_PASSWORD"].Reveal(); got != made {
			t.Errorf("got %q", got)
		}
	}
}

// A value that was moved to another run or to another name does not open.
func TestOpenRun_MovedValue(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx, fleet := t.Context(), access.System("fleet")
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.ran(t, "cart")
	must(w.OpenRun(ctx, fleet, id, run))(t)
	other, second := w.ran(t, "other")
	w.exec(t, `INSERT INTO run_secrets (run_id, deployment_id, name, sealed)
		SELECT $1, $2, name, sealed FROM run_secrets`, string(second.ID), string(other))
	if _, err := w.OpenRun(ctx, fleet, other, second); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("another run's values: %v", err)
	}
}

// A run that nobody fetched has no values yet, also after one that was refused.
func TestOpenRun_SealsAtTheFirstFetch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.ran(t, "cart")
	if _, err := w.OpenRun(ctx, w.admin, id, run); err == nil {
		t.Error("an admin opened secrets")
	}
	w.exec(t, `DELETE FROM secrets WHERE name = 'DB_PASSWORD'`)
	if _, err := w.OpenRun(ctx, access.System("fleet"), id, run); err == nil {
		t.Error("a secret that is not there was opened")
	}
	if n := w.query(t, `SELECT count(*) FROM run_secrets`); n != 0 {
		t.Errorf("%d values are sealed although no fetch succeeded", n)
	}
	w.put(t, "API_TOKEN", "before-the-fetch")
	w.put(t, "DB_PASSWORD", "given-by-hand")
	b := must(w.OpenRun(ctx, access.System("fleet"), id, run))(t)
	if b.Values["API_TOKEN"].Reveal() != "before-the-fetch" {
		t.Errorf("got %q", b.Values["API_TOKEN"].Reveal())
	}
}

// A secret that an older version refers to stays while a deployment of it exists.
func TestDeleteSecret_UsedByOlderVersion(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	w.ran(t, "cart")
	w.ran(t, "basket")
	p := graph()
	delete(p.Steps[0].Service.Env, "TOKEN")
	must(w.SavePipeline(ctx, w.admin, "shop", p, ""))(t)
	w.ran(t, "newer")
	for _, left := range [][]string{{"deployment basket", "deployment cart"}, {"deployment cart"}} {
		err := w.DeleteSecret(ctx, w.admin, "shop", "API_TOKEN")
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Code != "in_use" || said.Kind != controlplane.Conflict ||
			!slices.Equal(said.Users, left) || !strings.Contains(said.Remedy, "Remove") {
			t.Errorf("got %+v, want the users %q", err, left)
		}
		w.exec(t, `UPDATE deployments SET status = 'removed' WHERE name = $1`,
			strings.TrimPrefix(left[0], "deployment "))
	}
	if err := w.DeleteSecret(ctx, w.admin, "shop", "API_TOKEN"); err != nil {
		t.Errorf("when nobody uses it: %v", err)
	}
}
