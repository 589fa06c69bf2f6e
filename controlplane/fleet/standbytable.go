package fleet

import (
	"context"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres"
)

var _ StandbyTable = NodeTable{}

// FindStandbyNode implements StandbyTable.
func (t NodeTable) FindStandbyNode(
	ctx context.Context, kid string,
) (n controlplane.Node, key wire.Key, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		found, token, ok, err := tx.Standbys().FindNode(ctx, kid)
		if err != nil {
			return err
		}
		if !ok {
			return wire.ErrUnknownKid
		}
		c, err := t.openCredential(token)
		n, key = found, c.Key
		return err
	})
	return n, key, err
}

// PutStandbyHost implements StandbyTable.
func (t NodeTable) PutStandbyHost(ctx context.Context, url, fingerprint string) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Standbys().PutHost(ctx, controlplane.StandbyHost{Process: t.Holder, URL: url,
			Fingerprint: fingerprint}, standbyHostFor)
	})
}

// DeleteStandbyHost implements StandbyTable.
func (t NodeTable) DeleteStandbyHost(ctx context.Context) error {
	return t.Store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Standbys().DeleteHost(ctx, t.Holder)
	})
}

// ListStandbyHosts implements StandbyTable. This process is left out.
func (t NodeTable) ListStandbyHosts(
	ctx context.Context,
) (all []controlplane.StandbyHost, err error) {
	err = t.Store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Standbys().ListHosts(ctx)
		return err
	})
	return slices.DeleteFunc(all, func(h controlplane.StandbyHost) bool {
		return h.Process == t.Holder
	}), err
}
