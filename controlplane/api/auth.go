package api

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (s *server) CreateSession(
	ctx context.Context, r CreateSessionRequestObject,
) (CreateSessionResponseObject, error) {
	in, err := s.Accounts.SignIn(ctx, actorOf(ctx), accounts.Login{User: r.Body.User,
		Password: controlplane.NewPlain(r.Body.Password),
		Code:     controlplane.NewPlain(valueOr(r.Body.Code, ""))})
	if err != nil {
		return nil, err
	}
	cookie := s.sessionCookie(in.Cookie.Reveal(), in.Expires)
	return CreateSession201JSONResponse{
		Body: toMe(in.Actor), Headers: CreateSession201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

func (s *server) DeleteCurrentSession(
	ctx context.Context, _ DeleteCurrentSessionRequestObject,
) (DeleteCurrentSessionResponseObject, error) {
	if err := s.Accounts.SignOut(ctx, actorOf(ctx)); err != nil {
		return nil, err
	}
	cookie := s.sessionCookie("", time.Unix(1, 0))
	return DeleteCurrentSession204Response{
		Headers: DeleteCurrentSession204ResponseHeaders{SetCookie: &cookie},
	}, nil
}

// GetMe is the first thing the pages ask after a sign-in, so the browser gets its
// device key here.
func (s *server) GetMe(ctx context.Context, _ GetMeRequestObject) (GetMeResponseObject, error) {
	key, err := s.Accounts.RememberDevice(ctx, actorOf(ctx))
	switch {
	case err != nil:
		// The next page view asks again; failing to remember a browser must not prevent the
		// sign-in.
		s.Log.WarnContext(ctx, "a browser was not remembered", "request_id", requestID(ctx),
			"error", err)
	case !key.IsEmpty():
		s.keepDeviceKey(ctx, key)
	}
	return GetMe200JSONResponse(toMe(actorOf(ctx))), nil
}

func toMe(a access.Actor) Me {
	p := a.Person()
	return Me{
		Name: p.Name, DisplayName: p.DisplayName, Role: Role(p.Role),
		Teams: orEmpty(p.Teams), CanCreate: access.CanCreate(a),
		Password: p.HasPassword, ViewedBy: ptrOrNil(a.Viewer()),
		SecondFactorNeeded: ptrOrNil(a.LacksFactor()),
	}
}

func (s *server) ChangePassword(
	ctx context.Context, r ChangePasswordRequestObject,
) (ChangePasswordResponseObject, error) {
	in, err := s.Accounts.ChangePassword(ctx, actorOf(ctx),
		controlplane.NewPlain(r.Body.Current), controlplane.NewPlain(r.Body.Password))
	if err != nil {
		return nil, err
	}
	var headers ChangePassword204ResponseHeaders
	if !in.Cookie.IsEmpty() {
		cookie := s.sessionCookie(in.Cookie.Reveal(), in.Expires)
		headers.SetCookie = &cookie
	}
	return ChangePassword204Response{Headers: headers}, nil
}

func (s *server) CreateToken(
	ctx context.Context, r CreateTokenRequestObject,
) (CreateTokenResponseObject, error) {
	t, value, err := s.Accounts.CreateToken(ctx, actorOf(ctx), accounts.Login{User: r.Body.User,
		Password: controlplane.NewPlain(r.Body.Password),
		Code:     controlplane.NewPlain(valueOr(r.Body.Code, ""))}, accounts.TokenRequest{
		Name: r.Body.Name, Scope: controlplane.TokenScope(valueOr(r.Body.Scope, "")),
		Lasts: time.Duration(valueOr(r.Body.ExpiresInDays, 0)) * 24 * time.Hour,
	})
	if err != nil {
		return nil, err
	}
	return CreateToken201JSONResponse{
		Id: string(t.ID), Name: t.Name, Token: value.Reveal(),
	}, nil
}

func (s *server) ListTokens(
	ctx context.Context, _ ListTokensRequestObject,
) (ListTokensResponseObject, error) {
	all, err := s.Accounts.ListTokens(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListTokens200JSONResponse{Items: convertAll(all, toToken)}, nil
}

func toToken(t controlplane.APIToken) Token {
	return Token{
		Id: string(t.ID), Name: t.Name, Prefix: t.Prefix,
		CreatedAt: t.CreatedAt, LastUsedAt: t.LastUsedAt,
		Scope: TokenScope(t.Scope), ExpiresAt: t.ExpiresAt,
	}
}

func (s *server) ListSessions(
	ctx context.Context, _ ListSessionsRequestObject,
) (ListSessionsResponseObject, error) {
	actor := actorOf(ctx)
	all, err := s.Accounts.ListSessions(ctx, actor)
	if err != nil {
		return nil, err
	}
	return ListSessions200JSONResponse{Items: convertAll(all, func(one controlplane.Session) Session {
		return Session{Id: string(one.ID), CreatedAt: one.CreatedAt, LastUsedAt: one.LastUsed,
			ExpiresAt: one.Expires, From: one.From, Device: one.Device,
			Current: one.ID == actor.Session()}
	})}, nil
}

func (s *server) DeleteSession(
	ctx context.Context, r DeleteSessionRequestObject,
) (DeleteSessionResponseObject, error) {
	err := s.Accounts.EndSession(ctx, actorOf(ctx), controlplane.SessionID(r.Id))
	if err != nil {
		return nil, err
	}
	return DeleteSession204Response{}, nil
}

func (s *server) DeleteToken(
	ctx context.Context, r DeleteTokenRequestObject,
) (DeleteTokenResponseObject, error) {
	err := s.Accounts.DeleteToken(ctx, actorOf(ctx), controlplane.TokenID(r.Id))
	if err != nil {
		return nil, err
	}
	return DeleteToken204Response{}, nil
}

func (s *server) GetVersion(
	_ context.Context, _ GetVersionRequestObject,
) (GetVersionResponseObject, error) {
	return GetVersion200JSONResponse{Build: s.Build}, nil
}
