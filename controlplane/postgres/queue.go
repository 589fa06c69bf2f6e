package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Add adds a run to the queue and assigns its turn. The caller must hold the locks
// of the environment's nodes. A run that starts at once is recorded too.
func (t Queue) Add(ctx context.Context, e controlplane.QueueEntry, starts bool) error {
	p := dbsqlc.InsertQueuedParams{RunID: string(e.Run), DeploymentID: string(e.Deployment),
		Scope: e.Scope, Priority: int16(e.Priority), Wait: e.Wait, Ask: e.Ask, Reason: e.Reason,
		Started: starts}
	if e.Patience > 0 {
		seconds := e.Patience.Seconds()
		p.DeadlineSeconds = &seconds
	}
	if !starts {
		turn, err := t.q.GetTurn(ctx, e.Scope, p.Priority)
		if err != nil {
			return fmt.Errorf("read turn: %w", err)
		}
		p.Turn = turn + controlplane.QueueStep(e.Priority)
	}
	if err := t.q.InsertQueued(ctx, p); err != nil {
		return fmt.Errorf("queue run %s: %w", e.Run, translateError(err))
	}
	return nil
}

// ListEnvironments returns the environments with queued runs.
func (t Queue) ListEnvironments(ctx context.Context) ([]controlplane.EnvironmentID, error) {
	ids, err := t.q.ListWaitingEnvironments(ctx)
	if err != nil {
		return nil, fmt.Errorf("list queues: %w", err)
	}
	return fromStrings[controlplane.EnvironmentID](ids), nil
}

// ListRuns returns an environment's queued runs, in order.
func (t Queue) ListRuns(
	ctx context.Context, env controlplane.EnvironmentID,
) ([]controlplane.WaitingRun, error) {
	rows, err := t.q.ListWaiting(ctx, string(env))
	if err != nil {
		return nil, fmt.Errorf("list who waits: %w", err)
	}
	all := make([]controlplane.WaitingRun, len(rows))
	for i, r := range rows {
		var ofEnvironment, ofProject controlplane.Placement
		if err := decodeJSON(r.EnvironmentPlacement, &ofEnvironment); err != nil {
			return nil, err
		}
		if err := decodeJSON(r.ProjectPlacement, &ofProject); err != nil {
			return nil, err
		}
		all[i] = controlplane.WaitingRun{QueueEntry: queueEntry(r.Queue),
			NodeID:    emptyIfNull[controlplane.NodeID](r.NodeID),
			Placement: ofEnvironment.Combine(ofProject)}
	}
	return all, nil
}

func queueEntry(r dbsqlc.Queue) controlplane.QueueEntry {
	return controlplane.QueueEntry{Run: controlplane.RunID(r.RunID),
		Deployment: controlplane.DeploymentID(r.DeploymentID), Scope: r.Scope,
		Priority: int(r.Priority), Wait: r.Wait, Ask: r.Ask, Turn: r.Turn,
		Position: int(r.Position), Reason: r.Reason, QueuedAt: r.QueuedAt, Deadline: r.Deadline,
		StartedAt: r.StartedAt, LeftAt: r.LeftAt, Attempts: int(r.Attempts)}
}

// Start lets a run begin, and moves its queue on. It reports whether it
// did: it may have been canceled meanwhile.
func (t Queue) Start(ctx context.Context, e controlplane.QueueEntry) (bool, error) {
	n, err := t.q.StartQueued(ctx, string(e.Run))
	if err != nil || n == 0 {
		return false, translateError(err)
	}
	if err := t.withdrawOffers(ctx, e.Run); err != nil {
		return false, err
	}
	if err := t.q.AdvanceQueue(ctx, e.Scope, e.Turn); err != nil {
		return false, fmt.Errorf("move queue on: %w", translateError(err))
	}
	return true, nil
}

