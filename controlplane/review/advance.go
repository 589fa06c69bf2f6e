package review

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
)

// advanceReview compares what a review wants with what exists and does the next step.
// Each call starts from stored state, so a crash in between leaves nothing half done.
func (r *Reviews) advanceReview(ctx context.Context, x controlplane.Review) error {
	rule, err := r.ruleOf(ctx, x)
	if err != nil {
		return err
	}
	before := x.State
	if isSettled(before) {
		x.WaitsSince = time.Time{}
	}
	x.DueAt = time.Now().Add(lookEvery)
	// Pushes and closes do not wait until the code host says who may command.
	answered, unanswered := r.runCommands(ctx, rule, &x)
	if x.Want == controlplane.GoalGone {
		err = r.removeDeployment(ctx, rule, &x)
	} else {
		err = r.ensureDeployed(ctx, rule, &x)
	}
	if err != nil && ctx.Err() != nil {
		return fmt.Errorf("review %s: %w", x.Key, err)
	}
	if err != nil {
		r.retryLater(ctx, &x, err)
	}
	if isSettled(before) && x.State != before {
		x.Told = x.Generation - 1 // what was reported to the code host is out of date
	}
	switch {
	case isSettled(x.State) && (x.Told < x.Generation || answered):
		r.reportResult(ctx, rule, &x)
	case answered:
		r.reportAnswer(ctx, rule, &x)
	}
	if x.VerdictTold < x.VerdictWanted {
		r.reportVerdict(ctx, rule, &x)
	}
	if unanswered != nil {
		x.DueAt = time.Now().Add(r.Ask)
		r.Log.InfoContext(ctx, "a command waits", "rule", rule.Name, "review", x.Key,
			"error", unanswered)
	}
	if err := r.saveReview(ctx, x); err != nil {
		return err
	}
	// Aliases follow what is stored.
	remark := x.Remark
	err = r.followAliases(ctx, rule, &x)
	if x.Remark != remark {
		err = errors.Join(err, r.saveReview(ctx, x))
	}
	return err
}

func (r *Reviews) saveReview(ctx context.Context, x controlplane.Review) error {
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r.Store.InTx(late, func(tx *postgres.Tx) error { return tx.Reviews().Save(late, x) })
}

func isSettled(s controlplane.ReviewState) bool {
	return s == controlplane.ReviewReady || s == controlplane.ReviewFailed ||
		s == controlplane.ReviewRemoved
}

// retryLater retries until the time is up, whatever the error was: room becomes free,
// registries come back, builds end. Then the review fails, and the code host gets the
// reason. Removal is retried for ever.
func (r *Reviews) retryLater(ctx context.Context, x *controlplane.Review, why error) {
	x.DueAt = time.Now().Add(r.Ask)
	if isSettled(x.State) && x.Done == x.Generation {
		return // a look at what is there failed, which changes nothing
	}
	x.Detail = "this failed on our side; the log of the control plane says more"
	if said, ok := errors.AsType[*controlplane.Error](why); ok {
		x.Detail = clipText(said.Message, 500)
	} else {
		r.Log.WarnContext(ctx, "a review waits after an error", "review", x.Key, "error", why)
	}
	if time.Now().After(x.GiveUpAt) {
		x.State = controlplane.ReviewFailed
	}
}

func (r *Reviews) ruleOf(
	ctx context.Context, x controlplane.Review,
) (rule controlplane.ReviewRule, err error) {
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		rule, err = tx.ReviewRules().ByID(ctx, x.Rule)
		return err
	})
	return rule, err
}

// findDeployment returns the deployment of a review; nil if there is none. It searches
// by id, since the name may belong to another deployment by now.
func (r *Reviews) findDeployment(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (*lifecycle.View, error) {
	if x.DeploymentID != "" {
		d, err := r.Lifecycle.View(ctx, worker, x.DeploymentID)
		if err == nil && !d.Status.IsGone() {
			return &d, nil
		}
		if err != nil && controlplane.KindOf(err) != controlplane.NotFound {
			return nil, err
		}
	}
	all, err := r.Lifecycle.List(ctx, worker, lifecycle.Filter{Name: x.Deployment,
		Environment: rule.Environment, Most: 1})
	if err != nil || len(all) == 0 {
		return nil, err
	}
	d := all[0]
	if err := r.checkOwner(ctx, rule, x, d); err != nil {
		return nil, err
	}
	x.DeploymentID = d.ID
	return &d, nil
}

// checkOwner refuses a deployment that a person or another review made. A deployment without an
// owner was created right before its id could be stored.
func (r *Reviews) checkOwner(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d lifecycle.View) error {
	other := d.CreatedBy != worker.Name() || d.Project != rule.Project
	if !other {
		err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
			other, err = tx.Reviews().HasOtherOwner(ctx, d.ID, x.ID)
			return err
		})
		if err != nil {
			return err
		}
	}
	if other {
		return &controlplane.Error{Kind: controlplane.Conflict, Code: nameTaken,
			Message: "deployment " + d.Name + " is there already, and not of this review"}
	}
	return nil
}

const nameTaken = "name_taken"

