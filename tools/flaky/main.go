// Command flaky keeps docs/flaky.md, the ledger of tests that passed only on a second run.
//
//	tools/run flaky record FILE   adds the tests that FILE names, one a line, as one run
//	tools/run flaky check         fails when a test is in two of the last ten runs and not fixed
//
// `make test` collects the names in the file that NULLOPS_TEST_FLAKY names and calls record;
// `make verify` calls check. Nothing is fixed by a second run that passes: the ledger shows
// which tests need work, and check makes sure that it is done.
package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const page = "docs/flaky.md"

func main() {
	if err := runFlaky(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "flaky: FAILED:", err)
		os.Exit(1)
	}
}

func runFlaky(args []string) error {
	switch {
	case len(args) == 2 && args[0] == "record":
		return recordRun(args[1])
	case len(args) == 1 && args[0] == "check":
		text, err := os.ReadFile(page)
		if err != nil {
			return err
		}
		return checkLedger(string(text))
	}
	return errors.New("usage: tools/run flaky record FILE | tools/run flaky check")
}

// recordRun adds the tests that a file names to the ledger, as one run of now. Without names it
// changes nothing, so that a run in which all is well leaves the checkout as it was.
func recordRun(file string) error {
	names, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	commit, err := describeCommit()
	if err != nil {
		return err
	}
	added := makeEntries(string(names), time.Now().UTC().Format("2006-01-02 15:04"), commit)
	if len(added) == 0 {
		return nil
	}
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	text = []byte(addEntries(string(text), added))
	if err := os.WriteFile(page, text, 0o644); err != nil {
		return err
	}
	printAdded(os.Stdout, added, os.Getenv("CI") != "")
	return nil
}

// printAdded says what was written, so that a developer can take it over from the log of a
// machine whose checkout is thrown away.
func printAdded(out io.Writer, added []entry, thrownAway bool) {
	advice := "commit " + page
	if thrownAway {
		advice = "this checkout is not kept: append these lines to " + page + " and commit them"
	}
	_, _ = fmt.Fprintf(out, "flaky: %d passed only on a second run; %s\n", len(added), advice)
	for _, e := range added {
		_, _ = fmt.Fprint(out, e)
	}
}

// describeCommit names what was tested: the commit, with a plus when files differ from it.
func describeCommit() (string, error) {
	commit, err := exec.Command("git", "rev-parse", "--short=10", "HEAD").Output()
	if err != nil {
		return "", fmt.Errorf("git does not name the commit: %w", err)
	}
	changes, err := exec.Command("git", "status", "--porcelain", "--", ".", ":!"+page).Output()
	if err != nil {
		return "", fmt.Errorf("git does not list the changes: %w", err)
	}
	name := strings.TrimSpace(string(commit))
	if len(changes) > 0 {
		name += "+"
	}
	return name, nil
}
