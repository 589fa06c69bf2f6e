package api

import (
	"context"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

func (s *server) ListQueue(
	ctx context.Context, r ListQueueRequestObject,
) (ListQueueResponseObject, error) {
	p := r.Params
	before := controlplane.RunID(or(p.Cursor, ""))
	if before != "" && (!controlplane.ValidID(string(before)) || !or(p.History, false)) {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "cursor_invalid",
			Field: "cursor", Message: "this is no cursor of ours",
			Remedy: "Send next_cursor of the page before, or none."}
	}
	size := or(p.Limit, 100)
	all, err := s.Lifecycle.Queue(ctx, actorOf(ctx), lifecycle.QueueFilter{
		Environment: or(p.Environment, ""), Node: or(p.Node, ""),
		History: or(p.History, false), Before: before, Most: size + 1})
	if err != nil {
		return nil, err
	}
	all, next := controlplane.Cut(controlplane.Page{Limit: size}, all,
		func(e controlplane.QueueEntry) string { return string(e.Run) })
	if !or(p.History, false) {
		// Queues are short, and their order changes between pages, so there is no next page.
		next = ""
	}
	return ListQueue200JSONResponse{Items: each(all, queueItem), NextCursor: some(next)}, nil
}

func queueItem(e controlplane.QueueEntry) QueueItem {
	q := queueEntry(e)
	return QueueItem{Id: string(e.Run), DeploymentId: string(e.Deployment), Deployment: e.Name,
		Project: e.Project, Environment: e.Environment, Node: some(e.Node),
		Status: DeploymentStatus(e.Status), Run: q.Run, Priority: q.Priority, Wait: q.Wait,
		Position: q.Position, Reason: q.Reason, QueuedAt: q.QueuedAt, Deadline: q.Deadline,
		StartedAt: q.StartedAt, LeftAt: q.LeftAt, EndedAt: q.EndedAt, Attempts: q.Attempts}
}

func queueEntry(e controlplane.QueueEntry) QueueEntry {
	return QueueEntry{Run: e.RunNumber, Priority: e.Priority, Wait: e.Wait,
		Position: some(e.Position), Reason: some(e.Reason), QueuedAt: e.QueuedAt,
		Deadline: e.Deadline, StartedAt: e.StartedAt, LeftAt: e.LeftAt, EndedAt: e.EndedAt,
		Attempts: e.Attempts}
}

func runQueue(v lifecycle.RunView) *QueueEntry {
	if v.Queue == nil {
		return nil
	}
	q := queueEntry(*v.Queue)
	return &q
}
