package postgres

import (
	"context"
	"encoding/hex"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// Put notes that a person signed in with the browser whose device key
// has this hash.
func (t Devices) Put(
	ctx context.Context, hash [32]byte, user controlplane.UserID, at time.Time,
) error {
	if err := t.q.PutKnownDevice(ctx, hex.EncodeToString(hash[:]), string(user), at); err != nil {
		return fmt.Errorf("store known device: %w", translateError(err))
	}
	return nil
}

// IsKnown reports whether the person of this name signed in with the
// browser after since; with an empty name, whether anybody did.
func (t Devices) IsKnown(
	ctx context.Context, hash [32]byte, name string, since time.Time,
) (bool, error) {
	known, err := t.q.IsKnownDevice(ctx, hex.EncodeToString(hash[:]), since, name)
	if err != nil {
		return false, fmt.Errorf("look up known device: %w", err)
	}
	return known, nil
}

// DeleteOf forgets every browser that a person signed in with.
func (t Devices) DeleteOf(ctx context.Context, user controlplane.UserID) error {
	if err := t.q.DeleteKnownDevicesOfUser(ctx, string(user)); err != nil {
		return fmt.Errorf("delete known devices: %w", err)
	}
	return nil
}

// DeleteOld deletes at most so many browsers that were last used before the
// given time, and says how many there were.
func (t Devices) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteUnusedDevices(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget devices: %w", err)
	}
	return int(n), nil
}
