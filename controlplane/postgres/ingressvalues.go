package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// LockIngressValues keeps other control planes from changing what the ingress gets, until
// the transaction ends.
func (t Certificates) LockIngressValues(ctx context.Context) error {
	if err := t.q.LockIngressValues(ctx); err != nil {
		return fmt.Errorf("lock what the ingress gets: %w", err)
	}
	return nil
}

// GetIngressValue returns one value that is sealed for the ingress; nil if there is none.
func (t Certificates) GetIngressValue(
	ctx context.Context, name string,
) (controlplane.Sealed, error) {
	sealed, err := t.q.GetIngressValue(ctx, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("load the ingress's %s: %w", name, err)
	}
	return sealed, nil
}

// PutIngressValue stores one value that is sealed for the ingress, and tells the ingress.
func (t Certificates) PutIngressValue(
	ctx context.Context, name string, sealed controlplane.Sealed,
) error {
	if err := t.q.PutIngressValue(ctx, name, sealed); err != nil {
		return fmt.Errorf("store the ingress's %s: %w", name, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}
