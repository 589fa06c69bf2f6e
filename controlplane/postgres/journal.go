package postgres

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// ForgetKeys deletes at most so many idempotency keys older than the time, and
// says how many there were.
func (t *Tx) ForgetKeys(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteIdempotencyKeysBefore(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget idempotency keys: %w", err)
	}
	return int(n), nil
}

// Idempotent gives the object that the same create made within the last day,
// "" if there was none. The same key for a different request is a conflict.
func (t *Tx) Idempotent(
	ctx context.Context, user controlplane.UserID, operation, key string, request [32]byte,
) (string, error) {
	row, err := t.q.GetIdempotencyKey(ctx, string(user), operation, key)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look up idempotency key: %w", err)
	}
	if !bytes.Equal(row.Request, request[:]) {
		return "", &controlplane.Error{
			Kind: controlplane.Conflict, Code: "idempotency_key_reused",
			Field:   "Idempotency-Key",
			Message: "this key was used for a different request",
			Remedy:  "Use a new key for a new request.",
		}
	}
	return row.ObjectID, nil
}

// RememberKey notes what a create made.
func (t *Tx) RememberKey(
	ctx context.Context, user controlplane.UserID, operation, key string,
	request [32]byte, object string,
) error {
	err := t.q.PutIdempotencyKey(ctx, dbsqlc.PutIdempotencyKeyParams{
		UserID: string(user), Operation: operation, Key: key,
		Request: request[:], ObjectID: object,
	})
	if err != nil {
		return fmt.Errorf("remember idempotency key: %w", translate(err))
	}
	return nil
}
