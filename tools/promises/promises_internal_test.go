package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
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
		"a/c_test.go": {Data: []byte(clusterTag + "\npackage b\n\nfunc TestThree() {\n\t" + mark +
			"N-908\n}\n")},
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
		"N-904": "`ui/e2e/x.mjs` opens", "N-908": "`a` TestThree (on a cluster)"}
	for id, test := range want {
		if strings.Join(claims[id], ",") != test {
			t.Errorf("%s is shown by %v, want %s", id, claims[id], test)
		}
	}
	if len(claims) != len(want) {
		t.Errorf("claims are %v", claims)
	}
}

func TestMarks_FilesWithoutAStoryOfEveryRun(t *testing.T) {
	files := fstest.MapFS{storyLists: {Data: []byte(`import { stories as drop } from "./drop.mjs";
import { stories as live } from "./live.mjs";
import { stories as reach } from "./reach.mjs";
import { stories as two, long as twoLong } from "./two.mjs";
export const every = [
  live,
].flat();
export const rotated = [
  reach,
  two,
].flat();
export const slow = [drop, twoLong].flat();
`)}}
	marks, err := findMarkedFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	claims := map[string][]string{"N-901": {"`ui/e2e/drop.mjs`", "`ui/e2e/live.mjs`",
		"`ui/e2e/reach.mjs`", "`ui/e2e/two.mjs`"}}
	markFiles(claims, marks)
	if said := strings.Join(claims["N-901"], ","); said != "`ui/e2e/drop.mjs` (slow),"+
		"`ui/e2e/live.mjs`,`ui/e2e/reach.mjs` (in rotation),`ui/e2e/two.mjs` (in rotation)" {
		t.Error(said)
	}
	files[storyLists].Data = []byte("const stories = [];")
	if _, err := findMarkedFiles(files); err == nil {
		t.Error("without its lists nothing is known to be slow, and nothing said so")
	}
}

// A function that only tests in rotation reach is in rotation; one that another test reaches too,
// through a table or a method, is not.
func TestMarks_FunctionsThatOnlyRotatedTestsReach(t *testing.T) {
	rotated, err := findRotated(fstest.MapFS{
		"a/a_test.go": {Data: []byte(`package a
func TestStories(t *testing.T) {
	for _, run := range stories { run(t) }
}
var stories = []func(*testing.T){core, rare}
func core(t *testing.T) { shared(t) }
func rare(t *testing.T) {
	testpart.Rotate(t)
	shared(t)
	own(t)
}
func shared(t *testing.T) {}
`)},
		"a/b_test.go": {Data: []byte(`package a
func own(t *testing.T) {}
func TestRare(t *testing.T) {
	testpart.Rotate(t)
	var a actor
	a.act(t)
	a.wait(t)
}
func TestPart(t *testing.T) {
	t.Run("x", func(t *testing.T) { testpart.Rotate(t) })
	var a actor
	a.wait(t)
}
type actor struct{}
func (actor) act(t *testing.T) {}
func (actor) wait(t *testing.T) {}
func unused() {}
`)},
		"a/c_test.go": {Data: []byte("//go:build chaos\n\npackage a\nfunc TestChaos() { own(nil) }\n")},
		"b/b_test.go": {Data: []byte("package b\nfunc TestOther() {}\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(slices.Sorted(maps.Keys(rotated)), ", ")
	if got != "`a` TestRare, `a` act, `a` own, `a` rare" {
		t.Errorf("in rotation are %s", got)
	}
	claims := map[string][]string{"N-901": {"`a` rare", "`a` core"}}
	markRotated(claims, rotated)
	if said := strings.Join(claims["N-901"], ","); said != "`a` rare (in rotation),`a` core" {
		t.Error(said)
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
