// Command promises writes docs/promises.md: which promises of the product are
// kept, and the test that shows each. It also fills the last column of docs/threats.md and
// docs/faults.md, from comments "threat: T8" and "fault: F32".
//
//	tools/run promises
//
// Tests claim a promise with a comment beside the assertion that would fail if
// it were broken: the word promise, a colon and the id. The sentence of a promise
// comes from the table itself, or, for one claimed for the first time, from the
// project's list beside the checkout (../shared/promises.tsv) where there is one.
package main

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	page = "docs/promises.md"
	list = "../shared/promises.tsv"
)

const header = `# Promises

What NullOps promises its users, and the tests that would fail if it broke. Written
by ` + "`make generate`" + ` from the comments in the tests; do not edit by hand, except
for the remarks before the tests. *partly* says what is missing, *mapped* what stands
for a sentence of another product. What is marked (slow) is shown by
` + "`make test-slow`" + ` only, what is marked (on a cluster) by ` + "`make test-kubernetes`" + `,
and what is marked (in rotation) by one run of ` + "`make test`" + ` in four;
` + "`make test PART=all`" + ` shows all of it.

| id | promise | shown by |
|---|---|---|
`

func main() {
	if err := runPromises("."); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func runPromises(root string) error {
	claims, err := collectClaims(os.DirFS(root))
	if err != nil {
		return err
	}
	late, err := findMarkedFiles(os.DirFS(root))
	if err != nil {
		return err
	}
	markFiles(claims, late)
	rotated, err := findRotated(os.DirFS(root))
	if err != nil {
		return err
	}
	markRotated(claims, rotated)
	if err := writeRows(root, claims); err != nil {
		return err
	}
	known, err := readPromises(root)
	if err != nil {
		return err
	}
	text, err := renderTable(claims, known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), []byte(text), 0o644)
}

// promise is a row of the list.
type promise struct {
	sentence string
	// remark says what the tests do not: that they show a part only, or why there are none.
	remark string
}

// renderTable renders one row per promise, in the order of ids.
func renderTable(claims map[string][]string, known map[string]promise) (string, error) {
	var out strings.Builder
	out.WriteString(header)
	for _, id := range slices.Sorted(maps.Keys(claims)) {
		if _, ok := known[id]; !ok && idPattern.MatchString(id) {
			return "", fmt.Errorf("no sentence is known for %s (claimed in %s): add a row to %s",
				id, strings.Join(claims[id], ", "), page)
		}
	}
	for _, id := range slices.Sorted(maps.Keys(known)) {
		shown := slices.Compact(slices.Sorted(slices.Values(claims[id])))
		if len(shown) == 0 && !needsNoTest.MatchString(known[id].remark) {
			shown = []string{notShown}
		}
		if remark := known[id].remark; remark != "" {
			shown = slices.Insert(shown, 0, remark)
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", id, known[id].sentence, strings.Join(shown, "<br>"))
	}
	return out.String(), nil
}

// remarkPattern finds the remark at the beginning of the last column, and needsNoTest remarks
// of rows that nothing in the product is to show.
var (
	remarkPattern = regexp.MustCompile("^((?:partly|mapped|not adopted|process)[^`]*?)(?:<br>|$)")
	needsNoTest   = regexp.MustCompile(`^(?:not adopted|process)`)
)

// readPromises reads what each promise says. The committed page wins, so that the
// result is the same with and without the project's list.
func readPromises(root string) (map[string]promise, error) {
	known := map[string]promise{}
	text, err := os.ReadFile(filepath.Join(root, list))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.Split(line, "\t")
		if len(fields) < 3 || !idPattern.MatchString(fields[0]) {
			continue
		}
		p := promise{sentence: formatCell(fields[2])}
		if note := formatCell(fields[len(fields)-1]); len(fields) > 4 && note != "" {
			p.remark = findRemark(strings.ToLower(note[:1]) + note[1:])
		}
		known[fields[0]] = p
	}
	text, err = os.ReadFile(filepath.Join(root, page))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(strings.TrimPrefix(line, "| "), " | ", 3)
		if len(cells) == 3 && idPattern.MatchString(cells[0]) {
			shown := strings.TrimSuffix(strings.TrimSpace(cells[2]), " |")
			known[cells[0]] = promise{sentence: cells[1], remark: findRemark(shown)}
		}
	}
	return known, nil
}

func findRemark(shown string) string {
	if match := remarkPattern.FindStringSubmatch(shown); match != nil {
		return match[1]
	}
	return ""
}

// formatCell makes a text fit a table cell.
func formatCell(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "|", "/"))
}
