package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/pipeline"
)

// ListKept returns every image that is named by a saved pipeline, by a run of an
// existing deployment, or by one that was removed within the given time.
func (t Images) ListKept(ctx context.Context, recent time.Duration) ([]pipeline.Image, error) {
	rows, err := t.q.ListKeptImages(ctx, recent.Seconds())
	if err != nil {
		return nil, fmt.Errorf("list kept images: %w", err)
	}
	all := make([]pipeline.Image, len(rows))
	for i, r := range rows {
		if err := decodeJSON(r, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
