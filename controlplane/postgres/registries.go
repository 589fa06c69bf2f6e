package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toRegistry(r dbsqlc.Registry) controlplane.Registry {
	return controlplane.Registry{
		ID: controlplane.RegistryID(r.ID), Name: r.Name, Host: r.Host, Insecure: r.Insecure,
		Username: r.Username, Password: r.Password, Description: r.Description,
		Builtin: r.Builtin, CA: r.Ca,
	}
}

// ByName loads a registry; not found is a *controlplane.Error.
func (t Registries) ByName(ctx context.Context, name string) (controlplane.Registry, error) {
	r, err := t.q.GetRegistry(ctx, name)
	if err != nil {
		return controlplane.Registry{}, fmt.Errorf("load registry: %w",
			translateMissing(err, "registry", name))
	}
	return toRegistry(r), nil
}

// ByHost loads the registry that images name by this host. ok is
// false when there is none.
func (t Registries) ByHost(
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

// List returns up to most registries after the name.
func (t Registries) List(
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

// Put inserts or replaces a registry.
func (t Registries) Put(ctx context.Context, r controlplane.Registry, created bool) error {
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

// Users names what uses a registry.
func (t Registries) Users(ctx context.Context, id controlplane.RegistryID) ([]string, error) {
	users, err := t.q.ListUsersOfRegistry(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list what uses a registry: %w", err)
	}
	return users, nil
}

// Delete removes a registry that nothing uses.
func (t Registries) Delete(ctx context.Context, id controlplane.RegistryID) error {
	users, err := t.q.ListUsersOfRegistry(ctx, string(id))
	if err := inUseError("registry", users, err); err != nil {
		return err
	}
	if err := t.q.DeleteRegistry(ctx, string(id)); err != nil {
		return fmt.Errorf("delete registry: %w", translateError(err))
	}
	return nil
}
