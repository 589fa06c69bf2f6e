package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// historyData is what a history row stores besides its kind.
type historyData struct {
	Run  int                   `json:"run,omitempty"`
	Step *controlplane.StepRow `json:"step,omitempty"`
	controlplane.ExpiryNotice
}

// AddHistory numbers a change of a deployment and notifies its watchers. The caller
// must hold the deployment's row lock.
func (t *Tx) AddHistory(
	ctx context.Context, d controlplane.Deployment, h controlplane.History,
) (int64, error) {
	if h.Step != nil {
		// The agent's ciphertext is of no use to people.
		shown := *h.Step
		shown.Sealed = nil
		h.Step = &shown
	}
	data, err := encodeJSON(historyData{Run: h.Run, Step: h.Step, ExpiryNotice: h.Expiring})
	if err != nil {
		return 0, err
	}
	seq, err := t.q.InsertHistory(ctx, string(h.Kind), data, string(d.ID))
	if err != nil {
		return 0, fmt.Errorf("add history of %s: %w", d.ID, translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicDeployment, string(d.ID))
	return seq, nil
}

// History returns up to most changes after the number, oldest first.
func (t *Tx) History(ctx context.Context, id controlplane.DeploymentID, after int64,
	most int) ([]controlplane.History, error) {
	rows, err := t.q.ListHistory(ctx, string(id), after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list history of %s: %w", id, err)
	}
	all := make([]controlplane.History, len(rows))
	for i, r := range rows {
		var data historyData
		if err := decodeJSON(r.Data, &data); err != nil {
			return nil, err
		}
		all[i] = controlplane.History{Seq: r.Seq, At: r.At,
			Kind: controlplane.HistoryKind(r.Kind), Step: data.Step, Run: data.Run,
			Expiring: data.ExpiryNotice}
	}
	return all, nil
}

// ChangedDeployment is a deployment and the transaction that changed it last.
type ChangedDeployment struct {
	controlplane.Deployment
	Mark int64
}

// CommittedMark is up to where everything is committed, or will never be.
func (t *Tx) CommittedMark(ctx context.Context) (int64, error) {
	now, err := t.q.OpenTransaction(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the mark: %w", err)
	}
	return now, nil
}

// ChangedSince returns the deployments that changed after the mark, and the new mark.
func (t *Tx) ChangedSince(
	ctx context.Context,
	mark int64,
) (all []ChangedDeployment, now int64, err error) {
	if now, err = t.CommittedMark(ctx); err != nil {
		return nil, 0, err
	}
	rows, err := t.q.ListChangedSince(ctx, mark)
	if err != nil || len(rows) == 0 {
		return nil, now, translateError(err)
	}
	marks, ids := map[string]int64{}, make([]controlplane.DeploymentID, len(rows))
	for i, r := range rows {
		ids[i], marks[r.DeploymentID] = controlplane.DeploymentID(r.DeploymentID), r.Xact
	}
	found, err := t.ExistingDeployments(ctx, ids)
	for _, d := range found {
		all = append(all, ChangedDeployment{Deployment: d, Mark: marks[string(d.ID)]})
	}
	return all, now, err
}

// AppendLines stores a step's lines, each once, and notifies followers. All lines must
// be of one deployment.
func (t *Tx) AppendLines(
	ctx context.Context, id controlplane.DeploymentID, lines []controlplane.LogLine,
) error {
	last, err := t.q.ReserveLines(ctx, int64(len(lines)), string(id))
	if err != nil {
		return translateMissing(err, "deployment", string(id))
	}
	next := last - int64(len(lines))
	for _, l := range lines {
		n, err := t.q.InsertLine(ctx, dbsqlc.InsertLineParams{
			DeploymentID: string(id), ID: next + 1, RunID: string(l.Run), Step: string(l.Step),
			Number: l.Number, At: l.At, Text: l.Text, Dropped: l.Dropped,
		})
		if err != nil {
			return fmt.Errorf("insert line: %w", translateError(err))
		}
		next += n
		if err := t.q.CountLines(ctx, n, string(l.Run), string(l.Step)); err != nil {
			return fmt.Errorf("count lines: %w", err)
		}
	}
	if unused := last - next; unused > 0 {
		if err := t.q.ReturnLines(ctx, unused, string(id)); err != nil {
			return fmt.Errorf("return line numbers: %w", err)
		}
	}
	t.NotifyOnCommit(controlplane.TopicLog, string(id))
	return nil
}

// LinesAfter returns up to most lines of a deployment after the id.
func (t *Tx) LinesAfter(ctx context.Context, id controlplane.DeploymentID, after int64,
	most int) ([]controlplane.LogLine, error) {
	rows, err := t.q.ListLines(ctx, string(id), after, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list lines of %s: %w", id, err)
	}
	all := make([]controlplane.LogLine, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LogLine{ID: r.ID, Run: controlplane.RunID(r.RunID),
			RunNumber: int(r.Run), Step: pipeline.StepKey(r.Step), Number: r.Number, At: r.At,
			Text: r.Text, Dropped: r.Dropped}
	}
	return all, nil
}

// StepLines returns up to most lines of one step after the number.
func (t *Tx) StepLines(ctx context.Context, run controlplane.RunID, key pipeline.StepKey,
	after int64, most int) ([]controlplane.LogLine, error) {
	rows, err := t.q.ListStepLines(ctx, dbsqlc.ListStepLinesParams{
		RunID: string(run), Step: string(key), After: after, Most: int32(most)})
	if err != nil {
		return nil, fmt.Errorf("list lines of step %s: %w", key, err)
	}
	all := make([]controlplane.LogLine, len(rows))
	for i, r := range rows {
		all[i] = controlplane.LogLine{ID: r.ID, Run: run, Step: key, Number: r.Number, At: r.At,
			Text: r.Text, Dropped: r.Dropped}
	}
	return all, nil
}

// PutProgress stores a step's progress and notifies watchers.
func (t *Tx) PutProgress(ctx context.Context, p controlplane.Progress) error {
	data, err := encodeJSON(p)
	if err != nil {
		return err
	}
	if err := t.q.PutProgress(ctx, data, string(p.Run), string(p.Step)); err != nil {
		return fmt.Errorf("put progress: %w", err)
	}
	t.NotifyOnCommit(controlplane.TopicProgress, string(p.Deployment))
	return nil
}

// ProgressOf returns the progress of a deployment's running steps.
func (t *Tx) ProgressOf(
	ctx context.Context, id controlplane.DeploymentID,
) ([]controlplane.Progress, error) {
	rows, err := t.q.ListProgress(ctx, string(id))
	if err != nil {
		return nil, fmt.Errorf("list progress of %s: %w", id, err)
	}
	all := make([]controlplane.Progress, len(rows))
	for i, r := range rows {
		if err := decodeJSON(r.Progress, &all[i]); err != nil {
			return nil, err
		}
		all[i].RunNumber = int(r.Run)
	}
	return all, nil
}

// PutHealth stores a probe's answer and reports whether people see a change.
func (t *Tx) PutHealth(ctx context.Context, h controlplane.ServiceHealth) (bool, error) {
	n, err := t.q.PutHealth(ctx, dbsqlc.PutHealthParams{
		DeploymentID: string(h.Deployment), Step: string(h.Step), Health: h.Health,
		Detail: h.Detail, Restarts: int32(h.Restarts), Cpu: h.CPU, Memory: h.Memory,
	})
	if err != nil {
		return false, fmt.Errorf("put health: %w", translateError(err))
	}
	if n > 0 {
		return true, nil
	}
	err = t.q.PutUse(ctx, dbsqlc.PutUseParams{DeploymentID: string(h.Deployment),
		Step: string(h.Step), Detail: h.Detail, Cpu: h.CPU, Memory: h.Memory})
	return false, err
}

// RefreshDegraded computes whether and why a deployment is degraded, and reports
// whether that changed. The caller must hold the deployment's row lock.
func (t *Tx) RefreshDegraded(ctx context.Context, id controlplane.DeploymentID) (bool, error) {
	n, err := t.q.RefreshDegraded(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("refresh the condition of %s: %w", id, translateError(err))
	}
	return n > 0, nil
}

// Health returns the health of each service of the deployments.
func (t *Tx) Health(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID][]controlplane.ServiceHealth, error) {
	rows, err := t.q.ListHealthOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list health: %w", err)
	}
	all := map[controlplane.DeploymentID][]controlplane.ServiceHealth{}
	for _, r := range rows {
		id := controlplane.DeploymentID(r.DeploymentID)
		all[id] = append(all[id], controlplane.ServiceHealth{Deployment: id,
			Step: pipeline.StepKey(r.Step), Health: r.Health, Detail: r.Detail,
			Restarts: int(r.Restarts), CPU: r.Cpu, Memory: r.Memory})
	}
	return all, nil
}

