package agent

import (
	"encoding/json"
	"maps"
	"net/http"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// protectedDeployments are not removed although they have no goal: a control plane whose
// database was restored lists the deployments that it does not know.
type protectedDeployments struct {
	// ids are left alone until people decided.
	ids map[string]bool
	// all protects objects even of unknown origin: they may belong to deployments that a
	// restored database does not know.
	all bool
}

func protectedBy(goals wire.Goals) protectedDeployments {
	h := protectedDeployments{ids: map[string]bool{}, all: goals.Keep}
	for _, id := range goals.Unknown {
		h.ids[id] = true
	}
	return h
}

// isOrphan reports whether objects of a deployment without a goal and without a record here
// may be removed.
func (h protectedDeployments) isOrphan(deployment string) bool {
	return deployment != "" && !h.all && !h.ids[deployment]
}

// serveDeployment answers what is known about one deployment.
func (ds *deploymentServer) serveDeployment(w http.ResponseWriter, r *http.Request) {
	v, ok := ds.viewOf(r.PathValue("id"))
	if !ok || v.goal == nil {
		http.Error(w, "no such deployment on this node", http.StatusNotFound)
		return
	}
	d := wire.DescribeResponse{State: v.state, Goal: *v.goal, Steps: v.steps, Sealed: v.sealed}
	if v.bundle != nil {
		d.Key, d.Values = v.bundle.key, maps.Clone(v.bundle.values)
	}
	w.Header().Set("Content-Type", "application/json")
	if err := json.NewEncoder(w).Encode(d); err != nil {
		ds.log.Debug("a deployment was not described", "error", err)
	}
}

// stepsOf is where each step of a deployment stands.
func stepsOf(d *deployment) map[pipeline.StepKey]pipeline.StepStatus {
	steps := map[pipeline.StepKey]pipeline.StepStatus{}
	if goal := d.m.CurrentGoal(); goal != nil {
		for _, s := range goal.Pipeline.Steps {
			steps[s.Key] = d.m.Status(s.Key)
		}
	}
	return steps
}
