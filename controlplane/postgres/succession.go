package postgres

import (
	"context"
	"fmt"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// FormerDeployment is one that a newer one has replaced, and that is there still.
type FormerDeployment struct {
	ID         controlplane.DeploymentID
	Name       string
	ReplacedAt time.Time
	// Held is set while a person holds it.
	Held bool
}

// SetSuccessor stores that a newer deployment has the hosts of an older one, and with them those of
// all that the older one replaced.
func (t Lifetimes) SetSuccessor(
	ctx context.Context, older, newer controlplane.DeploymentID,
) error {
	if err := t.q.PutSuccessor(ctx, nullIfEmpty(newer), string(older)); err != nil {
		return fmt.Errorf("store what replaced %s: %w", older, translateError(err))
	}
	return nil
}

// InheritSuccession puts a deployment where another one stood among those that replaced each other.
func (t Lifetimes) InheritSuccession(
	ctx context.Context, from, to controlplane.DeploymentID,
) error {
	err := t.q.InheritSuccession(ctx, string(to), string(from))
	if err == nil {
		err = t.q.RepointSuccessor(ctx, nullIfEmpty(to), nullIfEmpty(from))
	}
	if err != nil {
		return fmt.Errorf("inherit what replaced %s: %w", from, translateError(err))
	}
	return nil
}

// SetLifetime stores how many hours a deployment lives without activity.
func (t Lifetimes) SetLifetime(
	ctx context.Context, id controlplane.DeploymentID, hours int,
) error {
	h := int32(hours)
	if err := t.q.PutLifetime(ctx, string(id), &h); err != nil {
		return fmt.Errorf("store how long %s lives: %w", id, translateError(err))
	}
	return nil
}

// SetDataFrom stores whose volumes a deployment begins with.
func (t Lifetimes) SetDataFrom(
	ctx context.Context, id, from controlplane.DeploymentID,
) error {
	if err := t.q.PutDataFrom(ctx, string(id), nullIfEmpty(from)); err != nil {
		return fmt.Errorf("store whose data %s begins with: %w", id, translateError(err))
	}
	return nil
}

// GetDataFrom returns whose volumes a deployment begins with; empty for its own.
func (t Lifetimes) GetDataFrom(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.DeploymentID, error) {
	from, err := t.q.GetDataFrom(ctx, string(id))
	if err != nil {
		return "", fmt.Errorf("read whose data %s begins with: %w", id, err)
	}
	return controlplane.DeploymentID(from), nil
}

// SetDataMoved stores that the data of a deployment went to its successor, so that no visitor stays
// with it.
func (t Lifetimes) SetDataMoved(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.SetDataMoved(ctx, string(id)); err != nil {
		return fmt.Errorf("store that the data of %s moved: %w", id, translateError(err))
	}
	return nil
}

// ListSuccession returns the deployments that replaced some of these, or that some of these
// replaced.
func (t Lifetimes) ListSuccession(
	ctx context.Context, ids ...controlplane.DeploymentID,
) ([]controlplane.DeploymentID, error) {
	all, err := t.q.ListSuccession(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list what replaced deployments: %w", err)
	}
	return fromStrings[controlplane.DeploymentID](all), nil
}

// ListFormers returns what a deployment replaced and is there still, the oldest first.
func (t Lifetimes) ListFormers(
	ctx context.Context, id controlplane.DeploymentID,
) ([]FormerDeployment, error) {
	rows, err := t.q.ListFormers(ctx, nullIfEmpty(id))
	if err != nil {
		return nil, fmt.Errorf("list what %s replaced: %w", id, err)
	}
	all := make([]FormerDeployment, len(rows))
	for i, r := range rows {
		all[i] = FormerDeployment{ID: controlplane.DeploymentID(r.ID), Name: r.Name,
			ReplacedAt: r.ReplacedAt, Held: r.Held}
	}
	return all, nil
}

// CopyForDeployment lets in to a deployment whom the setting of another one lets in.
func (t Gates) CopyForDeployment(
	ctx context.Context, from, to controlplane.DeploymentID,
) error {
	if err := t.q.CopyDeploymentGate(ctx, string(to), string(from)); err != nil {
		return fmt.Errorf("copy the gate of %s: %w", from, translateError(err))
	}
	return nil
}

// MoveTo has the passes of one deployment open another one.
func (t Passes) MoveTo(ctx context.Context, from, to controlplane.DeploymentID) error {
	if err := t.q.MovePasses(ctx, nullIfEmpty(to), nullIfEmpty(from)); err != nil {
		return fmt.Errorf("move the passes of %s: %w", from, translateError(err))
	}
	return nil
}
