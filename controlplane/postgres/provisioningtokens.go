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

// ProvisioningTokens is the handle for the tokens that enrol machines, and for which machine
// enrolled with which.
type ProvisioningTokens struct{ subject }

// ProvisioningTokens returns the handle in this transaction.
func (t *Tx) ProvisioningTokens() ProvisioningTokens { return ProvisioningTokens{t.subject()} }

func toProvisioningToken(
	r dbsqlc.ProvisioningToken, environment string,
) (out controlplane.ProvisioningToken, err error) {
	out = controlplane.ProvisioningToken{Prefix: r.Prefix, Description: r.Description,
		EnvironmentID: controlplane.EnvironmentID(r.EnvironmentID), Environment: environment,
		Template: emptyIfNull[string](r.Template), NamePattern: r.NamePattern,
		MaxUses: int(r.MaxUses), Uses: int(r.Uses), CreatedBy: r.CreatedBy, CreatedAt: r.CreatedAt,
		ExpiresAt: r.ExpiresAt, LastUsedAt: r.LastUsedAt, RevokedAt: r.RevokedAt}
	if err := decodeJSON(r.Settings, &out.Settings); err != nil {
		return out, fmt.Errorf("provisioning token %s: %w", r.Prefix, err)
	}
	return out, nil
}

// Insert stores a token under its prefix, with its hash.
func (t ProvisioningTokens) Insert(
	ctx context.Context, p controlplane.ProvisioningToken, hash [32]byte,
) error {
	settings, err := encodeJSON(p.Settings)
	if err != nil {
		return err
	}
	err = t.q.InsertProvisioningToken(ctx, dbsqlc.InsertProvisioningTokenParams{
		Prefix: p.Prefix, Hash: hash[:], Description: p.Description,
		EnvironmentID: string(p.EnvironmentID), Template: nullIfEmpty(p.Template), Settings: settings,
		NamePattern: p.NamePattern, MaxUses: int32(p.MaxUses), CreatedBy: p.CreatedBy,
		CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt,
	})
	if err != nil {
		return fmt.Errorf("insert provisioning token: %w", translateError(err))
	}
	return nil
}

// FindHash returns the hash of the token with this prefix, for the caller to compare. It is nil
// when there is none.
func (t ProvisioningTokens) FindHash(ctx context.Context, prefix string) ([]byte, error) {
	hash, err := t.q.GetProvisioningTokenHash(ctx, prefix)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return nil, fmt.Errorf("load the hash of a provisioning token: %w", err)
	}
	return hash, nil
}

// Lock loads a token, and keeps others from using it until the transaction ends.
func (t ProvisioningTokens) Lock(
	ctx context.Context, prefix string,
) (p controlplane.ProvisioningToken, err error) {
	r, err := t.q.LockProvisioningToken(ctx, prefix)
	if err != nil {
		return p, fmt.Errorf("load provisioning token: %w",
			translateMissing(err, "provisioning token", prefix))
	}
	return toProvisioningToken(r.ProvisioningToken, r.Environment)
}

// List returns up to most tokens after the prefix.
func (t ProvisioningTokens) List(
	ctx context.Context, after string, most int,
) ([]controlplane.ProvisioningToken, error) {
	rows, err := t.q.ListProvisioningTokens(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list provisioning tokens: %w", err)
	}
	all := make([]controlplane.ProvisioningToken, len(rows))
	for i, r := range rows {
		if all[i], err = toProvisioningToken(r.ProvisioningToken, r.Environment); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Use counts one use more, by the machine with this key as this node.
func (t ProvisioningTokens) Use(ctx context.Context, prefix string, node controlplane.NodeID,
	key [32]byte, at time.Time) error {
	if err := t.q.UseProvisioningToken(ctx, &at, prefix); err != nil {
		return fmt.Errorf("use provisioning token: %w", translateError(err))
	}
	if err := t.q.InsertNodeEnrolment(ctx, string(node), prefix, key[:]); err != nil {
		return fmt.Errorf("insert enrolment: %w", translateError(err))
	}
	return nil
}

// Revoke ends a token.
func (t ProvisioningTokens) Revoke(ctx context.Context, prefix string, at time.Time) error {
	n, err := t.q.RevokeProvisioningToken(ctx, &at, prefix)
	if err != nil {
		return fmt.Errorf("revoke provisioning token: %w", translateError(err))
	}
	if n == 0 {
		return controlplane.NewNotFoundError("provisioning token", prefix)
	}
	return nil
}

// FindEnrolled returns the node that the machine with this key enrolled as, and the prefix of the
// token that it used. ok is false when it did not enrol, or its node is gone.
func (t ProvisioningTokens) FindEnrolled(
	ctx context.Context, key [32]byte,
) (node controlplane.NodeID, prefix string, ok bool, err error) {
	r, err := t.q.GetNodeEnrolment(ctx, key[:])
	if errors.Is(err, pgx.ErrNoRows) {
		return "", "", false, nil
	}
	if err != nil {
		return "", "", false, fmt.Errorf("load enrolment: %w", err)
	}
	return controlplane.NodeID(r.NodeID), r.Token, true, nil
}

// LockNames keeps others from choosing names of nodes until the transaction ends.
func (t ProvisioningTokens) LockNames(ctx context.Context) error {
	if err := t.q.LockNodeNames(ctx); err != nil {
		return fmt.Errorf("lock the names of nodes: %w", err)
	}
	return nil
}

// ListTakenNames returns which of these names nodes have.
func (t ProvisioningTokens) ListTakenNames(
	ctx context.Context, names []string,
) ([]string, error) {
	taken, err := t.q.ListTakenNodeNames(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("list taken names: %w", err)
	}
	return taken, nil
}

// FindNodeAt returns the name of the node at an address, "" if there is none.
func (t ProvisioningTokens) FindNodeAt(ctx context.Context, address string) (string, error) {
	name, err := t.q.GetNodeNameByAddress(ctx, address)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for a node at an address: %w", err)
	}
	return name, nil
}
