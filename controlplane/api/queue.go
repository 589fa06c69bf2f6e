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
	before := controlplane.RunID(valueOr(p.Cursor, ""))
	if before != "" && (!controlplane.ValidID(string(before)) || !valueOr(p.History, false)) {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "cursor_invalid",
			Field: "cursor", Message: "this is no cursor of ours",
			Remedy: "Send the one of the page before, or none."}
	}
	size := valueOr(p.Limit, 100)
	all, err := s.Lifecycle.Queue(ctx, actorOf(ctx), lifecycle.QueueFilter{
		Environment: valueOr(p.Environment, ""), Node: valueOr(p.Node, ""),
		History: valueOr(p.History, false), Before: before, Most: size + 1})
	if err != nil {
		return nil, err
	}
	all, next := controlplane.CutPage(controlplane.Page{Limit: size}, all,
		func(e controlplane.QueueEntry) string { return string(e.Run) })
	if !valueOr(p.History, false) {
		// Queues are short, and their order changes between pages, so there is no next page.
		next = ""
	}
	return ListQueue200JSONResponse{Items: convertAll(all, queueItem), NextCursor: ptrOrNil(next)}, nil
}

func queueItem(e controlplane.QueueEntry) QueueItem {
	q := queueEntry(e)
	return QueueItem{Id: string(e.Run), DeploymentId: string(e.Deployment), Deployment: e.Name,
		Project: e.Project, Environment: e.Environment, Node: ptrOrNil(e.Node),
		Status: DeploymentStatus(e.Status), Run: q.Run, Priority: q.Priority, Wait: q.Wait,
		Position: q.Position, Reason: q.Reason, QueuedAt: q.QueuedAt, Deadline: q.Deadline,
		StartedAt: q.StartedAt, LeftAt: q.LeftAt, EndedAt: q.EndedAt, Attempts: q.Attempts}
}

func queueEntry(e controlplane.QueueEntry) QueueEntry {
	return QueueEntry{Run: e.RunNumber, Priority: e.Priority, Wait: e.Wait,
		Position: ptrOrNil(e.Position), Reason: ptrOrNil(e.Reason), QueuedAt: e.QueuedAt,
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
