package main

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// countedRuns is how many of the newest runs in the ledger are looked at. Runs in which every
// test passed at once are not listed, so these reach back further than ten runs: no test that
// failed twice within ten is missed.
const countedRuns = 10

// entry is a row of the ledger: one test in one run.
type entry struct {
	test   string
	date   string // of the run, as year-month-day, with hour:minute where known
	commit string // that was tested
	fixed  string // by which commit; empty until then
}

func (e entry) run() string { return e.date + " " + e.commit }

// String returns the row, with the end of its line.
func (e entry) String() string {
	return strings.TrimSpace(fmt.Sprintf("| %s | %s | %s | %s", e.test, e.date, e.commit, e.fixed)) +
		" |\n"
}

// makeEntries makes a row for each test that was named, once.
func makeEntries(names, date, commit string) (entries []entry) {
	for name := range strings.Lines(names) {
		e := entry{test: formatName(name), date: date, commit: commit}
		if e.test != "" && !slices.Contains(entries, e) {
			entries = append(entries, e)
		}
	}
	return entries
}

// formatName makes a name fit a cell of a table.
func formatName(name string) string {
	return strings.Join(strings.Fields(strings.ReplaceAll(name, "|", "/")), " ")
}

// addEntries appends rows to the page, whose table is its end.
func addEntries(text string, added []entry) string {
	text = strings.TrimRight(text, "\n") + "\n"
	for _, e := range added {
		text += e.String()
	}
	return text
}

var (
	datePattern   = regexp.MustCompile(`^\d{4}-\d\d-\d\d( \d\d:\d\d)?$`)
	commitPattern = regexp.MustCompile(`^[0-9a-f]{7,40}$`)
)

// readEntries reads the rows of the page's table.
func readEntries(text string) (entries []entry, err error) {
	inTable := false
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|---"):
			inTable = true
		case !inTable || line == "":
		default:
			e, err := readEntry(line)
			if err != nil {
				return nil, err
			}
			entries = append(entries, e)
		}
	}
	if !inTable {
		return nil, errors.New(page + " has no table; restore it from git")
	}
	return entries, nil
}

func readEntry(line string) (entry, error) {
	cells := strings.Split(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|")
	for i := range cells {
		cells[i] = strings.TrimSpace(cells[i])
	}
	if len(cells) != 4 || cells[0] == "" || !datePattern.MatchString(cells[1]) ||
		!commitPattern.MatchString(strings.TrimSuffix(cells[2], "+")) {
		return entry{}, fmt.Errorf("a line of %s is no row: write it as "+
			"| test | 2026-01-31 12:00 | commit | commit of the fix |: %s", page, line)
	}
	if cells[3] != "" && !commitPattern.MatchString(cells[3]) {
		return entry{}, fmt.Errorf("a row of %s is closed by %q, which is no commit: %s",
			page, cells[3], line)
	}
	return entry{test: cells[0], date: cells[1], commit: cells[2], fixed: cells[3]}, nil
}

// checkLedger returns an error that names each test with two open rows in the counted runs.
func checkLedger(text string) error {
	entries, err := readEntries(text)
	if err != nil {
		return err
	}
	// Rows of two branches may have been merged in any order.
	slices.SortStableFunc(entries, func(a, b entry) int { return strings.Compare(a.date, b.date) })
	var runs []string
	for _, e := range entries {
		if !slices.Contains(runs, e.run()) {
			runs = append(runs, e.run())
		}
	}
	runs = runs[max(0, len(runs)-countedRuns):]
	found := map[string][]string{}
	var errs []error
	for _, e := range entries {
		if e.fixed != "" || !slices.Contains(runs, e.run()) ||
			slices.Contains(found[e.test], e.run()) {
			continue
		}
		found[e.test] = append(found[e.test], e.run())
		if len(found[e.test]) == 2 {
			errs = append(errs, fmt.Errorf("%s passed only on a second run twice (%s): fix it, "+
				"then write the commit of the fix into the last column of its rows in %s",
				e.test, strings.Join(found[e.test], "; "), page))
		}
	}
	return errors.Join(errs...)
}