// NodeGoals returns the goals of a node.
func (t *Tx) NodeGoals(
	ctx context.Context,
	node controlplane.NodeID,
) ([]controlplane.NodeGoal, error) {
	rows, err := t.q.ListNodeGoals(ctx, nullIfEmpty(node))
	if err != nil {
		return nil, fmt.Errorf("list goals of node %s: %w", node, err)
	}
	all := make([]controlplane.NodeGoal, len(rows))
	for i, r := range rows {
		all[i] = controlplane.NodeGoal{Deployment: controlplane.DeploymentID(r.ID), Name: r.Name,
			Generation: r.Generation, Goal: controlplane.Goal(r.Want),
			Elsewhere: r.Elsewhere, Still: r.Still, Attempt: zeroIfNull(r.Attempt),
			Resume: fromStrings[pipeline.StepKey](r.Resume), RequestID: r.RequestID,
			Status: controlplane.DeploymentStatus(r.Status), Project: r.Project,
			Environment: r.Environment, Domain: r.Domain, Run: controlplane.RunID(r.RunID),
			Version: int(r.PipelineVersion)}
		if err := decodeJSON(r.Pipeline, &all[i].Pipeline); err != nil {
			return nil, err
		}
	}
	return all, t.addAnswers(ctx, all)
}

