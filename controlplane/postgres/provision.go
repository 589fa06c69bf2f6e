package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// PutSSH stores all SSH settings of a node.
func (t Provisions) PutSSH(ctx context.Context, s controlplane.NodeSSH) error {
	plan, err := encodeJSON(s.Plan)
	if err != nil {
		return err
	}
	err = t.q.PutNodeSSH(ctx, dbsqlc.PutNodeSSHParams{NodeID: string(s.Node), Host: s.Host,
		Port: int32(s.Port), Username: s.User, HostKey: s.HostKey, Credential: s.Credential,
		Forget: s.Forget, Plan: plan})
	if err != nil {
		return fmt.Errorf("store how node %s is reached: %w", s.Node, translateError(err))
	}
	return nil
}

// GetSSH loads the SSH settings of a node; ok is false if there are none.
func (t Provisions) GetSSH(
	ctx context.Context, id controlplane.NodeID,
) (s controlplane.NodeSSH, ok bool, err error) {
	r, err := t.q.GetNodeSSH(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, fmt.Errorf("load how node %s is reached: %w", id, err)
	}
	s = controlplane.NodeSSH{Node: id, Host: r.Host, Port: int(r.Port), User: r.Username,
		HostKey: r.HostKey, Credential: r.Credential, Forget: r.Forget}
	return s, true, decodeJSON(r.Plan, &s.Plan)
}

// DeleteSSH takes the credential away; forgotten is false when there is none.
func (t Provisions) DeleteSSH(
	ctx context.Context, id controlplane.NodeID,
) (forgotten bool, err error) {
	n, err := t.q.ForgetNodeSSH(ctx, string(id))
	if err != nil {
		return false, fmt.Errorf("forget credential of node %s: %w", id, translateError(err))
	}
	return n == 1, nil
}

