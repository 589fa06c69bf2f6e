package jobs

import (
	"context"
	"log/slog"
	"time"

	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// expireEvery is short beside the hours that cleanup rules are written in.
	expireEvery = 15 * time.Second
	// drift is how far the database's clock may run from ours between two looks
	// before it counts as set, not as running.
	drift = 10 * time.Minute
	// thinkTwice is how long people have to notice a clock that was set.
	thinkTwice = 24 * time.Hour
)

// Expire removes deployments whose lifetime has ended. If the database clock jumps, it
// pauses for a day, so that setting a clock removes nothing.
func Expire(deployments *lifecycle.Lifecycle, store *postgres.Store, log *slog.Logger) Job {
	var c JumpDetector
	return Job{Name: "expire", Every: expireEvery, Do: func(ctx context.Context) error {
		var wall time.Time
		err := store.Read(ctx, func(tx *postgres.Tx) (err error) {
			wall, err = tx.DatabaseTime(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if jump, rests := c.Compare(wall, time.Now()); rests {
			log.ErrorContext(ctx, "the database's clock was set: nothing expires until people "+
				"had a day to notice; restart the control plane to go on at once", "skew", jump)
			return nil
		}
		removed, err := deployments.Expire(ctx, access.System("cleanup"))
		if removed > 0 {
			log.InfoContext(ctx, "expired deployments are being removed", "count", removed)
		}
		return err
	}}
}

// JumpDetector compares the database's clock with the process's monotonic clock, which cannot be
// set. The zero value has not looked yet. It is not safe for concurrent use.
type JumpDetector struct {
	wall, here time.Time
	jump       time.Duration
	until      time.Time
}

// Compare takes what both clocks say now; here carries Go's monotonic reading. It
// reports by how much the database's was set, while that is no day ago.
func (c *JumpDetector) Compare(wall, here time.Time) (jump time.Duration, rests bool) {
	if !c.here.IsZero() {
		by := wall.Sub(c.wall) - here.Sub(c.here)
		if by > drift {
			c.jump, c.until = by, here.Add(thinkTwice)
		}
	}
	c.wall, c.here = wall, here
	return c.jump, here.Before(c.until)
}