// Leave ends the waiting of a run that never began. It reports whether it
// waited.
func (t Queue) Leave(ctx context.Context, run controlplane.RunID) (bool, error) {
	n, err := t.q.LeaveQueue(ctx, string(run))
	if err != nil {
		return false, fmt.Errorf("leave queue: %w", translateError(err))
	}
	return n > 0, t.withdrawOffers(ctx, run)
}

// withdrawOffers ends the offers of a run that waits for no node any more.
func (t Queue) withdrawOffers(ctx context.Context, run controlplane.RunID) error {
	if err := t.q.WithdrawOffersOfRun(ctx, nullIfEmpty(run)); err != nil {
		return fmt.Errorf("withdraw offers of run %s: %w", run, translateError(err))
	}
	return nil
}

// ListOverdue returns running runs that are past their deadline, the longest first.
func (t Queue) ListOverdue(ctx context.Context, most int) ([]controlplane.QueueEntry, error) {
	rows, err := t.q.ListOverdue(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list overdue runs: %w", err)
	}
	all := make([]controlplane.QueueEntry, len(rows))
	for i, r := range rows {
		all[i] = queueEntry(r.Queue)
	}
	return all, nil
}

// SetPosition stores a run's position in the queue. It reports whether it changed.
func (t Queue) SetPosition(
	ctx context.Context, run controlplane.RunID, position int, reason string,
) (bool, error) {
	n, err := t.q.SetQueuePosition(ctx, int32(position), reason, string(run))
	if err != nil {
		return false, fmt.Errorf("set position: %w", translateError(err))
	}
	return n > 0, nil
}

// CountAttempts records that these runs were sent to their node.
func (t Queue) CountAttempts(ctx context.Context, runs []controlplane.RunID) error {
	if err := t.q.CountAttempts(ctx, toStrings(runs)); err != nil {
		return fmt.Errorf("count attempts: %w", translateError(err))
	}
	return nil
}

// ListOf returns the queue entries of the deployments' runs, newest first, or only of
// those that are queued.
func (t Queue) ListOf(ctx context.Context, waiting bool,
	ids ...controlplane.DeploymentID) ([]controlplane.QueueEntry, error) {
	rows, err := t.q.ListQueueOf(ctx, toStrings(ids), waiting)
	if err != nil {
		return nil, fmt.Errorf("read queue: %w", err)
	}
	all := make([]controlplane.QueueEntry, len(rows))
	for i, r := range rows {
		all[i] = queueEntry(r.Queue)
		all[i].RunNumber, all[i].EndedAt = int(r.Number), r.EndedAt
		all[i].Status = controlplane.DeploymentStatus(r.Status)
	}
	return all, nil
}

// QueueFilter chooses what a list of the queue holds. Unless Everything is set, only
// Projects and Environments are visible.
type QueueFilter struct {
	Everything   bool
	Projects     []controlplane.ProjectID
	Environments []controlplane.EnvironmentID
	Environment  string
	Node         string
	// History lists the deployment's runs, newest first, before a run.
	History bool
	Before  controlplane.RunID
	Most    int
}

// List lists queued runs in order, or the history.
func (t Queue) List(ctx context.Context, f QueueFilter) ([]controlplane.QueueEntry, error) {
	rows, err := t.q.ListQueue(ctx, dbsqlc.ListQueueParams{Everything: f.Everything,
		Projects: toStrings(f.Projects), Environments: toStrings(f.Environments), History: f.History,
		Environment: nullIfEmpty(f.Environment), Node: nullIfEmpty(f.Node),
		Before: nullIfEmpty(f.Before), Most: int32(f.Most)})
	if err != nil {
		return nil, fmt.Errorf("list queue: %w", err)
	}
	all := make([]controlplane.QueueEntry, len(rows))
	for i, r := range rows {
		e := queueEntry(r.Queue)
		e.RunNumber, e.EndedAt = int(r.Number), r.EndedAt
		e.Status = controlplane.DeploymentStatus(r.Status)
		e.Name, e.Project, e.Environment, e.Node = r.Name, r.Project, r.Environment, r.NodeName
		all[i] = e
	}
	return all, nil
}