// Insert begins a node's next attempt. A second one at the same time is
// a conflict.
func (t Provisions) Insert(
	ctx context.Context, id controlplane.NodeID, by string,
) (number int, err error) {
	n, err := t.q.InsertProvision(ctx, string(id), by)
	if err != nil {
		return 0, fmt.Errorf("begin provisioning: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(id))
	return int(n), nil
}

// Claim claims the oldest attempt without a holder; ok is false if there is
// none.
func (t Provisions) Claim(
	ctx context.Context, holder string, lease time.Duration,
) (a controlplane.ProvisionAttempt, ok bool, err error) {
	r, err := t.q.ClaimProvision(ctx, holder, lease.Seconds())
	if errors.Is(err, pgx.ErrNoRows) {
		return a, false, nil
	}
	if err != nil {
		return a, false, fmt.Errorf("claim provisioning: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, r.NodeID)
	return controlplane.ProvisionAttempt{NodeID: controlplane.NodeID(r.NodeID),
		Number: int(r.Number), StartedBy: r.StartedBy,
		State: controlplane.ProvisionProvisioning}, true, nil
}

// Renew extends the holder's claim; ours is false if another holder has the
// attempt.
func (t Provisions) Renew(ctx context.Context, a controlplane.ProvisionAttempt,
	holder string, lease time.Duration) (ours bool, err error) {
	n, err := t.q.RenewProvision(ctx, dbsqlc.RenewProvisionParams{NodeID: string(a.NodeID),
		Number: int32(a.Number), Holder: holder, Seconds: lease.Seconds()})
	if err != nil {
		return false, fmt.Errorf("renew provisioning: %w", translateError(err))
	}
	return n == 1, nil
}

// End ends an attempt with its state, code, message and remedy. ended is
// false if it had ended before.
func (t Provisions) End(
	ctx context.Context, a controlplane.ProvisionAttempt, holder string,
) (ended bool, err error) {
	n, err := t.q.EndProvision(ctx, dbsqlc.EndProvisionParams{NodeID: string(a.NodeID),
		Number: int32(a.Number), Holder: holder, State: string(a.State), Code: a.Code,
		Message: a.Message, Remedy: a.Remedy})
	if err == nil && n == 1 {
		err = t.q.EndProvisionSteps(ctx, string(a.NodeID), int32(a.Number))
	}
	if err != nil {
		return false, fmt.Errorf("end provisioning: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(a.NodeID))
	return n == 1, nil
}

// LostProvision is an attempt whose control plane is gone.
type LostProvision struct {
	Attempt controlplane.ProvisionAttempt
	Holder  string
}

// ListLost lists attempts whose holder stopped renewing its claim.
func (t Provisions) ListLost(ctx context.Context) ([]LostProvision, error) {
	rows, err := t.q.ListLostProvisions(ctx)
	if err != nil {
		return nil, fmt.Errorf("list lost provisionings: %w", err)
	}
	all := make([]LostProvision, len(rows))
	for i, r := range rows {
		all[i] = LostProvision{Holder: r.Holder, Attempt: controlplane.ProvisionAttempt{
			NodeID: controlplane.NodeID(r.NodeID), Number: int(r.Number)}}
	}
	return all, nil
}

// InsertStep begins a step.
func (t Provisions) InsertStep(
	ctx context.Context, a controlplane.ProvisionAttempt, s controlplane.ProvisionStep,
) error {
	err := t.q.InsertProvisionStep(ctx, dbsqlc.InsertProvisionStepParams{
		NodeID: string(a.NodeID), Number: int32(a.Number), Seq: int32(s.Seq), Key: s.Key})
	if err != nil {
		return fmt.Errorf("begin step %s: %w", s.Key, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(a.NodeID))
	return nil
}

// SetStep stores a step's output so far, and whether it ended.
func (t Provisions) SetStep(
	ctx context.Context, a controlplane.ProvisionAttempt, s controlplane.ProvisionStep,
) error {
	err := t.q.SetProvisionStep(ctx, dbsqlc.SetProvisionStepParams{NodeID: string(a.NodeID),
		Number: int32(a.Number), Seq: int32(s.Seq), Output: s.Output, Status: string(s.Status)})
	if err != nil {
		return fmt.Errorf("store step %s: %w", s.Key, translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicNode, string(a.NodeID))
	return nil
}

// List returns up to most attempts of a node below the number, newest first, each with
// its steps.
func (t Provisions) List(
	ctx context.Context, node string, before, most int,
) ([]controlplane.ProvisionAttempt, error) {
	if before <= 0 {
		before = math.MaxInt32
	}
	rows, err := t.q.ListProvisions(ctx, node, int32(before), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list provisionings of %s: %w", node, err)
	}
	all := make([]controlplane.ProvisionAttempt, len(rows))
	for i, r := range rows {
		a := r.ProvisionAttempt
		all[i] = controlplane.ProvisionAttempt{NodeID: controlplane.NodeID(a.NodeID),
			Node: r.Node, Number: int(a.Number), State: controlplane.ProvisionState(a.State),
			Code: a.Code, Message: a.Message, Remedy: a.Remedy, StartedBy: a.StartedBy,
			CreatedAt: a.CreatedAt, StartedAt: a.StartedAt, EndedAt: a.EndedAt}
		if all[i].Steps, err = t.listSteps(ctx, all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t Provisions) listSteps(
	ctx context.Context, a controlplane.ProvisionAttempt,
) ([]controlplane.ProvisionStep, error) {
	rows, err := t.q.ListProvisionSteps(ctx, string(a.NodeID), int32(a.Number))
	if err != nil {
		return nil, fmt.Errorf("list steps of provisioning: %w", err)
	}
	all := make([]controlplane.ProvisionStep, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ProvisionStep{Seq: int(r.Seq), Key: r.Key,
			Status: controlplane.ProvisionStepStatus(r.Status), Output: r.Output,
			StartedAt: &r.StartedAt, EndedAt: r.EndedAt}
	}
	return all, nil
}
