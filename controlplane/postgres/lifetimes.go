package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
	"github.com/nullops/nullops/pipeline"
)

// ListOf returns hold, clone source, removal and move of these deployments.
func (t Lifetimes) ListOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]controlplane.LifetimeInfo, error) {
	rows, err := t.q.ListLives(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list lives: %w", err)
	}
	all := map[controlplane.DeploymentID]controlplane.LifetimeInfo{}
	for _, r := range rows {
		l := controlplane.LifetimeInfo{ClonedFrom: emptyIfNull[controlplane.DeploymentID](r.ClonedFrom),
			ClonedName: r.ClonedName, RemovedBy: r.RemovedBy, RemovedAt: r.RemovedAt,
			Moving: r.MovingSince != nil, MovedTo: emptyIfNull[controlplane.DeploymentID](r.MovedTo),
			Scratch: r.Scratch}
		if r.HoldSince != nil {
			l.Hold = &controlplane.Hold{Owner: r.HoldOwner, Reason: r.HoldReason,
				Since: *r.HoldSince, Until: r.HoldUntil}
		}
		all[controlplane.DeploymentID(r.DeploymentID)] = l
	}
	moving, err := t.q.ListMovingOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list moving: %w", err)
	}
	for _, id := range moving {
		l := all[controlplane.DeploymentID(id)]
		l.Moving = true
		all[controlplane.DeploymentID(id)] = l
	}
	times, err := t.q.ListLifetimes(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list lifetimes: %w", err)
	}
	for _, r := range times {
		l := all[controlplane.DeploymentID(r.ID)]
		l.Hours, l.IgnoresVisits = int(r.Hours), r.IgnoreVisits
		all[controlplane.DeploymentID(r.ID)] = l
	}
	return all, nil
}

// GetSoonestEnd returns which deployment on some nodes ends by itself first, and in how long; the
// id is empty if none does.
func (t Lifetimes) GetSoonestEnd(ctx context.Context, nodes []controlplane.NodeID,
) (id controlplane.DeploymentID, in time.Duration, err error) {
	r, err := t.q.GetSoonestEnd(ctx, toStrings(nodes))
	if errors.Is(err, pgx.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("find the soonest end: %w", err)
	}
	return controlplane.DeploymentID(r.ID), time.Duration(r.Seconds * float64(time.Second)), nil
}

// Removable is a deployment with what its removal gives back to its node, and nothing else of it.
type Removable struct {
	Deployment controlplane.Deployment
	// Idle is how long ago it was used last.
	Idle time.Duration
}

// RemovableFilter chooses what is listed of an environment: everything, or what is of some
// projects.
type RemovableFilter struct {
	Environment controlplane.EnvironmentID
	Everything  bool
	Projects    []controlplane.ProjectID
	// Actor is the name of who would remove it.
	Actor string
}

// mostRemovable bounds how many are weighed.
const mostRemovable = 200

// ListRemovable returns what has room on a node and is not held by others: the actor's own first,
// then what was used longest ago.
func (t Lifetimes) ListRemovable(ctx context.Context, f RemovableFilter) ([]Removable, error) {
	rows, err := t.q.ListRemovable(ctx, dbsqlc.ListRemovableParams{
		EnvironmentID: string(f.Environment), Everything: f.Everything,
		Projects: toStrings(f.Projects), Actor: f.Actor, Most: mostRemovable})
	if err != nil {
		return nil, fmt.Errorf("list what may be removed: %w", err)
	}
	all := make([]Removable, len(rows))
	for i, r := range rows {
		vram := r.VramMib
		all[i] = Removable{Idle: time.Duration(r.IdleSeconds * float64(time.Second)),
			Deployment: controlplane.Deployment{ID: controlplane.DeploymentID(r.ID), Name: r.Name,
				ProjectID: controlplane.ProjectID(r.ProjectID), EnvironmentID: f.Environment,
				Restricted: r.Restricted, CreatedBy: r.CreatedBy,
				NodeID: emptyIfNull[controlplane.NodeID](r.NodeID), GPUs: r.Gpus, VRAMMiB: &vram,
				Resources: pipeline.Resources{CPU: r.Cpu, MemoryMiB: int(r.MemoryMib)}}}
	}
	return all, nil
}

// SetOrigin notes what a deployment was made from.
func (t Lifetimes) SetOrigin(ctx context.Context, id, from controlplane.DeploymentID,
	name string) error {
	if err := t.q.PutOrigin(ctx, string(id), nullIfEmpty(from), name); err != nil {
		return fmt.Errorf("note where %s came from: %w", id, translateError(err))
	}
	return nil
}

// SetScratch marks a deployment that runs an unpublished pipeline.
func (t Lifetimes) SetScratch(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.PutScratch(ctx, string(id)); err != nil {
		return fmt.Errorf("note that %s is scratch: %w", id, translateError(err))
	}
	return nil
}

// SetHold sets the hold on a deployment; nil ends it.
func (t Lifetimes) SetHold(
	ctx context.Context, id controlplane.DeploymentID, h *controlplane.Hold,
) error {
	err := t.q.EndHold(ctx, string(id))
	if err == nil && h != nil {
		err = t.q.PutHold(ctx, dbsqlc.PutHoldParams{DeploymentID: string(id), Owner: h.Owner,
			Reason: h.Reason, Until: h.Until})
	}
	if err != nil {
		return fmt.Errorf("hold %s: %w", id, translateError(err))
	}
	return nil
}

