package lifecycle

import (
	"context"
	"slices"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// reviewActor is the name of the task that makes deployments for pull requests.
var reviewActor = access.System("review").Name()

// buildViews adds services, health, URLs and usual durations, in a few queries.
func (l *Lifecycle) buildViews(ctx context.Context, tx *postgres.Tx, actor access.Actor,
	found []controlplane.Deployment) ([]View, error) {
	shown, err := l.readShown(ctx, tx, found)
	return viewsFor(shown, actor), err
}

// readShown shows deployments that were just read.
func (l *Lifecycle) readShown(
	ctx context.Context, tx *postgres.Tx, found []controlplane.Deployment,
) ([]sharedView, error) {
	all, err := readKnown(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	return l.addLiveState(ctx, tx, all)
}

// sharedView is a view without what depends on the actor.
type sharedView struct {
	view View
	// question is nil if there is no open question.
	question *controlplane.Question
}

// viewsFor returns the views for an actor, who must be allowed to see them.
func viewsFor(all []sharedView, actor access.Actor) []View {
	views := make([]View, len(all))
	for i, s := range all {
		views[i] = s.forActor(actor)
	}
	return views
}

func (s sharedView) forActor(actor access.Actor) View {
	v := s.view
	v.Level, v.You = access.Level(actor, accessObject(v.Deployment)), actor.UserID()
	if s.question != nil {
		v.Question = newQuestionView(actor, v.Deployment, *s.question)
	}
	return v
}

// addLiveState adds what changes without the deployments themselves.
func (l *Lifecycle) addLiveState(
	ctx context.Context,
	tx *postgres.Tx,
	found []cachedDeployment,
) ([]sharedView, error) {
	ids := idsOf(found, func(controlplane.Deployment) bool { return true })
	health, err := tx.Health().ListOf(ctx, ids...)
	if err != nil {
		return nil, err
	}
	open, err := openQuestions(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	waiting, err := queueOf(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	usual, err := usualTotals(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	tests, err := testsOf(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	requests, err := pullRequestsOf(ctx, tx, found)
	if err != nil {
		return nil, err
	}
	visitors, err := tx.Presence().ListOf(ctx, ids...)
	if err != nil {
		return nil, err
	}
	verdicts, err := tx.Verdicts().ListLatest(ctx, ids...)
	if err != nil {
		return nil, err
	}
	all := make([]sharedView, len(found))
	for i, k := range found {
		d := k.deployment
		all[i].view = View{Deployment: d, Queue: waiting[d.ID], Tests: tests[d.RunID],
			Visitors:     visitors[d.ID],
			Services:     l.serviceViews(d, k.hosts, health[d.ID]),
			UsualSeconds: usual[d.ProjectID], ExpiresAt: k.expires, Life: k.life}
		if d.Status.IsGone() && l.keep > 0 {
			all[i].view.KeptUntil = d.ChangedAt.Add(l.keep)
		}
		if r, ok := requests[d.ID]; ok {
			all[i].view.PullRequest = &r
		}
		if q, ok := verdicts[d.ID]; ok {
			all[i].view.Verdict = &q
		}
		if q, ok := open[d.ID]; ok {
			all[i].question = &q
		}
	}
	return all, nil
}

// queueOf returns the queue entries of those deployments that are queued.
func queueOf(ctx context.Context, tx *postgres.Tx, found []cachedDeployment,
) (map[controlplane.DeploymentID]*controlplane.QueueEntry, error) {
	ids := idsOf(found, func(d controlplane.Deployment) bool {
		return d.Status != controlplane.Ready
	})
	if len(ids) == 0 {
		return nil, nil
	}
	all, err := tx.Queue().ListOf(ctx, true, ids...)
	if err != nil {
		return nil, err
	}
	of := map[controlplane.DeploymentID]*controlplane.QueueEntry{}
	for i, e := range all {
		of[e.Deployment] = &all[i]
	}
	return of, nil
}

// pullRequestsOf returns what deployments were made for that no person made.
func pullRequestsOf(ctx context.Context, tx *postgres.Tx, found []cachedDeployment,
) (map[controlplane.DeploymentID]controlplane.PullRequest, error) {
	ids := idsOf(found, func(d controlplane.Deployment) bool {
		return d.CreatedBy == reviewActor
	})
	if len(ids) == 0 {
		return nil, nil
	}
	return tx.Reviews().ListPullRequests(ctx, ids...)
}

// testsOf returns the results of the test suites of the deployments' runs, by run.
func testsOf(
	ctx context.Context, tx *postgres.Tx, found []cachedDeployment,
) (map[controlplane.RunID]*controlplane.TestSummary, error) {
	runs := make([]controlplane.RunID, len(found))
	for i, k := range found {
		runs[i] = k.deployment.RunID
	}
	return tx.TestReports().ListSummaries(ctx, runs...)
}

// usualTotals returns how long runs in progress usually take, by project.
func usualTotals(
	ctx context.Context, tx *postgres.Tx, found []cachedDeployment,
) (map[controlplane.ProjectID]float64, error) {
	var projects []controlplane.ProjectID
	for _, k := range found {
		d := k.deployment
		under := d.Status == controlplane.Queued || d.Status == controlplane.Applying
		if under && !slices.Contains(projects, d.ProjectID) {
			projects = append(projects, d.ProjectID)
		}
	}
	if len(projects) == 0 {
		return nil, nil
	}
	return tx.Runs().ListUsualTotals(ctx, projects...)
}

func idsOf(
	found []cachedDeployment, which func(controlplane.Deployment) bool,
) (ids []controlplane.DeploymentID) {
	for _, k := range found {
		if which(k.deployment) {
			ids = append(ids, k.deployment.ID)
		}
	}
	return ids
}

// serviceViews joins versions with hosts and health. A job has no health: its step says how
// it ended. A service without a probe result
// gets a health that follows from the deployment's status, or unknown while its node
// is offline.
func (l *Lifecycle) serviceViews(d controlplane.Deployment, hosts []controlplane.Host,
	health []controlplane.ServiceHealth) []ServiceView {
	urls := l.serviceURLs(hosts)
	all := make([]ServiceView, 0, len(d.Versions))
	for _, v := range d.Versions {
		if v.Job {
			continue
		}
		s := ServiceView{Step: v.Step, URL: urls[v.Step], PortURLs: l.portURLs(v.Step, hosts),
			Health: controlplane.ServiceHealth{Step: v.Step, Health: unprobedHealth(d.Status)}}
		for _, h := range health {
			if h.Step == v.Step && !d.Status.IsGone() && d.Status != controlplane.Failed {
				s.Health = h
			}
		}
		if d.NodeStatus != controlplane.NodeOnline && !d.Status.IsGone() {
			s.Health.Health, s.Health.Ended = pipeline.HealthUnknown, false
		}
		s.Ports = append([]pipeline.Port{}, v.Ports...)
		all = append(all, s)
	}
	return all
}

// unprobedHealth is a service's health before the first probe. A deployment became
// ready a moment ago, by every service's readiness check.
func unprobedHealth(s controlplane.DeploymentStatus) pipeline.Health {
	switch s {
	case controlplane.Queued, controlplane.Applying:
		return pipeline.HealthStarting
	case controlplane.Ready:
		return pipeline.HealthHealthy
	}
	return pipeline.HealthStopped
}
