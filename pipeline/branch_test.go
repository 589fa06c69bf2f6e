package pipeline_test

import (
	"fmt"
	"testing"

	"github.com/nullops/nullops/pipeline"
)

// A branch is what a step waits for and what it refers to, all the way up, and
// nothing beside it.
func TestBranch_TakesWhatIsNeeded(t *testing.T) {
	t.Parallel()
	p := pipeline.Pipeline{Format: 1, Order: []pipeline.StepKey{"db", "seed", "api", "web", "cron"},
		Steps: []pipeline.Step{
			{Key: "db", Service: &pipeline.ServiceStep{Name: "db"}},
			{Key: "seed", Needs: []pipeline.StepKey{"db"}, Plugin: &pipeline.PluginStep{Name: "sql"}},
			{Key: "api", Service: &pipeline.ServiceStep{Name: "api",
				Env: map[string]string{"DB": "${{ services.db.host }}"}}},
			{Key: "web", Needs: []pipeline.StepKey{"api"}, Plugin: &pipeline.PluginStep{Name: "check",
				Parameters: map[string]any{"seen": []any{"${{ steps.seed.outputs.rows }}"}}}},
			{Key: "cron", Needs: []pipeline.StepKey{"web"}, Plugin: &pipeline.PluginStep{Name: "x"}},
		}}
	for of, want := range map[pipeline.StepKey]string{
		"db": "[db]", "seed": "[db seed]", "api": "[db api]", "web": "[db seed api web]",
		"nobody": "[]",
	} {
		got := []pipeline.StepKey{}
		branch := pipeline.Branch(p, of)
		for _, s := range branch.Steps {
			got = append(got, s.Key)
		}
		if fmt.Sprint(got) != want || branch.Order != nil {
			t.Errorf("branch of %s is %v, in the order %v; wanted %s", of, got, branch.Order, want)
		}
	}
	if len(p.Steps) != 5 || len(p.Order) != 5 {
		t.Error("the pipeline itself was changed")
	}
}

// A branch asks for the fields of the input that its own steps refer to, and for no others.
func TestBranch_KeepsItsInput(t *testing.T) {
	t.Parallel()
	field := func(name string) pipeline.InputField {
		return pipeline.InputField{ApprovalField: pipeline.ApprovalField{Name: name}}
	}
	p := pipeline.Pipeline{Format: 2,
		Input: []pipeline.InputField{field("size"), field("unused"), field("region")},
		Steps: []pipeline.Step{
			{Key: "db", Service: &pipeline.ServiceStep{Name: "db",
				Env: map[string]string{"SIZE": "${{ input.size }}"}}},
			{Key: "api", Service: &pipeline.ServiceStep{Name: "api",
				Env: map[string]string{"REGION": "${{ input.region }}"}}},
		}}
	for want, keys := range map[string][]pipeline.StepKey{"[size]": {"db"}, "[region]": {"api"},
		"[size region]": {"api", "db"}, "[]": {"nobody"}} {
		names := []string{}
		for _, f := range pipeline.Branch(p, keys...).Input {
			names = append(names, f.Name)
		}
		if fmt.Sprint(names) != want {
			t.Errorf("the branch of %v asks for %v, want %s", keys, names, want)
		}
	}
}
