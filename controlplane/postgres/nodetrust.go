package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// Reject keeps the trusted certificate, if the pending one is exactly this.
func (t NodeTrust) Reject(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) (rejected bool, err error) {
	n, err := t.q.RejectPending(ctx, string(id), string(print))
	if err != nil {
		return false, fmt.Errorf("reject certificate: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// ClearRejection lets a person decide again about the next certificate.
func (t NodeTrust) ClearRejection(ctx context.Context, id controlplane.NodeID) error {
	if err := t.q.ForgetRejection(ctx, string(id)); err != nil {
		return fmt.Errorf("forget rejection: %w", translateError(err))
	}
	return nil
}

// FindOtherNode names another node that is known by this certificate, ""
// when there is none.
func (t NodeTrust) FindOtherNode(
	ctx context.Context, print controlplane.Thumbprint, besides controlplane.NodeID,
) (name string, err error) {
	name, err = t.q.GetNodeWithThumbprint(ctx, string(print), string(besides))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for the certificate among other nodes: %w", err)
	}
	return name, nil
}

// Trust stores the thumbprint of first contact. trusted is false when
// another one is stored already.
func (t NodeTrust) Trust(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) (trusted bool, err error) {
	n, err := t.q.TrustNode(ctx, string(print), string(id))
	if err != nil {
		return false, fmt.Errorf("trust node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// SetPending stores a changed certificate's thumbprint and whether it proved the
// token, for a person to decide about.
func (t NodeTrust) SetPending(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint, proven bool,
) error {
	if err := t.q.SetPending(ctx, string(print), proven, string(id)); err != nil {
		return fmt.Errorf("note changed certificate: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// Approve makes the pending thumbprint the trusted one, if it is exactly
// this one and proved the token.
func (t NodeTrust) Approve(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) (approved bool, err error) {
	n, err := t.q.ApproveNode(ctx, string(id), string(print))
	if err != nil {
		return false, fmt.Errorf("approve node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// Clear makes the next proven contact the first one.
func (t NodeTrust) Clear(ctx context.Context, id controlplane.NodeID) error {
	if err := t.q.ForgetTrust(ctx, string(id)); err != nil {
		return fmt.Errorf("forget trust: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// Expect stores which certificate the first contact must show.
func (t NodeTrust) Expect(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) error {
	if err := t.q.ExpectThumbprint(ctx, string(print), string(id)); err != nil {
		return fmt.Errorf("expect thumbprint of node %s: %w", id, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}
