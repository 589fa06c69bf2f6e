package fleet

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// recognizeDeployments learns what the agent has that the database does not. It comes
// before the first word to the agent: an acknowledgement would make it count
// what was lost as known.
func (s *session) recognizeDeployments(ctx context.Context, w wire.Welcome) (err error) {
	m := lifecycle.AgentMemory{Deployments: make([]lifecycle.RememberedDeployment, len(w.Deployments)),
		FirstReport: w.FirstSeq, Acknowledged: w.Acked}
	for i, d := range w.Deployments {
		m.Deployments[i] = lifecycle.RememberedDeployment{Run: controlplane.RunID(d.Run),
			ID:         controlplane.DeploymentID(d.Deployment),
			Generation: d.Generation, Name: d.Name, Project: d.Project,
			Environment: d.Environment, Phase: controlplane.DeploymentStatus(d.Phase),
			Abandoned: d.Abandoned}
	}
	held, err := s.Lifecycle.CompareAgentMemory(ctx, s.actor, s.link.Node.ID, m)
	s.setHeld(held)
	if n := len(s.held.Named); n > 0 {
		s.Log.WarnContext(ctx, "the node has deployments that the database does not know, or "+
			"knows otherwise; was it restored from a backup? They stay as they are until an admin "+
			"decides, see 'nullops node unknown'",
			"node", s.link.Node.Name, "count", n, "deployments", s.held.Named)
	}
	return err
}

// fullGoals is the full set of goals, and what is left alone without one.
func (s *session) fullGoals(orders []controlplane.NodeGoal) []wire.Goals {
	all := splitGoals(changedGoals(orders, nil), true)
	last := &all[len(all)-1]
	last.Keep = s.held.Everything
	for _, id := range s.held.Named {
		last.Unknown = append(last.Unknown, string(id))
	}
	return all
}

// heldChanged reports whether people, or time, decided about something that was
// left alone so far. A session that began without any never asks.
func (s *session) heldChanged(ctx context.Context) (bool, error) {
	if !s.hasHeld() {
		return false, nil
	}
	s.forgetPurged(ctx)
	now, err := s.Lifecycle.ProtectedOn(ctx, s.actor, s.link.Node.ID)
	if err != nil {
		return false, err
	}
	same := slices.Equal(now.Named, s.held.Named) && now.Everything == s.held.Everything
	s.setHeld(now)
	return !same, nil
}

// forgetPurged takes off the list what people purged and the agent has removed:
// it reports nothing of what the database does not know.
func (s *session) forgetPurged(ctx context.Context) {
	for _, id := range s.held.Purging {
		within, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := fetchDescription(within, s.dialAgent, id)
		cancel()
		if controlplane.KindOf(err) != controlplane.NotFound {
			continue
		}
		if err := s.Lifecycle.DeletePurgedUnknown(ctx, s.actor, s.link.Node.ID, id); err != nil {
			s.Log.WarnContext(ctx, "a purged deployment stays listed", "deployment_id", id, "error", err)
		}
	}
}

// Describe asks a node for all it knows about a deployment.
func (d *Dialer) Describe(ctx context.Context, id controlplane.NodeID,
	deployment controlplane.DeploymentID) (found lifecycle.DescribedDeployment, err error) {
	return fetchDescription(ctx, func(ctx context.Context) (net.Conn, error) {
		return d.Dial(ctx, id)
	}, deployment)
}

// dialAgent opens one more proven connection to the session's agent.
func (s *session) dialAgent(ctx context.Context) (net.Conn, error) {
	config, err := s.Dial.dialConfig(s.link, s.epoch)
	if err != nil {
		return nil, err
	}
	return wire.Dial(ctx, config)
}

func fetchDescription(ctx context.Context, dial func(context.Context) (net.Conn, error),
	deployment controlplane.DeploymentID) (found lifecycle.DescribedDeployment, err error) {
	where := "http://agent/v1/deployments/" + url.PathEscape(string(deployment))
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return found, fmt.Errorf("ask for a deployment: %w", err)
	}
	transport := wire.NewTransport(dial)
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(request)
	if err != nil {
		return found, fmt.Errorf("ask for a deployment: %w", err)
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode != http.StatusOK {
		if response.StatusCode != http.StatusNotFound {
			return found, &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_offline",
				Message: "the node cannot say now what it has: " + response.Status,
				Remedy:  "Try again in a minute."}
		}
		why, _ := io.ReadAll(io.LimitReader(response.Body, 1<<10))
		return found, &controlplane.Error{Kind: controlplane.NotFound, Code: "not_on_node",
			Message: "the node does not know this deployment: " + string(why)}
	}
	said, err := wire.DecodeDescribeResponse(response.Body)
	if err != nil {
		return found, err
	}
	return lifecycle.DescribedDeployment{ID: deployment, Generation: said.State.Generation,
		Run: controlplane.RunID(said.State.Run), Version: said.Goal.Version,
		Pipeline: said.Goal.Pipeline, Input: said.Goal.Context.Input,
		Phase: controlplane.DeploymentStatus(said.State.Phase),
		Gone:  said.Goal.Want == wire.WantGone,
		Steps: said.Steps, Sealed: said.Sealed, Key: said.Key, Values: said.Values}, nil
}
