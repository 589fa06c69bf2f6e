package review

import (
	"context"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// outdatedRemark is what people read of an update that was ready too late: the deployment that it
// was to replace runs again, and has other data by now.
const outdatedRemark = "The update was ready with the data of the deployment that ran, but too " +
	"late: that one runs again, and still answers. Push again, or write /nullops deploy."

// decideData says whether an update begins with the data of the deployment that runs, and what
// people should know of what it does not keep.
func (r *Reviews) decideData(ctx context.Context, rule controlplane.ReviewRule,
	d lifecycle.View) (keeps bool, remark string, err error) {
	if rule.Data != controlplane.DataKeep {
		return false, "", nil
	}
	kept, err := r.Lifecycle.ListKept(ctx, worker, d.ID, rule.Project)
	return len(kept.Kept) > 0, describeLeft(kept), err
}

// describeLeft is empty if an update begins with all the data of the deployment that runs.
func describeLeft(kept controlplane.KeptData) string {
	var left []string
	if len(kept.Stay) > 0 {
		left = append(left, "the pipeline says that these volumes stay on their node: "+
			strings.Join(kept.Stay, ", "))
	}
	if len(kept.Dropped) > 0 {
		left = append(left, "its pipeline has no such volumes any more: "+
			strings.Join(kept.Dropped, ", "))
	}
	switch {
	case len(left) > 0:
		return clipText("The update does not keep all data: "+strings.Join(left, "; ")+".", 500)
	case len(kept.Kept) == 0:
		return "The rule keeps data, and the deployment that ran has no volumes."
	}
	return ""
}

// giveUpOutdated removes an update whose data is older than that of the deployment that runs.
func (r *Reviews) giveUpOutdated(
	ctx context.Context, x *controlplane.Review, next lifecycle.View,
) error {
	x.State, x.Remark = controlplane.ReviewCreating, outdatedRemark
	x.Detail = "the update was ready too late, and is being removed"
	return r.takeDown(ctx, next)
}
