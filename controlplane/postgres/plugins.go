package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toPlugin(p dbsqlc.Plugin, r dbsqlc.Registry) (controlplane.Plugin, error) {
	out := controlplane.Plugin{
		ID: controlplane.PluginID(p.ID), Name: p.Name, Registry: r.Name, Host: r.Host,
		Insecure: r.Insecure, Image: p.Image, Tag: p.Tag, Digest: p.Digest,
	}
	if err := decodeJSON(p.Component, &out.Component); err != nil {
		return out, fmt.Errorf("plugin %s: %w", p.Name, err)
	}
	return out, nil
}

// ByName loads a plugin; not found is a *controlplane.Error.
func (t Plugins) ByName(ctx context.Context, name string) (controlplane.Plugin, error) {
	r, err := t.q.GetPlugin(ctx, name)
	if err != nil {
		return controlplane.Plugin{}, fmt.Errorf("load plugin: %w", translateMissing(err, "plugin", name))
	}
	return toPlugin(r.Plugin, r.Registry)
}

// List returns up to most plugins after the name.
func (t Plugins) List(
	ctx context.Context, after string, most int,
) ([]controlplane.Plugin, error) {
	rows, err := t.q.ListPlugins(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list plugins: %w", err)
	}
	all := make([]controlplane.Plugin, len(rows))
	for i, r := range rows {
		if all[i], err = toPlugin(r.Plugin, r.Registry); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces the plugin of that id.
func (t Plugins) Put(ctx context.Context, p controlplane.Plugin) error {
	component, err := encodeJSON(p.Component)
	if err != nil {
		return fmt.Errorf("put plugin: %w", err)
	}
	n, err := t.q.PutPlugin(ctx, dbsqlc.PutPluginParams{
		ID: string(p.ID), Name: p.Name, Registry: p.Registry, Image: p.Image, Tag: p.Tag,
		Digest: p.Digest, Component: component,
	})
	if err != nil {
		return fmt.Errorf("put plugin: %w", translateError(err))
	}
	if n == 0 {
		return unknownNameError("registry", "registry", p.Registry)
	}
	return nil
}

// Delete removes a plugin that no current pipeline uses.
func (t Plugins) Delete(ctx context.Context, id controlplane.PluginID) error {
	users, err := t.q.ListUsersOfPlugin(ctx, string(id))
	if err := inUseError("plugin", users, err); err != nil {
		return err
	}
	if err := t.q.DeletePlugin(ctx, string(id)); err != nil {
		return fmt.Errorf("delete plugin: %w", translateError(err))
	}
	return nil
}
