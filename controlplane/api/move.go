package api

import (
	"context"
	"errors"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) MoveDeployment(
	ctx context.Context, r MoveDeploymentRequestObject,
) (MoveDeploymentResponseObject, error) {
	var to lifecycle.MoveRequest
	var anyway *bool
	if r.Body != nil {
		anyway = r.Body.Anyway
		to = lifecycle.MoveRequest{Node: valueOr(r.Body.Node, ""),
			DropVolumes: valueOr(r.Body.DropVolumes, false)}
	}
	move := func(ctx context.Context, actor access.Actor,
		id controlplane.DeploymentID) (controlplane.Deployment, error) {
		return s.Lifecycle.Move(ctx, actor, id, to)
	}
	d, err := s.changeDeployment(ctx, r.Id, s.withoutInterrupting(anyway, move))
	if err != nil {
		return nil, err
	}
	return MoveDeployment202JSONResponse(d), nil
}

// moveDrained moves deployments off a node that is drained, and returns why the others
// stay.
func (s *server) moveDrained(
	ctx context.Context, d nodes.Drain,
) (stays map[controlplane.DeploymentID]string, err error) {
	stays = map[controlplane.DeploymentID]string{}
	for _, one := range d.Staying {
		err := s.Lifecycle.RequireNobodyThere(ctx, actorOf(ctx), one.ID)
		if err == nil {
			_, err = s.Lifecycle.Move(ctx, actorOf(ctx), one.ID, lifecycle.MoveRequest{})
		}
		refused, ok := errors.AsType[*controlplane.Error](err)
		switch {
		case ok:
			stays[one.ID] = lifecycle.DescribeRefusal(refused)
		case err != nil:
			return nil, err
		}
	}
	return stays, nil
}
