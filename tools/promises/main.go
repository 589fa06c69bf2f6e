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
	"slices"
	"strings"
)

const (
	page = "docs/promises.md"
	list = "../shared/promises.tsv"
)

const header = `# Promises kept

What NullOps promises its users, and the test that would fail if it broke. Written
by ` + "`make generate`" + ` from the comments in the tests; do not edit by hand, except
for the wording of a promise. What is marked (slow) is told by ` + "`make test-slow`" + ` only.

| id | promise | shown by |
|---|---|---|
`

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "promises:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	claims, err := collect(os.DirFS(root))
	if err != nil {
		return err
	}
	late, err := slow(os.DirFS(root))
	if err != nil {
		return err
	}
	mark(claims, late)
	if err := writeRows(root, claims); err != nil {
		return err
	}
	known, err := sentences(root)
	if err != nil {
		return err
	}
	text, err := table(claims, known)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Join(root, "docs"), 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), []byte(text), 0o644)
}

// table renders one row per claimed promise, in the order of ids.
func table(claims map[string][]string, known map[string]string) (string, error) {
	var out strings.Builder
	out.WriteString(header)
	var missing []string
	for _, id := range slices.Sorted(maps.Keys(claims)) {
		sentence, ok := known[id]
		if !ok {
			missing = append(missing, id)
			continue
		}
		tests := slices.Compact(slices.Sorted(slices.Values(claims[id])))
		fmt.Fprintf(&out, "| %s | %s | %s |\n", id, sentence, strings.Join(tests, "<br>"))
	}
	if len(missing) > 0 {
		return "", fmt.Errorf("no sentence is known for %s (claimed in %s): add a row to %s",
			strings.Join(missing, ", "), strings.Join(claims[missing[0]], ", "), page)
	}
	return out.String(), nil
}

// sentences reads what each promise says. The committed page wins, so that the
// result is the same with and without the project's list.
func sentences(root string) (map[string]string, error) {
	known := map[string]string{}
	text, err := os.ReadFile(filepath.Join(root, list))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Split(line, "\t"); len(fields) >= 3 {
			known[fields[0]] = cell(fields[2])
		}
	}
	text, err = os.ReadFile(filepath.Join(root, page))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	for line := range strings.Lines(string(text)) {
		cells := strings.SplitN(strings.TrimPrefix(line, "| "), " | ", 3)
		if len(cells) == 3 && idPattern.MatchString(cells[0]) {
			known[cells[0]] = cells[1]
		}
	}
	return known, nil
}

// cell makes a text fit a table cell.
func cell(text string) string {
	return strings.TrimSpace(strings.ReplaceAll(text, "|", "/"))
}
