package review

import (
	"context"
	"errors"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// An update is prepared beside the deployment that runs, and takes its place when it is ready.
// Until then nothing changes for those who use it, and if the update fails nothing has changed.

// findNext returns what is prepared beside a review's deployment; nil if there is nothing. A crash
// may have come after it was created, or after it took its place, and before that was stored.
func (r *Reviews) findNext(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (*lifecycle.View, error) {
	next, err := r.loadNext(ctx, rule, x)
	if err != nil || next == nil {
		return nil, err
	}
	if x.NextID == "" {
		if err := r.checkOwner(ctx, rule, x, *next); err != nil {
			return nil, err
		}
		// Images that came since are found when it is ready.
		x.Done = x.Generation
	}
	if x.NextID = next.ID; next.Name == x.Deployment {
		x.DeploymentID, x.NextID = next.ID, ""
		return nil, nil
	}
	if next.Status.IsGone() && x.Done != x.Generation {
		x.NextID = ""
		return nil, nil
	}
	return next, nil
}

func (r *Reviews) loadNext(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (*lifecycle.View, error) {
	if x.NextID != "" {
		next, err := r.Lifecycle.View(ctx, worker, x.NextID)
		if controlplane.KindOf(err) == controlplane.NotFound {
			x.NextID = ""
			return nil, nil
		}
		return &next, err
	}
	all, err := r.Lifecycle.List(ctx, worker, lifecycle.Filter{
		Name: lifecycle.NextName(x.Deployment), Environment: rule.Environment, Most: 1})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	return &all[0], nil
}

// updateDeployment brings newer images to a review: beside the deployment that runs if it can, or
// else in its place.
func (r *Reviews) updateDeployment(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d lifecycle.View, request lifecycle.Request) error {
	x.State = controlplane.ReviewCreating
	running := d.Status == controlplane.Ready && d.Goal == controlplane.GoalPresent
	if d.Project != rule.Project || d.Environment != rule.Environment {
		running = false // the rule was changed: nothing can take its place there
		x.Remark = "It was replaced in place, since the rule deploys to another project or " +
			"environment now."
	} else if !running {
		x.Remark = "It was replaced in place, since what was there before was not ready."
	} else if rule.Updates == controlplane.UpdateReplace {
		x.Remark = "It was replaced in place, as the rule says."
	}
	if rule.Updates == controlplane.UpdateAside && running {
		beside := request
		beside.Name, beside.Beside = lifecycle.NextName(x.Deployment), d.ID
		keeps, remark, err := r.decideData(ctx, rule, d)
		if err != nil || keeps && r.waitsForVisitors(x, d, isStopped) {
			return err
		}
		beside.KeepData = keeps
		made, err := r.Lifecycle.Create(ctx, worker, beside)
		if err == nil {
			x.NextID, x.Done, x.Remark = made.ID, x.Generation, remark
			x.Detail = preparedBeside
			return nil
		}
		if !canOnlyReplace(err) {
			x.State = controlplane.ReviewWaiting
			return err
		}
		freed, fault := r.Lifecycle.RemoveFormers(ctx, worker, d.ID, lifecycle.StayFor)
		if fault != nil || freed > 0 {
			x.Detail = "an earlier build is being removed, to make room for the update"
			return fault
		}
		if keeps {
			// In place, its data would be lost.
			x.State = controlplane.ReviewWaiting
			return err
		}
		x.Remark = clipText("It was replaced in place, not prepared beside the deployment that ran: "+
			messageOf(err), 500)
	}
	if r.waitsForVisitors(x, d, isRemoved) {
		return nil
	}
	x.Detail = "the older deployment is being removed"
	return r.takeDown(ctx, d)
}

const preparedBeside = "the update is being prepared beside the deployment that runs"

// canOnlyReplace reports whether an update cannot be prepared beside what runs, now or later.
func canOnlyReplace(err error) bool {
	switch controlplane.CodeOf(err) {
	case "name_taken", "host_taken", "address_too_long":
		return true
	}
	return controlplane.KindOf(err) == controlplane.Exhausted
}

// messageOf is what people may read of an error.
func messageOf(err error) string {
	if said, ok := errors.AsType[*controlplane.Error](err); ok {
		return said.Message
	}
	return "this failed on our side"
}

// advanceNext follows what is prepared, and has it take its place when it is ready.
func (r *Reviews) advanceNext(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d *lifecycle.View, next lifecycle.View) error {
	if next.Status == controlplane.Ready && next.Goal == controlplane.GoalPresent &&
		next.Degraded == "" {
		return r.switchTo(ctx, x, d, next)
	}
	if x.Done != x.Generation {
		return r.supersedeNext(ctx, rule, x, next)
	}
	x.DueAt = time.Now().Add(lookEvery)
	switch {
	case next.Status.IsGone():
		return r.staysBefore(x, d)
	case next.Goal == controlplane.GoalGone:
		x.State, x.Detail = controlplane.ReviewCreating, "the update is being removed"
	case next.Status == controlplane.Failed || next.Status == controlplane.Stuck:
		x.State, x.DueAt = controlplane.ReviewFailed, time.Now().Add(r.Ask)
		x.Detail = clipText("the update failed, and the earlier build still answers: "+
			reasonOf(next), 500)
	default:
		x.State = controlplane.ReviewCreating
		x.Detail = describeDelay(preparedBeside, next)
		if time.Now().After(latestReady(*x, next)) {
			x.State, x.DueAt = controlplane.ReviewFailed, time.Now().Add(r.Ask)
			x.Detail = describeDelay("the update is not ready in time, and the earlier build still answers",
				next)
		}
	}
	return nil
}

// switchTo has an update take the place of the deployment that ran.
func (r *Reviews) switchTo(
	ctx context.Context, x *controlplane.Review, d *lifecycle.View, next lifecycle.View,
) error {
	older := x.DeploymentID
	if d != nil {
		older = d.ID
	}
	if d != nil && d.Goal == controlplane.GoalGone {
		x.State, x.Detail = controlplane.ReviewCreating, "the older deployment is being removed"
		return nil
	}
	err := r.Lifecycle.TakeOver(ctx, worker, older, next.ID)
	if controlplane.CodeOf(err) == "data_outdated" {
		return r.giveUpOutdated(ctx, x, next)
	}
	if err != nil {
		return err
	}
	// The remark stays: it is about this update, and the pull request has not been told it yet.
	x.DeploymentID, x.NextID = next.ID, ""
	if x.Done == x.Generation {
		r.mirrorStatus(x, next)
	}
	return nil
}

// staysBefore leaves a review with the deployment that ran, after somebody removed its update. Only
// a new event brings another one.
func (r *Reviews) staysBefore(x *controlplane.Review, d *lifecycle.View) error {
	x.DueAt = time.Now().Add(r.Ask)
	if x.Remark != outdatedRemark {
		x.Remark = "Somebody removed the update while it was prepared; the earlier build still answers."
	}
	if d != nil {
		r.mirrorStatus(x, *d)
		return nil
	}
	x.State, x.Detail, x.Remark = controlplane.ReviewRemoved, "", ""
	return nil
}

// supersedeNext decides about an update that is not ready yet when a newer push came.
func (r *Reviews) supersedeNext(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, next lifecycle.View) error {
	if isNewGoal(*x) {
		if changed, err := r.followHost(ctx, rule, x); changed || err != nil {
			return err
		}
	}
	_, news, err := r.chooseVersions(ctx, rule, x, &next)
	if err != nil {
		return err
	}
	switch {
	case news || next.Goal == controlplane.GoalGone:
		x.State = controlplane.ReviewCreating
		x.Detail = "a newer push came, and the update that was prepared is being removed"
		return r.takeDown(ctx, next)
	case followsImages(rule), time.Now().After(x.GiveUpAt):
		x.Done = x.Generation
	default:
		x.State, x.Detail = controlplane.ReviewWaiting, "waiting for a newer image of "+x.Tag
		x.DueAt = time.Now().Add(r.Ask)
	}
	return nil
}

// removeNext removes what is prepared beside a review's deployment, and reports whether that is
// still there.
func (r *Reviews) removeNext(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (waits bool, err error) {
	next, err := r.findNext(ctx, rule, x)
	if controlplane.CodeOf(err) == nameTaken {
		return false, nil
	}
	if err != nil || next == nil || next.Status.IsGone() {
		return false, err
	}
	return true, r.takeDown(ctx, *next)
}

// removeFormers removes what a review's deployment replaced, unless a person holds that.
func (r *Reviews) removeFormers(ctx context.Context, x *controlplane.Review) error {
	if x.DeploymentID == "" {
		return nil
	}
	_, err := r.Lifecycle.RemoveFormers(ctx, worker, x.DeploymentID, 0)
	return err
}

// reasonOf says why a deployment failed.
func reasonOf(d lifecycle.View) string {
	if d.Failure != nil {
		return d.Failure.Sentence()
	}
	return "the deployment failed"
}
