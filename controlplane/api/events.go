package api

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// StreamDeployment follows one deployment. Each event's id is a position: resuming
// from it sends exactly what was not sent yet.
func (s *server) StreamDeployment(
	ctx context.Context, r StreamDeploymentRequestObject,
) (StreamDeploymentResponseObject, error) {
	id, err := deploymentID(r.Id)
	if err != nil {
		return nil, err
	}
	present, err := s.Lifecycle.CurrentPosition(ctx, actorOf(ctx), id)
	if err != nil {
		return nil, err
	}
	f := &deploymentFollower{server: s, id: id, runs: map[int]lifecycle.RunView{},
		signs: map[string]time.Time{}}
	// A position from the future belongs to another database, for example before a
	// restore. Start from the current state, as for a malformed position.
	from, ok := parsePosition(valueOr(r.Params.LastEventID, ""))
	if ok && from.Event <= present.Event {
		f.at, f.began = from, true
	} else {
		f.at = present
	}
	topics := []controlplane.Topic{
		controlplane.TopicDeployment, controlplane.TopicLog, controlplane.TopicProgress,
	}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.streamChanges(ctx, out, string(id), topics,
			func(ctx context.Context, who caller) (bool, error) {
				return f.poll(ctx, who.actor, out)
			})
	}}, nil
}

// deploymentFollower is one listener of one deployment.
type deploymentFollower struct {
	server *server
	id     controlplane.DeploymentID
	at     lifecycle.Position
	// began is set once the listener has the state that at counts from.
	began bool
	// runs are pipelines to join steps with; they never change.
	runs map[int]lifecycle.RunView
	// signs are the last signs of life sent, step by step.
	signs map[string]time.Time
	// node is the node's state shown last: it changes without an event.
	node string
}

// poll sends what comes after the position, if the listener may see it.
func (f *deploymentFollower) poll(ctx context.Context, actor access.Actor, out *sse) (bool, error) {
	if !f.began {
		if err := f.sendState(ctx, actor, out); err != nil {
			return false, err
		}
		f.began = true
	}
	c, err := f.server.Lifecycle.ChangesSince(ctx, actor, f.id, f.at)
	if err != nil {
		return false, err
	}
	return c.More, f.sendHistory(ctx, actor, out, c)
}

// sendState sends the deployment and every step of its latest run. Only the last of
// these events has an id: resuming from an earlier one would miss the rest.
func (f *deploymentFollower) sendState(ctx context.Context, actor access.Actor, out *sse) error {
	v, err := f.server.Lifecycle.View(ctx, actor, f.id)
	if err != nil {
		return err
	}
	latest, err := f.server.Lifecycle.Run(ctx, actor, f.id, v.Run)
	if err != nil {
		return err
	}
	f.runs[latest.Number], f.node = latest, nodeState(v)
	f.at.Event = v.Revision
	for _, row := range latest.Steps {
		if err := out.addEvent("step", "", toStep(latest, row)); err != nil {
			return err
		}
	}
	return out.addEvent("deployment", formatPosition(f.at), toDeployment(v))
}

// sendHistory sends the changes of one poll: first the history, then log lines, so
// that each id covers everything sent before it.
func (f *deploymentFollower) sendHistory(
	ctx context.Context, actor access.Actor, out *sse, c lifecycle.Changes,
) error {
	if err := f.sendNodeState(out, c); err != nil {
		return err
	}
	last := lastOf(c.History)
	for i, h := range c.History {
		f.at.Event = h.Seq
		// Several changes of the deployment in one poll are sent as one state.
		if h.Kind != controlplane.HistoryStep && last[h.Kind] != i {
			continue
		}
		if err := f.sendChange(ctx, actor, out, c.View, h); err != nil {
			return err
		}
	}
	for _, l := range c.Lines {
		f.at.Line = l.ID
		if err := out.addEvent("line", formatPosition(f.at), toLogLine(l)); err != nil {
			return err
		}
	}
	return f.sendProgress(out, c.Progress)
}

func lastOf(all []controlplane.History) map[controlplane.HistoryKind]int {
	last := map[controlplane.HistoryKind]int{}
	for i, h := range all {
		last[h.Kind] = i
	}
	return last
}

func (f *deploymentFollower) sendChange(ctx context.Context, actor access.Actor, out *sse,
	v lifecycle.View, h controlplane.History) error {
	switch h.Kind {
	case controlplane.HistoryDeployment:
		return out.addEvent("deployment", formatPosition(f.at), toDeployment(v))
	case controlplane.HistoryExpiring:
		return out.addEvent("expiring", formatPosition(f.at), h.Expiring)
	case controlplane.HistoryHealth:
		return out.addEvent("health", formatPosition(f.at), convertAll(v.Services, toServiceHealth))
	case controlplane.HistoryStep:
		r, err := f.readRun(ctx, actor, h.Run)
		if err != nil || h.Step == nil {
			return err
		}
		return out.addEvent("step", formatPosition(f.at), toStep(r, *h.Step))
	default:
		return fmt.Errorf("history of %s has an unknown kind %q", f.id, h.Kind)
	}
}

