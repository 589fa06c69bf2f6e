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

func toRegistry(r dbsqlc.Registry) controlplane.Registry {
	return controlplane.Registry{
		ID: controlplane.RegistryID(r.ID), Name: r.Name, Host: r.Host, Insecure: r.Insecure,
		Username: r.Username, Password: r.Password, Description: r.Description,
		Builtin: r.Builtin, CA: r.Ca,
	}
}

// RegistryByName loads a registry; not found is a *controlplane.Error.
func (t *Tx) RegistryByName(ctx context.Context, name string) (controlplane.Registry, error) {
	r, err := t.q.GetRegistry(ctx, name)
	if err != nil {
		return controlplane.Registry{}, fmt.Errorf("load registry: %w",
			translateMissing(err, "registry", name))
	}
	return toRegistry(r), nil
}

// RegistryByHost loads the registry that images name by this host. ok is
// false when there is none.
func (t *Tx) RegistryByHost(
	ctx context.Context, host string,
) (r controlplane.Registry, ok bool, err error) {
	row, err := t.q.GetRegistryByHost(ctx, host)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("load registry of %s: %w", host, err)
	}
	return toRegistry(row), true, nil
}

// ListRegistries returns up to most registries after the name.
func (t *Tx) ListRegistries(
	ctx context.Context, after string, most int,
) ([]controlplane.Registry, error) {
	rows, err := t.q.ListRegistries(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list registries: %w", err)
	}
	all := make([]controlplane.Registry, len(rows))
	for i, r := range rows {
		all[i] = toRegistry(r)
	}
	return all, nil
}

// PutRegistry inserts or replaces a registry.
func (t *Tx) PutRegistry(ctx context.Context, r controlplane.Registry, created bool) error {
	var err error
	if created {
		err = t.q.InsertRegistry(ctx, dbsqlc.InsertRegistryParams{
			ID: string(r.ID), Name: r.Name, Host: r.Host, Insecure: r.Insecure,
			Username: r.Username, Password: r.Password, Description: r.Description, Ca: r.CA,
		})
	} else {
		err = t.q.UpdateRegistry(ctx, dbsqlc.UpdateRegistryParams{
			ID: string(r.ID), Host: r.Host, Insecure: r.Insecure, Username: r.Username,
			Password: r.Password, Description: r.Description, Ca: r.CA,
		})
	}
	if err != nil {
		return fmt.Errorf("put registry: %w", translateError(err))
	}
	return nil
}

// DeleteRegistry removes a registry that nothing uses.
func (t *Tx) DeleteRegistry(ctx context.Context, id controlplane.RegistryID) error {
	users, err := t.q.ListUsersOfRegistry(ctx, string(id))
	if err := inUseError("registry", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteRegistry(ctx, string(id)); err != nil {
		return fmt.Errorf("delete registry: %w", translateError(err))
	}
	return nil
}

// inUseError returns the error for deleting something that is in use. It names the
// users; the foreign keys catch a race, without names.
func inUseError(what string, users []string, err error) error {
	if err != nil {
		return fmt.Errorf("list users of %s: %w", what, err)
	}
	if len(users) == 0 {
		return nil
	}
	return &controlplane.Error{
		Kind: controlplane.Conflict, Code: "in_use", Users: users,
		Message: "this " + what + " is in use",
		Remedy:  "Remove what uses it first.",
	}
}

func toService(s dbsqlc.Service, r dbsqlc.Registry) controlplane.Service {
	return controlplane.Service{
		ID: controlplane.ServiceID(s.ID), Name: s.Name, Registry: r.Name, Host: r.Host,
		Insecure: r.Insecure, Image: s.Image, TagMode: pipeline.TagMode(s.TagMode),
		Tag: s.Tag, Pattern: s.Pattern, Description: s.Description,
	}
}

// ServiceByName loads a service; not found is a *controlplane.Error.
func (t *Tx) ServiceByName(ctx context.Context, name string) (controlplane.Service, error) {
	r, err := t.q.GetService(ctx, name)
	if err != nil {
		return controlplane.Service{}, fmt.Errorf("load service: %w",
			translateMissing(err, "service", name))
	}
	return toService(r.Service, r.Registry), nil
}

// ListServices returns up to most services after the name.
func (t *Tx) ListServices(
	ctx context.Context, after string, most int,
) ([]controlplane.Service, error) {
	rows, err := t.q.ListServices(ctx, after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list services: %w", err)
	}
	all := make([]controlplane.Service, len(rows))
	for i, r := range rows {
		all[i] = toService(r.Service, r.Registry)
	}
	return all, nil
}

// PutService inserts or replaces the service of that id.
func (t *Tx) PutService(ctx context.Context, s controlplane.Service) error {
	n, err := t.q.PutService(ctx, dbsqlc.PutServiceParams{
		ID: string(s.ID), Name: s.Name, Registry: s.Registry, Image: s.Image,
		TagMode: string(s.TagMode), Tag: s.Tag, Pattern: s.Pattern, Description: s.Description,
	})
	if err != nil {
		return fmt.Errorf("put service: %w", translateError(err))
	}
	if n == 0 {
		return unknownNameError("registry", "registry", s.Registry)
	}
	return nil
}

// DeleteService removes a service that no current pipeline uses.
func (t *Tx) DeleteService(ctx context.Context, id controlplane.ServiceID) error {
	users, err := t.q.ListUsersOfService(ctx, string(id))
	if err := inUseError("service", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteService(ctx, string(id)); err != nil {
		return fmt.Errorf("delete service: %w", translateError(err))
	}
	return nil
}

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

// PluginByName loads a plugin; not found is a *controlplane.Error.
func (t *Tx) PluginByName(ctx context.Context, name string) (controlplane.Plugin, error) {
	r, err := t.q.GetPlugin(ctx, name)
	if err != nil {
		return controlplane.Plugin{}, fmt.Errorf("load plugin: %w", translateMissing(err, "plugin", name))
	}
	return toPlugin(r.Plugin, r.Registry)
}

// ListPlugins returns up to most plugins after the name.
func (t *Tx) ListPlugins(
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

// PutPlugin inserts or replaces the plugin of that id.
func (t *Tx) PutPlugin(ctx context.Context, p controlplane.Plugin) error {
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

// DeletePlugin removes a plugin that no current pipeline uses.
func (t *Tx) DeletePlugin(ctx context.Context, id controlplane.PluginID) error {
	users, err := t.q.ListUsersOfPlugin(ctx, string(id))
	if err := inUseError("plugin", users, err); err != nil {
		return err
	}
	if err := t.q.DeletePlugin(ctx, string(id)); err != nil {
		return fmt.Errorf("delete plugin: %w", translateError(err))
	}
	return nil
}
