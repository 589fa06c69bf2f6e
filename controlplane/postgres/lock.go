package postgres

import (
	"context"
	"fmt"
)

// LockObject locks a name until the transaction ends; other callers with the same name
// wait.
func (t *Tx) LockObject(ctx context.Context, name string) error {
	if err := t.q.LockObject(ctx, name); err != nil {
		return fmt.Errorf("lock %s: %w", name, translateError(err))
	}
	return nil
}
