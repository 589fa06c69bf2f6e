package catalog

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// checkedAtOnce bounds how many registries are asked side by side.
const checkedAtOnce = 4

// CheckRegistries asks registries whether they answer and take our credentials, and returns why
// those that do not fail, by name. A built-in one is asked once something uses it: without a way
// to the internet, each of them would be an alert that nobody can do anything about.
func (c *Catalog) CheckRegistries(
	ctx context.Context, actor access.Actor,
) (map[string]string, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	var all map[string]controlplane.Registry
	err := c.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		all, err = registriesInUse(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	failing := map[string]string{}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(checkedAtOnce)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		group.Go(func() error {
			_, err := c.tryRegistry(ctx, all[name], RegistryTry{Name: name})
			if said, ok := errors.AsType[*controlplane.Error](err); ok {
				mu.Lock()
				defer mu.Unlock()
				failing[name] = said.Message
				return nil
			}
			return err
		})
	}
	return failing, group.Wait()
}

// registriesInUse are those that somebody added, and of the built-in ones those in use, by name.
func registriesInUse(
	ctx context.Context, tx *postgres.Tx,
) (map[string]controlplane.Registry, error) {
	all := map[string]controlplane.Registry{}
	for after := ""; ; {
		some, err := tx.Registries().List(ctx, after, controlplane.MaxPage)
		if err != nil {
			return nil, err
		}
		for _, r := range some {
			after = r.Name
			users := []string{r.Name}
			if r.Builtin {
				if users, err = tx.Registries().Users(ctx, r.ID); err != nil {
					return nil, err
				}
			}
			if len(users) > 0 {
				all[r.Name] = r
			}
		}
		if len(some) < controlplane.MaxPage {
			return all, nil
		}
	}
}
