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

// Insert stores a session under the hash of its id.
func (t Sessions) Insert(
	ctx context.Context, s controlplane.Session, hash [32]byte, expires time.Time,
) error {
	err := t.q.InsertSession(ctx, dbsqlc.InsertSessionParams{
		ID: string(s.ID), UserID: string(s.User), Hash: hash[:],
		CreatedAt: s.CreatedAt, ExpiresAt: expires, Origin: s.From, Device: s.Device,
		Method: string(s.Method), ConfirmedAt: s.ConfirmedAt,
	})
	if err != nil {
		return fmt.Errorf("insert session: %w", translateError(err))
	}
	return nil
}

// ByHash finds a session used since idleSince and not expired now. ok
// is false when there is none.
func (t Sessions) ByHash(
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
		From: r.Origin, Device: r.Device, Method: controlplane.SignInMethod(r.Method),
		ConfirmedAt: r.ConfirmedAt,
	}
}

// List returns a person's sessions that were used since idleSince and are not expired now,
// the last used first.
func (t Sessions) List(
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

// DeleteOwn ends one session of the person.
func (t Sessions) DeleteOwn(
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

// Touch notes that a session was used.
func (t Sessions) Touch(ctx context.Context, id controlplane.SessionID, at time.Time) error {
	if err := t.q.TouchSession(ctx, at, string(id)); err != nil {
		return fmt.Errorf("touch session: %w", err)
	}
	return nil
}

// Delete ends one session.
func (t Sessions) Delete(ctx context.Context, id controlplane.SessionID) error {
	if err := t.q.DeleteSession(ctx, string(id)); err != nil {
		return fmt.Errorf("delete session: %w", err)
	}
	return nil
}

// DeleteOf ends all sessions of a person but keep, which may be "".
func (t Sessions) DeleteOf(
	ctx context.Context, id controlplane.UserID, keep controlplane.SessionID,
) error {
	if err := t.q.DeleteSessionsOfUser(ctx, string(id), nullIfEmpty(keep)); err != nil {
		return fmt.Errorf("delete sessions: %w", err)
	}
	return nil
}

// DeleteExpired deletes at most so many sessions that no longer open anything,
// and says how many there were.
func (t Sessions) DeleteExpired(
	ctx context.Context, idleSince, now time.Time, most int,
) (int, error) {
	n, err := t.q.DeleteDeadSessions(ctx, idleSince, now, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget sessions: %w", err)
	}
	return int(n), nil
}
