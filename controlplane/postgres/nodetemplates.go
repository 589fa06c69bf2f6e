package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// NodeTemplates is the handle for the settings that several nodes share.
type NodeTemplates struct{ subject }

// NodeTemplates returns the handle in this transaction.
func (t *Tx) NodeTemplates() NodeTemplates { return NodeTemplates{t.subject()} }

func toNodeTemplate(
	r dbsqlc.NodeTemplate, nodes int32,
) (out controlplane.NodeTemplate, err error) {
	out = controlplane.NodeTemplate{Name: r.Name, Description: r.Description, Nodes: int(nodes)}
	if err := decodeJSON(r.Settings, &out.Settings); err != nil {
		return out, fmt.Errorf("node template %s: %w", r.Name, err)
	}
	return out, nil
}

// ByName loads a template; not found is a *controlplane.Error.
func (t NodeTemplates) ByName(
	ctx context.Context, name string,
) (controlplane.NodeTemplate, error) {
	r, err := t.q.GetNodeTemplate(ctx, name)
	if err != nil {
		return controlplane.NodeTemplate{}, fmt.Errorf("load node template: %w",
			translateMissing(err, "node-template", name))
	}
	return toNodeTemplate(r.NodeTemplate, r.Nodes)
}

// List returns up to most templates after the name.
func (t NodeTemplates) List(
	ctx context.Context, after string, most int,
) ([]controlplane.NodeTemplate, error) {
	rows, err := t.q.ListNodeTemplates(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list node templates: %w", err)
	}
	all := make([]controlplane.NodeTemplate, len(rows))
	for i, r := range rows {
		if all[i], err = toNodeTemplate(r.NodeTemplate, r.Nodes); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces the template of that name. Its nodes are the caller's to change.
func (t NodeTemplates) Put(ctx context.Context, x controlplane.NodeTemplate) error {
	settings, err := encodeJSON(x.Settings)
	if err != nil {
		return err
	}
	if err := t.q.PutNodeTemplate(ctx, x.Name, x.Description, settings); err != nil {
		return fmt.Errorf("put node template: %w", translateError(err))
	}
	return nil
}

// LockNodes returns the nodes that follow a template, with what was set for each itself.
func (t NodeTemplates) LockNodes(ctx context.Context, name string) ([]controlplane.Node, error) {
	rows, err := t.q.LockNodesOfTemplate(ctx, name)
	if err != nil {
		return nil, fmt.Errorf("lock the nodes of a template: %w", err)
	}
	all := make([]controlplane.Node, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Node{ID: controlplane.NodeID(r.ID), Name: r.Name,
			Connect: controlplane.NodeConnect(r.Connect), Address: r.Address, Template: name}
		if err := decodeJSON(r.OwnSettings, &all[i].OwnSettings); err != nil {
			return nil, fmt.Errorf("node %s: %w", r.Name, err)
		}
	}
	return all, nil
}

// Delete removes a template that no node follows.
func (t NodeTemplates) Delete(ctx context.Context, name string) error {
	nodes, err := t.LockNodes(ctx, name)
	users := make([]string, len(nodes))
	for i, n := range nodes {
		users[i] = "node " + n.Name
	}
	if err := inUseError("node-template", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteNodeTemplate(ctx, name); err != nil {
		return fmt.Errorf("delete node template: %w", translateError(err))
	}
	return nil
}
