package agent

import (
	"context"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/tracing"
)

// logGoal logs a new goal with the ID of the request that caused it: the same ID is in the
// API response and in the control plane's log.
func (lp *loop) logGoal(is wire.DeploymentState, g wire.Goal) {
	if g.Generation > is.Generation {
		lp.log.Info("goal", "deployment_id", g.Deployment, "generation", g.Generation,
			"want", g.Want, "run_id", g.Run, "request_id", g.Request)
		_, end := tracing.Span(tracing.WithStep(context.Background(), g.Trace, g.Run, ""),
			"agent takes goal", "deployment_id", g.Deployment, "run_id", g.Run,
			"want", string(g.Want), "request_id", g.Request)
		end(nil)
	}
}

// logDisowned logs a removal that happens because the control plane's full list no longer
// names the deployment. No user on this node requested it, so this line is the only trace.
func (lp *loop) logDisowned(is wire.DeploymentState) {
	switch is.Phase {
	case "", wire.PhaseFailed, wire.PhaseRemoved:
		return
	}
	if !is.Abandoned {
		lp.log.Warn("removing a deployment with its containers and volumes",
			"deployment_id", is.Deployment, "deployment", is.Name, "run_id", is.Run, "phase", is.Phase,
			"reason", "the control plane's full list of goals does not name it")
	}
}
