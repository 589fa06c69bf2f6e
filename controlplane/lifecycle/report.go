package lifecycle

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/pipeline"
)

// Report is one numbered event of a node, in lifecycle's words.
type Report struct {
	Node       controlplane.NodeID
	Seq        int64
	Deployment controlplane.DeploymentID
	Generation int64
	Run        controlplane.RunID
	At         time.Time
	// Status is set when the deployment moved, Step when a step did.
	Status  controlplane.DeploymentStatus
	Step    *controlplane.StepRow
	Code    string
	Message string
	Left    []string
	// Tests is the result of the test suite of a job; nil if it has none.
	Tests *controlplane.TestReport
	// Deadline is until when an approval that is waiting does so.
	Deadline time.Time
}

// Apply applies reports, all or none. A report changes nothing if its number was seen
// before, if its deployment is not on the node, or if it is about an older generation.
// On an error the node sends the reports again. Reports of a node must be in order; a
// caller with reports of several nodes sorts them by deployment, so that two
// transactions cannot deadlock.
func (l *Lifecycle) Apply(ctx context.Context, actor access.Actor, all ...Report) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	var ended []controlplane.StepRow
	err := l.store.InTx(ctx, func(tx *postgres.Tx) error {
		ended = nil
		book, err := beginReports(ctx, tx, all)
		if err != nil {
			return err
		}
		for _, r := range all {
			moved, err := l.applyReport(ctx, book, r)
			if err != nil {
				return err
			}
			if moved.EndedAt != nil {
				ended = append(ended, moved)
			}
			if err := l.fail.Hit(r.FailpointPrefix() + ".commit"); err != nil {
				return err
			}
		}
		return book.close(ctx)
	})
	if err == nil && l.stepEnded != nil {
		for _, s := range ended {
			l.stepEnded(s)
		}
	}
	return err
}

// FailpointPrefix begins the names of the places that a report passes.
func (r Report) FailpointPrefix() string {
	if r.Status.IsGone() {
		return "gone"
	}
	return "report"
}

// applyReport returns the step that moved, if one did.
func (l *Lifecycle) applyReport(
	ctx context.Context, book *reportTx, r Report,
) (moved controlplane.StepRow, err error) {
	if !book.advanceSeq(r.Node, r.Seq) {
		return moved, nil
	}
	d, err := book.lockedDeployment(ctx, r.Deployment)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return moved, nil
	}
	if err != nil {
		return moved, err
	}
	if d.NodeID == r.Node {
		moved, applied, err := book.advanceStep(ctx, d, r)
		if err != nil || applied {
			return moved, err
		}
	}
	if err := book.flush(ctx); err != nil {
		return moved, err
	}
	switch {
	case d.NodeID != r.Node:
		err = l.applyElsewhere(ctx, book.Tx, d, r)
		delete(book.held, r.Deployment)
	case r.Step != nil:
		moved, err = l.applyStep(ctx, book, d, r)
	default:
		err = applyStatus(ctx, book.Tx, d, r)
	}
	book.forgetChanged(r)
	return moved, err
}

// applyStep stores a fact about a run's step, whatever the generation.
func (l *Lifecycle) applyStep(ctx context.Context, book *reportTx, d controlplane.Deployment,
	r Report) (moved controlplane.StepRow, err error) {
	run, err := book.runOf(ctx, r.Run)
	if err != nil || run.Deployment != d.ID {
		l.log.WarnContext(ctx, "report about a foreign run ignored", "run_id", r.Run, "error", err)
		return moved, nil
	}
	step := *r.Step
	step.Run, step.Code, step.Message = r.Run, r.Code, r.Message
	if r.Tests != nil {
		step.Tests = &r.Tests.TestSummary
	}
	moved, err = book.Steps().Move(ctx, step, r.At)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return controlplane.StepRow{}, nil
	}
	if err == nil && r.Tests != nil {
		err = book.TestReports().Put(ctx, r.Run, step.Key, *r.Tests)
	}
	if err != nil {
		return moved, err
	}
	return moved, tellStep(ctx, book, d, run, moved, r)
}

// tellStep changes what hangs on a step that moved.
func tellStep(ctx context.Context, book *reportTx, d controlplane.Deployment,
	run controlplane.Run, moved controlplane.StepRow, r Report) error {
	step := *r.Step
	step.Run, step.Code, step.Message = r.Run, r.Code, r.Message
	tx := book.Tx
	if err := askPeople(ctx, tx, run, step, r); err != nil {
		return err
	}
	if step.Status == pipeline.StepFailed && d.Goal == controlplane.GoalPresent {
		f := &controlplane.Failure{Step: step.Key, Code: r.Code, Message: r.Message}
		if err := tx.Runs().Move(ctx, r.Run, run.Status, false, f); err != nil {
			return err
		}
	}
	if r.Generation == d.Generation {
		book.newsOf(d.ID).Detail = new(stepDetail(moved))
	}
	_, err := tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryStep,
		Step: &moved, Run: run.Number})
	if err == nil && moved.Kind == pipeline.KindApproval {
		// What it waits for is shown with the deployment.
		_, err = tx.History().Add(ctx, d,
			controlplane.History{Kind: controlplane.HistoryDeployment})
	}
	if err != nil || moved.Kind != pipeline.KindService || r.Generation != d.Generation {
		return err
	}
	return stepHealth(ctx, tx, d, moved)
}

