// Command trackrecord writes docs/track-record.md from docs/track-record.tsv: which bugs were
// fixed, who found each, and the test that brings it back. It fails if a test does not exist. The
// table is complete by itself, since a clone may lack the history.
//
//	tools/run trackrecord
package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const (
	table = "docs/track-record.tsv"
	page  = "docs/track-record.md"
)

const header = `# Track record

Bugs in the behaviour of NullOps that were fixed: when, what went wrong, who found it, and the test
that brings it back. Written by ` + "`make generate`" + ` from [track-record.tsv](track-record.tsv):
add a row there with each fix. *Not recorded* means that neither the commit, nor the branch that
brought it, nor an issue, nor a closing note of the project says who found it; each such row was
looked up there on 2026-11-26. *None* means that no test is known to bring it back. The rows up to
2026-11-26 were collected from commit messages, so bugs whose commits do not speak of them are
missing, among them most of the UI's. Faults of tests, tools and texts are not listed.

`

// bug is one row.
type bug struct{ commit, date, what, finder, test string }

var rowPattern = regexp.MustCompile(
	`^([0-9a-f]{8,12})\t(\d{4}-\d\d-\d\d)\t([^\t]+)\t([^\t]+)\t([^\t]*)$`)

func main() {
	if err := writeTrackRecord("."); err != nil {
		fmt.Fprintln(os.Stderr, "trackrecord:", err)
		os.Exit(1)
	}
}

func writeTrackRecord(root string) error {
	text, err := os.ReadFile(filepath.Join(root, table))
	if err != nil {
		return err
	}
	bugs, err := parseBugs(string(text))
	if err != nil {
		return err
	}
	var missing []error
	for _, b := range bugs {
		missing = append(missing, checkTest(root, b))
	}
	if err := errors.Join(missing...); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), []byte(renderPage(bugs)), 0o644)
}

func parseBugs(text string) (bugs []bug, err error) {
	seen := map[string]bool{}
	for i, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		if i == 0 {
			continue // the names of the columns
		}
		m := rowPattern.FindStringSubmatch(line)
		if m == nil || strings.Contains(line, "|") {
			return nil, fmt.Errorf("%s:%d is not commit, date, bug, finder and test with tabs between",
				table, i+1)
		}
		if seen[m[1]+m[3]] {
			return nil, fmt.Errorf("%s:%d is there twice", table, i+1)
		}
		seen[m[1]+m[3]] = true
		bugs = append(bugs, bug{m[1], m[2], m[3], m[4], m[5]})
	}
	slices.SortStableFunc(bugs, func(a, b bug) int { return cmp.Compare(b.date, a.date) })
	return bugs, nil
}

// checkTest looks for the test in the folder that is named before it; tests of the UI are named by
// their file. What follows, such as a seed, is how to run it.
func checkTest(root string, b bug) error {
	if b.test == "" {
		return nil
	}
	words := strings.Fields(b.test)
	if len(words) < 2 {
		return fmt.Errorf("%s: %q is not a folder and a test", b.commit, b.test)
	}
	if strings.HasSuffix(words[1], ".test.ts") || strings.HasSuffix(words[1], ".test.tsx") {
		if _, err := os.Stat(filepath.Join(root, words[0], words[1])); err != nil {
			return fmt.Errorf("%s: %w", b.commit, err)
		}
		return nil
	}
	files, err := filepath.Glob(filepath.Join(root, words[0], "*_test.go"))
	if err != nil {
		return err
	}
	declared := regexp.MustCompile(`(?m)^func (?:\([^)]*\) )?` + regexp.QuoteMeta(words[1]) + `\(`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		if declared.Match(text) {
			return nil
		}
	}
	return fmt.Errorf("%s: %s has no %s", b.commit, words[0], words[1])
}

func renderPage(bugs []bug) string {
	finders := map[string]int{}
	tested := 0
	for _, b := range bugs {
		kind, _, _ := strings.Cut(b.finder, ":")
		finders[kind]++
		if b.test != "" {
			tested++
		}
	}
	var out strings.Builder
	out.WriteString(header)
	fmt.Fprintf(&out, "%d bugs, %d of them with a test.\n\n| found by | bugs |\n|---|---|\n",
		len(bugs), tested)
	for _, kind := range slices.Sorted(maps.Keys(finders)) {
		fmt.Fprintf(&out, "| %s | %d |\n", kind, finders[kind])
	}
	out.WriteString("\n| date | commit | what went wrong | found by | brought back by |\n" +
		"|---|---|---|---|---|\n")
	for _, b := range bugs {
		shown := "none"
		if folder, name, ok := strings.Cut(b.test, " "); ok {
			shown = fmt.Sprintf("`%s` %s", folder, name)
		}
		fmt.Fprintf(&out, "| %s | %s | %s | %s | %s |\n", b.date, b.commit, b.what, b.finder, shown)
	}
	return out.String()
}
