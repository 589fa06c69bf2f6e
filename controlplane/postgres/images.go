package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// KeptImages gives every image that a saved pipeline names, or a run of a
// deployment that is there, or that was made within the time.
func (t *Tx) KeptImages(ctx context.Context, recent time.Duration) ([]pipeline.Image, error) {
	rows, err := t.q.ListKeptImages(ctx, recent.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list kept images: %w", err)
	}
	all := make([]pipeline.Image, len(rows))
	for i, r := range rows {
		if err := decode(r, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
