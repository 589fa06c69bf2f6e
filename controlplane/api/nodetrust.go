package api

import (
	"context"
	"maps"
	"strconv"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/nodes"
)

func (s *server) RejectNode(
	ctx context.Context, r RejectNodeRequestObject,
) (RejectNodeResponseObject, error) {
	n, err := s.Nodes.RejectNode(ctx, actorOf(ctx), r.Name, r.Body.Thumbprint)
	if err != nil {
		return nil, err
	}
	return RejectNode200JSONResponse(toNode(n)), nil
}

func (s *server) DrainNode(
	ctx context.Context, r DrainNodeRequestObject,
) (DrainNodeResponseObject, error) {
	d, err := s.Nodes.DrainNode(ctx, actorOf(ctx), r.Name, r.Body.Deadline)
	if err != nil {
		return nil, err
	}
	stays := map[controlplane.DeploymentID]string{}
	if valueOr(r.Body.Move, false) {
		if stays, err = s.moveDrained(ctx, d); err != nil {
			return nil, err
		}
		if d, err = s.Nodes.NodeDrain(ctx, actorOf(ctx), r.Name); err != nil {
			return nil, err
		}
	}
	out, err := s.toNodeDrain(ctx, d, stays)
	if err != nil {
		return nil, err
	}
	return DrainNode200JSONResponse(out), nil
}

func (s *server) GetNodeDrain(
	ctx context.Context, r GetNodeDrainRequestObject,
) (GetNodeDrainResponseObject, error) {
	d, err := s.Nodes.NodeDrain(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	out, err := s.toNodeDrain(ctx, d, nil)
	if err != nil {
		return nil, err
	}
	return GetNodeDrain200JSONResponse(out), nil
}

// toNodeDrain is how far a drain is, with why each stays: as a move of it was refused
// just now, or else as one would be.
func (s *server) toNodeDrain(ctx context.Context, d nodes.Drain,
	refused map[controlplane.DeploymentID]string) (NodeDrain, error) {
	ids := make([]controlplane.DeploymentID, len(d.Staying))
	for i, one := range d.Staying {
		ids[i] = one.ID
	}
	stays, err := s.Lifecycle.MoveRefusals(ctx, actorOf(ctx), ids)
	if err != nil {
		return NodeDrain{}, err
	}
	maps.Copy(stays, refused)
	out := nodeDrain(d)
	for i, id := range ids {
		out.Staying[i].StaysBecause = ptrOrNil(stays[id])
	}
	return out, nil
}

func (s *server) UndrainNode(
	ctx context.Context, r UndrainNodeRequestObject,
) (UndrainNodeResponseObject, error) {
	n, err := s.Nodes.UndrainNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return UndrainNode200JSONResponse(toNode(n)), nil
}

func (s *server) ForgetNode(
	ctx context.Context, r ForgetNodeRequestObject,
) (ForgetNodeResponseObject, error) {
	if err := s.requireNobodyOnNode(ctx, r.Name, r.Params.Anyway); err != nil {
		return nil, err
	}
	n, err := s.Lifecycle.ForgetNode(ctx, actorOf(ctx), r.Name)
	if err != nil {
		return nil, err
	}
	return ForgetNode200JSONResponse(forgottenNode(n)), nil
}

func (s *server) ListForgottenNodes(
	ctx context.Context, r ListForgottenNodesRequestObject,
) (ListForgottenNodesResponseObject, error) {
	before, err := parseCursor(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, next, err := s.Nodes.ForgottenNodes(ctx, actorOf(ctx), before, valueOr(r.Params.Limit, 0))
	if err != nil {
		return nil, err
	}
	return ListForgottenNodes200JSONResponse{Items: convertAll(all, forgottenNode),
		NextCursor: ptrOrNil(formatCursor(next))}, nil
}

func (s *server) ListNodeEvents(
	ctx context.Context, r ListNodeEventsRequestObject,
) (ListNodeEventsResponseObject, error) {
	before, err := parseCursor(r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	all, next, err := s.Nodes.NodeEvents(ctx, actorOf(ctx), r.Name, before,
		valueOr(r.Params.Limit, 0))
	if err != nil {
		return nil, err
	}
	return ListNodeEvents200JSONResponse{Items: convertAll(all, nodeEvent),
		NextCursor: ptrOrNil(formatCursor(next))}, nil
}

// parseCursor reads the cursor of a list that is numbered downwards.
func parseCursor(cursor *string) (int64, error) {
	if valueOr(cursor, "") == "" {
		return 0, nil
	}
	n, err := strconv.ParseInt(*cursor, 10, 64)
	if err != nil || n <= 0 {
		return 0, &controlplane.Error{Kind: controlplane.Invalid, Code: "cursor_invalid",
			Field: "cursor", Message: "this is not a cursor that a page gave",
			Remedy: "Give back next_cursor as it was, or leave it out."}
	}
	return n, nil
}

func formatCursor(n int64) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(n, 10)
}

// StreamNodes follows what happens to nodes. It begins with `reset`, as does
// whatever cannot be resumed: nodes are read after that.
func (s *server) StreamNodes(
	ctx context.Context, r StreamNodesRequestObject,
) (StreamNodesResponseObject, error) {
	_, now, _, err := s.Nodes.NodeEventsSince(ctx, actorOf(ctx), controlplane.NodeEventMark{})
	if err != nil {
		return nil, err
	}
	at, ok := parseMark(valueOr(r.Params.LastEventID, ""))
	// A mark from the future is of another database: one restored, say.
	fresh := !ok || at.Xact > now.Xact
	if fresh {
		at = now
	}
	topics := []controlplane.Topic{controlplane.TopicNode}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		if fresh {
			if err := out.addEvent("reset", markText(at), struct{}{}); err != nil {
				return err
			}
		}
		return s.streamChanges(ctx, out, "", topics,
			func(ctx context.Context, who caller) (bool, error) {
				return s.nodesSince(ctx, who.actor, out, &at)
			})
	}}, nil
}

