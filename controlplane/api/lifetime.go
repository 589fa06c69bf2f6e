package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

func (s *server) ExtendDeployment(
	ctx context.Context, r ExtendDeploymentRequestObject,
) (ExtendDeploymentResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id, s.Lifecycle.Extend)
	if err != nil {
		return nil, err
	}
	return ExtendDeployment200JSONResponse(d), nil
}

func (s *server) ListActivity(
	ctx context.Context, r ListActivityRequestObject,
) (ListActivityResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	a, err := s.Lifecycle.Activity(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	return ListActivity200JSONResponse{Rule: a.Rule,
		Items: convertAll(a.Items, func(one controlplane.Activity) Activity {
			return Activity{At: one.At, Kind: ActivityKind(one.Kind), By: one.By}
		})}, nil
}

func (s *server) HoldDeployment(
	ctx context.Context, r HoldDeploymentRequestObject,
) (HoldDeploymentResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id, func(ctx context.Context, actor access.Actor,
		id controlplane.DeploymentID) (controlplane.Deployment, error) {
		return s.Lifecycle.Hold(ctx, actor, id, r.Body.Reason, r.Body.Until)
	})
	if err != nil {
		return nil, err
	}
	return HoldDeployment200JSONResponse(d), nil
}

func (s *server) ReleaseDeployment(
	ctx context.Context, r ReleaseDeploymentRequestObject,
) (ReleaseDeploymentResponseObject, error) {
	d, err := s.changeDeployment(ctx, r.Id, s.Lifecycle.Release)
	if err != nil {
		return nil, err
	}
	return ReleaseDeployment200JSONResponse(d), nil
}

func (s *server) RecreateDeployment(
	ctx context.Context, r RecreateDeploymentRequestObject,
) (RecreateDeploymentResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	var how lifecycle.RecreateOptions
	if r.Body != nil {
		how = lifecycle.RecreateOptions{
			Name:   valueOr(r.Body.Name, ""),
			Pinned: valueOr(r.Body.PinDigests, false),
		}
	}
	made, err := s.Lifecycle.Recreate(ctx, actorOf(ctx), id, how)
	if err != nil {
		return nil, err
	}
	v, err := s.Lifecycle.View(ctx, actorOf(ctx), made.ID)
	if err != nil {
		return nil, err
	}
	return RecreateDeployment201JSONResponse(toDeployment(v)), nil
}

// addLifetime adds what people did to a deployment's life.
func addLifetime(d *Deployment, v lifecycle.View) {
	d.LifetimeHours, d.RemovedBy = ptrOrNil(v.Life.Hours), ptrOrNil(v.Life.RemovedBy)
	d.RemovedAt, d.TombstoneUntil = v.Life.RemovedAt, ptrOrNil(v.KeptUntil)
	d.Moving, d.MovedTo = ptrOrNil(v.Life.Moving), ptrOrNil(string(v.Life.MovedTo))
	if v.Life.ClonedFrom != "" {
		d.ClonedFrom = &DeploymentRef{Id: string(v.Life.ClonedFrom), Name: v.Life.ClonedName}
	}
	d.Scratch = ptrOrNil(v.Life.Scratch)
	if h := v.Life.Hold; h != nil {
		d.Hold = &Hold{Owner: h.Owner, Reason: h.Reason, Since: h.Since, Until: h.Until}
	}
}
