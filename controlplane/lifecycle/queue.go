package lifecycle

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

// AdmitQueuedRuns starts the queued runs that may start, in every environment with a queue. If
// deadlines count, it also ends runs whose deadline has passed, queued or under way.
// It is idempotent, also when two control planes call it at once.
func (l *Lifecycle) AdmitQueuedRuns(ctx context.Context, actor access.Actor, deadlines bool) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var envs []controlplane.EnvironmentID
	err := l.store.Read(ctx, func(tx *postgres.Tx) (err error) {
		envs, err = tx.Queue().ListEnvironments(ctx)
		return err
	})
	for _, env := range envs {
		err = errors.Join(err, l.store.InTx(ctx, func(tx *postgres.Tx) error {
			return admitIn(ctx, tx, env, deadlines)
		}))
	}
	if deadlines {
		err = errors.Join(err, l.endOverdue(ctx))
	}
	return err
}

func admitIn(ctx context.Context, tx *postgres.Tx, env controlplane.EnvironmentID,
	deadlines bool) error {
	nodes, err := tx.Placement().LockNodes(ctx, env)
	if err != nil {
		return err
	}
	rows, err := tx.Queue().ListRuns(ctx, env)
	if err != nil {
		return err
	}
	var now time.Time
	if deadlines {
		if now, err = tx.DatabaseTime(ctx); err != nil {
			return err
		}
	}
	waiting, expired, err := waitingOf(ctx, tx, env, rows)
	if err != nil {
		return err
	}
	for _, o := range expired {
		if err := tx.Offers().Decline(ctx, o.ID, o.NodeID, expiredReason(o.Status)); err != nil {
			return err
		}
	}
	entries := map[string]controlplane.QueueEntry{}
	for _, r := range rows {
		entries[string(r.Run)] = r.QueueEntry
	}
	todo := AdmitRuns(now, newCandidates(nodes), waiting)
	for _, c := range todo.Lost {
		err := tx.Offers().Decline(ctx, controlplane.OfferID(c.ID), controlplane.NodeID(c.Node),
			c.Reason)
		if err != nil {
			return err
		}
	}
	for _, s := range todo.Start {
		if err := startRun(ctx, tx, entries[s.Run], s); err != nil {
			return err
		}
	}
	for _, s := range todo.Ask {
		if err := offerRun(ctx, tx, entries[s.Run], s); err != nil {
			return err
		}
	}
	for _, s := range todo.Late {
		if err := tooLate(ctx, tx, entries[s.Run], s); err != nil {
			return err
		}
	}
	return updatePositions(ctx, tx, entries, todo.Stand)
}

// waitingOf returns the queued runs with what their nodes answered, and the offers whose time
// is over.
func waitingOf(ctx context.Context, tx *postgres.Tx, env controlplane.EnvironmentID,
	rows []controlplane.WaitingRun) (all []QueuedRun, expired []controlplane.Offer, err error) {
	if len(rows) == 0 {
		return nil, nil, nil
	}
	offers, err := tx.Offers().ListQueued(ctx, env)
	if err != nil {
		return nil, nil, err
	}
	all = make([]QueuedRun, len(rows))
	for i, r := range rows {
		all[i] = QueuedRun{Run: string(r.Run), Node: string(r.NodeID), Turn: r.Turn,
			Queued: r.QueuedAt}
		if err := json.Unmarshal(r.Ask, &all[i].Ask); err != nil {
			return nil, nil, fmt.Errorf("read what run %s asks for: %w", r.Run, err)
		}
		all[i].Ask.Placement = r.Placement
		if r.Deadline != nil {
			all[i].Deadline = *r.Deadline
		}
		for _, o := range offers {
			if o.Run != r.Run {
				continue
			}
			all[i].withOffer(o)
			if o.Status.IsPending() && o.Expired {
				expired = append(expired, o)
			}
		}
	}
	return all, expired, nil
}

// offerRun asks a node whether it takes a queued run, unless that was canceled meanwhile.
func offerRun(
	ctx context.Context, tx *postgres.Tx, e controlplane.QueueEntry, s StartableRun,
) error {
	d, err := tx.Deployments().Lock(ctx, e.Deployment)
	if err != nil || d.Status != controlplane.Queued || d.RunID != e.Run {
		return err
	}
	r, err := tx.Runs().ByID(ctx, e.Run)
	if err != nil {
		return err
	}
	o := newOffer(s.On, s.Ask, describeOffer(d, r.StartedBy, r.Pipeline, s.Ask))
	o.Run = e.Run
	return tx.Offers().Put(ctx, o)
}

