package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/usage"
)

// trimEvery keeps the portions small: with thousands of nodes, single
// measurements age by the thousand every second.
const trimEvery = time.Minute

// TrimUsage deletes measurements that are older than their resolution is kept.
func TrimUsage(u *usage.Usage, log *slog.Logger) Job {
	return Job{Name: "trim_usage", Every: trimEvery, Do: func(ctx context.Context) error {
		gone, err := u.Trim(ctx, access.System("trim-usage"), time.Now())
		if gone > 0 {
			log.DebugContext(ctx, "old measurements deleted", "count", gone)
		}
		return err
	}}
}