func (r *Reviews) removeDeployment(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	if isNewGoal(*x) {
		if changed, err := r.followHost(ctx, rule, x); changed || err != nil {
			return err
		}
	}
	d, err := r.findDeployment(ctx, rule, x)
	if controlplane.CodeOf(err) == nameTaken {
		d, err = nil, nil // nothing of ours is left
	}
	if err != nil {
		return err
	}
	// Nobody is at an update that is being prepared: it does not wait for those who are at the rest.
	waits, err := r.removeNext(ctx, rule, x)
	if err != nil || d != nil && r.waitsForVisitors(x, *d, isRemoved) {
		return err
	}
	if err := r.removeFormers(ctx, x); err != nil {
		return err
	}
	if d == nil && waits {
		x.State, x.Detail = controlplane.ReviewCreating, "the deployment is being removed"
		return nil
	}
	if d == nil {
		x.State, x.Done, x.Detail = controlplane.ReviewRemoved, x.Generation, x.Outside
		return nil
	}
	x.State, x.Detail = controlplane.ReviewCreating, "the deployment is being removed"
	if d.Status == controlplane.Stuck || time.Now().After(x.GiveUpAt) {
		x.State, x.DueAt = controlplane.ReviewFailed, time.Now().Add(r.Ask)
		x.Detail = describeDelay("the deployment is not removed yet", *d)
	}
	return r.takeDown(ctx, *d)
}

// isNewGoal reports whether this is the first look after an event.
func isNewGoal(x controlplane.Review) bool {
	return x.State == controlplane.ReviewWaiting && x.Detail == ""
}

// takeDown requests the removal of a deployment unless it is being removed already.
func (r *Reviews) takeDown(ctx context.Context, d lifecycle.View) error {
	if d.Goal == controlplane.GoalGone {
		return nil
	}
	_, err := r.Lifecycle.Remove(ctx, worker, d.ID)
	return err
}

// ensureDeployed brings the deployment to the review's tag.
func (r *Reviews) ensureDeployed(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	next, err := r.findNext(ctx, rule, x)
	if err != nil {
		return err
	}
	d, err := r.findDeployment(ctx, rule, x)
	if err != nil {
		return err
	}
	if next != nil {
		return r.advanceNext(ctx, rule, x, d, *next)
	}
	if x.Done == x.Generation && d != nil {
		return r.watchDeployment(ctx, rule, x, *d)
	}
	if x.Done == x.Generation {
		// Somebody removed it, or its time was over: only a new event makes it again.
		x.State, x.Detail, x.Remark = controlplane.ReviewRemoved, "", ""
		return nil
	}
	if x.AwaitsApproval() {
		r.waitForApproval(ctx, rule, x)
		return nil
	}
	// An event does not say what happened since, and neither does a long wait for an image. So the
	// code host is asked again after that.
	first := isNewGoal(*x)
	if first {
		if changed, err := r.followHost(ctx, rule, x); changed || err != nil {
			return err
		}
	}
	versions, news, err := r.chooseVersions(ctx, rule, x, d)
	if err != nil {
		return err
	}
	if d != nil && !news && d.Goal != controlplane.GoalGone {
		return r.waitForNewerImage(ctx, rule, x, *d)
	}
	if !first && (d == nil || d.Goal != controlplane.GoalGone) {
		if changed, err := r.followHost(ctx, rule, x); changed || err != nil {
			return err
		}
	}
	request := lifecycle.Request{Name: x.Deployment, KnownAs: x.Deployment, Project: rule.Project,
		Environment: rule.Environment, Versions: versions, Input: rule.Input, Hours: rule.Schedule.Hours}
	if d != nil {
		return r.updateDeployment(ctx, rule, x, *d, request)
	}
	return r.createDeployment(ctx, x, request)
}

func (r *Reviews) createDeployment(
	ctx context.Context, x *controlplane.Review, request lifecycle.Request,
) error {
	made, err := r.Lifecycle.Create(ctx, worker, request)
	if err != nil {
		x.State = controlplane.ReviewWaiting
		return err
	}
	x.State, x.Detail = controlplane.ReviewCreating, "the deployment is being created"
	x.DeploymentID, x.Done = made.ID, x.Generation
	return nil
}

// waitForNewerImage waits for an image that is newer than the running one. If the build changed
// nothing, the review becomes ready with what runs, and at once if that is the build of this very
// commit: somebody pushed back to it. That of a schedule lives as long as a new one would.
func (r *Reviews) waitForNewerImage(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d lifecycle.View) error {
	x.State, x.Detail = controlplane.ReviewWaiting, "waiting for a newer image of "+x.Tag
	x.DueAt = time.Now().Add(r.Ask)
	over := followsImages(rule) || runsTag(d, x.Tag) && namesCommit(rule) ||
		time.Now().After(x.GiveUpAt)
	if d.Status == controlplane.Ready && over {
		x.Done, x.State, x.Detail = x.Generation, controlplane.ReviewReady, "no newer image came"
		if rule.Source == controlplane.ReviewSchedule {
			_, err := r.Lifecycle.Extend(ctx, worker, d.ID)
			return err
		}
	}
	return nil
}

// runsTag reports whether a deployment was made for a tag.
func runsTag(d lifecycle.View, tag string) bool {
	return slices.ContainsFunc(d.Versions,
		func(v controlplane.ServiceVersion) bool { return v.Tag == tag })
}

// followsImages reports whether there is no image to wait for: events of registries come after the
// push, and a schedule takes what is there.
func followsImages(rule controlplane.ReviewRule) bool {
	return rule.Source == controlplane.ReviewRegistry || rule.Source == controlplane.ReviewSchedule
}