// stepHealth stores the health that follows from a step.
func stepHealth(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	s controlplane.StepRow) error {
	h := controlplane.ServiceHealth{Deployment: d.ID, Step: s.Key, Health: healthOfStep(s.Status)}
	if h.Health == "" {
		return nil
	}
	changed, err := tx.Health().Put(ctx, h)
	if err != nil || !changed {
		return err
	}
	return notifyHealth(ctx, tx, d, changed)
}

func stepDetail(s controlplane.StepRow) string {
	switch s.Status {
	case pipeline.StepFailed:
		return fmt.Sprintf("%s: %s", s.Key, s.Message)
	case pipeline.StepDone:
		return fmt.Sprintf("%s done", s.Key)
	case pipeline.StepWaiting:
		return fmt.Sprintf("%s waits for an answer", s.Key)
	}
	return fmt.Sprintf("%s %s", s.Key, s.Status)
}

// applyStatus moves the deployment, if the report is about what is wanted now.
func applyStatus(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	r Report) error {
	to := r.Status
	if d.Goal == controlplane.GoalGone && d.Status == controlplane.Undoing {
		to = whileUndoing(d, to)
	}
	if r.Generation != d.Generation || !d.Status.CanMove(to) || to == d.Status {
		return nil
	}
	if err := moveStatus(ctx, tx, d, to, statusDetail(d, r, to), r.Left); err != nil {
		return err
	}
	if r.Code != "" && d.Goal == controlplane.GoalPresent {
		f := &controlplane.Failure{Code: r.Code, Message: r.Message}
		if err := tx.Runs().Move(ctx, d.RunID, to, isEnded(to), f); err != nil {
			return err
		}
	}
	if to == controlplane.Failed && d.Goal == controlplane.GoalGone {
		// Nothing of it is left, and it can be retried like any failed one.
		return tx.Deployments().SetGoal(ctx, d.ID, controlplane.GoalPresent, false)
	}
	if to.IsGone() {
		return tx.Hosts().Delete(ctx, d.ID)
	}
	return nil
}

// whileUndoing reads an agent's word for removing as the word people know: what
// was being created is undone, and ends canceled, or failed at its deadline.
func whileUndoing(d controlplane.Deployment,
	to controlplane.DeploymentStatus) controlplane.DeploymentStatus {
	switch to {
	case controlplane.Removing:
		return controlplane.Undoing
	case controlplane.Removed, controlplane.Failed:
		if d.Canceled {
			return controlplane.Canceled
		}
		return controlplane.Failed
	}
	return to
}

func statusDetail(d controlplane.Deployment, r Report, to controlplane.DeploymentStatus) string {
	if to == controlplane.Failed && d.Failure != nil {
		return d.Failure.Sentence()
	}
	return r.Message
}

// ObserveHealth stores the results of a node's probes.
func (l *Lifecycle) ObserveHealth(ctx context.Context, actor access.Actor,
	node controlplane.NodeID, all []controlplane.ServiceHealth) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	slices.SortFunc(all, func(a, b controlplane.ServiceHealth) int {
		if a.Deployment != b.Deployment {
			return cmp.Compare(a.Deployment, b.Deployment)
		}
		return cmp.Compare(a.Step, b.Step)
	})
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].Deployment == all[0].Deployment {
			n++
		}
		err := l.store.InTx(ctx, func(tx *postgres.Tx) error {
			return storeHealth(ctx, tx, node, all[:n])
		})
		if err != nil {
			return err
		}
		all = all[n:]
	}
	return nil
}

// storeHealth stores the health of one deployment's services. Whether the deployment
// is degraded is decided after all of it is stored.
func storeHealth(ctx context.Context, tx *postgres.Tx, node controlplane.NodeID,
	all []controlplane.ServiceHealth) error {
	d, err := tx.Deployments().Lock(ctx, all[0].Deployment)
	if controlplane.KindOf(err) == controlplane.NotFound {
		return nil
	}
	if err != nil {
		return err
	}
	if d.NodeID != node || d.Status.IsGone() || d.Status == controlplane.Failed {
		return nil
	}
	changed := false
	for _, h := range all {
		news, err := tx.Health().Put(ctx, h)
		if err != nil {
			return err
		}
		changed = changed || news
	}
	return notifyHealth(ctx, tx, d, changed)
}

// notifyHealth notifies of stored health, and whether the deployment is degraded by
// it. It is also called when something that hid bad health, such as a move to another
// node, has ended.
func notifyHealth(ctx context.Context, tx *postgres.Tx, d controlplane.Deployment,
	changed bool) error {
	flipped, err := tx.Health().RefreshDegraded(ctx, d.ID)
	if err != nil {
		return err
	}
	if changed {
		_, err = tx.History().Add(ctx, d, controlplane.History{Kind: controlplane.HistoryHealth})
	}
	if err == nil && flipped {
		_, err = tx.History().Add(ctx, d,
			controlplane.History{Kind: controlplane.HistoryDeployment})
	}
	return err
}

// ObserveProgress stores a running step's sign of life.
func (l *Lifecycle) ObserveProgress(
	ctx context.Context, actor access.Actor, p controlplane.Progress,
) error {
	if err := access.Check(actor, access.Admin, access.Object{}); err != nil {
		return err
	}
	return l.store.InTx(ctx, func(tx *postgres.Tx) error { return tx.Steps().PutProgress(ctx, p) })
}
