package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
)

const emptyPage = "# Flaky\n\n| test | run | commit | fixed by |\n|---|---|---|---|\n"

// One run in which a test failed once is an accident, a second one within ten is not; a fix
// ends it, and what comes after the fix counts anew.
func TestCheckLedger_FailsOnASecondRunWithinTen(t *testing.T) {
	x := func(day int, fixed string) entry {
		return entry{"agent TestX", fmt.Sprintf("2026-11-%02d 10:00", day), "0a84a801+", fixed}
	}
	others := func(from, to int) (all []entry) {
		for day := from; day <= to; day++ {
			e := x(day, "")
			e.test = fmt.Sprintf("other Test%d", day)
			all = append(all, e)
		}
		return all
	}
	for name, c := range map[string]struct {
		entries []entry
		fails   bool
	}{
		"nothing":           {nil, false},
		"once":              {[]entry{x(1, "")}, false},
		"written twice":     {[]entry{x(1, ""), x(1, "")}, false},
		"twice":             {[]entry{x(1, ""), x(2, "")}, true},
		"fixed":             {[]entry{x(1, "7f273feb"), x(2, "7f273feb")}, false},
		"once since":        {[]entry{x(1, "7f273feb"), x(2, "")}, false},
		"twice since":       {[]entry{x(1, "7f273feb"), x(2, ""), x(3, "")}, true},
		"within ten":        {append([]entry{x(1, ""), x(10, "")}, others(2, 9)...), true},
		"eleven runs apart": {append([]entry{x(1, ""), x(11, "")}, others(2, 10)...), false},
	} {
		err := checkLedger(addEntries(emptyPage, c.entries))
		if (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), "agent TestX") ||
			!strings.Contains(err.Error(), "2026-11-01 10:00 0a84a801+") &&
				name == "twice") {
			t.Errorf("%s: the test or its runs are not named: %v", name, err)
		}
	}
}

// A row that cannot be read would hide a test, so it is an error.
func TestReadEntries_RefusesWhatIsNoRow(t *testing.T) {
	for _, line := range []string{
		"| agent TestX | yesterday | 0a84a801 | |",
		"| agent TestX | 2026-11-26 | main | |",
		"| agent TestX | 2026-11-26 | 0a84a801 | soon |",
		"| agent TestX | 2026-11-26 | 0a84a801 |",
		"| | 2026-11-26 | 0a84a801 | |",
		"agent TestX",
	} {
		if entries, err := readEntries(emptyPage + line + "\n"); err == nil {
			t.Errorf("%s: read as %+v", line, entries)
		}
	}
	if _, err := readEntries("# Flaky\n"); err == nil {
		t.Error("a page without a table was read")
	}
}

// What record writes is what check reads: once per test and run, whatever a story is called.
func TestMakeEntries_AreReadAgain(t *testing.T) {
	names := "cmd/nullops TestEndToEnd/Cancel\nbrowser: a  link | a line\n\n" +
		"cmd/nullops TestEndToEnd/Cancel\n"
	added := makeEntries(names, "2026-11-26 05:12", "0a84a801")
	if len(added) != 2 || added[1].test != "browser: a link / a line" {
		t.Fatalf("made %+v", added)
	}
	text := addEntries(emptyPage, added[:1])
	read, err := readEntries(addEntries(text, added[1:]))
	if err != nil || fmt.Sprint(read) != fmt.Sprint(added) {
		t.Errorf("read %v (%v), want %v", read, err, added)
	}
}

// A machine that throws its checkout away shows the rows to append.
func TestPrintAdded_ShowsTheRows(t *testing.T) {
	added := makeEntries("agent TestX", "2026-11-26 05:12", "0a84a801")
	for thrownAway, advice := range map[bool]string{true: "append these lines", false: "commit docs"} {
		var out strings.Builder
		printAdded(&out, added, thrownAway)
		if !strings.Contains(out.String(), advice) ||
			!strings.Contains(out.String(), "\n| agent TestX | 2026-11-26 05:12 | 0a84a801 | |\n") {
			t.Errorf("printed %s", out.String())
		}
	}
}

// The committed page can be read, and what it lists is closed with a commit or counted.
func TestLedger_OfThisRepositoryIsReadable(t *testing.T) {
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := readEntries(string(text))
	if err != nil || len(entries) < 2 {
		t.Errorf("read %d rows: %v", len(entries), err)
	}
}
