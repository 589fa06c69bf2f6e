package lifecycle

import (
	"context"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// View is a deployment with everything a page or a list row shows.
type View struct {
	controlplane.Deployment
	Level    controlplane.Level
	Services []ServiceView
	// UsualSeconds is the sum of the steps' usual durations; zero if unknown.
	UsualSeconds float64
	// Question is the open question of the run; nil if there is none.
	Question *QuestionView
	// Tests is the result of the test suites of its run; nil if there are no results.
	Tests *controlplane.TestSummary
	// PullRequest is what it was made for; nil if a person made it, or a pushed tag did.
	PullRequest *controlplane.PullRequest
	// Visitors are at its addresses; You, as the actor sees it, is one of them or empty.
	Visitors []controlplane.Visitor
	You      controlplane.UserID
	// Verdict is what QA said last, without images; nil if nothing. It may be void.
	Verdict *controlplane.Verdict
	// Queue is the position in the queue; nil if it is not queued.
	Queue *controlplane.QueueEntry
	// ExpiresAt is when it is removed for lack of interest; zero is never.
	ExpiresAt time.Time
	Life      controlplane.LifetimeInfo
	// KeptUntil is when what is gone is forgotten; zero is never, or not gone.
	KeptUntil time.Time
}

// ServiceView is one service of a deployment.
type ServiceView struct {
	Step   pipeline.StepKey
	Health controlplane.ServiceHealth
	// URL is empty for a service without an exposed port.
	URL   string
	Ports []pipeline.Port
	// PortURLs are the addresses of its exposed ports, by their names.
	PortURLs map[string]string
}

// Get reads a deployment the actor may see.
func (l *Lifecycle) Get(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (d controlplane.Deployment, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err = readDeployment(ctx, tx, actor, id)
		return err
	})
	return d, err
}

func readDeployment(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.DeploymentID) (controlplane.Deployment, error) {
	d, err := tx.Deployments().Get(ctx, id)
	if err != nil {
		if !actor.SignedIn() {
			return d, access.Check(actor, access.Self, access.Object{})
		}
		return d, err
	}
	return d, access.Check(actor, access.ReadDeployment, accessObject(d))
}

// View reads a deployment with its services.
func (l *Lifecycle) View(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (v View, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readDeployment(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		all, err := l.buildViews(ctx, tx, actor, []controlplane.Deployment{d})
		if err != nil {
			return err
		}
		v = all[0]
		return nil
	})
	return v, err
}

// Filter chooses what List returns; empty fields choose everything.
type Filter struct {
	Project, Environment, Name, Search string
	Statuses                           []controlplane.DeploymentStatus
	Removed                            bool
	After                              controlplane.DeploymentPlace
	Order                              controlplane.DeploymentOrder
	Most                               int
}

// List returns a page of what the actor may see, in the order of the filter.
func (l *Lifecycle) List(
	ctx context.Context, actor access.Actor, f Filter,
) (all []View, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	scope := access.ReadableScope(actor)
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		ids, err := tx.Deployments().Find(ctx, postgres.DeploymentFilter{
			Everything: scope.All, Projects: scope.Projects, Environments: scope.Environments,
			Project: f.Project, Environment: f.Environment, Name: f.Name, Search: f.Search,
			Statuses: f.Statuses, Removed: f.Removed, After: f.After,
			Order: f.Order, Most: f.Most})
		if err != nil {
			return err
		}
		found, err := l.memory.loadDeployments(ctx, tx, ids)
		if err != nil {
			return err
		}
		shown, err := l.addLiveState(ctx, tx, found)
		all = viewsFor(shown, actor)
		return err
	})
	return all, err
}
