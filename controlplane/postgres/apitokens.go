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

// Insert stores an API token under its prefix, with its hash.
func (t APITokens) Insert(ctx context.Context, a controlplane.APIToken, hash [32]byte) error {
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

// ByPrefix finds a token with its hash, for the caller to compare. ok is
// false when there is none.
func (t APITokens) ByPrefix(
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

// List returns a person's tokens, oldest first.
func (t APITokens) List(
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

// Touch notes that a token was used.
func (t APITokens) Touch(ctx context.Context, id controlplane.TokenID, at time.Time) error {
	if err := t.q.TouchToken(ctx, &at, string(id)); err != nil {
		return fmt.Errorf("touch token: %w", err)
	}
	return nil
}

// Delete removes a person's own token.
func (t APITokens) Delete(
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

// DeleteOf removes all tokens of a person.
func (t APITokens) DeleteOf(ctx context.Context, user controlplane.UserID) error {
	if err := t.q.DeleteTokensOfUser(ctx, string(user)); err != nil {
		return fmt.Errorf("delete tokens: %w", err)
	}
	return nil
}
