package postgres

import (
	"context"
	"fmt"

	"github.com/nullops/nullops/controlplane"
)

// historyData is what a history row stores besides its kind.
type historyData struct {
	Run  int                   `json:"run,omitempty"`
	Step *controlplane.StepRow `json:"step,omitempty"`
	controlplane.ExpiryNotice
}

// Add numbers a change of a deployment and notifies its watchers. The caller
// must hold the deployment's row lock.
func (t History) Add(
	ctx context.Context, d controlplane.Deployment, h controlplane.History,
) (int64, error) {
	data, err := encodeHistory(h)
	if err != nil {
		return 0, err
	}
	seq, err := t.q.InsertHistory(ctx, string(h.Kind), data, string(d.ID))
	if err != nil {
		return 0, fmt.Errorf("add history of %s: %w", d.ID, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicDeployment, string(d.ID))
	return seq, nil
}

func encodeHistory(h controlplane.History) ([]byte, error) {
	if h.Step != nil {
		// The agent's ciphertext is of no use to people.
		shown := *h.Step
		shown.Sealed = nil
		h.Step = &shown
	}
	return encodeJSON(historyData{Run: h.Run, Step: h.Step, ExpiryNotice: h.Expiring})
}

// List returns up to most changes after the number, oldest first.
func (t History) List(ctx context.Context, id controlplane.DeploymentID, after int64,
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

// GetCommittedMark returns the mark before which everything is committed, or will never be.
func (t History) GetCommittedMark(ctx context.Context) (int64, error) {
	now, err := t.q.OpenTransaction(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the mark: %w", err)
	}
	return now, nil
}

// ListChangedSince returns the deployments that changed after the mark, and the new mark.
func (t History) ListChangedSince(
	ctx context.Context,
	mark int64,
) (all []ChangedDeployment, now int64, err error) {
	if now, err = t.GetCommittedMark(ctx); err != nil {
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
	found, err := t.tx.Deployments().ListExisting(ctx, ids)
	for _, d := range found {
		all = append(all, ChangedDeployment{Deployment: d, Mark: marks[string(d.ID)]})
	}
	return all, now, err
}
