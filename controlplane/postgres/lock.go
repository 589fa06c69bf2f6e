package postgres

import (
	"context"
	"fmt"
)

// LockObject keeps others out who lock the same name, until the transaction
// ends.
func (t *Tx) LockObject(ctx context.Context, name string) error {
	if err := t.q.LockObject(ctx, name); err != nil {
		return fmt.Errorf("lock %s: %w", name, translate(err))
	}
	return nil
}
