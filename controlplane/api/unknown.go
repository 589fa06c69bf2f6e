package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

func (s *server) ListUnknownDeployments(
	ctx context.Context, r ListUnknownDeploymentsRequestObject,
) (ListUnknownDeploymentsResponseObject, error) {
	all, err := s.Lifecycle.ListUnknown(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListUnknownDeployments200JSONResponse{Items: convertAll(all, toUnknownDeployment)}, nil
}

func toUnknownDeployment(u controlplane.UnknownDeployment) UnknownDeployment {
	view := UnknownDeployment{Id: string(u.ID), Name: u.Name, Project: u.Project,
		Environment: u.Environment, Phase: string(u.Phase), FoundAt: u.FoundAt,
		Purging: u.PurgedAt != nil, Disputed: &u.Disputed, Run: ptrOrNil(string(u.Run)),
		Generation: ptrOrNil(u.Generation)}
	if u.Disputed {
		status := DeploymentStatus(u.Status)
		view.Reason, view.Status = &u.Reason, &status
		view.RowRun, view.RowGeneration = ptrOrNil(string(u.RowRun)), ptrOrNil(u.RowGeneration)
	}
	return view
}

func (s *server) AdoptDeployment(
	ctx context.Context, r AdoptDeploymentRequestObject,
) (AdoptDeploymentResponseObject, error) {
	d, err := s.Lifecycle.Adopt(ctx, actorOf(ctx), r.Name, controlplane.DeploymentID(r.Id),
		s.describeDeployment)
	if err != nil {
		return nil, err
	}
	view, err := s.Lifecycle.View(ctx, actorOf(ctx), d.ID)
	if err != nil {
		return nil, err
	}
	return AdoptDeployment200JSONResponse(toDeployment(view)), nil
}

func (s *server) PurgeDeployment(
	ctx context.Context, r PurgeDeploymentRequestObject,
) (PurgeDeploymentResponseObject, error) {
	err := s.Lifecycle.Purge(ctx, actorOf(ctx), r.Name, controlplane.DeploymentID(r.Id),
		s.describeDeployment)
	if err != nil {
		return nil, err
	}
	return PurgeDeployment204Response{}, nil
}

func (s *server) RecreateDisputed(
	ctx context.Context, r RecreateDisputedRequestObject,
) (RecreateDisputedResponseObject, error) {
	d, err := s.Lifecycle.RecreateDisputed(ctx, actorOf(ctx), r.Name,
		controlplane.DeploymentID(r.Id), s.describeDeployment)
	if err != nil {
		return nil, err
	}
	view, err := s.Lifecycle.View(ctx, actorOf(ctx), d.ID)
	if err != nil {
		return nil, err
	}
	return RecreateDisputed200JSONResponse(toDeployment(view)), nil
}

// describeDeployment asks a node what it knows about a deployment.
func (s *server) describeDeployment(ctx context.Context, node controlplane.NodeID,
	id controlplane.DeploymentID) (lifecycle.DescribedDeployment, error) {
	if s.Describe == nil {
		return lifecycle.DescribedDeployment{}, noNodes()
	}
	return s.Describe(ctx, node, id)
}

func (s *server) RecoverNode(
	ctx context.Context, r RecoverNodeRequestObject,
) (RecoverNodeResponseObject, error) {
	if err := s.Lifecycle.Recover(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return RecoverNode204Response{}, nil
}

func (s *server) GiveUpMachine(
	ctx context.Context, r GiveUpMachineRequestObject,
) (GiveUpMachineResponseObject, error) {
	var out GivenUpMachine
	err := s.Nodes.GiveUpMachine(ctx, actorOf(ctx), r.Name, r.Machine,
		func(id controlplane.NodeID) (err error) {
			if s.Config.GiveUpMachine == nil {
				return noNodes()
			}
			out.Services, err = s.Config.GiveUpMachine(ctx, id, r.Machine)
			return err
		})
	if err != nil {
		return nil, err
	}
	return GiveUpMachine200JSONResponse(out), nil
}

func (s *server) UpgradeNode(
	ctx context.Context, r UpgradeNodeRequestObject,
) (UpgradeNodeResponseObject, error) {
	image := s.agentImage()
	err := s.Nodes.UpgradeNode(ctx, actorOf(ctx), r.Name, image,
		func(id controlplane.NodeID) error {
			if s.Upgrade == nil {
				return noNodes()
			}
			return s.Upgrade(ctx, id, image)
		})
	if err != nil {
		return nil, err
	}
	return UpgradeNode202JSONResponse{Image: image}, nil
}
