package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
)

// GetForEnvironment loads an environment's gate; the default is open.
func (t Gates) GetForEnvironment(
	ctx context.Context, id controlplane.EnvironmentID,
) (controlplane.EnvironmentGate, error) {
	r, err := t.q.GetEnvironmentGate(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return controlplane.EnvironmentGate{Gate: controlplane.GateOpen}, nil
	}
	if err != nil {
		return controlplane.EnvironmentGate{}, fmt.Errorf("load gate: %w", err)
	}
	return controlplane.EnvironmentGate{Gate: controlplane.GateMode(r.Gate),
		RedirectHTTPS: r.RedirectHttps}, nil
}

// PutForEnvironment stores it.
func (t Gates) PutForEnvironment(
	ctx context.Context, id controlplane.EnvironmentID, g controlplane.EnvironmentGate,
) error {
	if err := t.q.PutEnvironmentGate(ctx, string(id), string(g.Gate), g.RedirectHTTPS); err != nil {
		return fmt.Errorf("store gate: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// GetForDeployment loads a deployment's own gate.
func (t Gates) GetForDeployment(
	ctx context.Context, id controlplane.DeploymentID,
) (controlplane.GateMode, error) {
	mode, err := t.q.GetDeploymentGate(ctx, string(id))
	if errors.Is(err, pgx.ErrNoRows) {
		return controlplane.GateOpen, nil
	}
	if err != nil {
		return "", fmt.Errorf("load gate: %w", err)
	}
	return controlplane.GateMode(mode), nil
}

// PutForDeployment stores it.
func (t Gates) PutForDeployment(
	ctx context.Context, id controlplane.DeploymentID, mode controlplane.GateMode,
) error {
	if err := t.q.PutDeploymentGate(ctx, string(id), string(mode)); err != nil {
		return fmt.Errorf("store gate: %w", translateError(err))
	}
	t.tx.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// GetIngressConfig loads what the ingress needs besides its routes.
func (t Gates) GetIngressConfig(ctx context.Context) (f controlplane.IngressConfig, err error) {
	zones, err := t.q.ListZones(ctx)
	if err != nil {
		return f, fmt.Errorf("list zones: %w", err)
	}
	for _, z := range zones {
		f.Zones = append(f.Zones, controlplane.Zone{Environment: controlplane.EnvironmentID(z.ID),
			Name: z.Name, Domain: z.Domain, EnvironmentGate: controlplane.EnvironmentGate{
				Gate: controlplane.GateMode(z.Gate), RedirectHTTPS: z.RedirectHttps}})
	}
	gates, err := t.q.ListDeploymentGates(ctx)
	if err != nil {
		return f, fmt.Errorf("list gates: %w", err)
	}
	f.Gates = make(map[controlplane.DeploymentID]controlplane.GateMode, len(gates))
	for _, g := range gates {
		f.Gates[controlplane.DeploymentID(g.DeploymentID)] = controlplane.GateMode(g.Gate)
	}
	removers, err := t.q.ListRemovers(ctx)
	if err != nil {
		return f, fmt.Errorf("list who removed what: %w", err)
	}
	f.Removers = make(map[controlplane.DeploymentID]string, len(removers))
	for _, r := range removers {
		f.Removers[controlplane.DeploymentID(r.DeploymentID)] = r.RemovedBy
	}
	steps, err := t.q.ListStartingSteps(ctx)
	if err != nil {
		return f, fmt.Errorf("list steps: %w", err)
	}
	f.Steps = make(map[controlplane.DeploymentID][]controlplane.StartingStep)
	for _, s := range steps {
		id := controlplane.DeploymentID(s.DeploymentID)
		f.Steps[id] = append(f.Steps[id],
			controlplane.StartingStep{Title: s.Title, Status: s.Status})
	}
	return f, nil
}
