package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// Counts is the state of the whole installation in numbers.
type Counts struct {
	Runs        map[controlplane.DeploymentStatus]int64
	Deployments map[controlplane.DeploymentStatus]int64
	Nodes       map[controlplane.NodeStatus]int64
	// Waiting are runs whose turn has not come; QueueOldest is for how long the first has waited.
	Waiting     int64
	QueueOldest time.Duration
	// Degraded are ready deployments with services that do not work.
	Degraded                   int64
	LeasesHeld, LeasesExpired  int64
	Notices, Deliveries        int64
	NoticesOldest              time.Duration
	DatabaseSize, LocksWaiting int64
	OldestTransaction          time.Duration
	AuditEntries               int64
	// BackupAt is zero before the first one.
	BackupAt     time.Time
	BackupFailed bool
	// JobFailures is how often each job failed in a row.
	JobFailures map[string]int64
	Processes   map[controlplane.ProcessRole]int64
	Alerts      []AlertCount
	// DatabaseTime is the database's clock.
	DatabaseTime time.Time
}

// AlertCount is how many alerts of a condition are active.
type AlertCount struct {
	Condition string
	Severity  controlplane.Severity
	N         int64
}

// Count reads the counts.
func (t Metrics) Count(ctx context.Context) (Counts, error) {
	c := Counts{Runs: map[controlplane.DeploymentStatus]int64{},
		Deployments: map[controlplane.DeploymentStatus]int64{},
		Nodes:       map[controlplane.NodeStatus]int64{}, JobFailures: map[string]int64{},
		Processes: map[controlplane.ProcessRole]int64{}}
	for _, read := range []func(context.Context, *Counts) error{
		t.countStates, t.readInstallation, t.countParts,
	} {
		if err := read(ctx, &c); err != nil {
			return c, err
		}
	}
	return c, nil
}

func (t Metrics) countStates(ctx context.Context, c *Counts) error {
	runs, err := t.q.CountRuns(ctx)
	if err != nil {
		return fmt.Errorf("count runs: %w", err)
	}
	for _, r := range runs {
		c.Runs[controlplane.DeploymentStatus(r.Status)] = r.N
	}
	deployments, err := t.q.CountDeployments(ctx)
	if err != nil {
		return fmt.Errorf("count deployments: %w", err)
	}
	for _, r := range deployments {
		c.Deployments[controlplane.DeploymentStatus(r.Status)] = r.N
	}
	nodes, err := t.q.CountNodes(ctx)
	if err != nil {
		return fmt.Errorf("count nodes: %w", err)
	}
	for _, n := range nodes {
		c.Nodes[controlplane.NodeStatus(n.Status)] = n.N
	}
	if c.Waiting, err = t.q.CountWaiting(ctx); err != nil {
		return fmt.Errorf("count waiting runs: %w", err)
	}
	if c.Degraded, err = t.q.CountDegraded(ctx); err != nil {
		return fmt.Errorf("count degraded deployments: %w", err)
	}
	return nil
}

func (t Metrics) readInstallation(ctx context.Context, c *Counts) error {
	r, err := t.q.ReadInstallationMetrics(ctx)
	if err != nil {
		return fmt.Errorf("read metrics: %w", err)
	}
	c.QueueOldest, c.NoticesOldest = toDuration(r.QueueOldest), toDuration(r.NoticesOldest)
	c.LeasesHeld, c.LeasesExpired = r.LeasesHeld, r.LeasesExpired
	c.Notices, c.Deliveries = r.Notices, r.Deliveries
	c.DatabaseSize = r.DatabaseSize
	c.AuditEntries, c.BackupFailed = r.AuditEntries, r.BackupFailed
	c.DatabaseTime = r.DatabaseTime
	if r.BackupAt > 0 {
		c.BackupAt = time.Unix(int64(r.BackupAt), 0)
	}
	return t.readActivity(ctx, c)
}

