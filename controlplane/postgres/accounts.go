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

// UserByName loads a person; not found is a *controlplane.Error.
func (t *Tx) UserByName(ctx context.Context, name string) (UserWithHash, error) {
	r, err := t.q.GetUser(ctx, name)
	if err != nil {
		return UserWithHash{}, fmt.Errorf("load user: %w", translateMissing(err, "user", name))
	}
	return UserWithHash{toUser(r.User, r.Teams), emptyIfNull[string](r.User.PasswordHash)}, nil
}

// UserByID loads a person; not found is a *controlplane.Error.
func (t *Tx) UserByID(ctx context.Context, id controlplane.UserID) (UserWithHash, error) {
	r, err := t.q.GetUserByID(ctx, string(id))
	if err != nil {
		return UserWithHash{}, fmt.Errorf("load user: %w", translateMissing(err, "user", string(id)))
	}
	return UserWithHash{toUser(r.User, r.Teams), emptyIfNull[string](r.User.PasswordHash)}, nil
}

// ListUsers returns a page of people and one more, by name.
func (t *Tx) ListUsers(ctx context.Context, p controlplane.Page) ([]controlplane.User, error) {
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

// InsertUser adds a person.
func (t *Tx) InsertUser(ctx context.Context, u controlplane.User, hash string) error {
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

// UpdateUser changes a person's display name, role and whether they may enter.
func (t *Tx) UpdateUser(ctx context.Context, u controlplane.User) error {
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
func (t *Tx) SetPassword(ctx context.Context, id controlplane.UserID, hash string) error {
	if err := t.q.SetPassword(ctx, &hash, string(id)); err != nil {
		return fmt.Errorf("set password: %w", translateError(err))
	}
	return nil
}

// RecordSignIn remembers when a person last signed in.
func (t *Tx) RecordSignIn(ctx context.Context, id controlplane.UserID, at time.Time) error {
	if err := t.q.NoteSignIn(ctx, &at, string(id)); err != nil {
		return fmt.Errorf("note sign-in: %w", err)
	}
	return nil
}

// DeleteUser removes a person with sessions, tokens and memberships.
func (t *Tx) DeleteUser(ctx context.Context, id controlplane.UserID) error {
	users, err := t.q.ListUsersOfPerson(ctx, string(id))
	if err := inUseError("user", users, err); err != nil {
		return err
	}
	if _, err := t.q.DeleteUser(ctx, string(id)); err != nil {
		return fmt.Errorf("delete user: %w", translateError(err))
	}
	return nil
}

// HasNoUsers reports whether there is no user at all. It locks the table, so that none can be added
// until the transaction ends.
func (t *Tx) HasNoUsers(ctx context.Context) (bool, error) {
	if err := t.q.LockUsers(ctx); err != nil {
		return false, fmt.Errorf("lock users: %w", err)
	}
	n, err := t.q.CountUsers(ctx)
	if err != nil {
		return false, fmt.Errorf("count users: %w", err)
	}
	return n == 0, nil
}

// ActiveAdmins returns the ids of all active admins, locked.
func (t *Tx) ActiveAdmins(ctx context.Context) ([]controlplane.UserID, error) {
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

// InsertSession stores a session under the hash of its id.
func (t *Tx) InsertSession(
	ctx context.Context, s controlplane.Session, hash [32]byte, expires time.Time,
) error {
	err := t.q.InsertSession(ctx, dbsqlc.InsertSessionParams{
		ID: string(s.ID), UserID: string(s.User), Hash: hash[:],
		CreatedAt: s.CreatedAt, ExpiresAt: expires, Origin: s.From, Device: s.Device,
	})
	if err != nil {
		return fmt.Errorf("insert session: %w", translateError(err))
	}
	return nil
}

// SessionByHash finds a session used since idleSince and not expired now. ok
// is false when there is none.
func (t *Tx) SessionByHash(
	ctx context.Context, hash [32]byte, idleSince, now time.Time,
) (s controlplane.Session, ok bool, err error) {
	r, err := t.q.GetSession(ctx, hash[:], idleSince, now)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("load session: %w", err)
	}
	return toSession(r), true, nil
}

func toSession(r dbsqlc.Session) controlplane.Session {
	return controlplane.Session{
		ID: controlplane.SessionID(r.ID), User: controlplane.UserID(r.UserID),
		CreatedAt: r.CreatedAt, LastUsed: r.LastUsedAt, Expires: r.ExpiresAt,
		From: r.Origin, Device: r.Device,
	}
}

// ListSessions returns a person's sessions that were used since idleSince and are not expired now,
// the last used first.
func (t *Tx) ListSessions(
	ctx context.Context, user controlplane.UserID, idleSince, now time.Time,
) ([]controlplane.Session, error) {
	rows, err := t.q.ListSessions(ctx, string(user), idleSince, now)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	all := make([]controlplane.Session, len(rows))
	for i, r := range rows {
		all[i] = toSession(r)
	}
	return all, nil
}

// DeleteOwnSession ends one session of the person.
func (t *Tx) DeleteOwnSession(
	ctx context.Context, user controlplane.UserID, id controlplane.SessionID,
) error {
	n, err := t.q.DeleteOwnSession(ctx, string(id), string(user))
	if err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	if n == 0 {
		return controlplane.NewNotFoundError("session", string(id))
	}
	return nil
}

// TouchSession notes that a session was used.
func (t *Tx) TouchSession(ctx context.Context, id controlplane.SessionID, at time.Time) error {
	if err := t.q.TouchSession(ctx, at, string(id)); err != nil {
		return fmt.Errorf("touch session: %w", err)
	}
	return nil
}

// DeleteSession ends one session.
func (t *Tx) DeleteSession(ctx context.Context, id controlplane.SessionID) error {
	if err := t.q.DeleteSession(ctx, string(id)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// DeleteSessionsOf ends all sessions of a person but keep, which may be "".
func (t *Tx) DeleteSessionsOf(
	ctx context.Context, id controlplane.UserID, keep controlplane.SessionID,
) error {
	if err := t.q.DeleteSessionsOfUser(ctx, string(id), nullIfEmpty(keep)); err != nil {
		return fmt.Errorf("delete sessions: %w", err)
	}
	return nil
}

// ForgetSessions deletes at most so many sessions that no longer open anything,
// and says how many there were.
func (t *Tx) ForgetSessions(
	ctx context.Context, idleSince, now time.Time, most int,
) (int, error) {
	n, err := t.q.DeleteDeadSessions(ctx, idleSince, now, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget sessions: %w", err)
	}
	return int(n), nil
}

// InsertToken stores an API token under its prefix, with its hash.
func (t *Tx) InsertToken(ctx context.Context, a controlplane.APIToken, hash [32]byte) error {
	err := t.q.InsertToken(ctx, dbsqlc.InsertTokenParams{
		ID: string(a.ID), UserID: string(a.User), Name: a.Name, Prefix: a.Prefix,
		Hash: hash[:], CreatedAt: a.CreatedAt, Scope: string(a.Scope), ExpiresAt: a.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("insert token: %w", translateError(err))
	}
	return nil
}

func toToken(r dbsqlc.ApiToken) controlplane.APIToken {
	return controlplane.APIToken{
		ID: controlplane.TokenID(r.ID), User: controlplane.UserID(r.UserID), Name: r.Name,
		Prefix: r.Prefix, CreatedAt: r.CreatedAt, LastUsedAt: r.LastUsedAt,
		Scope: controlplane.TokenScope(r.Scope), ExpiresAt: r.ExpiresAt,
	}
}

// TokenByPrefix finds a token with its hash, for the caller to compare. ok is
// false when there is none.
func (t *Tx) TokenByPrefix(
	ctx context.Context, prefix string,
) (a controlplane.APIToken, hash []byte, ok bool, err error) {
	r, err := t.q.GetToken(ctx, prefix)
	if errors.Is(err, pgx.ErrNoRows) {
		return a, nil, false, nil
	}
	if err != nil {
		return a, nil, false, fmt.Errorf("load token: %w", err)
	}
	return toToken(r), r.Hash, true, nil
}

// ListTokens returns a person's tokens, oldest first.
func (t *Tx) ListTokens(
	ctx context.Context, id controlplane.UserID,
) ([]controlplane.APIToken, error) {
	rows, err := t.q.ListTokens(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list tokens: %w", err)
	}
	all := make([]controlplane.APIToken, len(rows))
	for i, r := range rows {
		all[i] = toToken(r)
	}
	return all, nil
}

// TouchToken notes that a token was used.
func (t *Tx) TouchToken(ctx context.Context, id controlplane.TokenID, at time.Time) error {
	if err := t.q.TouchToken(ctx, &at, string(id)); err != nil {
		return fmt.Errorf("touch token: %w", err)
	}
	return nil
}

// DeleteToken removes a person's own token.
func (t *Tx) DeleteToken(
	ctx context.Context, user controlplane.UserID, id controlplane.TokenID,
) error {
	n, err := t.q.DeleteToken(ctx, string(id), string(user))
	if err != nil {
		return fmt.Errorf("delete token: %w", err)
	}
	if n == 0 {
		return controlplane.NewNotFoundError("token", string(id))
	}
	return nil
}

// DeleteTokensOf removes all tokens of a person.
func (t *Tx) DeleteTokensOf(ctx context.Context, user controlplane.UserID) error {
	if err := t.q.DeleteTokensOfUser(ctx, string(user)); err != nil {
		return fmt.Errorf("delete tokens: %w", err)
	}
	return nil
}
