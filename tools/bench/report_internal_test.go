package main

import (
	"strings"
	"testing"
)

func TestFormatVerdict(t *testing.T) {
	for _, c := range []struct {
		name        string
		ours, peer  []float64
		want        string
		missed, won bool
	}{
		{"clearly met", []float64{50, 51, 52, 53, 54}, []float64{100, 100, 100, 100, 100}, "yes",
			false, true},
		{"clearly missed", []float64{90, 91, 92, 93, 94}, []float64{100, 100, 100, 100, 100}, "**no**",
			true, true},
		{"missed by the median alone", []float64{70, 79, 81, 82, 90}, []float64{100, 100, 100, 100, 100},
			"met, within noise", true, true},
		{"one wild round is no noise", []float64{10, 90, 91, 92, 93},
			[]float64{100, 100, 100, 100, 100}, "**no**", true, true},
		{"behind", []float64{120, 121, 122, 123, 124}, []float64{100, 100, 100, 100, 100}, "**no**",
			true, false},
	} {
		s := samples{}
		for i := range c.ours {
			s.addOurs("row", c.ours[i])
			s.addPeer("row", c.peer[i])
		}
		r := s.results([]figure{{name: "row", peer: "docker", better: "lower", goal: 0.8}})
		if got := formatVerdict(r[0]); got != c.want {
			t.Errorf("%s: the verdict is %q, want %q", c.name, got, c.want)
		}
		if got := strings.Contains(listMisses(r), "`row`"); got != c.missed {
			t.Errorf("%s: listed as missed: %v", c.name, got)
		}
		if got := !strings.Contains(listBehind(r), "`row`"); got != c.won {
			t.Errorf("%s: not listed as behind: %v", c.name, got)
		}
	}
}

// A peer that is ahead is listed also in a row without a goal; a missed goal alone is no peer.
func TestListBehind(t *testing.T) {
	s := samples{}
	for _, row := range []string{"no_goal", "alone"} {
		s.addOurs(row, 2)
		s.addPeer(row, 1)
	}
	text := listBehind(s.results([]figure{{name: "no_goal", peer: "nginx", better: "lower"},
		{name: "alone", peer: goalPeer, better: "lower", goal: 1}}))
	if !strings.Contains(text, "no_goal") || strings.Contains(text, "alone") {
		t.Error(text)
	}
}

func TestInTurn(t *testing.T) {
	var order string
	s := samples{}
	for s.turn = range 3 {
		_ = s.inTurn(func() error { order += "o"; return nil }, func() error { order += "p"; return nil })
	}
	if order != "oppoop" {
		t.Error(order)
	}
}

// What others do counts; what the measurement and its engine do does not.
func TestNeighbours(t *testing.T) {
	all := map[int]process{
		1: {name: "init", seconds: 9}, 2: {name: "kthreadd"}, 3: {parent: 2, name: "kworker/0:1"},
		10: {parent: 1, name: "bash"}, 11: {parent: 10, name: "make"},
		20: {parent: 10, name: "services"}, 21: {parent: 20, name: "bench"},
		22:      {parent: 21, name: "nginx"},
		1 << 30: {parent: 1, name: "containerd-shim"}, // it has ended: no command line
	}
	found := neighbours{root: 20}.foreign(all)
	if len(found) != 2 || found[10].name != "bash" || found[11].name != "make" {
		t.Errorf("others are %v", found)
	}
	if tree := findTree(all, []int{20}); len(tree) != 3 {
		t.Errorf("the tree is %v", tree)
	}
}

// Time counts once, although it moves to the parents of processes that end.
func TestCompareUse(t *testing.T) {
	before := map[int]process{
		1: {name: "bash", started: "1", seconds: 5},
		2: {parent: 1, name: "make", started: "2", seconds: 1},
		3: {parent: 2, name: "go", started: "3", seconds: 60},
		4: {parent: 1, name: "vi", started: "4", seconds: 2},
	}
	now := map[int]process{
		1: {name: "bash", started: "1", seconds: 67},
		4: {parent: 1, name: "vi", started: "4", seconds: 3},
		3: {parent: 1, name: "ls", started: "9", seconds: 4}, // the number again
	}
	used := compareUse(before, now)
	if len(used) != 3 || used["bash"] != 1 || used["vi"] != 1 || used["ls"] != 4 {
		t.Errorf("used %v", used)
	}
}

// The name in /proc/PID/stat may look like what follows it.
func TestParseStat(t *testing.T) {
	p, ok := parseStat("7 (a) S 5 (b) S 3 7 7 0 -1 4194560 1 2 3 4 100 50 25 25 20 0 1 0 999 1 2")
	if !ok || p.parent != 3 || p.name != "a) S 5 (b" || p.seconds != 2 || p.started != "999" {
		t.Errorf("%v %+v", ok, p)
	}
}

func TestDisturbance(t *testing.T) {
	for _, c := range []struct {
		d     disturbance
		quiet bool
	}{
		{disturbance{}, true}, {disturbance{Others: 0.09, Stolen: 0.01}, true},
		{disturbance{Others: 0.2}, false}, {disturbance{Stolen: 0.03}, false},
	} {
		if got := c.d.check() == nil; got != c.quiet {
			t.Errorf("%+v is quiet: %v", c.d, got)
		}
	}
}
