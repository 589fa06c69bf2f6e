//go:build chaos

package main_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// roundTime is how long people act and things break; then it is calm.
	roundTime = 20 * time.Second
	// faultsOver is when the last fault of a round has ended.
	faultsOver     = roundTime - time.Second
	deedsPerRound  = 10
	faultsPerRound = 5
)

// faultKinds is what can break, and how often each can be found in a system: the target
// of a fault is one of so many.
var faultKinds = []struct {
	name    string
	victim  string
	targets int
}{
	{"kill control plane", "control plane", 2},
	{"freeze control plane", "control plane", 2},
	{"kill ingress", "ingress", 1},
	{"kill agent", "agent", 2},
	{"freeze agent", "agent", 2},
	{"kill engine", "engine", 2},
	{"freeze engine", "engine", 2},
	{"cut link", "link", 2},
	{"swallow what the agent sends", "link", 2},
	{"swallow what the agent is sent", "link", 2},
	{"fill disk of agent", "disk", 2},
	{"remove a container", "engine", 2},
	{"remove a network", "engine", 2},
	{"remove images", "engine", 2},
	{"registry answers 429", "registry", 1},
	{"registry answers 500", "registry", 1},
	{"registry is slow", "registry", 1},
	{"registry cuts answers", "registry", 1},
	{"kill database", "database", 1},
	{"cut database", "database", 1},
	{"set clock of control plane", "clock of control plane", 2},
	{"set clock of agent", "clock of agent", 2},
	{"set clock of database", "clock of database", 1},
}

// fault is something that breaks, and is repaired later.
type fault struct {
	begins, ends time.Duration
	kind, victim string
	target       int
	// pick chooses among the objects that are there by then.
	pick int
}

func (f fault) String() string {
	return fmt.Sprintf("%4.1f s to %4.1f s  %s %d", f.begins.Seconds(), f.ends.Seconds(), f.kind,
		f.target)
}

// deed is what a person asks for, of one of a few deployments, through one of the control
// planes.
type deed struct {
	at            time.Duration
	who, verb     string
	slot, through int
	project, tag  string
}

func (d deed) String() string {
	text := fmt.Sprintf("%4.1f s  %s: %s s%d", d.at.Seconds(), d.who, d.verb, d.slot)
	if d.verb == "create" {
		text += " of " + d.project + " with " + d.tag
	}
	return text
}

// plan is one round of a schedule.
type plan struct {
	deeds  []deed
	faults []fault
}

func (p plan) String() string {
	var lines []string
	for _, f := range p.faults {
		lines = append(lines, "  "+f.String())
	}
	for _, d := range p.deeds {
		lines = append(lines, "  "+d.String())
	}
	return strings.Join(lines, "\n")
}

var (
	chaosVerbs = []string{"create", "create", "create", "create", "remove", "remove", "retry",
		"clone", "move", "move", "extend", "trespass"}
	chaosProjects = []string{"plain", "plain", "booked", "booked", "slow", "doomed", "kept"}
	chaosTags     = []string{"v1.0.0", "v1.0.1", "v1.1.0", "v1.2.0-rc.1", "main-3f2a1bc",
		"feat-cart-redesign-51d0e7b", "fix-checkout-0badf00"}
)

// chaosSlots is how many deployments people play with: two of them often want the same.
const chaosSlots = 5

// planRound depends on nothing but the seed and the number of the round. Kinds of faults are
// dealt like cards: each comes once before one comes again, unless its victim is broken already.
func planRound(seed uint64, round int) (p plan) {
	r := rand.New(rand.NewPCG(seed, uint64(round)))
	busy := map[string]bool{}
	for i := range faultsPerRound {
		card := (round-1)*faultsPerRound + i
		deck := rand.New(rand.NewPCG(seed, uint64(card/len(faultKinds))<<32)).Perm(len(faultKinds))
		kind := faultKinds[deck[card%len(faultKinds)]]
		begins := time.Duration(r.Int64N(int64(10 * time.Second)))
		f := fault{begins: begins, ends: min(begins+2*time.Second+
			time.Duration(r.Int64N(int64(8*time.Second))), faultsOver),
			kind: kind.name, victim: kind.victim, target: r.IntN(kind.targets), pick: r.IntN(1000)}
		// One thing breaks in one way at a time. The other one may break as well.
		for range kind.targets {
			if !busy[f.place()] {
				busy[f.place()] = true
				p.faults = append(p.faults, f)
				break
			}
			f.target = (f.target + 1) % kind.targets
		}
	}
	for i := range deedsPerRound {
		d := planDeed(r)
		if round == 1 && i < 3 {
			// Without deployments, there is nothing that the rest could be about.
			d = deed{at: d.at / 10, who: "admin", verb: "create", slot: i, through: d.through,
				project: d.project, tag: d.tag}
		}
		p.deeds = append(p.deeds, d)
	}
	slices.SortFunc(p.faults, func(a, b fault) int { return int(a.begins - b.begins) })
	slices.SortFunc(p.deeds, func(a, b deed) int { return int(a.at - b.at) })
	return p
}

func (f fault) place() string { return fmt.Sprint(f.victim, f.target) }

func planDeed(r *rand.Rand) deed {
	pick := func(of []string) string { return of[r.IntN(len(of))] }
	d := deed{at: time.Duration(r.Int64N(int64(faultsOver))), who: pick([]string{"admin", "eve"}),
		verb: pick(chaosVerbs), slot: r.IntN(chaosSlots), through: r.IntN(2)}
	d.project, d.tag = pick(chaosProjects), pick(chaosTags)
	if d.verb == "trespass" {
		d.who = "vera"
	}
	return d
}

func TestChaosSchedule_IsTheSeed(t *testing.T) {
	kinds := map[string]bool{}
	for round := 1; round <= 20; round++ {
		one, two := planRound(4711, round), planRound(4711, round)
		if one.String() != two.String() || one.String() == planRound(4712, round).String() {
			t.Errorf("round %d:\n%s\nand\n%s", round, one, two)
		}
		for _, f := range one.faults {
			kinds[f.kind] = true
			if f.ends > faultsOver || f.ends <= f.begins {
				t.Errorf("round %d: %s", round, f)
			}
		}
	}
	if len(kinds) != len(faultKinds) {
		t.Errorf("in twenty rounds there are only the faults %v", kinds)
	}
}