// readActivity reads what sqlc has no description of: views of PostgreSQL itself. A role that may
// not look at others' transactions sees its own.
func (t Metrics) readActivity(ctx context.Context, c *Counts) error {
	var seconds float64
	err := t.tx.tx.QueryRow(ctx, `SELECT (SELECT count(*) FROM pg_locks WHERE NOT granted),
		coalesce((SELECT extract(epoch FROM now() - min(xact_start)) FROM pg_stat_activity
			WHERE datname = current_database() AND pid <> pg_backend_pid()), 0)::float8`).
		Scan(&c.LocksWaiting, &seconds)
	if err != nil {
		return fmt.Errorf("read activity of the database: %w", err)
	}
	c.OldestTransaction = toDuration(seconds)
	return nil
}

func (t Metrics) countParts(ctx context.Context, c *Counts) error {
	jobs, err := t.q.ListJobFailures(ctx)
	if err != nil {
		return fmt.Errorf("list failures of jobs: %w", err)
	}
	for _, j := range jobs {
		c.JobFailures[j.Name] = int64(j.Failures)
	}
	processes, err := t.q.CountProcesses(ctx)
	if err != nil {
		return fmt.Errorf("count processes: %w", err)
	}
	for _, p := range processes {
		c.Processes[controlplane.ProcessRole(p.Role)] = p.N
	}
	alerts, err := t.q.CountAlerts(ctx)
	if err != nil {
		return fmt.Errorf("count alerts: %w", err)
	}
	for _, a := range alerts {
		c.Alerts = append(c.Alerts, AlertCount{Condition: a.Condition,
			Severity: controlplane.Severity(a.Severity), N: a.N})
	}
	return nil
}

func toDuration(seconds float64) time.Duration {
	return time.Duration(seconds * float64(time.Second))
}

// NodeFigures is what an agent reported of its node: CPU in cores, sizes in bytes.
type NodeFigures struct {
	Name, Environment  string
	CPU, CPUUsed       float64
	Memory, MemoryUsed int64
	Disk, DiskFree     int64
	// Images is what they take, Freed what removing unused ones came to.
	Images, Freed int64
	// Age is that of the figures. Critical and Warning count checks.
	Age               time.Duration
	Critical, Warning int64
}

// ListNodes returns the figures of each node that has some.
func (t Metrics) ListNodes(ctx context.Context) ([]NodeFigures, error) {
	rows, err := t.q.ListNodeMetrics(ctx)
	if err != nil {
		return nil, fmt.Errorf("list figures of nodes: %w", err)
	}
	all := make([]NodeFigures, len(rows))
	for i, r := range rows {
		all[i] = NodeFigures{Name: r.Name, Environment: r.Environment, CPU: r.Cpu,
			CPUUsed: r.CpuUsed, Memory: r.Memory, MemoryUsed: r.MemoryUsed, Disk: r.Disk,
			DiskFree: r.DiskFree, Images: r.Images, Freed: r.Freed, Age: toDuration(r.Age),
			Critical: r.Critical, Warning: r.Warning}
	}
	return all, nil
}

// EndedRuns is how many runs ended alike.
type EndedRuns struct {
	Outcome controlplane.DeploymentStatus
	// Reason is the code of the failure; empty for none.
	Reason string
	N      int64
}

// ListEnded returns the runs that ended, and how long those had waited that started, in between.
func (t Metrics) ListEnded(
	ctx context.Context, since, until time.Time,
) (ended []EndedRuns, waits []time.Duration, err error) {
	rows, err := t.q.CountEndedRuns(ctx, since, until)
	if err != nil {
		return nil, nil, fmt.Errorf("count ended runs: %w", err)
	}
	for _, r := range rows {
		ended = append(ended, EndedRuns{Outcome: controlplane.DeploymentStatus(r.Status),
			Reason: r.FailureCode, N: r.N})
	}
	seconds, err := t.q.ListQueueWaits(ctx, since, until)
	if err != nil {
		return nil, nil, fmt.Errorf("list waits in the queue: %w", err)
	}
	for _, s := range seconds {
		waits = append(waits, toDuration(s))
	}
	return ended, waits, nil
}