// readRun returns a run with its pipeline, which is read once.
func (f *deploymentFollower) readRun(
	ctx context.Context, actor access.Actor, number int,
) (lifecycle.RunView, error) {
	if r, ok := f.runs[number]; ok {
		return r, nil
	}
	r, err := f.server.Lifecycle.Run(ctx, actor, f.id, number)
	if err == nil {
		f.runs[number] = r
	}
	return r, err
}

// sendNodeState sends the deployment again when its node came online or went offline.
// That is no event of the deployment, but is shown with it.
func (f *deploymentFollower) sendNodeState(out *sse, c lifecycle.Changes) error {
	now := nodeState(c.View)
	if now == f.node {
		return nil
	}
	f.node = now
	return out.addEvent("deployment", "", toDeployment(c.View))
}

func nodeState(v lifecycle.View) string {
	return v.Node + " " + string(v.NodeStatus) + " " + v.NodeSince.String()
}

// sendProgress sends signs of life that are news. They have no id: they may be lost.
func (f *deploymentFollower) sendProgress(out *sse, all []controlplane.Progress) error {
	for _, p := range all {
		key := string(p.Run) + "/" + string(p.Step)
		if !p.At.After(f.signs[key]) {
			continue
		}
		f.signs[key] = p.At
		if err := out.addEvent("progress", "", toProgress(p)); err != nil {
			return err
		}
	}
	return nil
}

func formatPosition(p lifecycle.Position) string {
	return strconv.FormatInt(p.Event, 10) + "-" + strconv.FormatInt(p.Line, 10)
}

func parsePosition(id string) (lifecycle.Position, bool) {
	event, line, ok := strings.Cut(id, "-")
	e, errEvent := strconv.ParseUint(event, 10, 62)
	l, errLine := strconv.ParseUint(line, 10, 62)
	ok = ok && errEvent == nil && errLine == nil
	return lifecycle.Position{Event: int64(e), Line: int64(l)}, ok
}

// StreamEvents follows every deployment the caller may see. It begins with
// `reset`, as does whatever cannot be resumed: the list is read after that, so
// that nothing falls between the two.
func (s *server) StreamEvents(
	ctx context.Context, r StreamEventsRequestObject,
) (StreamEventsResponseObject, error) {
	now, err := s.Lifecycle.ListMark(ctx, actorOf(ctx))
	if err != nil {
		return nil, err
	}
	l := &listFollower{server: s, told: map[controlplane.DeploymentID]int64{},
		project: valueOr(r.Params.Project, ""), environment: valueOr(r.Params.Environment, "")}
	from, err := strconv.ParseUint(valueOr(r.Params.LastEventID, ""), 10, 62)
	// A mark may belong to another database, or be so old that sending the whole list is
	// cheaper.
	if mark := int64(from); err == nil && mark > 0 && mark <= now && now-mark < oldest {
		l.mark = mark
	}
	topics := []controlplane.Topic{controlplane.TopicDeployment}
	return stream{log: s.Log, ctx: ctx, run: func(ctx context.Context, out *sse) error {
		return s.streamChanges(ctx, out, "", topics,
			func(ctx context.Context, who caller) (bool, error) {
				return false, l.poll(ctx, who, out)
			})
	}}, nil
}

// oldest is how many transactions old a mark may be to be resumed.
const oldest = 100_000

// listFollower is one listener of the list.
type listFollower struct {
	server *server
	// mark is zero before the list was read, and when it must be read again.
	mark int64
	// scope is what the caller could see at the last poll.
	scope *access.Scope
	// told has the revisions that were sent, so that none is sent twice.
	told map[controlplane.DeploymentID]int64
	// project and environment narrow what is sent; empty means all.
	project, environment string
}

func (l *listFollower) matches(v lifecycle.View) bool {
	return (l.project == "" || l.project == v.Project) &&
		(l.environment == "" || l.environment == v.Environment)
}

func (l *listFollower) poll(ctx context.Context, who caller, out *sse) error {
	actor := who.actor
	// Gaining or losing access has no event of its own: start over if the scope changed.
	scope := access.ReadableScope(actor)
	if l.scope != nil && !reflect.DeepEqual(*l.scope, scope) {
		l.mark = 0
	}
	l.scope = &scope
	if l.mark == 0 {
		now, err := l.server.Lifecycle.ListMark(ctx, actor)
		if err != nil {
			return err
		}
		l.mark = now
		clear(l.told)
		return out.addEvent("reset", strconv.FormatInt(now, 10), struct{}{})
	}
	changed, next, err := l.server.Lifecycle.ChangedSince(ctx, actor, l.mark, who.asOf)
	if err != nil {
		return err
	}
	changed = slices.DeleteFunc(changed, func(v lifecycle.View) bool {
		return !l.matches(v) || v.Revision <= l.told[v.ID]
	})
	for i, v := range changed {
		l.told[v.ID] = v.Revision
		// Only the last event gets an id: resuming from an earlier one would miss the rest.
		id := ""
		if i == len(changed)-1 {
			id = strconv.FormatInt(next, 10)
		}
		if err := out.addEvent("deployment", id, toDeployment(v)); err != nil {
			return err
		}
	}
	l.mark = max(l.mark, next)
	return nil
}
