package jobs

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// ForgetPasses removes passes of the gate that are over.
func ForgetPasses(g *gate.Gate) Job {
	return Job{Name: "forget_passes", Every: time.Hour, Do: func(ctx context.Context) error {
		return g.DeleteExpiredPasses(ctx, access.System("forget passes"))
	}}
}

// ForgetVisitors removes the last requests of those who left.
func ForgetVisitors(deployments *lifecycle.Lifecycle) Job {
	return Job{Name: "forget_visitors", Every: time.Minute, Do: func(ctx context.Context) error {
		return deployments.ForgetVisitors(ctx, access.System("forget visitors"))
	}}
}
