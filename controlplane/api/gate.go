package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/gate"
)

func (s *server) GetEnvironmentGate(
	ctx context.Context, r GetEnvironmentGateRequestObject,
) (GetEnvironmentGateResponseObject, error) {
	g, err := s.Gate.Environment(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetEnvironmentGate200JSONResponse(environmentGate(g)), nil
}

func (s *server) PutEnvironmentGate(
	ctx context.Context, r PutEnvironmentGateRequestObject,
) (PutEnvironmentGateResponseObject, error) {
	g := controlplane.EnvironmentGate{Gate: controlplane.GateMode(r.Body.Gate),
		RedirectHTTPS: r.Body.RedirectHttps}
	if err := s.Gate.SetEnvironment(ctx, actorOf(ctx), r.Name, g); err != nil {
		return nil, err
	}
	return PutEnvironmentGate200JSONResponse(environmentGate(g)), nil
}

func environmentGate(g controlplane.EnvironmentGate) EnvironmentGate {
	return EnvironmentGate{Gate: GateMode(g.Gate), RedirectHttps: g.RedirectHTTPS}
}

func (s *server) GetDeploymentGate(
	ctx context.Context, r GetDeploymentGateRequestObject,
) (GetDeploymentGateResponseObject, error) {
	g, err := s.Gate.Deployment(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	return GetDeploymentGate200JSONResponse(deploymentGate(g)), nil
}

func (s *server) PutDeploymentGate(
	ctx context.Context, r PutDeploymentGateRequestObject,
) (PutDeploymentGateResponseObject, error) {
	g, err := s.Gate.SetDeployment(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		controlplane.GateMode(r.Body.Gate))
	if err != nil {
		return nil, err
	}
	return PutDeploymentGate200JSONResponse(deploymentGate(g)), nil
}

func deploymentGate(g gate.DeploymentGate) DeploymentGate {
	return DeploymentGate{Gate: GateMode(g.Own), EnvironmentGate: GateMode(g.Environment),
		Effective: GateMode(g.Effective)}
}

func (s *server) ListGuests(
	ctx context.Context, r ListGuestsRequestObject,
) (ListGuestsResponseObject, error) {
	all, err := s.Gate.ListGuestLinks(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id))
	if err != nil {
		return nil, err
	}
	return ListGuests200JSONResponse{Items: convertAll(all, toPass)}, nil
}

// CreateGuest returns a link with the secret in the fragment (#), which browsers do
// not send to servers.
func (s *server) CreateGuest(
	ctx context.Context, r CreateGuestRequestObject,
) (CreateGuestResponseObject, error) {
	p, host, token, err := s.Gate.CreateGuestLink(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		gate.GuestLinkRequest{Label: r.Body.Label, Life: hoursToDuration(r.Body.Hours),
			Service: valueOr(r.Body.Service, "")})
	if err != nil {
		return nil, err
	}
	return CreateGuest201JSONResponse{Pass: toPass(p),
		Url: s.Lifecycle.URL(host) + "/.nullops/guest#" + token.Reveal()}, nil
}

func (s *server) DeleteGuest(
	ctx context.Context, r DeleteGuestRequestObject,
) (DeleteGuestResponseObject, error) {
	err := s.Gate.DeleteGuestLink(ctx, actorOf(ctx), controlplane.DeploymentID(r.Id),
		controlplane.PassID(r.Pass))
	if err != nil {
		return nil, err
	}
	return DeleteGuest204Response{}, nil
}

func (s *server) ListRobots(
	ctx context.Context, r ListRobotsRequestObject,
) (ListRobotsResponseObject, error) {
	all, err := s.Gate.ListRobots(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListRobots200JSONResponse{Items: convertAll(all, toPass)}, nil
}

func (s *server) CreateRobot(
	ctx context.Context, r CreateRobotRequestObject,
) (CreateRobotResponseObject, error) {
	p, token, err := s.Gate.AddRobot(ctx, actorOf(ctx), r.Name,
		gate.GuestLinkRequest{Label: r.Body.Label, Life: hoursToDuration(r.Body.Hours)})
	if err != nil {
		return nil, err
	}
	return CreateRobot201JSONResponse{Pass: toPass(p), Token: token.Reveal()}, nil
}

func (s *server) DeleteRobot(
	ctx context.Context, r DeleteRobotRequestObject,
) (DeleteRobotResponseObject, error) {
	err := s.Gate.RemoveRobot(ctx, actorOf(ctx), r.Name, controlplane.PassID(r.Pass))
	if err != nil {
		return nil, err
	}
	return DeleteRobot204Response{}, nil
}

func toPass(p controlplane.Pass) Pass {
	return Pass{Id: string(p.ID), Kind: PassKind(p.Kind), Label: p.Label, CreatedBy: p.CreatedBy,
		CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt, LastUsedAt: p.LastUsed}
}

func hoursToDuration(n int) time.Duration { return time.Duration(n) * time.Hour }
