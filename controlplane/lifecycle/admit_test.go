package lifecycle_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

// bench is a queue that hands out turns as the database does: after what was started last, and
// after the last of the same priority.
type bench struct {
	clock   float64
	next    int
	waiting []lifecycle.QueuedRun
	prio    map[string]int
}

func (b *bench) arrive(priority int, w lifecycle.QueuedRun) string {
	if b.prio == nil {
		b.prio = map[string]int{}
	}
	b.next++
	w.Run, w.Queued = fmt.Sprintf("run-%06d", b.next), noon.Add(time.Duration(b.next))
	last := b.clock
	for _, other := range b.waiting {
		if b.prio[other.Run] == priority {
			last = max(last, other.Turn)
		}
	}
	w.Turn = last + controlplane.QueueStep(priority)
	b.prio[w.Run] = priority
	b.waiting = append(b.waiting, w)
	return w.Run
}

// admitRuns goes through the queue once, and removes the runs that started.
func (b *bench) admitRuns(nodes []lifecycle.Candidate) []lifecycle.StartableRun {
	done := lifecycle.AdmitRuns(noon, nodes, b.waiting)
	for _, s := range done.Start {
		b.clock = max(b.clock, s.Turn)
		b.waiting = slices.DeleteFunc(b.waiting,
			func(w lifecycle.QueuedRun) bool { return w.Run == s.Run })
	}
	return done.Start
}

func oneAtATime(running int) []lifecycle.Candidate {
	n := roomyCandidate("n")
	n.Settings.RunLimit, n.Runs = 1, running
	return []lifecycle.Candidate{n}
}

// Of those that wait together, lower priorities come first, and equal ones in
// the order they came.
func TestAdmit_LowerFirst(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bench
		priorities := rapid.SliceOfNDistinct(rapid.IntRange(0, controlplane.MaxPriority), 1, 12,
			rapid.ID).Draw(t, "priorities")
		for _, p := range priorities {
			b.arrive(p, lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
		}
		var got []int
		for len(b.waiting) > 0 {
			started := b.admitRuns(oneAtATime(0))
			if len(started) != 1 {
				t.Fatalf("%d started on a node that takes one", len(started))
			}
			got = append(got, b.prio[started[0].Run])
		}
		// promise: B-30
		if !slices.IsSorted(got) {
			t.Fatalf("started in the order %v", got)
		}
	})
}

