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

func (t Hosts) insert(
	ctx context.Context, id controlplane.DeploymentID, hosts []controlplane.Host,
) error {
	for _, h := range hosts {
		err := t.q.InsertHost(ctx, dbsqlc.InsertHostParams{
			Host: h.Host, DeploymentID: string(id), Step: string(h.Step),
			PortName: h.PortName, Port: int32(h.Port), Main: h.Main, Alias: h.Alias,
		})
		if err != nil {
			return fmt.Errorf("insert host %s: %w", h.Host, translateError(err))
		}
	}
	return nil
}

// Delete deletes a deployment's hosts and health, so that the hosts are free. Its
// history of addresses stays.
func (t Hosts) Delete(ctx context.Context, id controlplane.DeploymentID) error {
	if err := t.q.KeepFormerHosts(ctx, string(id)); err != nil {
		return fmt.Errorf("keep former hosts of %s: %w", id, err)
	}
	if err := t.q.DeleteHosts(ctx, string(id)); err != nil {
		return fmt.Errorf("forget hosts of %s: %w", id, err)
	}
	if err := t.q.DeleteHealth(ctx, string(id)); err != nil {
		return fmt.Errorf("forget health of %s: %w", id, err)
	}
	return nil
}

// ListOf returns the hosts of the deployments, a service's main one first.
func (t Hosts) ListOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) (map[controlplane.DeploymentID][]controlplane.Host, error) {
	rows, err := t.q.ListHostsOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list hosts: %w", err)
	}
	all := map[controlplane.DeploymentID][]controlplane.Host{}
	for _, r := range rows {
		id := controlplane.DeploymentID(r.DeploymentID)
		all[id] = append(all[id], controlplane.Host{Host: r.Host, Deployment: id,
			Step: pipeline.StepKey(r.Step), PortName: r.PortName, Port: int(r.Port), Main: r.Main})
	}
	return all, nil
}

// Replace writes the hosts of a run with another pipeline version. Those
// that stay, stay the same.
func (t Hosts) Replace(
	ctx context.Context, id controlplane.DeploymentID, hosts []controlplane.Host,
) error {
	if err := t.q.DeleteOwnHosts(ctx, string(id)); err != nil {
		return fmt.Errorf("replace hosts of %s: %w", id, err)
	}
	return t.insert(ctx, id, hosts)
}

// GetService loads the deployment and service of a host; ok is false if there is none.
func (t Hosts) GetService(
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

// ListServices lists the main hosts of what is alive.
func (t Hosts) ListServices(ctx context.Context) ([]controlplane.HostService, error) {
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

// GetMain returns the host where a guest is sent; ok is false if there is none.
func (t Hosts) GetMain(
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

// ListRoutes returns every host with its deployment and service.
func (t Hosts) ListRoutes(ctx context.Context) ([]controlplane.Route, error) {
	rows, err := t.q.ListRoutes(ctx)
	if err != nil {
		return nil, fmt.Errorf("list routes: %w", err)
	}
	return toRoutes(rows), nil
}

// ListRoutesOf returns the hosts of some deployments.
func (t Hosts) ListRoutesOf(
	ctx context.Context, ids ...controlplane.DeploymentID,
) ([]controlplane.Route, error) {
	rows, err := t.q.ListRoutesOf(ctx, toStrings(ids))
	if err != nil {
		return nil, fmt.Errorf("list routes of deployments: %w", err)
	}
	return toRoutes(rows), nil
}

func toRoutes(rows []dbsqlc.RouteRow) []controlplane.Route {
	all := make([]controlplane.Route, len(rows))
	for i, r := range rows {
		all[i] = controlplane.Route{Host: r.Host,
			Deployment: controlplane.DeploymentID(r.DeploymentID), Name: r.Deployment,
			Project: r.Project, Environment: r.Environment, Step: pipeline.StepKey(r.Step),
			Port: int(r.Port), Status: controlplane.DeploymentStatus(r.Status), Detail: r.Detail,
			ChangedAt: r.ChangedAt, Node: emptyIfNull[controlplane.NodeID](r.NodeID),
			NodeStatus: controlplane.NodeStatus(r.NodeStatus), NodeSince: r.NodeSince,
			KnownAs: r.KnownAs, Formers: r.Formers}
	}
	return all
}

// ListInUse returns those of the hosts that another deployment has.
func (t Hosts) ListInUse(ctx context.Context, hosts []controlplane.Host) ([]string, error) {
	names := make([]string, len(hosts))
	for i, h := range hosts {
		names[i] = h.Host
	}
	taken, err := t.q.ListTakenHosts(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("list taken hosts: %w", err)
	}
	return taken, nil
}
