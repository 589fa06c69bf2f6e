package fleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// recognize learns what the agent has that the database does not. It comes
// before the first word to the agent: an acknowledgement would make it count
// what was lost as known.
func (s *session) recognize(ctx context.Context, w wire.Welcome) (err error) {
	all := make([]lifecycle.Seen, len(w.Deployments))
	for i, d := range w.Deployments {
		all[i] = lifecycle.Seen{ID: controlplane.DeploymentID(d.Deployment),
			Generation: d.Generation, Name: d.Name, Project: d.Project,
			Environment: d.Environment, Phase: string(d.Phase),
			// Nobody ever told it of this one: it only found something there.
			Abandoned: d.Abandoned || d.Run == ""}
	}
	held, err := s.Lifecycle.Recognize(ctx, s.actor, s.link.Node.ID, all)
	s.hold(held)
	if n := len(s.held.Named); n > 0 {
		s.Log.WarnContext(ctx, "the node runs deployments that the database does not know; was it "+
			"restored from a backup? They stay until an admin adopts or purges them",
			"node", s.link.Node.Name, "deployments", n)
	}
	return err
}

// everything is the full set of goals, and what is left alone without one.
func (s *session) everything(orders []controlplane.Order) []wire.Goals {
	all := messages(plan(orders, nil), true)
	last := &all[len(all)-1]
	last.Keep = s.held.Everything
	for _, id := range s.held.Named {
		last.Unknown = append(last.Unknown, string(id))
	}
	return all
}

// decided reports whether people, or time, decided about something that was
// left alone so far. A session that began without any never asks.
func (s *session) decided(ctx context.Context) (bool, error) {
	if len(s.held.Named) == 0 && !s.held.Everything {
		return false, nil
	}
	now, err := s.Lifecycle.Held(ctx, s.actor, s.link.Node.ID)
	if err != nil {
		return false, err
	}
	same := slices.Equal(now.Named, s.held.Named) && now.Everything == s.held.Everything
	s.hold(now)
	return !same, nil
}

// Describe asks a node for all it knows of a deployment.
func (d *Dialer) Describe(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID) (found lifecycle.Found, err error) {
	where := "http://agent/v1/deployments/" + url.PathEscape(string(deployment))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return found, fmt.Errorf("ask for a deployment: %w", err)
	}
	transport := wire.NewTransport(func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, id)
	})
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return found, fmt.Errorf("ask for a deployment: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return found, &controlplane.Error{Kind: controlplane.NotFound, Code: "not_on_node",
			Message: "the node does not know this deployment: " + string(why)}
	}
	said, err := wire.DecodeDescribed(response.Body)
	if err != nil {
		return found, err
	}
	return lifecycle.Found{ID: deployment, Generation: said.State.Generation,
		Run: controlplane.RunID(said.State.Run), Version: said.Goal.Version,
		Pipeline: said.Goal.Pipeline, Ready: said.State.Phase == wire.PhaseReady,
		Steps: said.Steps, Sealed: said.Sealed, Key: said.Key, Values: said.Values}, nil
}