func (t *Tx) addAnswers(ctx context.Context, all []controlplane.NodeGoal) error {
	runs := make([]controlplane.RunID, len(all))
	for i, o := range all {
		runs[i] = o.Run
	}
	said, err := t.readAnswers(ctx, runs)
	for i, o := range all {
		all[i].Answers = said[o.Run]
	}
	return err
}

// Routes returns every host with its deployment and service.
func (t *Tx) Routes(ctx context.Context) ([]controlplane.Route, error) {
	rows, err := t.q.ListRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return toRoutes(rows), nil
}

// RoutesOf returns the hosts of some deployments.
func (t *Tx) RoutesOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) ([]controlplane.Route, error) {
	rows, err := t.q.ListRoutesOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list routes of deployments: %w", err)
	}
	return toRoutes(rows), nil
}

// DeploymentsAffectedBy returns the deployments whose state as shown depends on these nodes.
func (t *Tx) DeploymentsAffectedBy(
	ctx context.Context, nodes ...controlplane.NodeID,
) ([]controlplane.DeploymentID, error) {
	ids, err := t.q.ListLivingOn(ctx, toStrings(nodes))
	if err != nil {
		return nil, fmt.Errorf("list deployments of nodes: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](ids), nil
}

func toRoutes(rows []dbsqlc.RouteRow) []controlplane.Route {
	all := make([]controlplane.Route, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Route{Host: r.Host,
			Deployment: controlplane.DeploymentID(r.DeploymentID), Name: r.Deployment,
			Project: r.Project, Environment: r.Environment, Step: pipeline.StepKey(r.Step),
			Port: int(r.Port), Status: controlplane.DeploymentStatus(r.Status), Detail: r.Detail,
			ChangedAt: r.ChangedAt, Node: emptyIfNull[controlplane.NodeID](r.NodeID),
			NodeStatus: controlplane.NodeStatus(r.NodeStatus), NodeSince: r.NodeSince}
	}
	return all
}

// AdvanceReports notes the last report applied, and reports whether it is new.
func (t *Tx) AdvanceReports(
	ctx context.Context, node controlplane.NodeID, seq int64,
) (bool, error) {
	n, err := t.q.AdvanceReports(ctx, string(node), seq)
	if err != nil {
		return false, fmt.Errorf("advance reports of node %s: %w", node, translateError(err))
	}
	return n > 0, nil
}

// ResetReports restarts the node's report count after seq.
func (t *Tx) ResetReports(ctx context.Context, node controlplane.NodeID, seq int64) error {
	if err := t.q.ResetReports(ctx, string(node), seq); err != nil {
		return fmt.Errorf("reset reports of node %s: %w", node, translateError(err))
	}
	return nil
}

// LastReport is the highest report of the node that was applied.
func (t *Tx) LastReport(ctx context.Context, node controlplane.NodeID) (int64, error) {
	seq, err := t.q.GetReports(ctx, string(node))
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, nil
	}
	if err != nil {
		return 0, fmt.Errorf("last report of node %s: %w", node, err)
	}
	return seq, nil
}

// Epoch is the epoch of the node's current lease.
func (t *Tx) Epoch(ctx context.Context, node controlplane.NodeID) (int64, error) {
	epoch, err := t.q.GetLeaseEpoch(ctx, string(node))
	if err != nil {
		return 0, fmt.Errorf("epoch of node %s: %w", node, translateMissing(err, "lease", string(node)))
	}
	return epoch, nil
}

// SetBuild notes what an incompatible agent runs.
func (t *Tx) SetBuild(ctx context.Context, node controlplane.NodeID, build string) error {
	if err := t.q.SetBuild(ctx, build, string(node)); err != nil {
		return fmt.Errorf("note build of node %s: %w", node, translateError(err))
	}
	return nil
}
