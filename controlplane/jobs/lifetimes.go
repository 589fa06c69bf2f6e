package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// arriveEvery is how long a deployment is nowhere, beside what it takes.
const arriveEvery = 5 * time.Second

// FinishMoves makes deployments that left their node on another one.
func FinishMoves(deployments *lifecycle.Lifecycle, log *slog.Logger) Job {
	return Job{Name: "arrive", Every: arriveEvery, Do: func(ctx context.Context) error {
		made, err := deployments.FinishMoves(ctx, access.System("move"))
		if made > 0 {
			log.InfoContext(ctx, "deployments go on, on other nodes", "count", made)
		}
		return err
	}}
}

// noticeEvery is short beside the hour of the last notice.
const noticeEvery = time.Minute

// NoticeExpiry notifies about deployments that end within a day, and within an hour.
func NoticeExpiry(deployments *lifecycle.Lifecycle) Job {
	return Job{Name: "notice_expiry", Every: noticeEvery, Do: func(ctx context.Context) error {
		_, err := deployments.NotifyExpiries(ctx, access.System("cleanup"))
		return err
	}}
}

// ForgetRemoved deletes what has been gone for as long as tombstones are kept.
func ForgetRemoved(deployments *lifecycle.Lifecycle, log *slog.Logger) Job {
	return Job{Name: "forget_removed", Every: forgetEvery, Do: func(ctx context.Context) error {
		gone, err := deployments.DeleteRemovedDeployments(ctx, access.System("cleanup"))
		if gone > 0 {
			log.InfoContext(ctx, "deployments that were gone are forgotten", "count", gone)
		}
		return err
	}}
}
