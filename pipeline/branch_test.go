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
