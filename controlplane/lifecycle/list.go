package lifecycle

import (
	"context"
	"maps"
	"slices"
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
	// Question is what the run waits for; nil if it waits for nobody.
	Question *QuestionView
	// Queue is where it stands while it waits; nil when it does not.
	Queue *controlplane.QueueEntry
	// ExpiresAt is when it is removed for lack of interest; zero is never.
	ExpiresAt time.Time
	Life      controlplane.Life
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
}

// Get reads a deployment the actor may see.
func (l *Lifecycle) Get(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (d controlplane.Deployment, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err = readable(ctx, tx, actor, id)
		return err
	})
	return d, err
}

func readable(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	id controlplane.DeploymentID) (controlplane.Deployment, error) {
	d, err := tx.Deployment(ctx, id)
	if err != nil {
		if !actor.SignedIn() {
			return d, access.Check(actor, access.Self, access.Object{})
		}
		return d, err
	}
	o := object(d)
	// The answer must be the one for an id that does not exist.
	o.Name = string(id)
	return d, access.Check(actor, access.ReadDeployment, o)
}

// View reads a deployment with its services.
func (l *Lifecycle) View(
	ctx context.Context, actor access.Actor, id controlplane.DeploymentID,
) (v View, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readable(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		all, err := l.views(ctx, tx, actor, []controlplane.Deployment{d})
		if err != nil {
			return err
		}
		v = all[0]
		return nil
	})
	return v, err
}

// Filter chooses what List gives; empty fields choose everything.
type Filter struct {
	Project, Environment, Name, Search string
	Statuses                           []controlplane.DeploymentStatus
	Removed                            bool
	After                              controlplane.DeploymentPlace
	Order                              controlplane.DeploymentOrder
	Most                               int
}

// List gives a page of what the actor may see, in the order of the filter.
func (l *Lifecycle) List(
	ctx context.Context, actor access.Actor, f Filter,
) (all []View, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	scope := access.Readable(actor)
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		found, err := tx.ListDeployments(ctx, postgres.DeploymentFilter{
			Everything: scope.All, Projects: scope.Projects, Environments: scope.Environments,
			Project: f.Project, Environment: f.Environment, Name: f.Name, Search: f.Search,
			Statuses: f.Statuses, Removed: f.Removed, After: f.After,
			Order: f.Order, Most: f.Most})
		if err != nil {
			return err
		}
		all, err = l.views(ctx, tx, actor, found)
		return err
	})
	return all, err
}

