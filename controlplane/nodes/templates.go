package nodes

import (
	"context"
	"reflect"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// ListTemplates returns one page of node templates and the next page's cursor.
func (s *Nodes) ListTemplates(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.NodeTemplate, next string, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, "", err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.NodeTemplates().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(t controlplane.NodeTemplate) string {
		return t.Name
	})
	return all, next, err
}

// GetTemplate loads one node template.
func (s *Nodes) GetTemplate(
	ctx context.Context, actor access.Actor, name string,
) (t controlplane.NodeTemplate, err error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return t, err
	}
	err = s.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		t, err = tx.NodeTemplates().ByName(ctx, name)
		return err
	})
	return t, err
}

// PutTemplate creates or changes a node template, and applies it to the nodes that follow it.
func (s *Nodes) PutTemplate(
	ctx context.Context, actor access.Actor, t controlplane.NodeTemplate,
) (out controlplane.SaveResult[controlplane.NodeTemplate], err error) {
	err = s.changeAsAdmin(ctx, actor, "put node template", "node-template "+t.Name,
		func(tx *postgres.Tx) error {
			out, err = putTemplate(ctx, tx, t)
			return err
		})
	return out, err
}

func putTemplate(
	ctx context.Context, tx *postgres.Tx, t controlplane.NodeTemplate,
) (out controlplane.SaveResult[controlplane.NodeTemplate], err error) {
	if err := controlplane.ValidName("name", t.Name); err != nil {
		return out, err
	}
	if t.Settings, err = t.Settings.Normalize(); err != nil {
		return out, err
	}
	old, err := tx.NodeTemplates().ByName(ctx, t.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	t.Nodes = old.Nodes
	out.Created, out.Changed, out.Object = !exists, !reflect.DeepEqual(t, old), t
	if !out.Changed {
		return out, nil
	}
	if err := tx.NodeTemplates().Put(ctx, t); err != nil {
		return out, err
	}
	nodes, err := tx.NodeTemplates().LockNodes(ctx, t.Name)
	if err != nil {
		return out, err
	}
	for _, n := range nodes {
		if n.Settings, err = t.Apply(n.OwnSettings); err != nil {
			return out, err
		}
		if err := tx.Nodes().SetSettings(ctx, n); err != nil {
			return out, err
		}
	}
	return out, nil
}

// DeleteTemplate removes a node template that no node follows.
func (s *Nodes) DeleteTemplate(ctx context.Context, actor access.Actor, name string) error {
	return s.changeAsAdmin(ctx, actor, "delete node template", "node-template "+name,
		func(tx *postgres.Tx) error {
			if _, err := tx.NodeTemplates().ByName(ctx, name); err != nil {
				return err
			}
			return tx.NodeTemplates().Delete(ctx, name)
		})
}

// applyTemplate works out the settings of a node, whose own are in Settings.
func applyTemplate(ctx context.Context, tx *postgres.Tx, n *controlplane.Node) error {
	n.OwnSettings = n.Settings
	if n.Template == "" {
		return nil
	}
	t, err := tx.NodeTemplates().ByName(ctx, n.Template)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return controlplane.NewInvalidError("template", "unknown_node-template",
			"node template "+controlplane.ClipText(n.Template)+" does not exist",
			"Create the template first, or correct the name.")
	}
	if err == nil {
		n.Settings, err = t.Apply(n.OwnSettings)
	}
	return err
}
