package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// leastSample is how many mutants of a target have to be tested for the page to say something.
const leastSample = 25

// core are the targets that the page has to answer for.
var core = []string{"controlplane/access", "controlplane/seal", "agent/engine", "agent/wire",
	"controlplane/lifecycle", "controlplane/review", "controlplane/gate", "agent/sidecar", "ingress",
	"pipeline"}

// The committed page has each target of the core, and at least 85 % of the mutants that were tested
// of it were killed. Explained survivors do not count as killed, and no survivor lacks its reason.
func TestPage_SaysThatMutantsOfTheCoreDie(t *testing.T) {
	t.Chdir("../..")
	r, err := openReport()
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range core {
		var all, run, killed int
		cells := splitRow(r.rows[dir])
		if len(cells) > commitCell {
			for i, n := range map[int]*int{allCell: &all, runCell: &run, killedCell: &killed} {
				if _, err := fmt.Sscan(cells[i], n); err != nil {
					t.Errorf("%s: %q is no number: %v", dir, cells[i], err)
				}
			}
		}
		// promise: R-01
		if run < min(all, leastSample) || run == 0 || 100*killed < 85*run {
			t.Errorf("%s: of %d mutants, %d were tested and %d killed", dir, all, run, killed)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(r.reasons)) {
		// promise: R-01
		if r.reasons[id] == "" {
			t.Errorf("nothing says why this mutant may live; add an assertion that fails with it, "+
				"or the reason to %s: %s", page, id)
		}
	}
}

// Survivors whose code is gone, and counts that do not fit the reasons, are found by `go test`.
func TestPage_FitsTheCode(t *testing.T) {
	t.Chdir("../..")
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	r, err := readReport(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, target := range targets {
		mutants, err := findMutants(t.Context(), target)
		if err != nil {
			t.Fatal(err)
		}
		for _, line := range r.recount(target, mutants) {
			t.Errorf("the code does not have this mutant any more: %s", line)
		}
	}
	if r.String() != string(text) {
		t.Errorf("%s does not fit the code; run tools/run mutants --recount", page)
	}
}

// A row follows the reasons that are written by hand and the code, and what was killed stays so.
func TestRecount_FollowsReasonsAndCode(t *testing.T) {
	const dir = "calc"
	row := func(run, killed, share, explained, open int) string {
		return fmt.Sprintf("| `calc` | 9 | %d | %d (%d %%) | %d | %d | seed 1 | then abc |", run, killed,
			share, explained, open)
	}
	mutants := []mutant{{id: "calc/a.go A drop `x`"}, {id: "calc/a.go B drop `x`"},
		{id: "calc/a.go E drop `x`"}}
	for name, c := range map[string]struct {
		reasons map[string]string
		stale   []string
		want    string
	}{
		"none explained": {map[string]string{"calc/a.go A drop `x`": "", "calc/a.go B drop `x`": ""},
			nil, row(7, 5, 71, 0, 2)},
		"one explained": {map[string]string{"calc/a.go A drop `x`": "why", "calc/a.go B drop `x`": ""},
			nil, row(7, 5, 71, 1, 1)},
		"one is gone": {map[string]string{"calc/a.go A drop `x`": "why", "calc/b.go C drop `x`": ""},
			nil, row(6, 5, 83, 1, 0)},
		"an explained one is gone": {map[string]string{"calc/a.go A drop `x`": "",
			"calc/b.go C drop `x`": "why"}, []string{"calc/b.go C drop `x`: why"}, row(6, 5, 83, 0, 1)},
		"another target's": {map[string]string{"calc/a.go A drop `x`": "why",
			"calc/a.go B drop `x`": "why", "calc/in/a.go D drop `x`": ""}, nil, row(7, 5, 71, 2, 0)},
		"an older sample's": {map[string]string{"calc/a.go A drop `x`": "why",
			"calc/a.go B drop `x`": "why", "calc/a.go E drop `x`": "why"}, nil, row(7, 5, 71, 2, 0)},
	} {
		r := &report{rows: map[string]string{dir: row(7, 5, 71, 0, 2)}, reasons: c.reasons}
		stale := r.recount(target{dir: dir}, mutants)
		if r.rows[dir] != c.want || !slices.Equal(stale, c.stale) {
			t.Errorf("%s: %s, stale %q", name, r.rows[dir], stale)
		}
		for id := range r.reasons {
			if strings.HasPrefix(id, "calc/b.go") {
				t.Errorf("%s: %s is still there", name, id)
			}
		}
	}
}
