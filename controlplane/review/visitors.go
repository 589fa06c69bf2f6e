package review

import (
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/internal/quantity"
)

// waitsForVisitors reports whether what interrupts a deployment (it "is removed") waits because
// somebody is at its addresses. It waits for so long at most, counted from the first look at which
// somebody was there.
func (r *Reviews) waitsForVisitors(
	x *controlplane.Review, d lifecycle.View, interruption string,
) bool {
	visitors := controlplane.KnownVisitors(d.Visitors)
	if d.Goal == controlplane.GoalGone || len(visitors) == 0 {
		return false
	}
	now := time.Now()
	if x.WaitsSince.IsZero() {
		x.WaitsSince = now
	}
	latest := x.WaitsSince.Add(r.WaitFor)
	if !now.Before(latest) {
		return false
	}
	x.State, x.DueAt = controlplane.ReviewCreating, now.Add(min(r.Ask, latest.Sub(now)))
	// The detail may be read outside, so nobody is named.
	x.Detail = fmt.Sprintf("the deployment is in use by %s, and %s when they are gone, at %s"+
		" at the latest", countVisitors(visitors), interruption, latest.UTC().Format("15:04 MST"))
	return true
}

// What may wait for visitors.
const (
	isRemoved = "is removed"
	isStopped = "is stopped for its update, which keeps its data,"
)

func countVisitors(all []controlplane.Visitor) string {
	n := 0
	for _, v := range all {
		n += v.Visitors
	}
	return quantity.FormatCount(n, "visitor", "visitors")
}
