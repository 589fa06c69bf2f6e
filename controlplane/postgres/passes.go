package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

// Insert stores a pass.
func (t Passes) Insert(ctx context.Context, p controlplane.Pass) error {
	err := t.q.InsertPass(ctx, dbsqlc.InsertPassParams{ID: string(p.ID), Kind: string(p.Kind),
		Hash: p.Hash[:], EnvironmentID: string(p.Environment), DeploymentID: nullIfEmpty(p.Deployment),
		Host: p.Host, SessionID: nullIfEmpty(p.Session), UserID: nullIfEmpty(p.User), Label: p.Label,
		CreatedBy: p.CreatedBy, CreatedAt: p.CreatedAt, ExpiresAt: p.ExpiresAt})
	if err != nil {
		return fmt.Errorf("store pass: %w", translateError(err))
	}
	return nil
}

// TakeCode consumes a code; ok is false if it is unknown, used, expired or for another
// host.
func (t Passes) TakeCode(
	ctx context.Context, hash [32]byte, host string, now time.Time,
) (p controlplane.Pass, ok bool, err error) {
	r, err := t.q.TakeCode(ctx, hash[:], host, now)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("take code: %w", err)
	}
	return toPass(r), true, nil
}

func toPass(r dbsqlc.GatePass) controlplane.Pass {
	return controlplane.Pass{ID: controlplane.PassID(r.ID), Kind: controlplane.PassKind(r.Kind),
		Hash: [32]byte(r.Hash), Environment: controlplane.EnvironmentID(r.EnvironmentID),
		Deployment: emptyIfNull[controlplane.DeploymentID](r.DeploymentID), Host: r.Host,
		Session: emptyIfNull[controlplane.SessionID](r.SessionID),
		User:    emptyIfNull[controlplane.UserID](r.UserID), Label: r.Label, CreatedBy: r.CreatedBy,
		CreatedAt: r.CreatedAt, ExpiresAt: r.ExpiresAt, LastUsed: r.LastUsedAt}
}

// PassWithPlace is a pass with what access asks about the place it opens.
type PassWithPlace struct {
	controlplane.Pass
	Project    controlplane.ProjectID
	Restricted bool
}

// ListByHash loads those of the passes that still hold: not over, and their
// session neither.
func (t Passes) ListByHash(
	ctx context.Context, hashes [][]byte, now time.Time,
) ([]PassWithPlace, error) {
	rows, err := t.q.ListPassesByHash(ctx, hashes, now)
	if err != nil {
		return nil, fmt.Errorf("load passes: %w", err)
	}
	all := make([]PassWithPlace, len(rows))
	for i, r := range rows {
		all[i] = PassWithPlace{Restricted: r.Restricted,
			Project: emptyIfNull[controlplane.ProjectID](r.ProjectID),
			Pass: controlplane.Pass{ID: controlplane.PassID(r.ID),
				Kind: controlplane.PassKind(r.Kind), Hash: [32]byte(r.Hash),
				Environment: controlplane.EnvironmentID(r.EnvironmentID),
				Deployment:  emptyIfNull[controlplane.DeploymentID](r.DeploymentID),
				User:        emptyIfNull[controlplane.UserID](r.UserID), Label: r.Label,
				ExpiresAt: r.ExpiresAt, LastUsed: r.LastUsedAt}}
	}
	return all, nil
}

// ListGuestLinks lists a deployment's guest links.
func (t Passes) ListGuestLinks(
	ctx context.Context, id controlplane.DeploymentID,
) ([]controlplane.Pass, error) {
	return toPasses(t.q.ListPassesOfDeployment(ctx, nullIfEmpty(id)))
}

// ListRobots lists an environment's robots.
func (t Passes) ListRobots(
	ctx context.Context, id controlplane.EnvironmentID,
) ([]controlplane.Pass, error) {
	return toPasses(t.q.ListRobotsOfEnvironment(ctx, string(id)))
}

func toPasses(rows []dbsqlc.GatePass, err error) ([]controlplane.Pass, error) {
	if err != nil {
		return nil, fmt.Errorf("list passes: %w", err)
	}
	all := make([]controlplane.Pass, len(rows))
	for i, r := range rows {
		all[i] = toPass(r)
	}
	return all, nil
}

// DeleteGuestLink withdraws a guest link; gone is false if there is none.
func (t Passes) DeleteGuestLink(
	ctx context.Context, d controlplane.DeploymentID, id controlplane.PassID,
) (gone bool, err error) {
	n, err := t.q.DeleteGuest(ctx, string(id), nullIfEmpty(d))
	return t.finishWithdrawal(n, err)
}

// DeleteRobot withdraws a robot's token; gone is false if there is none.
func (t Passes) DeleteRobot(
	ctx context.Context, e controlplane.EnvironmentID, id controlplane.PassID,
) (gone bool, err error) {
	n, err := t.q.DeleteRobot(ctx, string(id), string(e))
	return t.finishWithdrawal(n, err)
}

func (t Passes) finishWithdrawal(n int64, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("withdraw pass: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicAccess, "")
	return n == 1, nil
}

// Touch notes that a pass was used.
func (t Passes) Touch(ctx context.Context, id controlplane.PassID, now time.Time) error {
	if err := t.q.TouchPass(ctx, &now, string(id)); err != nil {
		return fmt.Errorf("touch pass: %w", err)
	}
	return nil
}

// DeleteOld forgets what has been over since before.
func (t Passes) DeleteOld(ctx context.Context, before time.Time) error {
	if err := t.q.DeleteOldPasses(ctx, before); err != nil {
		return fmt.Errorf("forget passes: %w", err)
	}
	return nil
}