// startRun lets one run start, unless it was canceled before we had its row.
func startRun(
	ctx context.Context,
	tx *postgres.Tx,
	e controlplane.QueueEntry,
	s StartableRun,
) error {
	d, err := tx.Deployments().Lock(ctx, e.Deployment)
	if err != nil {
		return err
	}
	if s.Offer != nil {
		taken, err := tx.Offers().Take(ctx, controlplane.OfferID(s.Offer.ID))
		if err != nil || !taken {
			return err
		}
	}
	started, err := tx.Queue().Start(ctx, e)
	if err != nil || !started {
		return err
	}
	if s.Node == "" {
		if err := assignWaitingRun(ctx, tx, &d, e.Run, s); err != nil {
			return err
		}
	}
	tx.NotifyOnCommit(controlplane.TopicNode, string(d.NodeID))
	_, err = tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryDeployment})
	return err
}

// assignWaitingRun stores the node of a run that waited for any node.
func assignWaitingRun(ctx context.Context, tx *postgres.Tx, d *controlplane.Deployment,
	run controlplane.RunID, s StartableRun) error {
	d.NodeID, d.Node = controlplane.NodeID(s.On.ID), s.On.Name
	d.GPUs, _ = gpusOf(s.On, s.Ask, s.On.Taken)
	d.VRAMMiB = new(int64(s.Ask.VRAMMiB))
	if err := tx.Deployments().ReplaceRunTarget(ctx, *d); err != nil || len(d.GPUs) == 0 {
		return err
	}
	r, err := tx.Runs().ByID(ctx, run)
	if err != nil {
		return err
	}
	return tx.Runs().SetPipeline(ctx, run, withGPUs(r.Pipeline, d.GPUs))
}

// tooLate fails a run that waited as long as its maker wanted.
func tooLate(ctx context.Context, tx *postgres.Tx, e controlplane.QueueEntry,
	s QueuePosition) error {
	d, err := tx.Deployments().Lock(ctx, e.Deployment)
	if err != nil {
		return err
	}
	left, err := tx.Queue().Leave(ctx, e.Run)
	if err != nil || !left {
		return err
	}
	why := "It waited until its deadline. " + s.Reason
	if err := moveStatus(ctx, tx, d, controlplane.Failed, why, nil); err != nil {
		return err
	}
	return tx.Runs().Move(ctx, e.Run, controlplane.Failed, true,
		&controlplane.Failure{Code: "queue_deadline", Message: why})
}

// updatePositions stores the positions of queued runs, and notifies watchers of those
// that changed.
func updatePositions(
	ctx context.Context,
	tx *postgres.Tx,
	entries map[string]controlplane.QueueEntry,
	all []QueuePosition,
) error {
	for _, s := range all {
		e := entries[s.Run]
		news, err := tx.Queue().SetPosition(ctx, e.Run, s.Position, s.Reason)
		if err != nil {
			return err
		}
		if !news {
			continue
		}
		_, err = tx.History().Add(ctx, controlplane.Deployment{ID: e.Deployment},
			controlplane.History{Kind: controlplane.HistoryDeployment})
		if err != nil {
			return err
		}
	}
	return nil
}

// cancelQueued ends a deployment whose run never began, so there is nothing to undo. It reports
// whether the deployment was such a one.
func cancelQueued(
	ctx context.Context, tx *postgres.Tx, d controlplane.Deployment, why string,
) (bool, error) {
	if d.Status != controlplane.Queued {
		return false, nil
	}
	waited, err := tx.Queue().Leave(ctx, d.RunID)
	if err != nil || !waited {
		return false, err
	}
	if err := tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalGone, true); err != nil {
		return false, err
	}
	if err := moveStatus(ctx, tx, d, controlplane.Canceled, why, nil); err != nil {
		return false, err
	}
	return true, tx.Hosts().Delete(ctx, d.ID)
}

// MarkDelivered stores that these runs were sent to their node.
func (l *Lifecycle) MarkDelivered(
	ctx context.Context, actor access.Actor, runs []controlplane.RunID,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	if len(runs) == 0 {
		return nil
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error {
		return tx.Queue().CountAttempts(ctx, runs)
	})
}

// QueueFilter chooses what Queue returns; empty fields choose everything.
type QueueFilter struct {
	Environment, Node string
	// History selects all runs, newest first, that were queued before a run.
	History bool
	Before  controlplane.RunID
	Most    int
}

// Queue returns the queued runs in order, or the history, as far as the actor may see.
func (l *Lifecycle) Queue(ctx context.Context, actor access.Actor,
	f QueueFilter) (all []controlplane.QueueEntry, err error) {
	if err := access.Check(actor, access.Self, access.Object{}); err != nil {
		return nil, err
	}
	scope := access.ReadableScope(actor)
	err = l.store.Read(ctx, func(tx *postgres.Tx) error {
		all, err = tx.Queue().List(ctx, postgres.QueueFilter{Everything: scope.All,
			Projects: scope.Projects, Environments: scope.Environments, Node: f.Node,
			Environment: f.Environment, History: f.History, Before: f.Before, Most: f.Most})
		return err
	})
	return all, err
}
