package postgres

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

const day = 24 * time.Hour

// Insert stores a program's request to be signed in.
func (t DeviceLogins) Insert(
	ctx context.Context, d controlplane.DeviceLogin, hash [sha256.Size]byte,
) error {
	err := t.q.InsertDeviceLogin(ctx, dbsqlc.InsertDeviceLoginParams{ID: string(d.ID), Hash: hash[:],
		Code: d.Code, Name: d.Name, Address: d.Address, Scope: string(d.Scope),
		Days: int32(d.Lasts / day), CreatedAt: d.CreatedAt, ExpiresAt: d.ExpiresAt})
	if err != nil {
		return fmt.Errorf("store a device login: %w", translateError(err))
	}
	return nil
}

// Count returns how many wait that came from the address.
func (t DeviceLogins) Count(ctx context.Context, address string, now time.Time) (int, error) {
	n, err := t.q.CountDeviceLogins(ctx, address, now)
	if err != nil {
		return 0, fmt.Errorf("count device logins: %w", err)
	}
	return int(n), nil
}

// ByCode returns the one that waits with this code; ok is false if none does.
func (t DeviceLogins) ByCode(
	ctx context.Context, code string, now time.Time,
) (d controlplane.DeviceLogin, ok bool, err error) {
	r, err := t.q.GetDeviceLogin(ctx, code, now)
	return toDeviceLogin(r, err)
}

// Lock returns the one that a program polls; ok is false if there is none.
func (t DeviceLogins) Lock(
	ctx context.Context, hash [sha256.Size]byte,
) (d controlplane.DeviceLogin, ok bool, err error) {
	r, err := t.q.LockDeviceLogin(ctx, hash[:])
	return toDeviceLogin(r, err)
}

func toDeviceLogin(
	r dbsqlc.DeviceLogin, err error,
) (d controlplane.DeviceLogin, ok bool, _ error) {
	if errors.Is(err, pgx.ErrNoRows) {
		return d, false, nil
	}
	if err != nil {
		return d, false, fmt.Errorf("load device login: %w", err)
	}
	return controlplane.DeviceLogin{ID: controlplane.DeviceLoginID(r.ID), Code: r.Code, Name: r.Name,
		Address: r.Address, Scope: controlplane.TokenScope(r.Scope),
		Lasts: time.Duration(r.Days) * day, CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt,
		Pause: time.Duration(r.Pause) * time.Second, PolledAt: zeroIfNull(r.PolledAt),
		State: controlplane.DeviceLoginState(r.State),
		User:  emptyIfNull[controlplane.UserID](r.UserID)}, true, nil
}

// Decide stores what a person said; false if somebody was faster, or it was too late.
func (t DeviceLogins) Decide(ctx context.Context, d controlplane.DeviceLogin, now time.Time) (bool,
	error) {
	n, err := t.q.DecideDeviceLogin(ctx, dbsqlc.DecideDeviceLoginParams{ID: string(d.ID),
		State: string(d.State), UserID: nullIfEmpty(d.User), Now: now})
	if err != nil {
		return false, fmt.Errorf("decide device login: %w", translateError(err))
	}
	return n > 0, nil
}

// NotePoll stores when a program polled, and how long it waits from now on.
func (t DeviceLogins) NotePoll(
	ctx context.Context, id controlplane.DeviceLoginID, at time.Time, pause time.Duration,
) error {
	if err := t.q.NotePoll(ctx, &at, int32(pause/time.Second), string(id)); err != nil {
		return fmt.Errorf("note a poll: %w", translateError(err))
	}
	return nil
}

// Delete uses one up.
func (t DeviceLogins) Delete(ctx context.Context, id controlplane.DeviceLoginID) error {
	if err := t.q.DeleteDeviceLogin(ctx, string(id)); err != nil {
		return fmt.Errorf("delete device login: %w", err)
	}
	return nil
}

// DeleteOld deletes up to most of those that ended before the time.
func (t DeviceLogins) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteOldDeviceLogins(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("delete old device logins: %w", err)
	}
	return int(n), nil
}
