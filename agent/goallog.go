package agent

import "github.com/nullops/nullops/agent/wire"

// logGoal says what is new, and which request wanted it: with its id, whoever has an
// answer or a line of the control plane's log finds what came of it here.
func (a *Agent) logGoal(is wire.DeploymentState, g wire.Goal) {
	if g.Generation > is.Generation {
		a.log.Info("goal", "deployment", g.Deployment, "generation", g.Generation,
			"want", g.Want, "run", g.Run, "request", g.Request)
	}
}

// logMissing says what is removed because the control plane does not name it any
// more: nobody asked for that on this node, so this line is all there is to find.
func (a *Agent) logMissing(is wire.DeploymentState) {
	switch is.Phase {
	case "", wire.PhaseFailed, wire.PhaseRemoved:
		return
	}
	if !is.Abandoned {
		a.log.Warn("removing a deployment with its containers and volumes",
			"deployment", is.Deployment, "name", is.Name, "run", is.Run, "was", is.Phase,
			"reason", "the control plane's full list of goals does not name it")
	}
}
