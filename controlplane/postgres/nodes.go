package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

func toNode(r dbsqlc.ListNodesRow) (controlplane.Node, error) {
	n := controlplane.Node{
		ID: controlplane.NodeID(r.Node.ID), Name: r.Node.Name,
		EnvironmentID: controlplane.EnvironmentID(r.Node.EnvironmentID),
		Environment:   r.Environment, Address: r.Node.Address,
		Connect: controlplane.NodeConnect(r.Node.Connect),
		Status:  controlplane.NodeStatus(r.Node.Status), Detail: r.Node.Detail,
		Since: r.Node.Since, Thumbprint: controlplane.Thumbprint(r.Node.Thumbprint),
		Expected:          controlplane.Thumbprint(r.Node.Expected),
		Pending:           controlplane.Thumbprint(r.Node.Pending),
		PendingProofValid: r.Node.PendingProofValid,
		Rejected:          controlplane.Thumbprint(r.Node.Rejected), Drain: toDrain(r.Node),
		RevocationPending: r.RevocationPending, TokenKid: r.Kid, Build: r.Node.Build,
		Allocated:   pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)},
		Deployments: int(r.Deployments), Template: emptyIfNull[string](r.Node.Template),
	}
	own := r.Node.OwnSettings
	if own == nil {
		own = r.Node.Settings
	}
	err := errors.Join(
		decodeJSON(r.Node.Inventory, &n.Inventory),
		decodeJSON(r.Node.Vitals, &n.Vitals),
		decodeJSON(r.Node.Settings, &n.Settings),
		decodeJSON(own, &n.OwnSettings),
		decodeJSON(r.Capacity, &n.Capacity),
	)
	if err != nil {
		return n, fmt.Errorf("node %s: %w", n.Name, err)
	}
	return n, nil
}

// ByName loads a node; not found is a *controlplane.Error.
func (t Nodes) ByName(ctx context.Context, name string) (controlplane.Node, error) {
	r, err := t.q.GetNode(ctx, &name, nil)
	if err != nil {
		return controlplane.Node{}, fmt.Errorf("load node: %w", translateMissing(err, "node", name))
	}
	return toNode(dbsqlc.ListNodesRow(r))
}

// ByID loads a node; not found is a *controlplane.Error.
func (t Nodes) ByID(ctx context.Context, id controlplane.NodeID) (controlplane.Node, error) {
	r, err := t.q.GetNode(ctx, nil, nullIfEmpty(id))
	if err != nil {
		return controlplane.Node{}, fmt.Errorf("load node: %w",
			translateMissing(err, "node", string(id)))
	}
	return toNode(dbsqlc.ListNodesRow(r))
}

// List returns a page of nodes and one more, by name.
func (t Nodes) List(ctx context.Context, p controlplane.Page) ([]controlplane.Node, error) {
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

// Insert adds a node that has not connected yet.
func (t Nodes) Insert(ctx context.Context, n controlplane.Node) error {
	settings, own, err := encodeSettings(n)
	if err != nil {
		return err
	}
	err = t.q.InsertNode(ctx, dbsqlc.InsertNodeParams{
		ID: string(n.ID), Name: n.Name, EnvironmentID: string(n.EnvironmentID),
		Connect: string(n.Connect), Address: n.Address, Expected: string(n.Expected),
		Settings: settings,
		Template: nullIfEmpty(n.Template), OwnSettings: own,
	})
	if err != nil {
		return fmt.Errorf("insert node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(n.ID))
	return nil
}

// encodeSettings returns what counts and, for a node with a template, its own settings.
func encodeSettings(n controlplane.Node) (settings, own []byte, err error) {
	if settings, err = encodeJSON(n.Settings); err != nil || n.Template == "" {
		return settings, nil, err
	}
	own, err = encodeJSON(n.OwnSettings)
	return settings, own, err
}

// SetSettings writes what an admin decided about a node, as a whole, and
// where it is reached.
func (t Nodes) SetSettings(ctx context.Context, n controlplane.Node) error {
	settings, own, err := encodeSettings(n)
	if err != nil {
		return err
	}
	err = t.q.SetNodeSettings(ctx, dbsqlc.SetNodeSettingsParams{Settings: settings,
		Connect: string(n.Connect), Address: n.Address, Template: nullIfEmpty(n.Template),
		OwnSettings: own, ID: string(n.ID)})
	if err != nil {
		return fmt.Errorf("set node settings: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(n.ID))
	return nil
}

// Delete removes a node without deployments.
func (t Nodes) Delete(ctx context.Context, id controlplane.NodeID) error {
	users, err := t.q.ListUsersOfNode(ctx, nullIfEmpty(id))
	if err := inUseError("node", users, err); err != nil {
		return err
	}
	if _, err := t.q.DeleteNode(ctx, string(id)); err != nil {
		return fmt.Errorf("delete node: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// Move changes a node's status if the transition is legal from its current one.
// moved is false if it is not, because the status changed meanwhile.
func (t Nodes) Move(
	ctx context.Context, id controlplane.NodeID, to controlplane.NodeStatus, detail string,
) (moved bool, err error) {
	n, err := t.q.MoveNode(ctx, dbsqlc.MoveNodeParams{
		ID: string(id), Status: string(to), Detail: detail,
		Allowed: toStrings(controlplane.NodesBefore(to)),
	})
	if err != nil {
		return false, fmt.Errorf("move node to %s: %w", to, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return n == 1, nil
}

// SetInventory stores what an agent reported about its node.
func (t Nodes) SetInventory(
	ctx context.Context, id controlplane.NodeID, build string, i controlplane.Inventory,
) error {
	b, err := encodeJSON(i)
	if err != nil {
		return fmt.Errorf("store inventory: %w", err)
	}
	if err := t.q.SetInventory(ctx, build, b, string(id)); err != nil {
		return fmt.Errorf("store inventory: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return nil
}

// SetVitals stores measurements. It sends no notification: this happens every few seconds and
// nothing waits for it.
func (t Nodes) SetVitals(
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

// SetBuild notes what an incompatible agent runs.
func (t Nodes) SetBuild(ctx context.Context, node controlplane.NodeID, build string) error {
	if err := t.q.SetBuild(ctx, build, string(node)); err != nil {
		return fmt.Errorf("note build of node %s: %w", node, translateError(err))
	}
	return nil
}

// SetVitalsOf stores the latest measurements of many agents, and returns the nodes it
// stored; locked rows are skipped. It sends no notification.
func (t Nodes) SetVitalsOf(
	ctx context.Context, all map[controlplane.NodeID]controlplane.NodeVitals,
) (done []controlplane.NodeID, err error) {
	var ids, texts []string
	for id, v := range all {
		b, err := encodeJSON(v)
		if err != nil {
			return nil, fmt.Errorf("store vitals: %w", err)
		}
		ids, texts = append(ids, string(id)), append(texts, string(b))
	}
	rows, err := t.q.SetVitalsOf(ctx, ids, texts)
	if err != nil {
		return nil, fmt.Errorf("store vitals: %w", translateError(err))
	}
	for _, id := range rows {
		done = append(done, controlplane.NodeID(id))
	}
	return done, nil
}
