package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
)

func (s *server) ListUsers(
	ctx context.Context, r ListUsersRequestObject,
) (ListUsersResponseObject, error) {
	p := toPage(r.Params.Cursor, r.Params.Limit)
	p.Backwards = valueOr(r.Params.Sort, "") == ListUsersParamsSortMinusName
	all, next, err := s.Accounts.ListUsers(ctx, actorOf(ctx), p)
	if err != nil {
		return nil, err
	}
	return ListUsers200JSONResponse{Items: convertAll(all, toUser), NextCursor: ptrOrNil(next)}, nil
}

func (s *server) GetUser(
	ctx context.Context, r GetUserRequestObject,
) (GetUserResponseObject, error) {
	u, err := s.Accounts.GetUser(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetUser200JSONResponse(toUser(u)), nil
}

func (s *server) PutUser(
	ctx context.Context, r PutUserRequestObject,
) (PutUserResponseObject, error) {
	saved, err := s.Accounts.PutUser(ctx, actorOf(ctx), accounts.UserPut{
		Name: r.Name, DisplayName: valueOr(r.Body.DisplayName, ""),
		Role: controlplane.Role(r.Body.Role), Active: valueOr(r.Body.Active, true),
		Password: controlplane.NewPlain(valueOr(r.Body.Password, "")),
		Kind:     controlplane.UserKind(valueOr(r.Body.Kind, "")), Address: valueOr(r.Body.Address, ""),
	})
	if err != nil {
		return nil, err
	}
	return PutUser200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, User: toUser(saved.Object),
	}, nil
}

func (s *server) DeleteUser(
	ctx context.Context, r DeleteUserRequestObject,
) (DeleteUserResponseObject, error) {
	if err := s.Accounts.DeleteUser(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteUser204Response{}, nil
}

func toUser(u controlplane.User) User {
	return User{
		Name: u.Name, DisplayName: u.DisplayName, Role: Role(u.Role), Active: u.Active,
		Teams: orEmpty(u.Teams), CreatedAt: u.CreatedAt, LastSignInAt: u.LastSignInAt,
		Kind: UserKind(u.Kind), Address: ptrOrNil(u.Address),
	}
}

func (s *server) ListTeams(
	ctx context.Context, r ListTeamsRequestObject,
) (ListTeamsResponseObject, error) {
	all, next, err := s.Accounts.ListTeams(ctx, actorOf(ctx), toPage(r.Params.Cursor, r.Params.Limit))
	if err != nil {
		return nil, err
	}
	return ListTeams200JSONResponse{Items: convertAll(all, toTeam), NextCursor: ptrOrNil(next)}, nil
}

func (s *server) GetTeam(
	ctx context.Context, r GetTeamRequestObject,
) (GetTeamResponseObject, error) {
	t, err := s.Accounts.GetTeam(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return GetTeam200JSONResponse(toTeam(t)), nil
}

func (s *server) PutTeam(
	ctx context.Context, r PutTeamRequestObject,
) (PutTeamResponseObject, error) {
	saved, err := s.Accounts.PutTeam(ctx, actorOf(ctx), accounts.TeamPut{
		Name: r.Name, Description: valueOr(r.Body.Description, ""),
		Members: valueOr(r.Body.Members, nil), SecondFactor: r.Body.SecondFactor,
		Verdicts: r.Body.Verdicts,
		Grants: convertAll(valueOr(r.Body.Grants, nil), func(g Grant) controlplane.TeamGrant {
			return controlplane.TeamGrant{
				Project: valueOr(g.Project, ""), Environment: valueOr(g.Environment, ""),
				Level: controlplane.Level(g.Level),
			}
		}),
	})
	if err != nil {
		return nil, err
	}
	return PutTeam200JSONResponse{
		Changed: saved.Changed, Created: saved.Created, Team: toTeam(saved.Object),
	}, nil
}

func (s *server) DeleteTeam(
	ctx context.Context, r DeleteTeamRequestObject,
) (DeleteTeamResponseObject, error) {
	if err := s.Accounts.DeleteTeam(ctx, actorOf(ctx), r.Name); err != nil {
		return nil, err
	}
	return DeleteTeam204Response{}, nil
}

func toTeam(t controlplane.Team) Team {
	return Team{
		Name: t.Name, Description: ptrOrNil(t.Description), Members: orEmpty(t.Members),
		SecondFactor: ptrOrNil(t.SecondFactor), Verdicts: ptrOrNil(t.Verdicts),
		Grants: convertAll(t.Grants, func(g controlplane.TeamGrant) Grant {
			return Grant{
				Project: ptrOrNil(g.Project), Environment: ptrOrNil(g.Environment), Level: Level(g.Level),
			}
		}),
	}
}
