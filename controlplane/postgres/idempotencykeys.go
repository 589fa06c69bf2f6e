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

// DeleteOld deletes at most so many idempotency keys older than the time, and
// says how many there were.
func (t IdempotencyKeys) DeleteOld(ctx context.Context, before time.Time, most int) (int, error) {
	n, err := t.q.DeleteIdempotencyKeysBefore(ctx, before, int32(most))
	if err != nil {
		return 0, fmt.Errorf("forget idempotency keys: %w", err)
	}
	return int(n), nil
}

// FindObject returns the object that was created with the same key within the last
// day, or "". The same key with a different request is a conflict.
func (t IdempotencyKeys) FindObject(
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
		return "", keyReusedError()
	}
	return row.ObjectID, nil
}

func keyReusedError() error {
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "idempotency_key_reused", Field: "Idempotency-Key",
		Message: "this key was used for a different request",
		Remedy:  "Use a new key for a new request.",
	}
}

// KeyUse is one use of a key.
type KeyUse struct {
	User      controlplane.UserID
	Operation string
	Key       string
	// Request is a digest of all that was asked for.
	Request [32]byte
	// Claim is this use's own: after a minute's sleep its key may be another's.
	Claim ClaimID
}

// ClaimID is one use's hold on a key.
type ClaimID string

// StoredResponse is how a request was answered. Status is 0 while it was not; the
// body is empty where it showed what is shown once.
type StoredResponse struct {
	Status int
	Body   []byte
}

// Claim claims an idempotency key for a request. If claimed is false, an earlier
// request has it, and a is that request's answer.
func (t IdempotencyKeys) Claim(ctx context.Context, u KeyUse) (a StoredResponse, claimed bool,
	err error) {
	n, err := t.q.ClaimIdempotencyKey(ctx, dbsqlc.ClaimIdempotencyKeyParams{
		UserID: string(u.User), Operation: u.Operation, Key: u.Key, Request: u.Request[:],
		Claim: string(u.Claim)})
	if err != nil || n == 1 {
		return a, n == 1, translateError(err)
	}
	row, err := t.q.GetIdempotentAnswer(ctx, string(u.User), u.Operation, u.Key)
	if err != nil {
		return a, false, fmt.Errorf("look up idempotency key: %w", err)
	}
	if !bytes.Equal(row.Request, u.Request[:]) {
		return a, false, keyReusedError()
	}
	if row.Status != nil {
		a = StoredResponse{Status: int(*row.Status), Body: row.Answer}
	}
	return a, false, nil
}

// ExtendClaim extends the claim of a request that is still running. A claim that is not
// extended for a minute was interrupted, and its key is free again. held is false if
// another request has claimed the key since.
func (t IdempotencyKeys) ExtendClaim(ctx context.Context, u KeyUse) (held bool, err error) {
	n, err := t.q.HoldIdempotencyKey(ctx, dbsqlc.HoldIdempotencyKeyParams{
		UserID: string(u.User), Operation: u.Operation, Key: u.Key, Claim: string(u.Claim)})
	if err != nil {
		return false, fmt.Errorf("hold an idempotency key: %w", err)
	}
	return n == 1, nil
}

// StoreResponse stores the answer of a request with a key, unless another request has
// claimed the key since.
func (t IdempotencyKeys) StoreResponse(ctx context.Context, u KeyUse, a StoredResponse) error {
	status := int32(a.Status)
	err := t.q.KeepIdempotentAnswer(ctx, dbsqlc.KeepIdempotentAnswerParams{Status: &status,
		Answer: a.Body, UserID: string(u.User), Operation: u.Operation, Key: u.Key,
		Claim: string(u.Claim)})
	if err != nil {
		return fmt.Errorf("keep an answer: %w", err)
	}
	return nil
}

// Release frees the key of a request that was refused, unless another request has
// claimed it since.
func (t IdempotencyKeys) Release(ctx context.Context, u KeyUse) error {
	err := t.q.DropIdempotencyKey(ctx, dbsqlc.DropIdempotencyKeyParams{
		UserID: string(u.User), Operation: u.Operation, Key: u.Key, Claim: string(u.Claim)})
	if err != nil {
		return fmt.Errorf("free an idempotency key: %w", err)
	}
	return nil
}

// RecordResult notes what a create made.
func (t IdempotencyKeys) RecordResult(
	ctx context.Context, user controlplane.UserID, operation, key string,
	request [32]byte, object string,
) error {
	err := t.q.PutIdempotencyKey(ctx, dbsqlc.PutIdempotencyKeyParams{
		UserID: string(user), Operation: operation, Key: key,
		Request: request[:], ObjectID: object,
	})
	if err != nil {
		return fmt.Errorf("remember idempotency key: %w", translateError(err))
	}
	return nil
}
