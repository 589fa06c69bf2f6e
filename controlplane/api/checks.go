package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

// CheckDeployment answers once every plugin has: hanging up ends the checks.
func (s *server) CheckDeployment(
	ctx context.Context, r CheckDeploymentRequestObject,
) (CheckDeploymentResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	d, err := s.Lifecycle.AuthorizeCheck(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	if s.Check == nil {
		return nil, noNodes()
	}
	steps, err := s.Check(ctx, d.NodeID, d.ID)
	if err != nil {
		return nil, err
	}
	all := DeploymentChecks{Ok: true, Steps: convertAll(steps, stepCheck)}
	for _, one := range steps {
		all.Ok = all.Ok && one.OK
	}
	return CheckDeployment200JSONResponse(all), nil
}

func stepCheck(c controlplane.StepCheck) StepCheck {
	out := StepCheck{
		Step:    string(c.Step),
		Ok:      c.OK,
		Code:    ptrOrNil(c.Code),
		Message: ptrOrNil(c.Message),
		Seconds: c.Took.Seconds(),
	}
	if len(c.Log) > 0 {
		out.Log = &c.Log
	}
	return out
}

// noNodes refuses what takes a node, in a process that speaks with none.
func noNodes() error {
	return &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
		Message: "this process does not speak with nodes",
		Remedy:  "Ask one that does: the control plane that holds the node."}
}
