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

// CheckRegistries asks all registries whether they answer and take our credentials, and returns
// why those that do not fail, by name.
func (c *Catalog) CheckRegistries(
	ctx context.Context, actor access.Actor,
) (map[string]string, error) {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return nil, err
	}
	all := map[string]controlplane.Registry{}
	err := c.store.Read(ctx, func(tx *postgres.Tx) error {
		for after := ""; ; {
			some, err := tx.Registries().List(ctx, after, controlplane.MaxPage)
			for _, r := range some {
				all[r.Name], after = r, r.Name
			}
			if err != nil || len(some) < controlplane.MaxPage {
				return err
			}
		}
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
