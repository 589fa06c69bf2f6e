package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCollect_NamesTheTestAroundAClaim(t *testing.T) {
	mark := "// promise" + ": " // split, so that this file claims nothing
	claims, err := collectClaims(fstest.MapFS{
		"a/b_test.go": {Data: []byte("package b\n\nfunc TestOne() {\n\t" + mark +
			"N-901, N-902\n}\n" +
			"\n// In prose, promise" + ": N-903 is no claim.\nfunc TestTwo() {}\n")},
		"ui/e2e/x.mjs": {Data: []byte("check('opens', () => {\n  ok(); " + mark +
			"N-904\n})\n")},
		"ui/node_modules/y/y.js":   {Data: []byte(mark + "N-905\n")},
		".cache/z.go":              {Data: []byte("package z\n" + mark + "N-906\n")},
		"agent/testdata/broken.go": {Data: []byte("not Go " + mark + "N-907")},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"N-901": "`a` TestOne", "N-902": "`a` TestOne",
		"N-904": "`ui/e2e/x.mjs` opens"}
	for id, test := range want {
		if strings.Join(claims[id], ",") != test {
			t.Errorf("%s is shown by %v, want %s", id, claims[id], test)
		}
	}
	if len(claims) != len(want) {
		t.Errorf("claims are %v", claims)
	}
}

func TestSlow_FilesOfWhichEveryStoryIsSlow(t *testing.T) {
	files := fstest.MapFS{runner: {Data: []byte(`import { base, launch } from "./browser.mjs";
import { stories as drop } from "./drop.mjs";
import { stories as live } from "./live.mjs";
import { stories as two, long as twoLong } from "./two.mjs";
const all = [
  live,
  two,
].flat();
const slow = [drop, twoLong].flat();
`)}}
	got, err := findSlowFiles(files)
	if err != nil || strings.Join(got, " ") != "ui/e2e/drop.mjs" {
		t.Errorf("slow are %v, %v", got, err)
	}
	claims := map[string][]string{"N-901": {"`ui/e2e/drop.mjs`", "`ui/e2e/two.mjs`"}}
	markSlowClaims(claims, got)
	if said := strings.Join(claims["N-901"], ","); said !=
		"`ui/e2e/drop.mjs` (slow),`ui/e2e/two.mjs`" {
		t.Error(said)
	}
	files[runner].Data = []byte("const stories = [];")
	if _, err := findSlowFiles(files); err == nil {
		t.Error("without its lists nothing is known to be slow, and nothing said so")
	}
}

func TestRun_IsStableAndNeedsTheListOnce(t *testing.T) {
	outer := t.TempDir()
	root := filepath.Join(outer, "main")
	mark := "// promise" + ": "
	writeText(t, filepath.Join(outer, "shared", "promises.tsv"),
		"id\tarea\tpromise\tcheck\tnote\nN-901\tx\tIt | works\n"+
			"N-903\tx\tElsewhere\tseen\tMapped: here\nN-904\tx\tNever\tn/a\tNot adopted: why\n"+
			"N-905\tx\tLater\tseen\t\n")
	writeText(t, filepath.Join(root, "a_test.go"), "package a\n\nfunc TestA() {} "+mark+"N-901\n")
	if err := runPromises(root); err != nil {
		t.Fatal(err)
	}
	first := readText(t, filepath.Join(root, page))
	for _, row := range []string{"| N-901 | It / works | `.` a |",
		"| N-903 | Elsewhere | mapped: here<br>" + notShown + " |",
		"| N-904 | Never | not adopted: why |", "| N-905 | Later | " + notShown + " |"} {
		if !strings.Contains(first, row+"\n") {
			t.Errorf("%q is not in:\n%s", row, first)
		}
	}
	if err := os.RemoveAll(filepath.Join(outer, "shared")); err != nil {
		t.Fatal(err)
	}
	if err := runPromises(root); err != nil {
		t.Fatal(err)
	}
	if readText(t, filepath.Join(root, page)) != first {
		t.Error("without the list the page is another one")
	}
	writeText(t, filepath.Join(root, "b_test.go"), "package a\n\nfunc TestB() {} "+mark+"N-902\n")
	if err := runPromises(root); err == nil || !strings.Contains(err.Error(), "N-902") {
		t.Errorf("a promise nobody has the words of: %v", err)
	}
}

func TestRun_FillsTheRowsOfThreatsAndFaults(t *testing.T) {
	root := t.TempDir()
	mark := "// threat" + ": "
	page := filepath.Join(root, rowPages[0])
	writeText(t, page, "# T\n\n| T1 | a | b | old |\n| T2 | c | d | `x` TestGone |\n")
	writeText(t, filepath.Join(root, "a_test.go"), "package a\n\n"+mark+"T1\nfunc TestA() {}\n")
	if err := runPromises(root); err != nil {
		t.Fatal(err)
	}
	if got := readText(t, page); got !=
		"# T\n\n| T1 | a | b | `.` TestA |\n| T2 | c | d | "+notShown+" |\n" {
		t.Error(got)
	}
	writeText(t, filepath.Join(root, "b_test.go"), "package a\n\n"+mark+"T9\nfunc TestB() {}\n")
	if err := runPromises(root); err == nil || !strings.Contains(err.Error(), "TestB claims T9") {
		t.Errorf("a claim of a row that does not exist: %v", err)
	}
}

func writeText(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func readText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
