package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (s *server) BeginDeviceLogin(
	ctx context.Context, r BeginDeviceLoginRequestObject,
) (BeginDeviceLoginResponseObject, error) {
	begun, err := s.Accounts.BeginDeviceLogin(ctx, actorOf(ctx), accounts.TokenRequest{
		Name: r.Body.Name, Scope: controlplane.TokenScope(valueOr(r.Body.Scope, "")),
		Lasts: time.Duration(valueOr(r.Body.ExpiresInDays, 0)) * 24 * time.Hour})
	if err != nil {
		return nil, err
	}
	return BeginDeviceLogin201JSONResponse{DeviceCode: begun.Secret.Reveal(), UserCode: begun.Code,
		VerificationUri: begun.URL, VerificationUriComplete: begun.Link,
		ExpiresIn: int(begun.Lasts / time.Second), Interval: int(begun.Pauses / time.Second)}, nil
}

func (s *server) PollDeviceLogin(
	ctx context.Context, r PollDeviceLoginRequestObject,
) (PollDeviceLoginResponseObject, error) {
	t, value, err := s.Accounts.PollDeviceLogin(ctx, actorOf(ctx),
		controlplane.NewPlain(r.Body.DeviceCode))
	if err != nil {
		return nil, err
	}
	return PollDeviceLogin201JSONResponse{Id: string(t.ID), Name: t.Name, Token: value.Reveal()}, nil
}

func (s *server) GetDeviceLogin(
	ctx context.Context, r GetDeviceLoginRequestObject,
) (GetDeviceLoginResponseObject, error) {
	d, err := s.Accounts.DeviceLogin(ctx, actorOf(ctx), r.Code)
	if err != nil {
		return nil, err
	}
	return GetDeviceLogin200JSONResponse{Code: d.Code, Name: d.Name, Address: d.Address,
		Scope: TokenScope(d.Scope), TokenDays: ptrOrNil(int(d.Lasts / (24 * time.Hour))),
		CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt}, nil
}

func (s *server) ApproveDeviceLogin(
	ctx context.Context, r ApproveDeviceLoginRequestObject,
) (ApproveDeviceLoginResponseObject, error) {
	if err := s.Accounts.DecideDeviceLogin(ctx, actorOf(ctx), r.Code, true); err != nil {
		return nil, err
	}
	return ApproveDeviceLogin204Response{}, nil
}

func (s *server) DenyDeviceLogin(
	ctx context.Context, r DenyDeviceLoginRequestObject,
) (DenyDeviceLoginResponseObject, error) {
	if err := s.Accounts.DecideDeviceLogin(ctx, actorOf(ctx), r.Code, false); err != nil {
		return nil, err
	}
	return DenyDeviceLogin204Response{}, nil
}
