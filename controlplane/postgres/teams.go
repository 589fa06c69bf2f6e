package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// ByName loads a team with members and grants.
func (t Teams) ByName(ctx context.Context, name string) (controlplane.Team, error) {
	r, err := t.q.GetTeam(ctx, name)
	if err != nil {
		return controlplane.Team{}, fmt.Errorf("load team: %w", translateMissing(err, "team", name))
	}
	return t.read(ctx, r)
}

func (t Teams) read(ctx context.Context, r dbsqlc.Team) (controlplane.Team, error) {
	members, err := t.q.ListMembers(ctx, r.ID)
	if err != nil {
		return controlplane.Team{}, fmt.Errorf("list members of %s: %w", r.Name, err)
	}
	rows, err := t.q.ListTeamGrants(ctx, r.ID)
	if err != nil {
		return controlplane.Team{}, fmt.Errorf("list grants of %s: %w", r.Name, err)
	}
	grants := make([]controlplane.TeamGrant, len(rows))
	for i, g := range rows {
		grants[i] = controlplane.TeamGrant{
			Project: g.Project, Environment: g.Environment, Level: controlplane.Level(g.Level),
		}
	}
	return controlplane.Team{
		ID: controlplane.TeamID(r.ID), Name: r.Name, Description: r.Description,
		Members: members, Grants: grants, SecondFactor: r.SecondFactor, Verdicts: r.Verdicts,
	}, nil
}

// List returns up to most teams after the name: those of one person, or all when the id is
// empty.
func (t Teams) List(
	ctx context.Context, of controlplane.UserID, after string, most int,
) ([]controlplane.Team, error) {
	rows, err := t.q.ListTeams(ctx, dbsqlc.ListTeamsParams{
		After: after, Everyone: of == "", UserID: nullIfEmpty(of), Most: int32(most),
	})
	if err != nil {
		return nil, fmt.Errorf("list teams: %w", err)
	}
	all := make([]controlplane.Team, len(rows))
	for i, r := range rows {
		if all[i], err = t.read(ctx, r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces a team with its members and grants.
func (t Teams) Put(ctx context.Context, team controlplane.Team, created bool) error {
	var err error
	if created {
		err = t.q.InsertTeam(ctx, dbsqlc.InsertTeamParams{ID: string(team.ID), Name: team.Name,
			Description: team.Description, SecondFactor: team.SecondFactor, Verdicts: team.Verdicts})
	} else {
		err = t.q.UpdateTeam(ctx, dbsqlc.UpdateTeamParams{ID: string(team.ID),
			Description: team.Description, SecondFactor: team.SecondFactor, Verdicts: team.Verdicts})
	}
	if err != nil {
		return fmt.Errorf("put team: %w", translateError(err))
	}
	if err := t.setMembers(ctx, team); err != nil {
		return err
	}
	return t.setGrants(ctx, team)
}

func (t Teams) setMembers(ctx context.Context, team controlplane.Team) error {
	if err := t.q.ClearMembers(ctx, string(team.ID)); err != nil {
		return fmt.Errorf("clear members: %w", err)
	}
	for i, name := range team.Members {
		n, err := t.q.AddMember(ctx, string(team.ID), name)
		if err != nil {
			return fmt.Errorf("add member: %w", translateError(err))
		}
		if n == 0 {
			return unknownNameError(fmt.Sprintf("members[%d]", i), "user", name)
		}
	}
	return nil
}

func (t Teams) setGrants(ctx context.Context, team controlplane.Team) error {
	if err := t.q.ClearGrants(ctx, string(team.ID)); err != nil {
		return fmt.Errorf("clear grants: %w", err)
	}
	for i, g := range team.Grants {
		var n int64
		var err error
		field, what, name := "project", "project", g.Project
		if g.Project != "" {
			n, err = t.q.GrantProject(ctx, string(team.ID), string(g.Level), g.Project)
		} else {
			field, what, name = "environment", "environment", g.Environment
			n, err = t.q.GrantEnvironment(ctx, string(team.ID), string(g.Level), g.Environment)
		}
		if err != nil {
			return fmt.Errorf("add grant: %w", translateError(err))
		}
		if n == 0 {
			return unknownNameError(fmt.Sprintf("grants[%d].%s", i, field), what, name)
		}
	}
	return nil
}

// unknownNameError is for a name inside a request that names nothing.
func unknownNameError(field, what, name string) error {
	e := controlplane.NewNotFoundError(what, name)
	e.Kind, e.Code, e.Field = controlplane.Invalid, "unknown_"+what, field
	e.Remedy = "Create the " + what + " first, or correct the name."
	return e
}

// Delete removes a team with its memberships and grants.
func (t Teams) Delete(ctx context.Context, id controlplane.TeamID) error {
	users, err := t.q.ListUsersOfTeam(ctx, string(id))
	if err := inUseError("team", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteTeam(ctx, string(id)); err != nil {
		return fmt.Errorf("delete team: %w", translateError(err))
	}
	return nil
}

// ListGrants returns all grants of all teams of a person.
func (t Teams) ListGrants(
	ctx context.Context, id controlplane.UserID,
) ([]controlplane.Grant, error) {
	rows, err := t.q.ListGrantsOfUser(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	all := make([]controlplane.Grant, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Grant{
			Project:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
			Environment: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
			Level:       controlplane.Level(r.Level), Verdicts: r.Verdicts,
		}
	}
	return all, nil
}

// AddMember adds a user to a team. It does nothing if the team does not exist.
func (t Teams) AddMember(ctx context.Context, id controlplane.UserID, team string) error {
	if _, err := t.q.JoinTeam(ctx, string(id), team); err != nil {
		return fmt.Errorf("join team: %w", translateError(err))
	}
	return nil
}

// RemoveMember takes a person off a team.
func (t Teams) RemoveMember(ctx context.Context, id controlplane.UserID, team string) error {
	if err := t.q.RemoveMember(ctx, string(id), team); err != nil {
		return fmt.Errorf("leave team: %w", err)
	}
	return nil
}

// ListGrantsByTeam returns every grant of a user, with the team that has it.
func (t Teams) ListGrantsByTeam(
	ctx context.Context, id controlplane.UserID,
) ([]controlplane.GrantOfTeam, error) {
	rows, err := t.q.ListTeamGrantsOfUser(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list grants: %w", err)
	}
	all := make([]controlplane.GrantOfTeam, len(rows))
	for i, r := range rows {
		all[i] = controlplane.GrantOfTeam{
			Team: r.Team, ProjectName: r.Project, EnvironmentName: r.Environment,
			Grant: controlplane.Grant{
				Project:     emptyIfNull[controlplane.ProjectID](r.ProjectID),
				Environment: emptyIfNull[controlplane.EnvironmentID](r.EnvironmentID),
				Level:       controlplane.Level(r.Level), Verdicts: r.Verdicts,
			},
		}
	}
	return all, nil
}
