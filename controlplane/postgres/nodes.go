package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

func toNode(r dbsqlc.ListNodesRow) (controlplane.Node, error) {
	n := controlplane.Node{
		ID: controlplane.NodeID(r.Node.ID), Name: r.Node.Name,
		EnvironmentID: controlplane.EnvironmentID(r.Node.EnvironmentID),
		Environment:   r.Environment, Address: r.Node.Address,
		Status: controlplane.NodeStatus(r.Node.Status), Detail: r.Node.Detail,
		Since: r.Node.Since, Thumbprint: controlplane.Thumbprint(r.Node.Thumbprint),
		Expected:          controlplane.Thumbprint(r.Node.Expected),
		Pending:           controlplane.Thumbprint(r.Node.Pending),
		PendingProofValid: r.Node.PendingProofValid,
		Rejected:          controlplane.Thumbprint(r.Node.Rejected), Drain: toDrain(r.Node),
		RevocationPending: r.RevocationPending, TokenKid: r.Kid, Build: r.Node.Build,
		Allocated:   pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)},
		Deployments: int(r.Deployments),
	}
	err := errors.Join(
		decodeJSON(r.Node.Inventory, &n.Inventory),
		decodeJSON(r.Node.Vitals, &n.Vitals),
		decodeJSON(r.Node.Settings, &n.Settings),
		decodeJSON(r.Capacity, &n.Capacity),
	)
	if err != nil {
		return n, fmt.Errorf("node %s: %w", n.Name, err)
	}
	return n, nil
}

// NodeByName loads a node; not found is a *controlplane.Error.
func (t *Tx) NodeByName(ctx context.Context, name string) (controlplane.Node, error) {
	r, err := t.q.GetNode(ctx, &name, nil)
	if err != nil {
		return controlplane.Node{}, fmt.Errorf("load node: %w", translateMissing(err, "node", name))
	}
	return toNode(dbsqlc.ListNodesRow(r))
}

// NodeByID loads a node; not found is a *controlplane.Error.
func (t *Tx) NodeByID(ctx context.Context, id controlplane.NodeID) (controlplane.Node, error) {
	r, err := t.q.GetNode(ctx, nil, nullIfEmpty(id))
	if err != nil {
		return controlplane.Node{}, fmt.Errorf("load node: %w",
			translateMissing(err, "node", string(id)))
	}
	return toNode(dbsqlc.ListNodesRow(r))
}