// views adds services, health, URLs and usual durations, in a few queries.
func (l *Lifecycle) views(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	found []controlplane.Deployment) ([]View, error) {
	shown, err := l.shown(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	all := make([]View, len(shown))
	for i, s := range shown {
		all[i] = s.to(actor)
	}
	return all, nil
}

// shown is a view before somebody looks: the same for everybody.
type shown struct {
	view View
	// question is nil when nobody is asked.
	question *controlplane.Question
}

// to is what the actor sees, who may see it at all.
func (s shown) to(actor access.Actor) View {
	v := s.view
	v.Level = access.Level(actor, object(v.Deployment))
	if s.question != nil {
		v.Question = asked(actor, v.Deployment, *s.question)
	}
	return v
}

func (l *Lifecycle) shown(
	ctx context.Context, tx *postgres.Tx, found []controlplane.Deployment,
) ([]shown, error) {
	ids := make([]controlplane.DeploymentID, len(found))
	projects := map[controlplane.ProjectID]bool{}
	for i, d := range found {
		ids[i] = d.ID
		projects[d.ProjectID] = true
	}
	hosts, err := tx.Hosts(ctx, ids...)
	if err != nil {
		return nil, err
	}
	health, err := tx.Health(ctx, ids...)
	if err != nil {
		return nil, err
	}
	expiries, err := tx.Expiries(ctx, ids...)
	if err != nil {
		return nil, err
	}
	open, err := questions(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	waiting, err := queueOf(ctx, tx, ids)
	if err != nil {
		return nil, err
	}
	lives, err := tx.Lives(ctx, ids...)
	if err != nil {
		return nil, err
	}
	usual, err := tx.UsualTotals(ctx, slices.Collect(maps.Keys(projects))...)
	if err != nil {
		return nil, err
	}
	all := make([]shown, len(found))
	for i, d := range found {
		all[i].view = View{Deployment: d, Queue: waiting[d.ID],
			Services:     l.services(d, hosts[d.ID], health[d.ID]),
			UsualSeconds: usual[d.ProjectID], ExpiresAt: expiries[d.ID], Life: lives[d.ID]}
		if d.Status.Gone() && l.keep > 0 {
			all[i].view.KeptUntil = d.ChangedAt.Add(l.keep)
		}
		if q, ok := open[d.ID]; ok {
			all[i].question = &q
		}
	}
	return all, nil
}

// queueOf finds who of the deployments waits.
func queueOf(ctx context.Context, tx *postgres.Tx, ids []controlplane.DeploymentID,
) (map[controlplane.DeploymentID]*controlplane.QueueEntry, error) {
	all, err := tx.QueueOf(ctx, true, ids...)
	if err != nil {
		return nil, err
	}
	of := map[controlplane.DeploymentID]*controlplane.QueueEntry{}
	for i, e := range all {
		of[e.Deployment] = &all[i]
	}
	return of, nil
}

// services joins what was chosen with hosts and health. What no probe has seen
// yet follows from the deployment, or is unknown while nobody can ask.
func (l *Lifecycle) services(d controlplane.Deployment, hosts []controlplane.Host,
	health []controlplane.ServiceHealth) []ServiceView {
	urls := l.urls(hosts)
	all := make([]ServiceView, 0, len(d.Versions))
	for _, v := range d.Versions {
		s := ServiceView{Step: v.Step, URL: urls[v.Step],
			Health: controlplane.ServiceHealth{Step: v.Step, Health: unprobed(d.Status)}}
		for _, h := range health {
			if h.Step == v.Step && !d.Status.Gone() && d.Status != controlplane.Failed {
				s.Health = h
			}
		}
		if d.NodeStatus != controlplane.NodeOnline && !d.Status.Gone() {
			s.Health.Health = "unknown"
		}
		s.Ports = append([]pipeline.Port{}, v.Ports...)
		all = append(all, s)
	}
	return all
}

// unprobed is a service's health before the first probe. A deployment became
// ready a moment ago, by every service's readiness check.
func unprobed(s controlplane.DeploymentStatus) string {
	switch s {
	case controlplane.Queued, controlplane.Applying:
		return "starting"
	case controlplane.Ready:
		return "healthy"
	}
	return "stopped"
}

// RunView is a run with its steps.
type RunView struct {
	controlplane.Run
	Steps []controlplane.StepRow
	// Usual holds the steps' usual durations in seconds, where known.
	Usual map[pipeline.StepKey]float64
	// Queue is its way through the queue.
	Queue    *controlplane.QueueEntry
	Versions []controlplane.ServiceVersion
}

// Runs gives every run of a deployment, newest first.
func (l *Lifecycle) Runs(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID) (all []RunView, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readable(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		runs, err := tx.Runs(ctx, id)
		if err != nil {
			return err
		}
		for _, r := range runs {
			v, err := runView(ctx, tx, d, r)
			if err != nil {
				return err
			}
			all = append(all, v)
		}
		return nil
	})
	return all, err
}

// Run gives one run of a deployment.
func (l *Lifecycle) Run(ctx context.Context, actor access.Actor,
	id controlplane.DeploymentID, number int) (v RunView, err error) {
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		d, err := readable(ctx, tx, actor, id)
		if err != nil {
			return err
		}
		r, err := tx.Run(ctx, id, number)
		if err != nil {
			return err
		}
		v, err = runView(ctx, tx, d, r)
		return err
	})
	return v, err
}

func runView(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r controlplane.Run) (RunView, error) {
	steps, err := tx.Steps(ctx, r.ID)
	if err != nil {
		return RunView{}, err
	}
	v := RunView{Run: r, Steps: steps, Versions: chosen(r.Pipeline)}
	queue, err := tx.QueueOf(ctx, false, d.ID)
	if err != nil {
		return RunView{}, err
	}
	for i, e := range queue {
		if e.Run == r.ID {
			v.Queue = &queue[i]
		}
	}
	v.Usual, err = tx.UsualSeconds(ctx, d.ProjectID)
	return v, err
}
