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

func toSecret(r dbsqlc.Secret) controlplane.Secret {
	s := controlplane.Secret{
		ID: controlplane.SecretID(r.ID), Project: controlplane.ProjectID(r.ProjectID),
		Name: r.Name, Version: int(r.Version), Value: r.Value,
		UpdatedAt: r.UpdatedAt, LastUsedAt: r.LastUsedAt,
	}
	switch {
	case r.Pattern != nil:
		s.Rule = &controlplane.SecretRule{Pattern: *r.Pattern}
	case r.Length != nil:
		s.Rule = &controlplane.SecretRule{
			Length: int(*r.Length), Alphabet: emptyIfNull[controlplane.Alphabet](r.Alphabet),
		}
	case r.VaultPath != nil:
		s.Vault = &controlplane.VaultPath{Path: *r.VaultPath, Field: emptyIfNull[string](r.VaultField)}
	}
	return s
}

// ByName loads a project's secret, still sealed. ok is false when there
// is none.
func (t Secrets) ByName(
	ctx context.Context, id controlplane.ProjectID, name string,
) (s controlplane.Secret, ok bool, err error) {
	r, err := t.q.GetSecret(ctx, string(id), name)
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("load secret %s: %w", name, err)
	}
	return toSecret(r), true, nil
}

// List returns a project's secrets by name, still sealed.
func (t Secrets) List(
	ctx context.Context, id controlplane.ProjectID,
) ([]controlplane.Secret, error) {
	rows, err := t.q.ListSecrets(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list secrets: %w", err)
	}
	all := make([]controlplane.Secret, len(rows))
	for i, r := range rows {
		all[i] = toSecret(r)
	}
	return all, nil
}

// Put inserts or replaces the secret of that id.
func (t Secrets) Put(ctx context.Context, s controlplane.Secret) error {
	p := dbsqlc.PutSecretParams{
		ID: string(s.ID), ProjectID: string(s.Project), Name: s.Name,
		Version: int32(s.Version), Value: s.Value, UpdatedAt: s.UpdatedAt,
	}
	switch {
	case s.Vault != nil:
		p.VaultPath, p.VaultField = &s.Vault.Path, &s.Vault.Field
	case s.Rule == nil:
	case s.Rule.Pattern != "":
		p.Pattern = &s.Rule.Pattern
	default:
		length := int32(s.Rule.Length)
		p.Length, p.Alphabet = &length, nullIfEmpty(s.Rule.Alphabet)
	}
	if err := t.q.PutSecret(ctx, p); err != nil {
		return fmt.Errorf("put secret %s: %w", s.Name, translateError(err))
	}
	return nil
}

// Delete removes a secret.
func (t Secrets) Delete(ctx context.Context, id controlplane.SecretID) error {
	if err := t.q.DeleteSecret(ctx, string(id)); err != nil {
		return fmt.Errorf("delete secret: %w", translateError(err))
	}
	return nil
}

// Touch notes that values were handed to a node.
func (t Secrets) Touch(
	ctx context.Context, id controlplane.ProjectID, names []string, at time.Time,
) error {
	if err := t.q.TouchSecrets(ctx, &at, string(id), names); err != nil {
		return fmt.Errorf("touch secrets: %w", err)
	}
	return nil
}

// ListForDeployment returns the values generated for a deployment, sealed.
func (t Secrets) ListForDeployment(
	ctx context.Context, id controlplane.DeploymentID,
) (map[string]controlplane.Sealed, error) {
	rows, err := t.q.ListDeploymentSecrets(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list secrets of deployment %s: %w", id, err)
	}
	all := make(map[string]controlplane.Sealed, len(rows))
	for _, r := range rows {
		all[r.Name] = r.Sealed
	}
	return all, nil
}

// InsertForDeployment stores a generated value; added is false when there
// was one already, which stays.
func (t Secrets) InsertForDeployment(
	ctx context.Context, id controlplane.DeploymentID, name string, value controlplane.Sealed,
) (added bool, err error) {
	n, err := t.q.InsertDeploymentSecret(ctx, string(id), name, value)
	if err != nil {
		return false, fmt.Errorf("store generated secret %s: %w", name, translateError(err))
	}
	return n == 1, nil
}