// ListNodes returns a page of nodes and one more, by name.
func (t *Tx) ListNodes(ctx context.Context, p controlplane.Page) ([]controlplane.Node, error) {
	rows, err := t.q.ListNodes(ctx, p.After, p.Backwards, int32(p.FetchLimit()))
	if err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	all := make([]controlplane.Node, len(rows))
	for i, r := range rows {
		if all[i], err = toNode(r); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// InsertNode adds a node that has not connected yet.
func (t *Tx) InsertNode(ctx context.Context, n controlplane.Node) error {
	settings, err := encodeJSON(n.Settings)
	if err != nil {
		return err
	}
	err = t.q.InsertNode(ctx, dbsqlc.InsertNodeParams{
		ID: string(n.ID), Name: n.Name, EnvironmentID: string(n.EnvironmentID),
		Address: n.Address, Expected: string(n.Expected), Settings: settings,
	})
	if err != nil {
		return fmt.Errorf("insert node: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(n.ID))
	return nil
}

// SetNodeSettings writes what an admin decided about a node, as a whole, and
// where it is reached.
func (t *Tx) SetNodeSettings(ctx context.Context, n controlplane.Node) error {
	settings, err := encodeJSON(n.Settings)
	if err != nil {
		return err
	}
	if err := t.q.SetNodeSettings(ctx, settings, n.Address, string(n.ID)); err != nil {
		return fmt.Errorf("set node settings: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(n.ID))
	return nil
}

// DeleteNode removes a node without deployments.
func (t *Tx) DeleteNode(ctx context.Context, id controlplane.NodeID) error {
	users, err := t.q.ListUsersOfNode(ctx, nullIfEmpty(id))
	if err := inUseError("node", users, err); err != nil {
		return err
	}
	if _, err := t.q.DeleteNode(ctx, string(id)); err != nil {
		return fmt.Errorf("delete node: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// MoveNode changes a node's status if the transition is legal from its current one.
// moved is false if it is not, because the status changed meanwhile.
func (t *Tx) MoveNode(
	ctx context.Context, id controlplane.NodeID, to controlplane.NodeStatus, detail string,
) (moved bool, err error) {
	n, err := t.q.MoveNode(ctx, dbsqlc.MoveNodeParams{
		ID: string(id), Status: string(to), Detail: detail,
		Allowed: toStrings(controlplane.NodesBefore(to)),
	})
	if err != nil {
		return false, fmt.Errorf("move node to %s: %w", to, translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// TrustNode stores the thumbprint of first contact. trusted is false when
// another one is stored already.
func (t *Tx) TrustNode(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) (trusted bool, err error) {
	n, err := t.q.TrustNode(ctx, string(print), string(id))
	if err != nil {
		return false, fmt.Errorf("trust node: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// SetPending stores a changed certificate's thumbprint and whether it proved the
// token, for a person to decide about.
func (t *Tx) SetPending(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint, proven bool,
) error {
	if err := t.q.SetPending(ctx, string(print), proven, string(id)); err != nil {
		return fmt.Errorf("note changed certificate: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// ApproveNode makes the pending thumbprint the trusted one, if it is exactly
// this one and proved the token.
func (t *Tx) ApproveNode(
	ctx context.Context, id controlplane.NodeID, print controlplane.Thumbprint,
) (approved bool, err error) {
	n, err := t.q.ApproveNode(ctx, string(id), string(print))
	if err != nil {
		return false, fmt.Errorf("approve node: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// ClearTrust makes the next proven contact the first one.
func (t *Tx) ClearTrust(ctx context.Context, id controlplane.NodeID) error {
	if err := t.q.ForgetTrust(ctx, string(id)); err != nil {
		return fmt.Errorf("forget trust: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// SetInventory stores what an agent reported about its node.
func (t *Tx) SetInventory(
	ctx context.Context, id controlplane.NodeID, build string, i controlplane.Inventory,
) error {
	b, err := encodeJSON(i)
	if err != nil {
		return fmt.Errorf("store inventory: %w", err)
	}
	if err := t.q.SetInventory(ctx, build, b, string(id)); err != nil {
		return fmt.Errorf("store inventory: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// SetVitals stores measurements. It sends no notification: this happens every few seconds and
// nothing waits for it.
func (t *Tx) SetVitals(
	ctx context.Context, id controlplane.NodeID, v controlplane.NodeVitals,
) error {
	b, err := encodeJSON(v)
	if err != nil {
		return fmt.Errorf("store vitals: %w", err)
	}
	if err := t.q.SetVitals(ctx, b, string(id)); err != nil {
		return fmt.Errorf("store vitals: %w", translateError(err))
	}
	return nil
}

// InsertNodeToken makes a token the node's active one. The one before must be
// revoked first.
func (t *Tx) InsertNodeToken(
	ctx context.Context, id controlplane.NodeID, kid string, verifier controlplane.Sealed,
) error {
	if err := t.q.InsertNodeToken(ctx, kid, string(id), verifier); err != nil {
		return fmt.Errorf("store node token: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// RevokeNodeTokens revokes the active token. Pending stays set until the agent confirms that it
// refuses the token too.
func (t *Tx) RevokeNodeTokens(
	ctx context.Context, id controlplane.NodeID, pending bool,
) (revoked bool, err error) {
	n, err := t.q.RevokeNodeTokens(ctx, pending, string(id))
	if err != nil {
		return false, fmt.Errorf("revoke node token: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n > 0, nil
}

func nodeToken(r dbsqlc.NodeToken) controlplane.NodeToken {
	return controlplane.NodeToken{
		Kid: r.Kid, Node: controlplane.NodeID(r.NodeID), Verifier: r.Verifier,
		CreatedAt: r.CreatedAt, RevokedAt: r.RevokedAt, RevocationPending: r.RevocationPending,
	}
}

// ActiveToken loads the token to prove with, sealed. ok is false when the node
// has none.
func (t *Tx) ActiveToken(
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

// PendingRevocations returns the revoked tokens that the agent does not yet refuse by itself.
func (t *Tx) PendingRevocations(
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
func (t *Tx) ConfirmRevocation(ctx context.Context, id controlplane.NodeID, kid string) error {
	if err := t.q.ConfirmRevocation(ctx, kid, string(id)); err != nil {
		return fmt.Errorf("confirm revocation: %w", err)
	}
	t.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// ReleaseLease lets the next holder in without waiting.
func (t *Tx) ReleaseLease(ctx context.Context, id controlplane.NodeID, holder string) error {
	if err := t.q.ReleaseLease(ctx, string(id), holder); err != nil {
		return fmt.Errorf("release lease of node %s: %w", id, err)
	}
	return nil
}
