package api

import (
	"context"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (s *server) CreateInvitation(
	ctx context.Context, r CreateInvitationRequestObject,
) (CreateInvitationResponseObject, error) {
	l, value, err := s.Accounts.Invite(ctx, actorOf(ctx), accounts.Invitation{
		Address: r.Body.Address, Role: controlplane.Role(r.Body.Role),
		Teams: valueOr(r.Body.Teams, nil), Key: valueOr(r.Params.IdempotencyKey, ""),
	})
	if err != nil {
		return nil, err
	}
	return CreateInvitation201JSONResponse(s.toLinkCreated(l, "/invitation", value)), nil
}

// toLinkCreated is a link for an admin to pass on. Browsers do not send the fragment
// (#), so the secret is in no log.
func (s *server) toLinkCreated(
	l controlplane.Link,
	page string,
	value controlplane.Plain,
) LinkCreated {
	return LinkCreated{Id: string(l.ID), Url: s.origin + page + "#" + value.Reveal(),
		ExpiresAt: l.ExpiresAt}
}

func (s *server) ListInvitations(
	ctx context.Context, _ ListInvitationsRequestObject,
) (ListInvitationsResponseObject, error) {
	all, err := s.Accounts.ListInvitations(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	return ListInvitations200JSONResponse{Items: convertAll(all, func(l controlplane.Link) Invitation {
		return Invitation{Id: string(l.ID), Address: l.Address, Role: Role(l.Role),
			Teams: orEmpty(l.Teams), CreatedBy: l.CreatedBy, CreatedAt: l.CreatedAt,
			ExpiresAt: l.ExpiresAt}
	})}, nil
}

func (s *server) DeleteInvitation(
	ctx context.Context, r DeleteInvitationRequestObject,
) (DeleteInvitationResponseObject, error) {
	err := s.Accounts.DeleteInvitation(ctx, actorOf(ctx), controlplane.LinkID(r.Id))
	if err != nil {
		return nil, err
	}
	return DeleteInvitation204Response{}, nil
}

func (s *server) AcceptInvitation(
	ctx context.Context, r AcceptInvitationRequestObject,
) (AcceptInvitationResponseObject, error) {
	in, err := s.Accounts.AcceptInvitation(ctx, actorOf(ctx), accounts.JoinRequest{
		Link: controlplane.NewPlain(r.Body.Link), Address: r.Body.Address, Name: r.Body.Name,
		DisplayName: valueOr(r.Body.DisplayName, ""), Password: controlplane.NewPlain(r.Body.Password),
	})
	if err != nil {
		return nil, err
	}
	cookie := s.sessionCookie(in.Cookie.Reveal(), in.Expires)
	return AcceptInvitation201JSONResponse{
		Body: toMe(in.Actor), Headers: AcceptInvitation201ResponseHeaders{SetCookie: &cookie},
	}, nil
}

func (s *server) CreateResetLink(
	ctx context.Context, r CreateResetLinkRequestObject,
) (CreateResetLinkResponseObject, error) {
	l, value, err := s.Accounts.ResetLink(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return CreateResetLink201JSONResponse(s.toLinkCreated(l, "/reset", value)), nil
}

func (s *server) ResetPassword(
	ctx context.Context, r ResetPasswordRequestObject,
) (ResetPasswordResponseObject, error) {
	err := s.Accounts.ResetPassword(ctx, actorOf(ctx), controlplane.NewPlain(r.Body.Link),
		controlplane.NewPlain(r.Body.Password))
	if err != nil {
		return nil, err
	}
	return ResetPassword204Response{}, nil
}

func tokenRequest(b OwnTokenCreate, key *string) accounts.TokenRequest {
	return accounts.TokenRequest{
		Name: b.Name, Scope: controlplane.TokenScope(valueOr(b.Scope, "")),
		Lasts: time.Duration(valueOr(b.ExpiresInDays, 0)) * 24 * time.Hour, Key: valueOr(key, ""),
	}
}

func (s *server) CreateOwnToken(
	ctx context.Context, r CreateOwnTokenRequestObject,
) (CreateOwnTokenResponseObject, error) {
	t, value, err := s.Accounts.CreateOwnToken(ctx, actorOf(ctx),
		tokenRequest(*r.Body, r.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	return CreateOwnToken201JSONResponse{Id: string(t.ID), Name: t.Name, Token: value.Reveal()}, nil
}

func (s *server) CreateUserToken(
	ctx context.Context, r CreateUserTokenRequestObject,
) (CreateUserTokenResponseObject, error) {
	t, value, err := s.Accounts.CreateTokenOf(ctx, actorOf(ctx), r.Name,
		tokenRequest(*r.Body, r.Params.IdempotencyKey))
	if err != nil {
		return nil, err
	}
	return CreateUserToken201JSONResponse{Id: string(t.ID), Name: t.Name, Token: value.Reveal()}, nil
}

func (s *server) ListUserTokens(
	ctx context.Context, r ListUserTokensRequestObject,
) (ListUserTokensResponseObject, error) {
	all, err := s.Accounts.ListTokensOf(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ListUserTokens200JSONResponse{Items: convertAll(all, toToken)}, nil
}

func (s *server) DeleteUserToken(
	ctx context.Context, r DeleteUserTokenRequestObject,
) (DeleteUserTokenResponseObject, error) {
	err := s.Accounts.DeleteTokenOf(ctx, actorOf(ctx), r.Name, controlplane.TokenID(r.Id))
	if err != nil {
		return nil, err
	}
	return DeleteUserToken204Response{}, nil
}

func (s *server) ExplainAccess(
	ctx context.Context, r ExplainAccessRequestObject,
) (ExplainAccessResponseObject, error) {
	actor := actorOf(ctx)
	place, err := s.findObject(ctx, actor, r.Params.Object)
	// An object that the actor may not see is explained like one that does not exist.
	if err != nil && (controlplane.KindOf(err) != controlplane.NotFound || actor.IsAdmin()) {
		return nil, err
	}
	hidden := err != nil
	x, err := s.Accounts.Explain(ctx, actor, place.object, place.project, place.environment)
	if err != nil {
		return nil, err
	}
	level := AccessLevel(x.Level)
	if hidden || level == "" {
		level = "none"
	}
	return ExplainAccess200JSONResponse{Object: r.Params.Object, Level: level,
		Because: orEmpty(x.Because), Missing: ptrOrNil(x.Missing), Ask: orEmpty(x.Ask)}, nil
}

// accessScope is what a level is about, and how people call it.
type accessScope struct {
	object               access.Object
	project, environment string
}

// findObject finds what "kind/name" names, as far as the actor may see it.
func (s *server) findObject(
	ctx context.Context, actor access.Actor, text string,
) (found accessScope, err error) {
	kind, name, _ := strings.Cut(text, "/")
	switch kind {
	case "project":
		p, err := s.Catalog.GetProject(ctx, actor, name)
		if err != nil {
			return found, err
		}
		return accessScope{object: access.Object{Project: p.ID, Limited: p.Environments},
			project: name}, nil
	case "environment":
		e, err := s.Catalog.GetEnvironment(ctx, actor, name)
		if err != nil {
			return found, err
		}
		return accessScope{object: access.Object{Environment: e.ID, Restricted: e.Restricted},
			environment: name}, nil
	}
	id, err := deploymentID(name)
	if err != nil {
		return found, err
	}
	v, err := s.Lifecycle.View(ctx, actor, id)
	if err != nil {
		return found, err
	}
	e, err := s.Catalog.GetEnvironment(ctx, access.System("explain"), v.Environment)
	return accessScope{object: access.Object{Project: v.ProjectID, Environment: v.EnvironmentID,
		Restricted: e.Restricted}, project: v.Project, environment: v.Environment}, err
}