// SetRemover stores who removed a deployment; later calls change nothing.
func (t Lifetimes) SetRemover(ctx context.Context, id controlplane.DeploymentID, by string) error {
	if err := t.q.PutRemover(ctx, string(id), by); err != nil {
		return fmt.Errorf("note who removed %s: %w", id, translateError(err))
	}
	return nil
}

// AddActivity notes what reset a deployment's countdown.
func (t Lifetimes) AddActivity(ctx context.Context, id controlplane.DeploymentID,
	kind controlplane.ActivityKind, by string) error {
	if err := t.q.InsertActivity(ctx, string(id), string(kind), by); err != nil {
		return fmt.Errorf("note activity of %s: %w", id, translateError(err))
	}
	return t.Touch(ctx, id)
}

// RecordVisit records that a deployment was used, which restarts its lifetime where
// visits count. Consecutive visits are recorded as one entry.
func (t Lifetimes) RecordVisit(ctx context.Context, id controlplane.DeploymentID, by string) error {
	n, err := t.q.TouchVisited(ctx, string(id))
	if err == nil && n > 0 {
		if n, err = t.q.ProlongVisit(ctx, string(id)); err == nil && n == 0 {
			err = t.q.InsertActivity(ctx, string(id), string(controlplane.ActivityVisited), by)
		}
	}
	if err != nil {
		return fmt.Errorf("note visit of %s: %w", id, translateError(err))
	}
	return nil
}

// ListActivity returns what restarted a deployment's lifetime, newest first.
func (t Lifetimes) ListActivity(
	ctx context.Context, id controlplane.DeploymentID, most int,
) ([]controlplane.Activity, error) {
	rows, err := t.q.ListActivity(ctx, string(id), int32(most))
	if err != nil {
		return nil, fmt.Errorf("list activity of %s: %w", id, err)
	}
	all := make([]controlplane.Activity, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Activity{At: r.At, Kind: controlplane.ActivityKind(r.Kind),
			By: r.ByName}
	}
	return all, nil
}

// ListExpiring returns up to most deployments that end soon and were not notified of yet.
func (t Lifetimes) ListExpiring(
	ctx context.Context,
	most int,
) ([]controlplane.ExpiryNotice, error) {
	rows, err := t.q.ListExpiring(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list what expires soon: %w", err)
	}
	all := make([]controlplane.ExpiryNotice, len(rows))
	for i, r := range rows {
		all[i] = controlplane.ExpiryNotice{Deployment: controlplane.DeploymentID(r.ID),
			Hours: int(r.Notice), ExpiresAt: r.ExpiresAt}
	}
	return all, nil
}

// RecordExpiryNotice records that people are notified of a deployment's end. It reports whether
// this is the first time.
func (t Lifetimes) RecordExpiryNotice(ctx context.Context, e controlplane.ExpiryNotice) (bool,
	error) {
	n, err := t.q.PutNotice(ctx, string(e.Deployment), int32(e.Hours), &e.ExpiresAt)
	if err != nil {
		return false, fmt.Errorf("note notice of %s: %w", e.Deployment, translateError(err))
	}
	return n > 0, nil
}

// ListExpired returns up to most deployments whose lifetime has ended, oldest first.
func (t Lifetimes) ListExpired(
	ctx context.Context,
	most int,
) ([]controlplane.DeploymentID, error) {
	rows, err := t.q.ListExpired(ctx, int32(most))
	if err != nil {
		return nil, fmt.Errorf("list expired deployments: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](rows), nil
}

// ListExpiryTimes returns when deployments will be removed because they are not used. Those
// that never expire are left out.
func (t Lifetimes) ListExpiryTimes(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID]time.Time, error) {
	rows, err := t.q.ListExpiries(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list expiries: %w", err)
	}
	all := map[controlplane.DeploymentID]time.Time{}
	for _, r := range rows {
		all[controlplane.DeploymentID(r.ID)] = r.ExpiresAt
	}
	return all, nil
}

// Touch records that a deployment is in use, which restarts its lifetime.
func (t Lifetimes) Touch(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.TouchDeployment(ctx, string(id)); err != nil {
		return fmt.Errorf("note interest in %s: %w", id, err)
	}
	return nil
}

// SetKnownAs stores the name that a deployment's services are told.
func (t Lifetimes) SetKnownAs(
	ctx context.Context, id controlplane.DeploymentID, name string,
) error {
	if err := t.q.PutKnownAs(ctx, string(id), name); err != nil {
		return fmt.Errorf("store what %s is known as: %w", id, translateError(err))
	}
	return nil
}

// Rename gives a deployment another name.
func (t Deployments) Rename(ctx context.Context, id controlplane.DeploymentID, name string) error {
	if err := t.q.RenameDeployment(ctx, name, string(id)); err != nil {
		return fmt.Errorf("rename %s: %w", id, translateError(err))
	}
	return nil
}
