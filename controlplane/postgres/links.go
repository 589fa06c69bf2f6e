package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toLink(r dbsqlc.Link) controlplane.Link {
	return controlplane.Link{
		ID: controlplane.LinkID(r.ID), Kind: controlplane.LinkKind(r.Kind),
		User: emptyIfNull[controlplane.UserID](r.UserID), Address: r.Address,
		Role: controlplane.Role(r.Role), Teams: r.Teams, CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
	}
}

// PutLink stores a link under the hash of what opens it, in place of the one
// before.
func (t *Tx) PutLink(ctx context.Context, l controlplane.Link, hash [32]byte) error {
	var err error
	if l.Kind == controlplane.LinkReset {
		err = t.q.DeleteLinksOfUser(ctx, nullIfEmpty(l.User))
	} else {
		err = t.q.DeleteInvitationsTo(ctx, l.Address)
	}
	if err != nil {
		return fmt.Errorf("replace link: %w", err)
	}
	if l.Teams == nil {
		l.Teams = []string{}
	}
	err = t.q.InsertLink(ctx, dbsqlc.InsertLinkParams{
		ID: string(l.ID), Kind: string(l.Kind), Hash: hash[:], UserID: nullIfEmpty(l.User),
		Address: l.Address, Role: string(l.Role), Teams: l.Teams, CreatedBy: l.CreatedBy,
		CreatedAt: l.CreatedAt, ExpiresAt: l.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("insert link: %w", translateError(err))
	}
	return nil
}

// TakeLink uses a link up. ok is false if no valid link exists for this address.
func (t *Tx) TakeLink(
	ctx context.Context, kind controlplane.LinkKind, hash [32]byte, address string, now time.Time,
) (l controlplane.Link, ok bool, err error) {
	r, err := t.q.TakeLink(ctx, dbsqlc.TakeLinkParams{
		Hash: hash[:], Kind: string(kind), Now: now, Address: address,
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return l, false, nil
	}
	if err != nil {
		return l, false, fmt.Errorf("take link: %w", err)
	}
	return toLink(r), true, nil
}

// ListInvitations returns those that can still be used, the newest first.
func (t *Tx) ListInvitations(
	ctx context.Context, now time.Time,
) ([]controlplane.Link, error) {
	rows, err := t.q.ListInvitations(ctx, now)
	if err != nil {
		return nil, fmt.Errorf("list invitations: %w", err)
	}
	all := make([]controlplane.Link, len(rows))
	for i, r := range rows {
		all[i] = toLink(r)
	}
	return all, nil
}

// DeleteInvitation takes one back.
func (t *Tx) DeleteInvitation(ctx context.Context, id controlplane.LinkID) error {
	n, err := t.q.DeleteInvitation(ctx, string(id))
	if err != nil {
		return fmt.Errorf("delete invitation: %w", err)
	}
	if n == 0 {
		return controlplane.NewNotFoundError("invitation", string(id))
	}
	return nil
}

// DeleteLinksOf ends the one-time links of a person.
func (t *Tx) DeleteLinksOf(ctx context.Context, id controlplane.UserID) error {
	if err := t.q.DeleteLinksOfUser(ctx, nullIfEmpty(id)); err != nil {
		return fmt.Errorf("delete links: %w", err)
	}
	return nil
}

// ForgetLinks deletes up to most links that are used or expired, and returns how many.
func (t *Tx) ForgetLinks(ctx context.Context, now time.Time, most int) (int, error) {
	n, err := t.q.DeleteDeadLinks(ctx, now, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget links: %w", err)
	}
	return int(n), nil
}

// UserByIdentity finds the user of an OpenID identity. ok is false if there is none.
func (t *Tx) UserByIdentity(
	ctx context.Context, issuer, subject string,
) (u controlplane.User, ok bool, err error) {
	r, err := t.q.GetUserByIdentity(ctx, issuer, subject)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("load user: %w", err)
	}
	return toUser(r.User, r.Teams), true, nil
}

// UserByAddress finds the user with this e-mail address who has no OpenID identity
// yet. ok is false if there is none.
func (t *Tx) UserByAddress(
	ctx context.Context, address string,
) (u controlplane.User, ok bool, err error) {
	r, err := t.q.GetUserByAddress(ctx, address)
	if errors.Is(err, pgx.ErrNoRows) {
		return u, false, nil
	}
	if err != nil {
		return u, false, fmt.Errorf("load user: %w", err)
	}
	return toUser(r.User, r.Teams), true, nil
}

// AddressTaken reports whether a user has this e-mail address.
func (t *Tx) AddressTaken(ctx context.Context, address string) (bool, error) {
	taken, err := t.q.AddressTaken(ctx, address)
	if err != nil {
		return false, fmt.Errorf("look for address: %w", err)
	}
	return taken, nil
}

// SetIdentity stores a user's OpenID identity.
func (t *Tx) SetIdentity(
	ctx context.Context, id controlplane.UserID, issuer, subject string,
) error {
	if err := t.q.SetIdentity(ctx, issuer, subject, string(id)); err != nil {
		return fmt.Errorf("set identity: %w", translateError(err))
	}
	return nil
}

// JoinTeam adds a user to a team. It does nothing if the team does not exist.
func (t *Tx) JoinTeam(ctx context.Context, id controlplane.UserID, team string) error {
	if _, err := t.q.JoinTeam(ctx, string(id), team); err != nil {
		return fmt.Errorf("join team: %w", translateError(err))
	}
	return nil
}

// LeaveTeam takes a person off a team.
func (t *Tx) LeaveTeam(ctx context.Context, id controlplane.UserID, team string) error {
	if err := t.q.RemoveMember(ctx, string(id), team); err != nil {
		return fmt.Errorf("leave team: %w", err)
	}
	return nil
}

// TeamGrantsOf returns every grant of a user, with the team that has it.
func (t *Tx) TeamGrantsOf(
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
				Level:       controlplane.Level(r.Level),
			},
		}
	}
	return all, nil
}

// AdminNames returns some of the admins, for messages that say which people to ask.
func (t *Tx) AdminNames(ctx context.Context) ([]string, error) {
	names, err := t.q.ListAdminNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	return names, nil
}