// However many better ones keep coming, the least important run starts, after a
// number of others that is known beforehand: it never starves.
func TestAdmit_NobodyStarves(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var b bench
		for range rapid.IntRange(0, 5).Draw(t, "already there") {
			b.arrive(rapid.IntRange(0, 255).Draw(t, "earlier"),
				lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
		}
		last := b.arrive(controlplane.MaxPriority, lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
		storm := rapid.IntRange(32, 255).Draw(t, "storm")
		most := int(b.turn(last)/controlplane.QueueStep(storm)) + len(b.waiting) + 1
		for range most {
			for b.count(storm) < 3 {
				b.arrive(storm, lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
			}
			for _, s := range b.admitRuns(oneAtATime(0)) {
				if s.Run == last {
					return
				}
			}
		}
		// promise: B-31
		t.Fatalf("%d others of priority %d went first", most, storm)
	})
}

func (b *bench) turn(run string) float64 {
	i := slices.IndexFunc(b.waiting, func(w lifecycle.QueuedRun) bool { return w.Run == run })
	return b.waiting[i].Turn
}

// While two priorities always have someone waiting, each gets its share: half as much for every 32
// steps, and never nothing.
func TestAdmit_SharesByPriority(t *testing.T) {
	var b bench
	served := map[int]int{}
	for range 900 {
		for _, p := range []int{64, 96, 128} {
			for b.count(p) < 3 {
				b.arrive(p, lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
			}
		}
		for _, s := range b.admitRuns(oneAtATime(0)) {
			served[b.prio[s.Run]]++
		}
	}
	for p, want := range map[int]float64{64: 4. / 7, 96: 2. / 7, 128: 1. / 7} {
		// promise: B-31
		if share := float64(served[p]) / 900; share < want-0.02 || share > want+0.02 {
			t.Errorf("priority %d got %.3f of the runs, want %.3f", p, share, want)
		}
	}
}

func (b *bench) count(priority int) (n int) {
	for _, w := range b.waiting {
		if b.prio[w.Run] == priority {
			n++
		}
	}
	return n
}

// Admission never promises what is not there, starts in the order of turns,
// and leaves nobody out.
func TestAdmit_NeverOverbooks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := someNodes(t)
		for i := range nodes {
			nodes[i].Waiting = 0
		}
		var b bench
		for range rapid.IntRange(0, 8).Draw(t, "waiting") {
			w := lifecycle.QueuedRun{Ask: anAsk(t)}
			if len(nodes) > 0 && rapid.Bool().Draw(t, "has a node") {
				w.Node = rapid.SampledFrom(nodes).Draw(t, "node").ID
			}
			if rapid.Bool().Draw(t, "in a hurry") {
				w.Deadline = noon.Add(time.Duration(rapid.IntRange(-2, 2).Draw(t, "by")) * time.Hour)
			}
			b.arrive(rapid.IntRange(0, 255).Draw(t, "priority"), w)
		}
		got := lifecycle.AdmitRuns(noon, nodes, b.waiting)
		if len(got.Start)+len(got.Late)+len(got.Stand) != len(b.waiting) {
			t.Fatalf("%d wait, %+v", len(b.waiting), got)
		}
		for _, n := range nodes {
			checkFit(t, n, got.Start)
		}
		for _, s := range got.Start {
			if !s.Deadline.IsZero() && s.Deadline.Before(noon) {
				t.Fatalf("started after its deadline: %+v", s)
			}
		}
		for _, s := range got.Late {
			if s.Deadline.IsZero() || !s.Deadline.Before(noon) || s.Reason == "" {
				t.Fatalf("late: %+v", s)
			}
		}
		places := map[string]int{}
		for _, s := range got.Stand {
			places[s.Node]++
			if s.Position != places[s.Node] || s.Reason == "" {
				t.Fatalf("stands %+v", s)
			}
		}
		calm := lifecycle.AdmitRuns(time.Time{}, nodes, b.waiting)
		if len(calm.Late) > 0 {
			t.Fatalf("late without a clock: %+v", calm.Late)
		}
	})
}

// checkFit adds up what was started on a node.
func checkFit(t *rapid.T, n lifecycle.Candidate, started []lifecycle.StartableRun) {
	memory := n.Memory - n.AllocatedMemory - n.ForeignMemory
	cpu := n.CPU*n.Rules.Overcommit() - n.AllocatedCPU
	runs, gpus := n.Runs, len(n.Taken)
	placed := 0
	for _, s := range started {
		if s.Node == "" && s.On.ID == n.ID {
			memory -= int64(s.Ask.MemoryMiB) << 20
			cpu -= s.Ask.CPU
			gpus += s.Ask.GPUs
			placed++
		}
		if s.On.ID == n.ID {
			runs++
			if !n.Enabled || !n.Online || !n.Trusted {
				t.Fatalf("started on %+v", n)
			}
		}
	}
	if placed > 0 && (memory < 0 || cpu < 0 || gpus > len(n.GPUs)) {
		t.Fatalf("%s is overbooked: %d bytes, %.1f CPU, %d GPUs", n.Name, memory, cpu, gpus)
	}
	// promise: V-22, B-27
	if limit := n.Settings.RunLimit; limit > 0 && runs > max(limit, n.Runs) {
		t.Fatalf("%s takes %d runs and has %d", n.Name, limit, runs)
	}
}

