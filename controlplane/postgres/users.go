package postgres

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toUser(r dbsqlc.User, teams []string) controlplane.User {
	return controlplane.User{
		ID: controlplane.UserID(r.ID), Name: r.Name, DisplayName: r.DisplayName,
		Role: controlplane.Role(r.Role), Active: r.Active, Teams: teams,
		Kind: controlplane.UserKind(r.Kind), Address: r.Address,
		HasPassword: r.PasswordHash != nil,
		CreatedAt:   r.CreatedAt, LastSignInAt: r.LastSignInAt,
	}
}

// UserWithHash is a person and the hash that proves a password.
type UserWithHash struct {
	controlplane.User
	PasswordHash string
}

// ByName loads a person; not found is a *controlplane.Error.
func (t Users) ByName(ctx context.Context, name string) (UserWithHash, error) {
	r, err := t.q.GetUser(ctx, name)
	if err != nil {
		return UserWithHash{}, fmt.Errorf("load user: %w", translateMissing(err, "user", name))
	}
	return UserWithHash{toUser(r.User, r.Teams), emptyIfNull[string](r.User.PasswordHash)}, nil
}

// ByID loads a person; not found is a *controlplane.Error.
func (t Users) ByID(ctx context.Context, id controlplane.UserID) (UserWithHash, error) {
	r, err := t.q.GetUserByID(ctx, string(id))
	if err != nil {
		return UserWithHash{}, fmt.Errorf("load user: %w", translateMissing(err, "user", string(id)))
	}
	return UserWithHash{toUser(r.User, r.Teams), emptyIfNull[string](r.User.PasswordHash)}, nil
}

// ForAccess loads of a person what decisions need, and no more.
func (t Users) ForAccess(ctx context.Context, id controlplane.UserID) (controlplane.User, error) {
	r, err := t.q.GetUserForAccess(ctx, string(id))
	if err != nil {
		return controlplane.User{}, fmt.Errorf("load user: %w",
			translateMissing(err, "user", string(id)))
	}
	return controlplane.User{ID: controlplane.UserID(r.ID), Name: r.Name,
		Role: controlplane.Role(r.Role), Active: r.Active}, nil
}

// List returns a page of people and one more, by name.
func (t Users) List(ctx context.Context, p controlplane.Page) ([]controlplane.User, error) {
	rows, err := t.q.ListUsers(ctx, p.After, p.Backwards, int32(p.FetchLimit()))
	if err != nil {
		return nil, fmt.Errorf("list users: %w", err)
	}
	all := make([]controlplane.User, len(rows))
	for i, r := range rows {
		all[i] = toUser(r.User, r.Teams)
	}
	return all, nil
}

// Insert adds a person.
func (t Users) Insert(ctx context.Context, u controlplane.User, hash string) error {
	err := t.q.InsertUser(ctx, dbsqlc.InsertUserParams{
		ID: string(u.ID), Name: u.Name, DisplayName: u.DisplayName,
		Role: string(u.Role), Active: u.Active, PasswordHash: nullIfEmpty(hash), Address: u.Address,
		Kind: cmp.Or(string(u.Kind), string(controlplane.KindPerson)),
	})
	if err != nil {
		return fmt.Errorf("insert user: %w", translateError(err))
	}
	return nil
}

// Update changes a person's display name, role and whether they may enter.
func (t Users) Update(ctx context.Context, u controlplane.User) error {
	err := t.q.UpdateUser(ctx, dbsqlc.UpdateUserParams{
		ID: string(u.ID), DisplayName: u.DisplayName, Role: string(u.Role), Active: u.Active,
		Address: u.Address,
	})
	if err != nil {
		return fmt.Errorf("update user: %w", translateError(err))
	}
	return nil
}

// SetPassword stores a new hash.
func (t Users) SetPassword(ctx context.Context, id controlplane.UserID, hash string) error {
	if err := t.q.SetPassword(ctx, &hash, string(id)); err != nil {
		return fmt.Errorf("set password: %w", translateError(err))
	}
	return nil
}

// RecordSignIn remembers when a person last signed in.
func (t Users) RecordSignIn(ctx context.Context, id controlplane.UserID, at time.Time) error {
	if err := t.q.NoteSignIn(ctx, &at, string(id)); err != nil {
		return fmt.Errorf("note sign-in: %w", err)
	}
	return nil
}

// Delete removes a person with sessions, tokens and memberships.
func (t Users) Delete(ctx context.Context, id controlplane.UserID) error {
	users, err := t.q.ListUsersOfPerson(ctx, string(id))
	if err := inUseError("user", users, err); err != nil {
		return err
	}
	if _, err := t.q.DeleteUser(ctx, string(id)); err != nil {
		return fmt.Errorf("delete user: %w", translateError(err))
	}
	return nil
}

// IsEmpty reports whether there is no user at all. It locks the table, so that none can be added
// until the transaction ends.
func (t Users) IsEmpty(ctx context.Context) (bool, error) {
	if err := t.q.LockUsers(ctx); err != nil {
		return false, fmt.Errorf("lock users: %w", err)
	}
	n, err := t.q.CountUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("count users: %w", err)
	}
	return n == 0, nil
}

// LockActiveAdmins returns the ids of all active admins, locked.
func (t Users) LockActiveAdmins(ctx context.Context) ([]controlplane.UserID, error) {
	rows, err := t.q.LockAdmins(ctx)
	if err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	ids := make([]controlplane.UserID, len(rows))
	for i, r := range rows {
		ids[i] = controlplane.UserID(r)
	}
	return ids, nil
}

// ByIdentity finds the user of an OpenID identity. ok is false if there is none.
func (t Users) ByIdentity(
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

// ByAddress finds the user with this e-mail address who has no OpenID identity
// yet. ok is false if there is none.
func (t Users) ByAddress(
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

// IsAddressTaken reports whether a user has this e-mail address.
func (t Users) IsAddressTaken(ctx context.Context, address string) (bool, error) {
	taken, err := t.q.AddressTaken(ctx, address)
	if err != nil {
		return false, fmt.Errorf("look for address: %w", err)
	}
	return taken, nil
}

// SetIdentity stores a user's OpenID identity.
func (t Users) SetIdentity(
	ctx context.Context, id controlplane.UserID, issuer, subject string,
) error {
	if err := t.q.SetIdentity(ctx, issuer, subject, string(id)); err != nil {
		return fmt.Errorf("set identity: %w", translateError(err))
	}
	return nil
}

// ListAdminNames returns some of the admins, for messages that say which people to ask.
func (t Users) ListAdminNames(ctx context.Context) ([]string, error) {
	names, err := t.q.ListAdminNames(ctx)
	if err != nil {
		return nil, fmt.Errorf("list admins: %w", err)
	}
	return names, nil
}
