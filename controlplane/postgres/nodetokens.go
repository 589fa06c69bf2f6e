package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Insert makes a token the node's active one. The one before must be
// revoked first.
func (t NodeTokens) Insert(
	ctx context.Context, id controlplane.NodeID, kid string, verifier controlplane.Sealed,
) error {
	if err := t.q.InsertNodeToken(ctx, kid, string(id), verifier); err != nil {
		return fmt.Errorf("store node token: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// Revoke revokes the active token. Pending stays set until the agent confirms that it
// refuses the token too.
func (t NodeTokens) Revoke(
	ctx context.Context, id controlplane.NodeID, pending bool,
) (revoked bool, err error) {
	n, err := t.q.RevokeNodeTokens(ctx, pending, string(id))
	if err != nil {
		return false, fmt.Errorf("revoke node token: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n > 0, nil
}

func nodeToken(r dbsqlc.NodeToken) controlplane.NodeToken {
	return controlplane.NodeToken{
		Kid: r.Kid, Node: controlplane.NodeID(r.NodeID), Verifier: r.Verifier,
		CreatedAt: r.CreatedAt, RevokedAt: r.RevokedAt, RevocationPending: r.RevocationPending,
	}
}

// GetActive loads the token to prove with, sealed. ok is false when the node
// has none.
func (t NodeTokens) GetActive(
	ctx context.Context, id controlplane.NodeID,
) (a controlplane.NodeToken, ok bool, err error) {
	r, err := t.q.GetActiveToken(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("load node token: %w", err)
	}
	return nodeToken(r), true, nil
}

// GetActiveKid loads the name of the token to prove with, or "" if the node has none. It does
// not read the token itself, which the ingress's role may not.
func (t NodeTokens) GetActiveKid(ctx context.Context, id controlplane.NodeID) (string, error) {
	kid, err := t.q.GetActiveTokenKid(ctx, string(id))
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("load the name of the node token: %w", err)
	}
	return kid, nil
}

// ListPendingRevocationKids returns the names of the tokens of ListPendingRevocations.
func (t NodeTokens) ListPendingRevocationKids(
	ctx context.Context, id controlplane.NodeID,
) ([]string, error) {
	kids, err := t.q.ListPendingRevocationKids(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list the names of pending revocations: %w", err)
	}
	return kids, nil
}

// ListPendingRevocations returns the revoked tokens that the agent does not yet refuse by itself.
func (t NodeTokens) ListPendingRevocations(
	ctx context.Context, id controlplane.NodeID,
) ([]controlplane.NodeToken, error) {
	rows, err := t.q.ListPendingRevocations(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list pending revocations: %w", err)
	}
	all := make([]controlplane.NodeToken, len(rows))
	for i, r := range rows {
		all[i] = nodeToken(r)
	}
	return all, nil
}

// ConfirmRevocation notes that the agent refuses the token by itself.
func (t NodeTokens) ConfirmRevocation(ctx context.Context, id controlplane.NodeID,
	kid string) error {
	if err := t.q.ConfirmRevocation(ctx, kid, string(id)); err != nil {
		return fmt.Errorf("confirm revocation: %w", err)
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}
