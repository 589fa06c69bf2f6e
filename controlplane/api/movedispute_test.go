package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// movedWorld is a database from a backup, before the end of a move that has ended since.
type movedWorld struct {
	*relocation
	moved lifecycle.DescribedDeployment
}

// newMovedWorld lets the move come to a phase before the backup is made.
func newMovedWorld(t *testing.T, begin func(*relocation)) *movedWorld {
	t.Helper()
	m := &movedWorld{}
	m.relocation = newRelocation(t, func(c *api.Config) {
		c.Describe = func(_ context.Context, node controlplane.NodeID, _ controlplane.DeploymentID) (
			lifecycle.DescribedDeployment, error) {
			if node != m.to {
				return lifecycle.DescribedDeployment{},
					controlplane.NewNotFoundError("deployment", "on the node")
			}
			return m.moved, nil
		}
	})
	run, _, err := m.lifecycle.SealedRun(t.Context(), system, m.from, m.d.ID, m.d.Generation)
	m.expectSaved(run, err)
	m.moved = lifecycle.DescribedDeployment{ID: m.d.ID, Generation: m.d.Generation + 9, Version: 1,
		Run: m.d.RunID, Phase: "ready", Pipeline: run.Pipeline, Key: make([]byte, 32),
		Steps: map[pipeline.StepKey]pipeline.StepStatus{"db": pipeline.StepDone}}
	begin(m.relocation)
	return m
}

// connect reconnects the agents of both nodes: the first has been cleared, the second has it.
func (m *movedWorld) connect(left, arrived bool) {
	m.t.Helper()
	memory := lifecycle.AgentMemory{FirstReport: 1, Acknowledged: 99}
	if left {
		_, err := m.lifecycle.CompareAgentMemory(m.t.Context(), system, m.from, memory)
		m.expectSaved(nil, err)
	}
	if arrived {
		memory.Deployments = []lifecycle.RememberedDeployment{{ID: m.d.ID, Run: m.d.RunID,
			Generation: m.moved.Generation, Name: "data", Project: "data", Environment: "qa",
			Phase: "ready"}}
		_, err := m.lifecycle.CompareAgentMemory(m.t.Context(), system, m.to, memory)
		m.expectSaved(nil, err)
	}
}

func (m *movedWorld) decides(what, node string, want int) answer {
	m.t.Helper()
	a := m.call("POST", "/api/v1/nodes/"+node+"/unknown/"+string(m.d.ID)+"/"+what, m.root, nil)
	if a.status != want {
		m.t.Fatalf("%s on %s: %d %s", what, node, a.status, a.body)
	}
	return a
}

// A backup was made before the end of a move, and is restored after it. Neither node is told
// anything, also when the move is called off long after: the first would start with empty volumes,
// the second would remove the data. An admin adopts the deployment where it is.
func TestDispute_MovedAfterTheBackup(t *testing.T) {
	t.Parallel()
	for phase, begin := range map[string]func(*relocation){
		"before":    func(*relocation) {},
		"measuring": func(r *relocation) { r.beginMove() },
		"copying": func(r *relocation) {
			r.expectSaved(nil, r.lifecycle.RelocationMeasured(r.t.Context(), system, r.beginMove()))
		},
		"starting": func(r *relocation) {
			j := r.beginMove()
			r.expectSaved(nil, r.lifecycle.RelocationMeasured(r.t.Context(), system, j))
			r.expectSaved(nil, r.lifecycle.FinishCopy(r.t.Context(), system, j))
		},
	} {
		t.Run(phase, func(t *testing.T) {
			t.Parallel()
			m := newMovedWorld(t, begin)
			m.connect(false, true)
			// The first node may still have it: nobody knows before it connects.
			m.decides("adopt", "node-2", http.StatusConflict)
			m.connect(true, false)
			m.expectGoals("none", "none")
			pgtest.Exec(t, m.database, "UPDATE relocations SET seen_at = now() - interval '2 hours'")
			m.expectSaved(nil, m.lifecycle.CancelLostRelocations(t.Context(), system))
			m.expectGoals("none", "none")
			for _, what := range []string{"adopt", "recreate", "purge"} {
				m.decides(what, "node-1", http.StatusConflict)
			}
			m.decides("adopt", "node-2", http.StatusOK)
			m.expectGoals("none", "present")
			now := m.now()
			if now.Node == nil || *now.Node != "node-2" || now.Status != "ready" || now.Moving != nil {
				t.Errorf("after the adoption it is %+v", now)
			}
		})
	}
}
