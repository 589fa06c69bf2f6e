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

// EnvironmentGate loads an environment's gate; the default is open.
func (t *Tx) EnvironmentGate(
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

// PutEnvironmentGate stores it.
func (t *Tx) PutEnvironmentGate(
	ctx context.Context, id controlplane.EnvironmentID, g controlplane.EnvironmentGate,
) error {
	if err := t.q.PutEnvironmentGate(ctx, string(id), string(g.Gate), g.RedirectHTTPS); err != nil {
		return fmt.Errorf("store gate: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// DeploymentGate loads a deployment's own gate.
func (t *Tx) DeploymentGate(
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

// PutDeploymentGate stores it.
func (t *Tx) PutDeploymentGate(
	ctx context.Context, id controlplane.DeploymentID, mode controlplane.GateMode,
) error {
	if err := t.q.PutDeploymentGate(ctx, string(id), string(mode)); err != nil {
		return fmt.Errorf("store gate: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicCatalog, "")
	return nil
}

// IngressConfig loads what the ingress needs besides its routes.
func (t *Tx) IngressConfig(ctx context.Context) (f controlplane.IngressConfig, err error) {
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

// HostServiceOf loads the deployment and service of a host; ok is false if there is none.
func (t *Tx) HostServiceOf(
	ctx context.Context, host string,
) (p controlplane.HostService, ok bool, err error) {
	r, err := t.q.GetHostPlace(ctx, host)
	if errors.Is(err, pgx.ErrNoRows) {
		return p, false, nil
	}
	if err != nil {
		return p, false, fmt.Errorf("load host: %w", err)
	}
	return toPlace(dbsqlc.ListHostPlacesRow(r)), true, nil
}

// ListHostServices lists the main hosts of what is alive.
func (t *Tx) ListHostServices(ctx context.Context) ([]controlplane.HostService, error) {
	rows, err := t.q.ListHostPlaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("list hosts: %w", err)
	}
	all := make([]controlplane.HostService, len(rows))
	for i, r := range rows {
		all[i] = toPlace(r)
	}
	return all, nil
}

func toPlace(r dbsqlc.ListHostPlacesRow) controlplane.HostService {
	return controlplane.HostService{Host: r.Host, Service: r.Step,
		Deployment: controlplane.DeploymentID(r.DeploymentID), Name: r.Name,
		Status: controlplane.DeploymentStatus(r.Status), Project: controlplane.ProjectID(r.ProjectID),
		Environment: controlplane.EnvironmentID(r.EnvironmentID), Restricted: r.Restricted}
}

// MainHost is where a guest is sent; ok is false if there is no such host.
func (t *Tx) MainHost(
	ctx context.Context, id controlplane.DeploymentID, service string,
) (host string, ok bool, err error) {
	host, err = t.q.GetMainHost(ctx, string(id), service)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("load host of %s: %w", id, err)
	}
	return host, true, nil
}

// InsertPass stores a pass.
func (t *Tx) InsertPass(ctx context.Context, p controlplane.Pass) error {
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
func (t *Tx) TakeCode(
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

// PassesByHash loads those of the passes that still hold: not over, and their
// session neither.
func (t *Tx) PassesByHash(
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
func (t *Tx) ListGuestLinks(
	ctx context.Context, id controlplane.DeploymentID,
) ([]controlplane.Pass, error) {
	return toPasses(t.q.ListPassesOfDeployment(ctx, nullIfEmpty(id)))
}

// ListRobots lists an environment's robots.
func (t *Tx) ListRobots(
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

// DeleteGuest withdraws a guest link; gone is false if there is none.
func (t *Tx) DeleteGuest(
	ctx context.Context, d controlplane.DeploymentID, id controlplane.PassID,
) (gone bool, err error) {
	n, err := t.q.DeleteGuest(ctx, string(id), nullIfEmpty(d))
	return t.finishWithdrawal(n, err)
}

// DeleteRobot withdraws a robot's token; gone is false if there is none.
func (t *Tx) DeleteRobot(
	ctx context.Context, e controlplane.EnvironmentID, id controlplane.PassID,
) (gone bool, err error) {
	n, err := t.q.DeleteRobot(ctx, string(id), string(e))
	return t.finishWithdrawal(n, err)
}

func (t *Tx) finishWithdrawal(n int64, err error) (bool, error) {
	if err != nil {
		return false, fmt.Errorf("withdraw pass: %w", translateError(err))
	}
	t.NotifyOnCommit(controlplane.TopicAccess, "")
	return n == 1, nil
}

// TouchPass notes that a pass was used.
func (t *Tx) TouchPass(ctx context.Context, id controlplane.PassID, now time.Time) error {
	if err := t.q.TouchPass(ctx, &now, string(id)); err != nil {
		return fmt.Errorf("touch pass: %w", err)
	}
	return nil
}

// DeleteOldPasses forgets what has been over since before.
func (t *Tx) DeleteOldPasses(ctx context.Context, before time.Time) error {
	if err := t.q.DeleteOldPasses(ctx, before); err != nil {
		return fmt.Errorf("forget passes: %w", err)
	}
	return nil
}
