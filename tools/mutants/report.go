package main

import (
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"time"
)

const page = "docs/mutants.md"

// The two tables of the page.
const (
	summaryHead = "| target | mutants | run | killed | explained | not explained | sample " +
		"| commit |\n" +
		"|---|---|---|---|---|---|---|---|\n"
	survivorsHead = "| survivor | why it may live |\n|---|---|\n"
)

// report is the page docs/mutants.md.
type report struct {
	text    string            // before the first table
	between string            // the tables
	rows    map[string]string // of the summary, by target
	// reasons say why a survivor may live; empty where nobody said so yet.
	reasons map[string]string
}

// readReport reads the page, so that what was written by hand and what was not tested now stays.
func readReport(text string) (*report, error) {
	before, rest, found := strings.Cut(text, summaryHead)
	if !found {
		return nil, errors.New(page + " has no table of targets; restore it from git")
	}
	rows := map[string]string{}
	for strings.HasPrefix(rest, "|") {
		var row string
		row, rest, _ = strings.Cut(rest, "\n")
		rows[strings.Trim(splitRow(row)[0], "`")] = row
	}
	between, survivors, found := strings.Cut(rest, survivorsHead)
	if !found {
		return nil, errors.New(page + " has no table of survivors; restore it from git")
	}
	r := &report{before, between, rows, map[string]string{}}
	for line := range strings.Lines(survivors) {
		if cells := splitRow(line); len(cells) == 2 {
			r.reasons[cells[0]] = cells[1]
		} else if strings.TrimSpace(line) != "" {
			return nil, fmt.Errorf("a line of %s is no row of survivors: %s", page, line)
		}
	}
	return r, nil
}

func splitRow(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	cells := strings.Split(line, "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	return cells
}

// replace puts the results of a target in the place of the older ones. A reason stays as long as
// the code has the mutant and no test kills it; it returns what was written of code that is gone.
func (r *report) replace(t target, mutants []mutant, results []result, o options) (stale []string) {
	gone := r.dropGone(t, mutants)
	maps.DeleteFunc(r.reasons, func(id, reason string) bool { return t.owns(id) && reason == "" })
	var c counts
	for _, done := range results {
		switch id := done.mutant.id; {
		case done.killed:
			c.killed++
			delete(r.reasons, id)
		case r.reasons[id] != "":
			c.explained++
		default:
			c.survived++
			r.reasons[id] = ""
		}
	}
	sample := "all"
	if len(results) < len(mutants) && (o.sample > 0 || o.most > 0) {
		sample = fmt.Sprintf("seed %d", o.seed)
	}
	if before := splitRow(r.rows[t.dir]); o.again && len(before) > sampleCell {
		// All that survived and is still there was tested now. The others were killed then.
		run, _ := strconv.Atoi(before[runCell])
		c.killed = min(run-len(gone), len(mutants)) - c.explained - c.survived
		sample = strings.TrimSuffix(before[sampleCell], again) + again
	}
	r.rows[t.dir] = c.row(t, len(mutants), sample,
		time.Now().UTC().Format(time.DateOnly)+" "+describeCommit())
	return listReasons(gone)
}

// recount brings a row in line with the reasons that were written by hand since its run, and
// takes survivors off the page whose code is gone. It returns the reasons of those.
func (r *report) recount(t target, mutants []mutant) (stale []string) {
	before := splitRow(r.rows[t.dir])
	if len(before) <= commitCell {
		return nil
	}
	gone := r.dropGone(t, mutants)
	var c counts
	explained := 0 // some may be of an older sample, which the row does not count
	for id, reason := range r.reasons {
		switch {
		case !t.owns(id):
		case reason == "":
			c.survived++
		default:
			explained++
		}
	}
	run, _ := strconv.Atoi(before[runCell])
	all, _ := strconv.Atoi(before[allCell])
	_, _ = fmt.Sscan(before[killedCell], &c.killed)
	c.explained = min(explained, max(0, run-c.killed-c.survived))
	r.rows[t.dir] = c.row(t, all, before[sampleCell], before[commitCell])
	return listReasons(gone)
}

// dropGone takes the survivors of a target off the page that the code does not have any more, and
// returns them with their reasons.
func (r *report) dropGone(t target, mutants []mutant) map[string]string {
	exists := map[string]bool{}
	for _, m := range mutants {
		exists[m.id] = true
	}
	gone := map[string]string{}
	maps.DeleteFunc(r.reasons, func(id, reason string) bool {
		if t.owns(id) && !exists[id] {
			gone[id] = reason
		}
		return t.owns(id) && !exists[id]
	})
	return gone
}

// owns reports whether a survivor is of a target.
func (t target) owns(id string) bool {
	file, _, _ := strings.Cut(id, " ")
	return mutant{file: file}.dir() == t.dir
}

// listReasons is a line for each survivor with a reason.
func listReasons(survivors map[string]string) (lines []string) {
	for _, id := range slices.Sorted(maps.Keys(survivors)) {
		if reason := survivors[id]; reason != "" {
			lines = append(lines, id+": "+reason)
		}
	}
	return lines
}

// lists reports whether a mutant is among those that survived.
func (r *report) lists(m mutant) bool {
	_, survived := r.reasons[m.id]
	return survived
}

// counts are what became of the mutants of a target.
type counts struct{ killed, explained, survived int }

// row is the row of a target that has so many mutants.
func (c counts) row(t target, mutants int, sample, commit string) string {
	run := c.killed + c.explained + c.survived
	return fmt.Sprintf("| `%s` | %d | %d | %d (%d %%) | %d | %d | %s | %s |", t.dir, mutants, run,
		c.killed, 100*c.killed/max(1, run), c.explained, c.survived, sample, commit)
}

// The cells of a row that are read again, and what a run of the survivors adds to how the mutants
// were chosen.
const (
	allCell    = 1
	runCell    = 2
	killedCell = 3
	sampleCell = 6
	commitCell = 7
	again      = ", survivors again"
)

// String renders the page: targets in the order of the program, survivors by their names.
func (r *report) String() string {
	var out strings.Builder
	out.WriteString(r.text + summaryHead)
	for _, t := range targets {
		row := r.rows[t.dir]
		if row == "" {
			row = fmt.Sprintf("| `%s` | | not run yet | | | | | |", t.dir)
		}
		out.WriteString(row + "\n")
	}
	out.WriteString(r.between + survivorsHead)
	for _, id := range slices.Sorted(maps.Keys(r.reasons)) {
		fmt.Fprintf(&out, "| %s |\n", strings.TrimSpace(id+" | "+r.reasons[id]))
	}
	return out.String()
}

// describeCommit names what was tested, with a plus when Go files differ from the commit.
func describeCommit() string {
	commit, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "unknown"
	}
	name := strings.TrimSpace(string(commit))
	changes, err := exec.Command("git", "status", "--porcelain", "--", "*.go").Output()
	if err != nil || len(changes) > 0 {
		name += "+"
	}
	return name
}
