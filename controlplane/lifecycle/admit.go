package lifecycle

import (
	"cmp"
	"slices"
	"time"
)

// Waiting is a run in the queue, as admission knows it.
type Waiting struct {
	Run string
	// Node is empty for who waits for room on any node.
	Node   string
	Turn   float64
	Queued time.Time
	// Deadline is zero for who waits for ever.
	Deadline time.Time
	Ask      Ask
}

// Start is a run whose turn has come, on a node that has what it asks for.
type Start struct {
	Waiting
	On Candidate
}

// Standing is a run that goes on waiting: its place, from 1, and what for.
type Standing struct {
	Waiting
	Position int
	Reason   string
	// Refused is the table of reasons of who has no node yet.
	Refused []Refusal
}

// Admission is what to do about a queue.
type Admission struct {
	Start []Start
	// Late are those whose deadline has passed.
	Late  []Standing
	Stand []Standing
}

// Admit goes through an environment's queue in the order of turns. It is a pure
// function. A zero now means that no deadline counts.
//
// Runs with a node start as soon as it has a run to spare. Runs without one get
// the first node with room, also for a run; those that find none keep the nodes
// they could use, once there is room, from everybody behind them: so nobody is
// overtaken for ever by smaller ones.
func Admit(now time.Time, nodes []Candidate, waiting []Waiting) Admission {
	q := admission{nodes: slices.Clone(nodes), position: map[string]int{}}
	waiting = slices.SortedStableFunc(slices.Values(waiting), func(a, b Waiting) int {
		return cmp.Or(cmp.Compare(a.Turn, b.Turn), a.Queued.Compare(b.Queued),
			cmp.Compare(a.Run, b.Run))
	})
	for _, hasNode := range []bool{true, false} {
		for _, w := range waiting {
			if (w.Node != "") == hasNode {
				q.one(now, w)
			}
		}
	}
	return q.out
}

type admission struct {
	nodes    []Candidate
	position map[string]int
	out      Admission
}

func (q *admission) one(now time.Time, w Waiting) {
	if !now.IsZero() && !w.Deadline.IsZero() && w.Deadline.Before(now) {
		// It starts no more; only why it did not is still of interest.
		other := admission{nodes: slices.Clone(q.nodes)}
		s := other.try(w)
		s.Reason = cmp.Or(s.Reason, "Its turn came too late.")
		q.out.Late = append(q.out.Late, s)
		return
	}
	s := q.try(w)
	if s.Reason == "" {
		return
	}
	q.hold(w)
	q.position[w.Node]++
	s.Position = q.position[w.Node]
	q.out.Stand = append(q.out.Stand, s)
}

// try starts a run, or says what it waits for.
func (q *admission) try(w Waiting) Standing {
	if w.Node != "" {
		return Standing{Waiting: w, Reason: q.turnOn(w)}
	}
	refused := q.place(w)
	return Standing{Waiting: w, Reason: waitsForRoom(refused), Refused: refused}
}

// turnOn starts a run on its own node, or says what it waits for there.
func (q *admission) turnOn(w Waiting) (reason string) {
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == w.Node })
	if i < 0 {
		return "Its node is gone."
	}
	n := &q.nodes[i]
	switch limit := n.Settings.RunLimit; {
	case !n.Online || !n.Enabled || !n.Trusted:
		return "Node " + n.Name + " is not online."
	case limit > 0 && n.Runs >= limit:
		return "Node " + n.Name + " takes " + count(limit, "run", "runs") + " at a time."
	}
	q.out.Start = append(q.out.Start, Start{Waiting: w, On: *n})
	n.Runs, n.Queued = n.Runs+1, max(0, n.Queued-1)
	return ""
}

// place starts a run on a node with room, or gives the table of reasons.
func (q *admission) place(w Waiting) []Refusal {
	w.Ask.MayWait = false
	best, refused := Place(q.nodes, w.Ask)
	if best.ID == "" {
		if refused == nil {
			refused = []Refusal{}
		}
		return refused
	}
	q.out.Start = append(q.out.Start, Start{Waiting: w, On: best})
	i := slices.IndexFunc(q.nodes, func(n Candidate) bool { return n.ID == best.ID })
	q.nodes[i] = occupied(best, w.Ask)
	return nil
}

// occupied is a node after a deployment was placed on it.
func occupied(n Candidate, ask Ask) Candidate {
	gpus, _ := gpusOf(n, ask, n.Taken)
	n.Taken = slices.Concat(n.Taken, gpus)
	n.AllocatedCPU += ask.CPU
	n.AllocatedMemory += int64(ask.MemoryMiB) << 20
	n.Runs++
	return n
}

// hold keeps for who waits without a node all nodes that would do.
func (q *admission) hold(w Waiting) {
	if w.Node == "" {
		hold(q.nodes, w.Ask)
	}
}

func hold(nodes []Candidate, ask Ask) {
	for i, n := range nodes {
		if unfit(n, ask) == "" {
			nodes[i].Waiting++
		}
	}
}

// waitsForRoom is one line for people; the table has it all. No table means
// that there is room.
func waitsForRoom(refused []Refusal) string {
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
