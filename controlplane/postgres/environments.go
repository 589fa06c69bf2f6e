package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/postgres/internal/dbsqlc"
)

func toEnvironment(
	r dbsqlc.Environment, nodes, online int32,
) (controlplane.Environment, error) {
	e := controlplane.Environment{
		ID: controlplane.EnvironmentID(r.ID), Name: r.Name, Domain: r.Domain,
		Description: r.Description, Restricted: r.Restricted,
		CleanupAfterHours: int(r.CleanupAfterHours), IgnoreVisits: r.IgnoreVisits,
		IgnorePresence: r.IgnorePresence,
		Nodes:          int(nodes), NodesOnline: int(online),
	}
	return e, errors.Join(decodeJSON(r.Placement, &e.Placement),
		decodeJSON(r.Capacity, &e.Capacity))
}

// ByName loads an environment; not found is a *controlplane.Error.
func (t Environments) ByName(
	ctx context.Context, name string,
) (controlplane.Environment, error) {
	r, err := t.q.GetEnvironment(ctx, name)
	if err != nil {
		return controlplane.Environment{}, fmt.Errorf("load environment: %w",
			translateMissing(err, "environment", name))
	}
	return toEnvironment(r.Environment, r.Nodes, r.NodesOnline)
}

// VisibleScope limits a list of environments or projects to what may be seen.
type VisibleScope struct {
	// All shows everything.
	All bool
	// Granted are ids that may be seen.
	Granted []string
	// Unrestricted shows every environment that is not restricted.
	Unrestricted bool
	// Deployable are environments that show every project that may be deployed there.
	Deployable []string
}

// List returns up to most visible environments after the name.
func (t Environments) List(
	ctx context.Context, v VisibleScope, after string, most int,
) ([]controlplane.Environment, error) {
	rows, err := t.q.ListEnvironments(ctx, dbsqlc.ListEnvironmentsParams{
		After: after, Everything: v.All, Granted: v.Granted,
		Unrestricted: v.Unrestricted, Most: int32(most),
	})
	if err != nil {
		return nil, fmt.Errorf("list environments: %w", err)
	}
	all := make([]controlplane.Environment, len(rows))
	for i, r := range rows {
		if all[i], err = toEnvironment(r.Environment, r.Nodes, r.NodesOnline); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// Put inserts or replaces the environment of that id.
func (t Environments) Put(ctx context.Context, e controlplane.Environment) error {
	placement, err := encodeJSON(e.Placement)
	if err != nil {
		return err
	}
	capacity, err := encodeJSON(e.Capacity)
	if err != nil {
		return err
	}
	err = t.q.PutEnvironment(ctx, dbsqlc.PutEnvironmentParams{
		ID: string(e.ID), Name: e.Name, Domain: e.Domain, Description: e.Description,
		Restricted: e.Restricted, CleanupAfterHours: int32(e.CleanupAfterHours),
		IgnoreVisits: e.IgnoreVisits, IgnorePresence: e.IgnorePresence,
		Placement: placement, Capacity: capacity,
	})
	if err != nil {
		return fmt.Errorf("put environment: %w", translateError(err))
	}
	return nil
}

// Delete removes an environment without nodes and deployments.
func (t Environments) Delete(ctx context.Context, id controlplane.EnvironmentID) error {
	users, err := t.q.ListUsersOfEnvironment(ctx, string(id))
	if err := inUseError("environment", users, err); err != nil {
		return err
	}
	if err := t.q.ForgetGoneOfEnvironment(ctx, string(id)); err != nil {
		return fmt.Errorf("forget gone deployments: %w", translateError(err))
	}
	if err := t.q.DeleteEnvironment(ctx, string(id)); err != nil {
		return fmt.Errorf("delete environment: %w", translateError(err))
	}
	return nil
}
