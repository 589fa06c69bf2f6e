package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
)

func (s *server) ListUnknownDeployments(
	ctx context.Context, r ListUnknownDeploymentsRequestObject,
) (ListUnknownDeploymentsResponseObject, error) {
	all, err := s.Lifecycle.Unknown(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListUnknownDeployments200JSONResponse{Items: each(all, unknown)}, nil
}

func unknown(u controlplane.UnknownDeployment) UnknownDeployment {
	return UnknownDeployment{Id: string(u.ID), Name: u.Name, Project: u.Project,
		Environment: u.Environment, Phase: u.Phase, FoundAt: u.FoundAt,
		Purging: u.PurgedAt != nil}
}

func (s *server) AdoptDeployment(
	ctx context.Context, r AdoptDeploymentRequestObject,
) (AdoptDeploymentResponseObject, error) {
	n, err := s.Catalog.GetNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	if s.Describe == nil {
		return nil, noNodes()
	}
	found, err := s.Describe(ctx, n.ID, controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	d, err := s.Lifecycle.Adopt(ctx, actorOf(ctx), r.Name, found)
	if err != nil {
		return nil, err
	}
	view, err := s.Lifecycle.View(ctx, actorOf(ctx), d.ID)
	if err != nil {
		return nil, err
	}
	return AdoptDeployment200JSONResponse(deployment(view)), nil
}

func (s *server) PurgeDeployment(
	ctx context.Context, r PurgeDeploymentRequestObject,
) (PurgeDeploymentResponseObject, error) {
	err := s.Lifecycle.Purge(ctx, actorOf(ctx), r.Name, controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	return PurgeDeployment204Response{}, nil
}

func (s *server) RecoverNode(
	ctx context.Context, r RecoverNodeRequestObject,
) (RecoverNodeResponseObject, error) {
	if err := s.Lifecycle.Recover(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return RecoverNode204Response{}, nil
}

func (s *server) UpgradeNode(
	ctx context.Context, r UpgradeNodeRequestObject,
) (UpgradeNodeResponseObject, error) {
	image := s.agentImage()
	err := s.Catalog.UpgradeNode(ctx, actorOf(ctx), r.Name, image,
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