// A large deployment that waits is not overtaken by small ones for ever: the
// node it could use is kept for it.
func TestAdmit_KeepsRoomForWhoCameFirst(t *testing.T) {
	n := roomyCandidate("n")
	n.AllocatedMemory = n.Memory - 1<<30
	large, little := newSmallRequest(), newSmallRequest()
	large.MemoryMiB, little.MemoryMiB = 4<<10, 256
	var b bench
	first := b.arrive(128, lifecycle.QueuedRun{Ask: large})
	b.arrive(128, lifecycle.QueuedRun{Ask: little})
	got := lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, b.waiting)
	if len(got.Start) != 0 || len(got.Stand) != 2 || got.Stand[0].Run != first ||
		!strings.Contains(got.Stand[1].Reason, "1 deployment waits for room on it already") {
		t.Fatalf("%+v", got)
	}
	// One that could never use the node does not keep it.
	b.waiting[0].Ask.Placement.Required = []controlplane.Selector{"zone=moon"}
	if got := lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, b.waiting); len(got.Start) != 1 {
		t.Fatalf("%+v", got)
	}
	b.waiting[0].Ask.Placement.Required = nil
	n.AllocatedMemory = 0
	if got := lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, b.waiting); len(got.Start) != 2 ||
		got.Start[0].Run != first {
		t.Fatalf("%+v", got)
	}
}

// A run is offered to a reactive node first; while it thinks, its room is kept, and what waits
// behind starts elsewhere.
func TestAdmit_AsksAReactiveNode(t *testing.T) {
	reactive, plain := roomyCandidate("reactive"), roomyCandidate("plain")
	reactive.Settings.Reactive, reactive.Settings.Priority = true, 1
	nodes := []lifecycle.Candidate{reactive, plain}
	first := lifecycle.QueuedRun{Run: "first", Turn: 1, Ask: newSmallRequest()}
	got := lifecycle.AdmitRuns(noon, nodes, []lifecycle.QueuedRun{first})
	if len(got.Start) != 0 || len(got.Ask) != 1 || got.Ask[0].On.Name != "reactive" ||
		got.Stand[0].Reason != "Node reactive is asked whether it takes it." {
		t.Fatalf("at first: %+v", got)
	}
	first.Offer = &lifecycle.PendingOffer{ID: "offer", Node: reactive.ID, Name: "reactive"}
	second := lifecycle.QueuedRun{Run: "second", Turn: 2, Ask: newSmallRequest()}
	second.Ask.Declined = map[string]string{reactive.ID: "no"}
	got = lifecycle.AdmitRuns(noon, nodes, []lifecycle.QueuedRun{first, second})
	if len(got.Ask) != 0 || len(got.Start) != 1 || got.Start[0].Run != "second" ||
		got.Start[0].On.Name != "plain" {
		t.Fatalf("while it is asked: %+v", got)
	}
	first.Offer.Claimed = true
	reactive.Runs, reactive.Settings.RunLimit = 1, 1 // its own offer is that run
	got = lifecycle.AdmitRuns(noon, []lifecycle.Candidate{reactive}, []lifecycle.QueuedRun{first})
	if len(got.Start) != 1 || got.Start[0].On.Runs != 0 {
		t.Fatalf("claimed: %+v", got)
	}
	reactive.Online = false
	got = lifecycle.AdmitRuns(noon, []lifecycle.Candidate{reactive}, []lifecycle.QueuedRun{first})
	if len(got.Start) != 0 || len(got.Lost) != 1 || got.Lost[0].ID != "offer" {
		t.Fatalf("claimed, and then offline: %+v", got)
	}
}

