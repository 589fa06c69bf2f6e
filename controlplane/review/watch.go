package review

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

const (
	// queueGrace is how long a deployment may wait for its turn after the time of its review is
	// over: its image may have come in the last second.
	queueGrace = 30 * time.Second
	// applyGrace is the additional time for a deployment that has begun.
	applyGrace = time.Hour
)

// watchDeployment follows a review's deployment, and looks for more images of the same
// revision: they are built one after another, and their number is unknown. Each that
// appears within the review's time is deployed.
func (r *Reviews) watchDeployment(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d lifecycle.View) error {
	leaving := d.Goal == controlplane.GoalGone
	if leaving && isSettled(x.State) {
		x.DueAt = time.Now().Add(r.Ask)
		return nil // somebody removes it
	}
	looked := isSettled(x.State)
	if hasRecovered(*x, d) {
		// A service that works and fails by turns must not change the pull request each time.
		calm, err := r.isCalm(ctx, d)
		if err != nil || !calm {
			x.DueAt = time.Now().Add(r.Ask)
			return err
		}
	}
	r.mirrorStatus(x, d)
	if leaving || !hasEnded(d.Status) || rule.Source == controlplane.ReviewSchedule {
		return nil // a schedule has its next time for newer images
	}
	x.DueAt = time.Now().Add(r.Ask)
	// Check again after a deployment has ended that was created in time: images may have appeared
	// meanwhile.
	timeUp := time.Now().After(x.GiveUpAt)
	if timeUp && (looked || d.CreatedAt.After(x.GiveUpAt)) {
		return nil
	}
	_, news, err := r.chooseVersions(ctx, rule, x, &d)
	if err != nil || !news {
		return nil //nolint:nilerr // what runs is there; the next look asks again
	}
	// Store this before removing anything, so that after a crash the review is not done.
	x.Done, x.Told = x.Generation-1, x.Generation-1
	x.State, x.DueAt = controlplane.ReviewCreating, time.Now()
	x.Detail = "another image with the tag " + x.Tag + " came"
	return nil
}

func hasEnded(s controlplane.DeploymentStatus) bool {
	return s == controlplane.Ready || s == controlplane.Failed || s == controlplane.Stuck
}

// degradedDetail begins the detail of a review whose deployment is degraded.
const degradedDetail = "the deployment is degraded"

// calmLooks is how many looks long nothing may change until a deployment that was degraded counts
// as ready again.
const calmLooks = 4

// hasRecovered reports whether a deployment works again that was reported as degraded.
func hasRecovered(x controlplane.Review, d lifecycle.View) bool {
	return d.Status == controlplane.Ready && d.Degraded == "" &&
		x.State == controlplane.ReviewFailed && strings.HasPrefix(x.Detail, degradedDetail)
}

// isCalm reports whether nothing of a deployment has changed for some looks: neither its own
// condition nor the health of a service.
func (r *Reviews) isCalm(ctx context.Context, d lifecycle.View) (calm bool, err error) {
	err = r.Store.Read(ctx, func(tx *postgres.Tx) error {
		last, err := tx.History().List(ctx, d.ID, d.Revision-1, 1)
		calm = len(last) == 0 || time.Since(last[0].At) > calmLooks*r.Ask
		return err
	})
	return calm, err
}

// mirrorStatus copies the deployment's status. One that waits too long counts as
// failed for the code host, and so does a degraded one; if it becomes ready later, that is
// reported too.
func (r *Reviews) mirrorStatus(x *controlplane.Review, d lifecycle.View) {
	switch d.Status {
	case controlplane.Ready:
		if d.Degraded != "" {
			x.State = controlplane.ReviewFailed
			x.Detail = clipText(degradedDetail+": "+d.Degraded, 500)
			return
		}
		x.State, x.Detail = controlplane.ReviewReady, ""
	case controlplane.Failed, controlplane.Stuck:
		x.State, x.Detail = controlplane.ReviewFailed, "the deployment failed"
		if d.Failure != nil {
			x.Detail = clipText(d.Failure.Sentence(), 500)
		}
	default:
		x.State = controlplane.ReviewCreating
		x.Detail = describeDelay("the deployment is being created", d)
		if time.Now().After(latestReady(*x, d)) {
			x.State, x.DueAt = controlplane.ReviewFailed, time.Now().Add(r.Ask)
			x.Detail = describeDelay("the deployment is not ready in time", d)
		}
	}
}

// latestReady is when we stop waiting in silence.
func latestReady(x controlplane.Review, d lifecycle.View) time.Time {
	grace := applyGrace
	if d.Status == controlplane.Queued {
		grace = queueGrace
	}
	latest := d.CreatedAt.Add(grace)
	if x.GiveUpAt.After(latest) {
		return x.GiveUpAt
	}
	return latest
}

// describeDelay adds what a deployment waits for.
func describeDelay(what string, d lifecycle.View) string {
	reason := d.Detail
	if d.Queue != nil {
		reason = cmp.Or(d.Queue.Reason, reason)
	}
	if reason == "" {
		return what
	}
	return clipText(what+": "+reason, 500)
}
