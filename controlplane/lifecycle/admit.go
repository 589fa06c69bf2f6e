package lifecycle

import (
	"cmp"
	"slices"
	"time"

	"github.com/nullops/nullops/internal/quantity"
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
	// Offer is set while a node is asked, or has claimed the run.
	Offer *PendingOffer
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
	// Asking is set while a node is asked: meanwhile the run keeps no other node.
	Asking bool
}

// AdmissionResult is what to do about a queue.
type AdmissionResult struct {
	Start []StartableRun
	// Ask are those whose node has to be asked first, Lost the claims that came to nothing.
	Ask  []StartableRun
	Lost []LostClaim
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
	if !s.Asking {
		q.reserveFor(w)
	}
	q.position[w.Node]++
	s.Position = q.position[w.Node]
	q.out.Stand = append(q.out.Stand, s)
}

// tryStart starts a run, or returns the reason why it stays queued.
func (q *admission) tryStart(w QueuedRun) QueuePosition {
	if w.Node != "" {
		return QueuePosition{QueuedRun: w, Reason: q.turnOn(w)}
	}
	if w.Offer != nil && !w.Offer.Claimed {
		return QueuePosition{QueuedRun: w, Reason: askingReason(w.Offer.Name), Asking: true}
	}
	if w.Offer != nil {
		return q.startClaimed(w)
	}
	return q.placeRun(w)
}

// startClaimed starts a run on the node that has claimed it. If that has no room any more, the
// claim is lost, and another node is looked for in the next round.
func (q *admission) startClaimed(w QueuedRun) QueuePosition {
	why := "the node is gone"
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == w.Offer.Node })
	if i >= 0 {
		w.Ask.MayWait, w.Ask.Claimed = false, w.Offer.Node
		free := withoutReservation(q.nodes[i], w)
		if why = refusalReason(free, w.Ask); why == "" {
			q.out.Start = append(q.out.Start, StartableRun{QueuedRun: w, On: free})
			q.nodes[i] = withReservation(free, w.Ask)
			return QueuePosition{QueuedRun: w}
		}
		q.nodes[i] = free
	}
	why = "it claimed the deployment and cannot take it any more: " + why
	q.out.Lost = append(q.out.Lost, LostClaim{PendingOffer: *w.Offer, Reason: why})
	return QueuePosition{QueuedRun: w, Reason: "Node " + w.Offer.Name + ": " + why, Asking: true}
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
		return "Node " + n.Name + " takes " + quantity.FormatCount(limit, "run", "runs") + " at a time."
	}
	q.out.Start = append(q.out.Start, StartableRun{QueuedRun: w, On: *n})
	n.Runs, n.Queued = n.Runs+1, max(0, n.Queued-1)
	return ""
}

// placeRun starts a run on a node with room, has that asked first, or returns each node's
// reason.
func (q *admission) placeRun(w QueuedRun) QueuePosition {
	w.Ask.MayWait = false
	best, refused := ChooseNode(q.nodes, w.Ask)
	if best.ID == "" {
		if refused == nil {
			refused = []NodeRefusal{}
		}
		return QueuePosition{QueuedRun: w, Reason: waitsForRoom(refused), Refused: refused}
	}
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == best.ID })
	q.nodes[i] = withReservation(best, w.Ask)
	if mustAsk(best, w.Ask) {
		q.out.Ask = append(q.out.Ask, StartableRun{QueuedRun: w, On: best})
		return QueuePosition{QueuedRun: w, Reason: askingReason(best.Name), Asking: true}
	}
	q.out.Start = append(q.out.Start, StartableRun{QueuedRun: w, On: best})
	return QueuePosition{QueuedRun: w}
}

// withoutReservation is a node without what the run's own offer reserves there.
func withoutReservation(n Candidate, w QueuedRun) Candidate {
	n.Taken = slices.DeleteFunc(slices.Clone(n.Taken),
		func(id string) bool { return slices.Contains(w.Offer.GPUs, id) })
	n.AllocatedCPU -= w.Ask.CPU
	n.AllocatedMemory -= int64(w.Ask.MemoryMiB) << 20
	n.AllocatedVRAM -= int64(w.Ask.VRAMMiB) << 20
	n.Runs--
	n.Deployments--
	return n
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
	if i := slices.IndexFunc(refused, NodeRefusal.isDecline); i >= 0 {
		return "No node takes it; " + refused[i].Node + ": " + refused[i].Reason
	}
	return "No node has room; " + refused[0].Node + ": " + refused[0].Reason
}
