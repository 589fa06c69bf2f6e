package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// A person who inspects an agent's folder, while it runs or afterwards, finds its deployments, what
// they are made from, and what happened to them; and no secret.
func TestReadKept_ShowsDeploymentsConfigurationAndHistory(t *testing.T) {
	dir := t.TempDir()
	liveHalf(t, dir)
	k, err := agent.ReadStateDump(dir)
	if err != nil {
		t.Fatal(err)
	}
	// promise: N-151
	phases := map[string]wire.Phase{}
	for _, d := range k.Deployments {
		phases[d.ID] = d.Phase
	}
	if len(phases) != 3 || phases["d1"] != wire.PhaseReady || phases["d2"] != wire.PhaseFailed {
		t.Fatalf("deployments are %v", phases)
	}
	// promise: N-151
	db, ok := k.Deployments[0].Goal.Pipeline.Step("db")
	if !ok || db.Service.Env["MODE"] != "test" || db.Service.Image.Digest != digest {
		t.Errorf("d1 is configured as %+v", db.Service)
	}
	steps := map[pipeline.StepKey]agent.StepDump{}
	for _, s := range k.Deployments[0].Steps {
		steps[s.Key] = s
	}
	if s := steps["make"]; s.Status != pipeline.StepDone || s.Runs != 1 ||
		s.Outputs["url"] != "[secret]" {
		t.Errorf("the plugin of d1: %+v", s)
	}
	// promise: N-151
	if got := listHistory(k, "d1"); !slices.Equal(got, []string{"db running", "db done",
		"make running", "make done", "web running", "web done", "ready"}) {
		t.Errorf("the history of d1 is %q", got)
	}
	if got := listHistory(k, "d2"); !slices.Contains(got, "make failed") ||
		got[len(got)-1] != "failed" {
		t.Errorf("the history of d2 is %q", got)
	}
	text, err := json.Marshal(k)
	if err != nil || strings.Contains(string(text), password) {
		t.Errorf("a password is in %s, %v", text, err)
	}
	if _, err := agent.ReadStateDump(t.TempDir()); err == nil {
		t.Error("an empty folder has a state")
	}
}

// listHistory returns the history of one deployment, in order: steps and phases.
func listHistory(k agent.StateDump, deployment string) (all []string) {
	for _, e := range k.History {
		switch {
		case e.Deployment != deployment || e.Status == pipeline.StepPulling: // as fast as it may be
		case e.Step != "":
			all = append(all, string(e.Step)+" "+string(e.Status))
		case e.Phase != wire.PhaseApplying:
			all = append(all, string(e.Phase))
		}
	}
	return all
}
