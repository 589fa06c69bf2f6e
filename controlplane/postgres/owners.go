package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// ListDefinitions returns the definitions that a named set of documents owns.
func (t DefinitionOwners) ListDefinitions(
	ctx context.Context, owner string,
) ([]controlplane.Definition, error) {
	rows, err := t.q.ListDefinitionsOfOwner(ctx, owner)
	if err != nil {
		return nil, fmt.Errorf("list definitions of owner %s: %w", owner, err)
	}
	all := make([]controlplane.Definition, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Definition{Kind: r.Kind, Name: r.Name}
	}
	return all, nil
}

// Get returns the set that owns a definition, "" if none does.
func (t DefinitionOwners) Get(ctx context.Context, d controlplane.Definition) (string, error) {
	owner, err := t.q.GetDefinitionOwner(ctx, d.Kind, d.Name)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read owner of %s: %w", d, err)
	}
	return owner, nil
}

// Put records that a set holds a definition.
func (t DefinitionOwners) Put(
	ctx context.Context, d controlplane.Definition, owner string,
) error {
	if err := t.q.PutDefinitionOwner(ctx, d.Kind, d.Name, owner); err != nil {
		return fmt.Errorf("record owner of %s: %w", d, translateError(err))
	}
	return nil
}
