package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// Put stores a sealed address or key under an id.
func (t OutwardSecrets) Put(
	ctx context.Context, id string, value controlplane.Sealed,
) error {
	if err := t.q.PutOutwardSecret(ctx, id, value); err != nil {
		return fmt.Errorf("store sealed %s: %w", id, translateError(err))
	}
	return nil
}

// Get returns the sealed value of an id; nil if there is none.
func (t OutwardSecrets) Get(ctx context.Context, id string) (controlplane.Sealed, error) {
	value, err := t.q.GetOutwardSecret(ctx, id)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load sealed %s: %w", id, err)
	}
	return value, nil
}

// DeleteOf forgets everything that is sealed for one object.
func (t OutwardSecrets) DeleteOf(ctx context.Context, object string) error {
	if err := t.q.DeleteOutwardSecrets(ctx, object+"/"); err != nil {
		return fmt.Errorf("delete sealed values of %s: %w", object, err)
	}
	return nil
}
