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

// ForgetKeys deletes idempotency keys older than the time.
func (t *Tx) ForgetKeys(ctx context.Context, before time.Time) error {
	if _, err := t.q.DeleteIdempotencyKeysBefore(ctx, before); err != nil {
		return fmt.Errorf("forget idempotency keys: %w", err)
	}
	return nil
}

// InsertAudit adds an entry to the journal of deeds.
func (t *Tx) InsertAudit(ctx context.Context, e controlplane.AuditEntry) error {
	err := t.q.InsertAudit(ctx, dbsqlc.InsertAuditParams{
		Actor: e.Actor, ActorID: optional(e.ActorID), Action: e.Action, Object: e.Object,
		ProjectID: optional(e.Project), EnvironmentID: optional(e.Environment),
		Origin: e.From, RequestID: e.RequestID, Result: string(e.Result), Detail: e.Detail,
	})
	if err != nil {
		return fmt.Errorf("audit %s of %s: %w", e.Action, e.Object, err)
	}
	return nil
}

// ListAudit gives at most so many entries below the number, newest first.
func (t *Tx) ListAudit(
	ctx context.Context, before int64, most int,
) ([]controlplane.AuditEntry, error) {
	rows, err := t.q.ListAudit(ctx, before, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list audit: %w", err)
	}
	all := make([]controlplane.AuditEntry, len(rows))
	for i, r := range rows {
		all[i] = controlplane.AuditEntry{
			ID: r.ID, At: r.At, Actor: r.Actor, Action: r.Action, Object: r.Object,
			ActorID:     given[controlplane.UserID](r.ActorID),
			Project:     given[controlplane.ProjectID](r.ProjectID),
			Environment: given[controlplane.EnvironmentID](r.EnvironmentID),
			From:        r.Origin, RequestID: r.RequestID,
			Result: controlplane.AuditResult(r.Result), Detail: r.Detail,
		}
	}
	return all, nil
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
