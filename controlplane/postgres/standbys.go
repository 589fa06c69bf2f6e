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

// FindNode returns the node of a token that is active, or that its agent does not yet refuse,
// and the token, sealed. ok is false if there is none. Of the node only ID, Name, Connect and
// Status are set.
func (t Standbys) FindNode(
	ctx context.Context, kid string,
) (n controlplane.Node, token controlplane.NodeToken, ok bool, err error) {
	r, err := t.q.FindStandbyNode(ctx, kid)
	if errors.Is(err, pgx.ErrNoRows) {
		return n, token, false, nil
	}
	if err != nil {
		return n, token, false, fmt.Errorf("find the node of a token: %w", err)
	}
	n = controlplane.Node{ID: controlplane.NodeID(r.NodeToken.NodeID), Name: r.Name,
		Connect: controlplane.NodeConnect(r.Connect), Status: controlplane.NodeStatus(r.Status)}
	return n, nodeToken(r.NodeToken), true, nil
}

// PutHost says where a process can be asked for connections of agents, for a while.
func (t Standbys) PutHost(
	ctx context.Context, h controlplane.StandbyHost, expiry time.Duration,
) error {
	err := t.q.PutStandbyHost(ctx, dbsqlc.PutStandbyHostParams{Process: h.Process, Url: h.URL,
		Fingerprint: h.Fingerprint, Seconds: expiry.Seconds()})
	if err != nil {
		return fmt.Errorf("store where agents' connections are: %w", translateError(err))
	}
	return nil
}

// DeleteHost forgets a process that ends.
func (t Standbys) DeleteHost(ctx context.Context, process string) error {
	if err := t.q.DeleteStandbyHost(ctx, process); err != nil {
		return fmt.Errorf("forget where agents' connections were: %w", err)
	}
	return nil
}

// ListHosts returns the processes that can be asked.
func (t Standbys) ListHosts(ctx context.Context) ([]controlplane.StandbyHost, error) {
	rows, err := t.q.ListStandbyHosts(ctx)
	if err != nil {
		return nil, fmt.Errorf("list where agents' connections are: %w", err)
	}
	all := make([]controlplane.StandbyHost, len(rows))
	for i, r := range rows {
		all[i] = controlplane.StandbyHost{Process: r.Process, URL: r.Url,
			Fingerprint: r.Fingerprint}
	}
	return all, nil
}
