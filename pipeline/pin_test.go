package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// seededShop is a service, a plugin that fills it, a check of that, and a service that refers to
// both of them.
func seededShop() pipeline.Pipeline {
	outputs := map[string]any{"type": "object", "required": []any{"rows", "user"},
		"properties": map[string]any{"rows": map[string]any{"type": "integer"},
			"user":     map[string]any{"type": "string"},
			"password": map[string]any{"type": "string", "writeOnly": true}}}
	return pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"db", "seed", "check", "api"},
		Steps: []pipeline.Step{
			{Key: "db", Service: &pipeline.ServiceStep{Name: "db"}},
			{Key: "seed", Needs: []pipeline.StepKey{"db"}, Plugin: &pipeline.PluginStep{Name: "sql",
				Component: &pipeline.Component{Outputs: outputs}}},
			{Key: "check", Needs: []pipeline.StepKey{"seed"},
				Plugin: &pipeline.PluginStep{Name: "check"}},
			{Key: "api", Needs: []pipeline.StepKey{"check"},
				Service: &pipeline.ServiceStep{Name: "api", Env: map[string]string{
					"ROWS": "${{ steps.seed.outputs.rows }}",
					"PASS": "${{ steps.seed.outputs.password }}"}}},
		}}
}

// A pinned step returns what it was given, and nothing runs for it alone.
func TestPinnedBranch_LeavesOutWhatIsKnown(t *testing.T) {
	t.Parallel()
	p := pipeline.PinnedBranch(seededShop(), map[pipeline.StepKey]map[string]any{
		"seed":  {"rows": 3.0, "password": "${{ secrets.DB }}"},
		"check": {"said": "${{ secrets.DB }}"}}, "api")
	var keys []pipeline.StepKey
	for _, s := range p.Steps {
		keys = append(keys, s.Key)
	}
	// The database was needed by the seed only.
	if fmt.Sprint(keys) != "[seed check api]" {
		t.Fatalf("it runs %v", keys)
	}
	seed, _ := p.Step("seed")
	check, _ := p.Step("check")
	if !seed.IsPinned() || !check.IsPinned() {
		t.Fatal("it does not say which steps are pinned")
	}
	if seed.Script.Parameters["rows"] != 3.0 ||
		seed.Script.Secrets["password"] != "${{ secrets.DB }}" {
		t.Errorf("seed gets %v and the secrets %v", seed.Script.Parameters, seed.Script.Secrets)
	}
	// What is referred to has to be there, and nothing else.
	if got := fmt.Sprint(seed.Script.Outputs["required"]); got != "[rows password]" &&
		got != "[password rows]" {
		t.Errorf("seed has to return %s", got)
	}
	text, secret, err := pipeline.EvalText(check.Script.Parameters["said"].(string), nil)
	if err != nil || secret || text != "${{ secrets.DB }}" {
		t.Errorf("a text that looks like a reference became %q, %t, %v", text, secret, err)
	}
	// api refers to seed and waits for check only.
	for _, found := range pipeline.Validate(p, pipeline.Settings{Secrets: []string{"DB"}}) {
		if found.Code == "not_ancestor" || found.Code == "unknown_secret" {
			t.Errorf("%s: %s", found.Step, found.Message)
		}
	}
}

// A secret that is written down instead of referred to is refused.
func TestPinnedBranch_TakesNoSecretInClear(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"hunter2", 7.0, nil} {
		p := pipeline.PinnedBranch(seededShop(), map[pipeline.StepKey]map[string]any{
			"seed": {"password": value}}, "api")
		refused := false
		for _, found := range pipeline.Validate(p, pipeline.Settings{}) {
			refused = refused || found.Step == "seed" && found.Field == "script.secrets.password"
		}
		if !refused {
			t.Errorf("the password %v is taken", value)
		}
	}
}

// Without keys, everything runs but what is pinned.
func TestPinnedBranch_OfAll(t *testing.T) {
	t.Parallel()
	whole := seededShop()
	p := pipeline.PinnedBranch(whole, map[pipeline.StepKey]map[string]any{"seed": {"rows": 1.0}})
	seed, _ := p.Step("seed")
	if len(p.Steps) != 4 || fmt.Sprint(seed.Needs) != "[db]" {
		t.Errorf("%d steps, and the seed waits for %v", len(p.Steps), seed.Needs)
	}
	if before, _ := whole.Step("seed"); before.Plugin == nil {
		t.Error("the pipeline itself was changed")
	}
}
