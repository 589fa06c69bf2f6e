package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// QueuedRun is a run in the queue, as admission knows it.
type QueuedRun struct {
	Run string
	// Node is empty for a run that waits for room on any node.
	Node   string
	Turn   float64
	Queued time.Time
	// Deadline is zero for a run without one.
	Deadline time.Time
	Ask      ResourceRequest
}

// StartableRun is a run that may start now, on a node with enough room.
type StartableRun struct {
	QueuedRun
	On Candidate
}

// QueuePosition is a run that stays queued: its position, from 1, and the reason.
type QueuePosition struct {
	QueuedRun
	Position int
	Reason   string
	// Refused has each node's reason, for a run without a node.
	Refused []NodeRefusal
}

// AdmissionResult is what to do about a queue.
type AdmissionResult struct {
	Start []StartableRun
	// Late are those whose deadline has passed.
	Late  []QueuePosition
	Stand []QueuePosition
}

// AdmitRuns goes through an environment's queue in order. It is a pure function. If now is
// zero, deadlines are ignored.
//
// A run with a node starts as soon as the node is below its run limit. A run without
// one starts on the first node with room; if there is none, it reserves every node
// that could ever take it, so that later, smaller runs cannot overtake it for ever.
func AdmitRuns(now time.Time, nodes []Candidate, waiting []QueuedRun) AdmissionResult {
	q := admission{nodes: slices.Clone(nodes), position: map[string]int{}}
	waiting = slices.SortedStableFunc(slices.Values(waiting), func(a, b QueuedRun) int {
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), a.Queued.Compare(b.Queued),
			cmp.Compare(a.Run, b.Run))
	})
	for _, hasNode := range []bool{true, false} {
		for _, w := range waiting {
			if (w.Node != "") == hasNode {
				q.admitOne(now, w)
			}
		}
	}
	return q.out
}

type admission struct {
	nodes    []Candidate
	position map[string]int
	out      AdmissionResult
}

func (q *admission) admitOne(now time.Time, w QueuedRun) {
	if !now.IsZero() && !w.Deadline.IsZero() && w.Deadline.Before(now) {
		// It will not start; only the reason is still needed.
		other := admission{nodes: slices.Clone(q.nodes)}
		s := other.tryStart(w)
		s.Reason = cmp.Or(s.Reason, "Its turn came too late.")
		q.out.Late = append(q.out.Late, s)
		return
	}
	s := q.tryStart(w)
	if s.Reason == "" {
		return
	}
	q.reserveFor(w)
	q.position[w.Node]++
	s.Position = q.position[w.Node]
	q.out.Stand = append(q.out.Stand, s)
}

// tryStart starts a run, or returns the reason why it stays queued.
func (q *admission) tryStart(w QueuedRun) QueuePosition {
	if w.Node != "" {
		return QueuePosition{QueuedRun: w, Reason: q.turnOn(w)}
	}
	refused := q.placeRun(w)
	return QueuePosition{QueuedRun: w, Reason: waitsForRoom(refused), Refused: refused}
}

// turnOn starts a run on its own node, or returns the reason why it cannot.
func (q *admission) turnOn(w QueuedRun) (reason string) {
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == w.Node })
	if i < 0 {
		return "Its node is gone."
	}
	n := &q.nodes[i]
	switch limit := n.Settings.RunLimit; {
	case !n.Online || !n.Enabled || !n.Trusted:
		return "Node " + n.Name + " is not online."
	case limit > 0 && n.Runs >= limit:
		return "Node " + n.Name + " takes " + formatCount(limit, "run", "runs") + " at a time."
	}
	q.out.Start = append(q.out.Start, StartableRun{QueuedRun: w, On: *n})
	n.Runs, n.Queued = n.Runs+1, max(0, n.Queued-1)
	return ""
}

// placeRun starts a run on a node with room, or returns each node's reason.
func (q *admission) placeRun(w QueuedRun) []NodeRefusal {
	w.Ask.MayWait = false
	best, refused := ChooseNode(q.nodes, w.Ask)
	if best.ID == "" {
		if refused == nil {
			refused = []NodeRefusal{}
		}
		return refused
	}
	q.out.Start = append(q.out.Start, StartableRun{QueuedRun: w, On: best})
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == best.ID })
	q.nodes[i] = withReservation(best, w.Ask)
	return nil
}

// withReservation is a node after a deployment was placed on it.
func withReservation(n Candidate, ask ResourceRequest) Candidate {
	gpus, _ := gpusOf(n, ask, n.Taken)
	n.Taken = slices.Concat(n.Taken, gpus)
	n.AllocatedCPU += ask.CPU
	n.AllocatedMemory += int64(ask.MemoryMiB) << 20
	n.AllocatedVRAM += int64(ask.VRAMMiB) << 20
	n.Runs++
	return n
}

// reserveFor reserves every node that could run w, so that later runs cannot overtake
// it. A run that has a node reserves nothing.
func (q *admission) reserveFor(w QueuedRun) {
	if w.Node == "" {
		reserveFitting(q.nodes, w.Ask)
	}
}

func reserveFitting(nodes []Candidate, ask ResourceRequest) {
	for i, n := range nodes {
		if permanentReason(n, ask) == "" {
			nodes[i].Waiting++
		}
	}
}

// waitsForRoom is one line for people; the table has it all. No table means
// that there is room.
func waitsForRoom(refused []NodeRefusal) string {
	switch len(refused) {
	case 0:
		if refused == nil {
			return ""
		}
		return "The environment has no nodes."
	case 1:
		return refused[0].Node + ": " + refused[0].Reason
	}
	return "No node has room; " + refused[0].Node + ": " + refused[0].Reason
}
