package fleet

import (
	"slices"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/pipeline"
)

// maxGoals bounds one message: a goal carries a pipeline of some kilobytes,
// and a message may have a mebibyte.
const maxGoals = 16

// changedGoals returns the goals that differ from what the agent was sent. It is pure.
// A deployment that is no longer wanted needs no message: the agent itself reported
// its end.
func changedGoals(orders []controlplane.NodeGoal, sent map[string]goalMark) (changed []wire.Goal) {
	for _, o := range orders {
		if sent[string(o.Deployment)] != markOf(o) {
			changed = append(changed, newGoal(o))
		}
	}
	return changed
}

// goalMark is what distinguishes one goal from the next.
type goalMark struct {
	generation int64
	ready      bool
	// answers counts them; they only ever get more.
	answers int
}

func markOf(o controlplane.NodeGoal) goalMark {
	return goalMark{generation: o.Generation, ready: isReady(o), answers: len(o.Answers)}
}

func isReady(o controlplane.NodeGoal) bool {
	return o.Goal == controlplane.GoalPresent && o.Status == controlplane.Ready && !o.Elsewhere
}

// isBegun is about a run that is not ready: an agent has reported that it took it up.
func isBegun(o controlplane.NodeGoal) bool {
	return o.Goal == controlplane.GoalPresent && !o.Elsewhere && slices.Contains(
		[]controlplane.DeploymentStatus{controlplane.Applying, controlplane.Undoing,
			controlplane.Stuck}, o.Status)
}

func goalMarks(orders []controlplane.NodeGoal) map[string]goalMark {
	all := make(map[string]goalMark, len(orders))
	for _, o := range orders {
		all[string(o.Deployment)] = markOf(o)
	}
	return all
}

func newGoal(o controlplane.NodeGoal) wire.Goal {
	g := wire.Goal{
		Deployment: string(o.Deployment), Generation: o.Generation, Want: wire.Want(o.Goal),
		Run: string(o.Run), Ready: isReady(o), Begun: isBegun(o),
		Elsewhere: o.Elsewhere, Still: o.Still, Attempt: formatAttempt(o.Attempt), Resume: o.Resume,
		Limits: o.Limits, Request: o.RequestID, Trace: o.Traceparent, Version: o.Version,
		Pipeline: o.Pipeline,
		Context: pipeline.Context{ID: string(o.Deployment), Name: o.Name,
			Environment: o.Environment, Project: o.Project,
			Domain: o.Name + "." + o.Environment + "." + o.Domain, URLs: o.URLs,
			Input: o.Input},
	}
	for key, a := range o.Answers {
		if g.Answers == nil {
			g.Answers = map[pipeline.StepKey]wire.Answer{}
		}
		g.Answers[key] = wire.Answer{Approved: a.Approved, By: a.By, At: a.At, Fields: a.Fields}
	}
	return g
}

// splitGoals splits goals so that each message stays small. Full ones say with
// More that the set is not complete yet.
func splitGoals(goals []wire.Goal, full bool) []wire.Goals {
	var all []wire.Goals
	for len(goals) > maxGoals {
		all = append(all, wire.Goals{Full: full, More: full, Goals: goals[:maxGoals]})
		goals = goals[maxGoals:]
	}
	if len(goals) > 0 || full {
		all = append(all, wire.Goals{Full: full, Goals: goals})
	}
	return all
}
