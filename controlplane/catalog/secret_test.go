package catalog_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/seal"
)

// threat: T7, T47
func TestSecret_WriteOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	value := controlplane.NewPlain(canary)
	put := catalog.SecretPut{Project: "shop", Name: "API_TOKEN", Value: &value}
	out, err := w.PutSecret(ctx, w.admin, put)
	if err != nil || out.Changed || out.Object.Version != 1 {
		t.Errorf("the same again: %+v %v", out, err)
	}
	other := controlplane.NewPlain(canary + "2")
	put.Value = &other
	out, err = w.PutSecret(ctx, w.admin, put)
	if err != nil || !out.Changed || out.Object.Version != 2 {
		t.Errorf("another value: %+v %v", out, err)
	}
	all, err := w.ListSecrets(ctx, w.admin, "shop")
	// promise: N-113
	if err != nil || len(all) != 2 || all[0].Name != "API_TOKEN" || all[1].Rule == nil {
		t.Fatalf("list: %+v %v", all, err)
	}
	b, _ := json.Marshal(all)
	if s := string(b) + fmt.Sprintf("%+v %#v", all, all); strings.Contains(s, canary) ||
		all[0].Value != nil {
		t.Error("a list of secrets holds a value")
	}
	short, long := controlplane.NewPlain("s3cr3t!"), controlplane.NewPlain(strings.Repeat("x", 65537))
	_, err = w.PutSecret(ctx, w.admin, catalog.SecretPut{Project: "shop", Name: "X", Value: &short})
	if err == nil || !strings.Contains(err.Error(), "at least 8 bytes, and this one has 7") {
		t.Errorf("a value too short to be masked: %v", err)
	}
	lines := controlplane.NewPlain("user=me\n  pw=12 \r\nport=1")
	_, err = w.PutSecret(ctx, w.admin, catalog.SecretPut{Project: "shop", Name: "X", Value: &lines})
	if err == nil || !strings.Contains(err.Error(), "no line of the secret's value has 8 bytes") {
		t.Errorf("a value whose lines are too short to be masked: %v", err)
	}
	for _, bad := range []catalog.SecretPut{
		{Project: "shop", Name: "X", Value: &short},
		{Project: "shop", Name: "X", Value: &long},
		{Project: "shop", Name: "lower", Value: &value},
		{Project: "shop", Name: "X"},
		{Project: "shop", Name: "X", Value: &value, Rule: &controlplane.SecretRule{Length: 20}},
		{Project: "shop", Name: "X", Rule: &controlplane.SecretRule{Length: 3}},
		{Project: "shop", Name: "X", Rule: &controlplane.SecretRule{Length: 20, Alphabet: "emoji"}},
	} {
		_, err := w.PutSecret(ctx, w.admin, bad)
		var said *controlplane.Error
		if !errors.As(err, &said) || said.Kind != controlplane.Invalid || said.Field == "" {
			t.Errorf("%s: %v", bad.Name, err)
		}
	}
}

// deployed puts a deployment with a run into the database, as lifecycle does.
func (w *world) deployed(t *testing.T, name string) (controlplane.DeploymentID, controlplane.Run) {
	t.Helper()
	id := controlplane.NewID[controlplane.DeploymentID]()
	run := controlplane.Run{
		ID:       controlplane.NewID[controlplane.RunID](),
		Project:  must(w.GetProject(t.Context(), w.admin, "shop"))(t).ID,
		Pipeline: must(w.CurrentPipeline(t.Context(), w.admin, "shop"))(t).Pipeline,
	}
	run.Key = must(w.keys.NewRunKey(run.ID))(t)
	w.exec(t, `INSERT INTO deployments (id, name, project_id, environment_id, node_name, created_by,
		cpu, memory_mib, status) SELECT $1, $2, p.id, e.id, 'n1', 'ada', 0, 0, 'failed'
		FROM projects p, environments e WHERE p.name = 'shop' AND e.name = 'qa'`, string(id), name)
	return id, run
}

func TestOpenRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	unused := controlplane.NewPlain("unused-" + canary)
	must(w.PutSecret(ctx, w.admin, catalog.SecretPut{
		Project: "shop", Name: "UNUSED", Value: &unused,
	}))(t)
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	fleet := access.System("fleet")
	id, run := w.deployed(t, "cart")
	b, err := w.OpenRun(ctx, fleet, id, run)
	if err != nil {
		t.Fatal(err)
	}
	// promise: N-110
	if len(b.Values) != 2 || b.Values["API_TOKEN"].Reveal() != canary || len(b.Key) != 32 {
		t.Errorf("bundle %v, key of %d bytes", b.Values, len(b.Key))
	}
	made := b.Values["DB_PASSWORD"].Reveal()
	if len(made) != 24 || strings.Trim(made, "0123456789abcdef") != "" {
		t.Errorf("generated %d characters", len(made))
	}
	again := must(w.OpenRun(ctx, fleet, id, run))(t)
	if again.Values["DB_PASSWORD"].Reveal() != made {
		t.Error("a generated secret changed within its deployment")
	}
	other, run2 := w.deployed(t, "other")
	if must(w.OpenRun(ctx, fleet, other, run2))(t).Values["DB_PASSWORD"].Reveal() == made {
		t.Error("two deployments share a generated secret")
	}
	if n := w.query(t, `SELECT count(*) FROM audit WHERE action = 'open secrets' AND
		actor = 'system:fleet' AND result = 'ok' AND detail = 'API_TOKEN DB_PASSWORD'`); n != 3 {
		t.Errorf("%d openings in the journal, want 3", n)
	}
	if _, err := w.OpenRun(ctx, w.admin, id, run); err == nil {
		t.Error("an admin opened secrets")
	}
	stolen := run
	stolen.ID = run2.ID
	if _, err := w.OpenRun(ctx, fleet, id, stolen); !errors.Is(err, seal.ErrUnopened) {
		t.Errorf("another run's key: %v", err)
	}
	w.noCanary(t, made)
}

// noCanary looks for values in every column of every table, in the forms a
// dump would show them.
func (w *world) noCanary(t *testing.T, values ...string) {
	t.Helper()
	w.exec(t, `CREATE FUNCTION pg_temp_find(needle text) RETURNS bigint LANGUAGE plpgsql AS $$
		DECLARE r record; n bigint; total bigint := 0;
		BEGIN FOR r IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
			EXECUTE format('SELECT count(*) FROM %I x WHERE position(%L in x::text) > 0 OR
				position(%L in x::text) > 0 OR position(%L in x::text) > 0', r.tablename, needle,
				encode(needle::bytea, 'hex'), encode(needle::bytea, 'base64')) INTO n;
			total := total + n;
		END LOOP; RETURN total; END $$`)
	for _, v := range append(values, canary) {
		// promise: N-120
		// promise: N-121
		if n := w.query(t, `SELECT pg_temp_find($1)`, v); n != 0 {
			t.Errorf("a value is readable in %d rows", n)
		}
	}
	// The search finds what is there: a name that is stored in clear, and a
	// sealed value's own bytes, which a row shows in hex.
	if n := w.query(t, `SELECT pg_temp_find('API_TOKEN')`); n == 0 {
		t.Error("the search finds nothing at all")
	}
	w.exec(t, `INSERT INTO key_check (kid, sealed)
		VALUES ('probe', convert_to('probe-value', 'UTF8'))`)
	if n := w.query(t, `SELECT pg_temp_find('probe-value')`); n != 1 {
		t.Errorf("the search finds bytes in %d rows, want 1", n)
	}
}

// A version keeps the mapping of secrets to the plugin's names.
func TestSavePipeline_KeepsSecretMapping(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	must(w.SavePipeline(t.Context(), w.admin, "shop", graph(), ""))(t)
	v := must(w.CurrentPipeline(t.Context(), w.admin, "shop"))(t)
	step, _ := v.Pipeline.Step("db")
	// promise: N-111
	if step.Plugin.Secrets["password"] != "${{ secrets.DB_PASSWORD }}" {
		t.Errorf("mapping %v", step.Plugin.Secrets)
	}
	api, _ := v.Pipeline.Step("api")
	want := graph().Steps[0].Service
	// promise: N-046
	if api.Service.Resources != want.Resources || api.Service.Env["DSN"] != want.Env["DSN"] ||
		len(api.Needs) != 1 || step.Plugin.Parameters["name"] != "shop" {
		t.Errorf("loaded %+v %+v", api.Service, step.Plugin)
	}
}

// A run whose pipeline lost a secret says which.
func TestOpenRun_DeletedSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop(t)
	ctx := t.Context()
	must(w.SavePipeline(ctx, w.admin, "shop", graph(), ""))(t)
	id, run := w.deployed(t, "cart")
	p := graph()
	delete(p.Steps[0].Service.Env, "TOKEN")
	must(w.SavePipeline(ctx, w.admin, "shop", p, ""))(t)
	if err := w.DeleteSecret(ctx, w.admin, "shop", "API_TOKEN"); err != nil {
		t.Fatal(err)
	}
	_, err := w.OpenRun(ctx, access.System("fleet"), id, run)
	if controlplane.CodeOf(err) != "secret_missing" || !strings.Contains(err.Error(), "API_TOKEN") {
		t.Errorf("got %v", err)
	}
}
