package review

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// advance looks once at a review: what is wanted, what is there, what to do
// next. Each look begins anew from the truth, so that whoever dies in between
// leaves nothing half done.
func (r *Reviews) advance(ctx context.Context, x controlplane.Review) error {
	rule, err := r.ruleOf(ctx, x)
	if err != nil {
		return err
	}
	x.DueAt = time.Now().Add(lookEvery)
	if x.Want == controlplane.GoalGone {
		err = r.remove(ctx, rule, &x)
	} else {
		err = r.ensure(ctx, rule, &x)
	}
	if said, ok := err.(*controlplane.Error); ok { //nolint:errorlint // only one of our own is told
		r.refused(&x, said)
		err = nil
	}
	if err != nil {
		return fmt.Errorf("review %s: %w", x.Key, err)
	}
	if settled(x.State) && x.Told < x.Generation {
		r.tell(ctx, rule, &x)
	}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return r.Store.InTx(late, func(tx *postgres.Tx) error { return tx.SaveReview(late, x) })
}

func settled(s controlplane.ReviewState) bool {
	return s == controlplane.ReviewReady || s == controlplane.ReviewFailed ||
		s == controlplane.ReviewRemoved
}

// refused tries again until the time is up: rooms become free, registries come
// back, builds end.
func (r *Reviews) refused(x *controlplane.Review, why *controlplane.Error) {
	x.Detail, x.DueAt = clip(why.Message, 500), time.Now().Add(r.Ask)
	if time.Now().After(x.GiveUpAt) {
		x.State, x.Done = controlplane.ReviewFailed, x.Generation
	}
}

func (r *Reviews) ruleOf(
	ctx context.Context, x controlplane.Review,
) (rule controlplane.ReviewRule, err error) {
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		rule, err = tx.ReviewRuleByID(ctx, x.Rule)
		return err
	})
	return rule, err
}

// findDeployment gives the deployment of a review; nil if there is none now.
// Its id is what counts: names can be given to others, and rules change.
func (r *Reviews) findDeployment(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) (*lifecycle.View, error) {
	if x.DeploymentID != "" {
		d, err := r.Lifecycle.View(ctx, worker, x.DeploymentID)
		if err == nil && !d.Status.Gone() {
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

// checkOwner refuses a deployment that a person or another review made. One of
// ours without an owner was made right before we could store its id.
func (r *Reviews) checkOwner(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d lifecycle.View) error {
	other := d.CreatedBy != worker.Name() || d.Project != rule.Project
	if !other {
		err := r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
			other, err = tx.HasOtherOwner(ctx, d.ID, x.ID)
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

func (r *Reviews) remove(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	d, err := r.findDeployment(ctx, rule, x)
	if controlplane.CodeOf(err) == nameTaken {
		d, err = nil, nil // nothing of ours is left
	}
	if err != nil {
		return err
	}
	if d == nil {
		x.State, x.Done, x.Detail = controlplane.ReviewRemoved, x.Generation, ""
		return nil
	}
	x.State, x.Detail = controlplane.ReviewCreating, "the deployment is being removed"
	return r.takeDown(ctx, *d)
}

// takeDown asks for the removal of a deployment unless that is under way.
func (r *Reviews) takeDown(ctx context.Context, d lifecycle.View) error {
	if d.Goal == controlplane.GoalGone {
		return nil
	}
	_, err := r.Lifecycle.Remove(ctx, worker, d.ID)
	return err
}

// ensure brings the deployment to the review's tag.
func (r *Reviews) ensure(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review) error {
	d, err := r.findDeployment(ctx, rule, x)
	if err != nil {
		return err
	}
	if x.Done == x.Generation && d != nil {
		return follow(x, *d)
	}
	versions, news, err := r.versions(ctx, rule, x, d)
	if err != nil {
		return err
	}
	if d != nil && !news && d.Goal != controlplane.GoalGone {
		return r.same(x, *d)
	}
	x.State = controlplane.ReviewCreating
	if d != nil {
		x.Detail = "the older deployment is being removed"
		return r.takeDown(ctx, *d)
	}
	made, err := r.Lifecycle.Create(ctx, worker, lifecycle.Request{Name: x.Deployment,
		Project: rule.Project, Environment: rule.Environment, Versions: versions})
	if err != nil {
		x.State = controlplane.ReviewWaiting
		return err
	}
	x.DeploymentID, x.Done, x.Detail = made.ID, x.Generation, "the deployment is being created"
	return nil
}

// same waits for an image that is newer than what runs. A build that changed
// nothing ends as what runs already.
func (r *Reviews) same(x *controlplane.Review, d lifecycle.View) error {
	x.State, x.Detail = controlplane.ReviewWaiting, "waiting for a newer image of "+x.Tag
	x.DueAt = time.Now().Add(r.Ask)
	if d.Status == controlplane.Ready && time.Now().After(x.GiveUpAt) {
		x.Done, x.State, x.Detail = x.Generation, controlplane.ReviewReady, "no newer image came"
	}
	return nil
}

// follow mirrors the deployment's state.
func follow(x *controlplane.Review, d lifecycle.View) error {
	switch d.Status {
	case controlplane.Ready:
		x.State, x.Detail = controlplane.ReviewReady, ""
	case controlplane.Failed, controlplane.Stuck:
		x.State, x.Detail = controlplane.ReviewFailed, "the deployment failed"
		if d.Failure != nil {
			x.Detail = clip(d.Failure.Message, 500)
		}
	default:
		x.State = controlplane.ReviewCreating
	}
	return nil
}

// versions chooses the review's tag for each service that has it, and leaves
// the rest at their defaults. news says that something differs from what runs.
func (r *Reviews) versions(ctx context.Context, rule controlplane.ReviewRule,
	x *controlplane.Review, d *lifecycle.View,
) (versions map[pipeline.StepKey]string, news bool, err error) {
	var target postgres.Target
	err = r.Store.Read(ctx, func(tx *postgres.Tx) (err error) {
		target, err = tx.Target(ctx, rule.Project)
		return err
	})
	if err != nil {
		return nil, false, err
	}
	versions = map[pipeline.StepKey]string{}
	var last error
	for _, s := range target.Pipeline.Steps {
		if s.Service == nil || s.Service.Image == nil ||
			s.Service.Image.TagMode != pipeline.Selectable {
			continue
		}
		facts, err := r.Catalog.ResolveTag(ctx, worker, *s.Service.Image, x.Tag)
		if err != nil {
			last = err
			continue
		}
		versions[s.Key] = x.Tag
		news = news || d == nil || !runs(*d, s.Key, facts.Digest)
	}
	if len(versions) > 0 {
		return versions, news, nil
	}
	if last == nil || controlplane.KindOf(last) == controlplane.Invalid {
		last = &controlplane.Error{Kind: controlplane.Unavailable, Code: "tag_awaited",
			Message: "no service has the tag " + x.Tag + " yet"}
	}
	return nil, false, last
}

func runs(d lifecycle.View, step pipeline.StepKey, digest string) bool {
	for _, v := range d.Versions {
		if v.Step == step {
			return v.Digest == digest
		}
	}
	return false
}
