package catalog

import (
	"context"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/registry"
)

// RegistryPut is what an admin says about a registry.
type RegistryPut struct {
	Name     string
	Host     string
	Insecure bool
	// CA is a PEM bundle of authorities to trust; empty is none.
	CA          string
	Username    string
	Description string
	// Password is nil to keep the stored one; an empty one deletes it.
	Password *controlplane.Plain
}

// ListRegistries returns one page of registries and the next page's cursor.
func (c *Catalog) ListRegistries(
	ctx context.Context, actor access.Actor, p controlplane.Page,
) (all []controlplane.Registry, next string, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, "", err
	}
	if !access.CanSeeCatalog(actor) {
		return nil, "", nil
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = tx.Registries().List(ctx, p.After, p.FetchLimit())
		return err
	})
	all, next = controlplane.CutPage(p, all, func(r controlplane.Registry) string { return r.Name })
	return all, next, err
}

// GetRegistry loads one registry.
func (c *Catalog) GetRegistry(
	ctx context.Context, actor access.Actor, name string,
) (r controlplane.Registry, err error) {
	if err := checkSeesCatalog(actor, "registry", name); err != nil {
		return r, err
	}
	err = c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		r, err = tx.Registries().ByName(ctx, name)
		return err
	})
	return r, err
}

// PutRegistry creates or changes a registry. Changing the host deletes the stored
// password, so that nobody can have it sent to another host.
func (c *Catalog) PutRegistry(
	ctx context.Context, actor access.Actor, p RegistryPut,
) (out controlplane.SaveResult[controlplane.Registry], err error) {
	err = c.changeAsAdmin(ctx, actor, "put registry", "registry "+p.Name, func(tx *postgres.Tx) error {
		if err := checkRegistry(p, c.now()); err != nil {
			return err
		}
		out, err = c.putRegistry(ctx, tx, p)
		return err
	})
	return out, err
}

func checkRegistry(p RegistryPut, now time.Time) error {
	if err := controlplane.ValidName("name", p.Name); err != nil {
		return err
	}
	if err := registry.CheckHost(p.Host, p.Insecure); err != nil {
		return err
	}
	if err := checkCA(p, now); err != nil {
		return err
	}
	if len(p.Username) > 200 || p.Password != nil && len(p.Password.Reveal()) > 4096 {
		return controlplane.NewInvalidError("username", "too_long",
			"a user name has at most 200 bytes, a password 4096", "Shorten them.")
	}
	if p.Username == "" && p.Password != nil && !p.Password.IsEmpty() {
		return controlplane.NewInvalidError("username", "required", "a password needs a user name",
			"Give both, or neither.")
	}
	return checkDescription(p.Description)
}

func checkCA(p RegistryPut, now time.Time) error {
	if p.Insecure && strings.TrimSpace(p.CA) != "" {
		return controlplane.NewInvalidError(
			"ca", "ca_insecure", "a registry over plain HTTP shows no certificate",
			"Leave out insecure, or ca.")
	}
	return registry.CheckCA(p.CA, now)
}

func (c *Catalog) putRegistry(
	ctx context.Context, tx *postgres.Tx, p RegistryPut,
) (out controlplane.SaveResult[controlplane.Registry], err error) {
	old, err := tx.Registries().ByName(ctx, p.Name)
	exists, err := controlplane.IsFound(err)
	if err != nil {
		return out, err
	}
	r := old
	if !exists {
		r = controlplane.Registry{ID: controlplane.NewID[controlplane.RegistryID](), Name: p.Name}
	}
	r.Host, r.Insecure = strings.ToLower(p.Host), p.Insecure
	r.Username, r.Description = p.Username, p.Description
	if r.CA = strings.TrimSpace(p.CA); r.CA != "" {
		// As a file ends, so that what is exported and applied again is the same.
		r.CA += "\n"
	}
	replaced, err := c.setPassword(&r, old, p)
	if err != nil {
		return out, err
	}
	out.Created, out.Object = !exists, r
	out.Changed = !exists || replaced || r.Host != old.Host || r.Insecure != old.Insecure ||
		r.Username != old.Username || r.Description != old.Description || r.CA != old.CA
	if !out.Changed {
		return out, nil
	}
	if exists {
		tx.RecordChange(old, r)
	}
	tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return out, tx.Registries().Put(ctx, r, !exists)
}

func (c *Catalog) setPassword(
	r *controlplane.Registry, old controlplane.Registry, p RegistryPut,
) (replaced bool, err error) {
	if r.Username == "" || old.Host != "" && r.Host != old.Host && p.Password == nil {
		replaced, r.Password = len(old.Password) > 0, nil
		return replaced, nil
	}
	if p.Password == nil {
		return false, nil
	}
	if p.Password.IsEmpty() {
		replaced, r.Password = len(old.Password) > 0, nil
		return replaced, nil
	}
	if len(old.Password) > 0 && r.Host == old.Host {
		have, err := c.keys.OpenPassword(old)
		if err != nil {
			return false, err
		}
		if have.Equal(*p.Password) {
			return false, nil
		}
	}
	r.Password, err = c.keys.SealPassword(r.ID, *p.Password)
	return true, err
}

// DeleteRegistry removes a registry that nothing uses.
func (c *Catalog) DeleteRegistry(ctx context.Context, actor access.Actor, name string) error {
	return c.changeAsAdmin(
		ctx,
		actor,
		"delete registry",
		"registry "+name,
		func(tx *postgres.Tx) error {
			r, err := tx.Registries().ByName(ctx, name)
			if err != nil {
				return err
			}
			tx.NotifyOnCommit(controlplane.TopicCatalog, "")
			return tx.Registries().Delete(ctx, r.ID)
		},
	)
}

// registrySource returns a repository with the registry's credentials.
func (c *Catalog) registrySource(
	r controlplane.Registry,
	repository string,
) (registry.Source, error) {
	password, err := c.keys.OpenPassword(r)
	return registry.Source{
		Registry: r, Repository: repository,
		Credentials: controlplane.Credentials{Username: r.Username, Password: password},
	}, err
}
