package jobs

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
)

// ForgetPasses removes passes of the gate that are over.
func ForgetPasses(g *gate.Gate) Job {
	return Job{Name: "forget_passes", Every: time.Hour, Do: func(ctx context.Context) error {
		return g.DeleteExpiredPasses(ctx, access.System("forget passes"))
	}}
}