// A claim does not pass the limit of runs: a node that is full by then loses it, even if it need
// not be asked any more, and both say why.
func TestAdmit_AClaimKeepsToTheRunLimit(t *testing.T) {
	n := roomyCandidate("site")
	n.Settings.RunLimit, n.Runs = 1, 2 // its own offer and another run
	w := lifecycle.QueuedRun{Run: "run", Turn: 1, Ask: newSmallRequest(),
		Offer: &lifecycle.PendingOffer{ID: "offer", Node: n.ID, Name: n.Name, Claimed: true}}
	w.Ask.MayWait = true
	got := lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, []lifecycle.QueuedRun{w})
	const why = "it claimed the deployment and cannot take it any more: It takes 1 run at a time"
	if len(got.Start) != 0 || len(got.Lost) != 1 || len(got.Stand) != 1 ||
		!strings.HasPrefix(got.Lost[0].Reason, why) ||
		!strings.HasPrefix(got.Stand[0].Reason, "Node site: "+why) {
		t.Errorf("a claim beyond the limit: %+v", got)
	}
	got = lifecycle.AdmitRuns(noon, nil, []lifecycle.QueuedRun{w})
	if len(got.Lost) != 1 || got.Lost[0].Reason !=
		"it claimed the deployment and cannot take it any more: the node is gone" {
		t.Errorf("a claim of a node that is gone: %+v", got)
	}
	// A site that is asked by nobody else may say yes although it declined others before.
	n.Settings.Reactive, n.Runs = true, 1
	w.Ask.Declined = map[string]string{n.ID: "not now"}
	got = lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, []lifecycle.QueuedRun{w})
	if len(got.Start) != 1 || len(got.Lost) != 0 {
		t.Errorf("a claim after a decline: %+v", got)
	}
}

// Each run that starts moves from a node's queue to its runs.
func TestAdmit_CountsWhatItStarts(t *testing.T) {
	n := roomyCandidate("n")
	n.Settings.RunLimit, n.Queued = 3, 2
	var b bench
	for range 4 {
		b.arrive(128, lifecycle.QueuedRun{Node: "n", Ask: newSmallRequest()})
	}
	got := lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, b.waiting)
	var counts []string
	for _, s := range got.Start {
		counts = append(counts, fmt.Sprint(s.On.Runs, " ", s.On.Queued))
	}
	if text := strings.Join(counts, ", "); text != "0 2, 1 1, 2 0" || len(got.Stand) != 1 ||
		got.Stand[0].Position != 1 {
		t.Errorf("they start beside %s; left are %+v", text, got.Stand)
	}
	n.Settings.RunLimit, n.Queued = 2, 0 // the node was asked before the queue was
	got = lifecycle.AdmitRuns(noon, []lifecycle.Candidate{n}, b.waiting[:2])
	if len(got.Start) != 2 || got.Start[1].On.Queued != 0 || got.Start[1].On.Runs != 1 {
		t.Errorf("beside nothing queued: %+v", got.Start)
	}
}

// A node without a priority stands at 128, and what is free is never less than nothing.
func TestPlace_CountsFromTheMiddleAndFromNothing(t *testing.T) {
	usual, middle, after := roomyCandidate("usual"), roomyCandidate("middle"), roomyCandidate("after")
	usual.Memory, middle.Settings.Priority, after.Settings.Priority = 16<<30, 128, 129
	after.Memory = 32 << 30
	all := []lifecycle.Candidate{after, middle, usual}
	if got, _ := lifecycle.ChooseNode(all, newSmallRequest()); got.Name != "usual" {
		t.Errorf("128 goes before a node without a priority: %s", got.Name)
	}
	usual.Memory = 4 << 30
	got, _ := lifecycle.ChooseNode([]lifecycle.Candidate{middle, usual}, newSmallRequest())
	if got.Name != "middle" {
		t.Errorf("a node without a priority goes before 128: %s", got.Name)
	}
	full := roomyCandidate("full")
	full.AllocatedCPU, full.AllocatedMemory = 100, 9<<30
	_, refused := lifecycle.ChooseNode([]lifecycle.Candidate{full}, newSmallRequest())
	if len(refused) != 1 || refused[0].CPUFree != 0 || refused[0].MemoryFree != 0 {
		t.Errorf("of an overbooked node is free: %+v", refused)
	}
}