func (s *server) nodesSince(ctx context.Context, actor access.Actor, out *sse,
	at *controlplane.NodeEventMark) (more bool, err error) {
	all, next, more, err := s.Nodes.NodeEventsSince(ctx, actor, *at)
	if err != nil {
		return false, err
	}
	for _, e := range all {
		if err := out.addEvent("node", markText(e.Mark), nodeEvent(e)); err != nil {
			return false, err
		}
	}
	*at = next
	return more, nil
}

func markText(m controlplane.NodeEventMark) string {
	return strconv.FormatInt(m.Xact, 10) + "-" + strconv.FormatInt(m.ID, 10)
}

func parseMark(id string) (m controlplane.NodeEventMark, ok bool) {
	xact, number, _ := strings.Cut(id, "-")
	x, errX := strconv.ParseUint(xact, 10, 62)
	n, errN := strconv.ParseUint(number, 10, 62)
	m = controlplane.NodeEventMark{Xact: int64(x), ID: int64(n)}
	return m, errX == nil && errN == nil && x > 0
}

func nodeEvent(e controlplane.NodeEvent) NodeEvent {
	return NodeEvent{Id: e.ID, Node: e.Node, At: e.At, Kind: string(e.Kind),
		Detail: ptrOrNil(e.Detail)}
}

func nodeDrain(d nodes.Drain) NodeDrain {
	out := NodeDrain{Node: d.Node.Name, Drain: toDrain(d.Node.Drain), EndsAt: d.EndsAt,
		Staying: convertAll(d.Staying, func(s controlplane.RemainingDeployment) NodeStaying {
			return NodeStaying{Id: string(s.ID), Name: s.Name, Project: s.Project,
				CreatedBy: s.CreatedBy, Status: DeploymentStatus(s.Status), EndsAt: s.EndsAt}
		})}
	return out
}

func toDrain(d *controlplane.Drain) *Drain {
	if d == nil {
		return nil
	}
	return &Drain{Status: DrainStatus(d.Status), Since: d.Since, By: d.By, Deadline: d.Deadline}
}

func forgottenNode(n controlplane.ForgottenNode) ForgottenNode {
	return ForgottenNode{Name: n.Name, Environment: n.Environment, Address: n.Address,
		Thumbprint: ptrOrNil(string(n.Thumbprint)), By: n.By, At: n.At,
		Left: convertAll(n.Left, func(l controlplane.ForgottenDeployment) LeftBehind {
			return LeftBehind{Id: string(l.ID), Name: l.Name, Project: l.Project,
				Status: DeploymentStatus(l.Status), What: orEmpty(l.What)}
		})}
}
