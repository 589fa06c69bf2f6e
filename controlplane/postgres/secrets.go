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

// SecretByName loads a project's secret, still sealed. ok is false when there
// is none.
func (t *Tx) SecretByName(
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

// ListSecrets returns a project's secrets by name, still sealed.
func (t *Tx) ListSecrets(
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

// PutSecret inserts or replaces the secret of that id.
func (t *Tx) PutSecret(ctx context.Context, s controlplane.Secret) error {
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

// DeleteSecret removes a secret.
func (t *Tx) DeleteSecret(ctx context.Context, id controlplane.SecretID) error {
	if err := t.q.DeleteSecret(ctx, string(id)); err != nil {
		return fmt.Errorf("delete secret: %w", translateError(err))
	}
	return nil
}

// TouchSecrets notes that values were handed to a node.
func (t *Tx) TouchSecrets(
	ctx context.Context, id controlplane.ProjectID, names []string, at time.Time,
) error {
	if err := t.q.TouchSecrets(ctx, &at, string(id), names); err != nil {
		return fmt.Errorf("touch secrets: %w", err)
	}
	return nil
}

// DeploymentSecrets returns the values generated for a deployment, sealed.
func (t *Tx) DeploymentSecrets(
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

// InsertDeploymentSecret stores a generated value; added is false when there
// was one already, which stays.
func (t *Tx) InsertDeploymentSecret(
	ctx context.Context, id controlplane.DeploymentID, name string, value controlplane.Sealed,
) (added bool, err error) {
	n, err := t.q.InsertDeploymentSecret(ctx, string(id), name, value)
	if err != nil {
		return false, fmt.Errorf("store generated secret %s: %w", name, translateError(err))
	}
	return n == 1, nil
}

// KeyChecks returns the sealed check text of each key that was ever the primary one,
// by key id.
func (t *Tx) KeyChecks(ctx context.Context) (map[string]controlplane.Sealed, error) {
	rows, err := t.q.ListKeyChecks(ctx)
	if err != nil {
		return nil, fmt.Errorf("load key checks: %w", err)
	}
	all := make(map[string]controlplane.Sealed, len(rows))
	for _, r := range rows {
		all[r.Kid] = r.Sealed
	}
	return all, nil
}

// InsertKeyCheck stores the known text under a key.
func (t *Tx) InsertKeyCheck(ctx context.Context, kid string, sealed controlplane.Sealed) error {
	if err := t.q.InsertKeyCheck(ctx, kid, sealed); err != nil {
		return fmt.Errorf("store key check: %w", translateError(err))
	}
	return nil
}

// Identity returns the control plane's certificate and its sealed key. ok is false before the first
// start.
func (t *Tx) Identity(
	ctx context.Context,
) (certificate []byte, key controlplane.Sealed, ok bool, err error) {
	r, err := t.q.GetIdentity(ctx)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil, false, nil
	}
	if err != nil {
		return nil, nil, false, fmt.Errorf("load identity: %w", err)
	}
	return r.Certificate, r.Key, true, nil
}

// InsertIdentity stores the certificate and its sealed key, unless there is one
// already.
func (t *Tx) InsertIdentity(
	ctx context.Context, certificate []byte, key controlplane.Sealed,
) error {
	if _, err := t.q.InsertIdentity(ctx, certificate, key); err != nil {
		return fmt.Errorf("store identity: %w", translateError(err))
	}
	return nil
}
