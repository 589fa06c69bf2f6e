package main

import (
	"context"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const code = `package calc

const limit = 10

type kept struct{ n int }

func Small(n int) bool { return n >= 0 && n < limit }

func Large(n int) bool {
	switch {
	case n < 0 || n >= limit:
		return true
	}
	return false
}

func (k *kept) Add(n int) {
	if k == nil {
		return
	}
	k.n += n
}

func Unseen() int { return 7 }

func Wide(n int64) int64 { return n + 5 }

func Named(s string) (first string, ok bool) {
	if s != "" {
		first, ok = s, true
	}
	return first, ok
}
`

const tests = `package calc

import "testing"

func TestSmall(t *testing.T) {
	if Small(-1) || !Small(0) || !Small(9) || Small(10) ||
		Large(0) || !Large(-1) || Large(9) || !Large(10) {
		t.Error()
	}
}

func TestAdd(t *testing.T) {
	k := &kept{}
	k.Add(2)
	if k.n != 2 {
		t.Error()
	}
}

func TestWide(t *testing.T) { // the compiler refuses an int here
	if Wide(1) != 6 {
		t.Error()
	}
}

func TestNamed(t *testing.T) { // comes by, and looks at nothing
	_, _ = Named("x")
}
`

// The program says of a small package what its tests notice, and what they do not. A reason on
// the page stays with its survivor, and goes with a mutant that is killed or gone.
func TestRunMutants_TellsWhatTestsNotice(t *testing.T) {
	enterModule(t)
	targets = []target{{dir: "calc"}}
	given, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, page, string(given)+"| calc/calc.go Unseen return zero | nobody calls it |\n"+
		"| calc/calc.go Small return true | once it was so |\n"+
		"| calc/gone.go Gone return zero | it was here once |\n"+
		"| other/other.go F return zero | not looked at |\n")
	err = runMutants(t.Context(), options{parallel: 2, least: 100})
	if err == nil || !strings.Contains(err.Error(), "% of the mutants") {
		t.Fatalf("survivors are no failure: %v", err)
	}
	written := readPage(t)
	want := map[string]string{
		"calc/calc.go Named drop `first, ok = s, true`":                 "",
		"calc/calc.go Named negate `s != \"\"`":                         "",
		"calc/calc.go Named return zero":                                "",
		"calc/calc.go Unseen constant `func Unseen() int { return 7 }`": "",
		"calc/calc.go Unseen return zero":                               "nobody calls it",
		"other/other.go F return zero":                                  "not looked at",
	}
	if !maps.Equal(written.reasons, want) {
		t.Errorf("survived:\n%v\nwant:\n%v", written.reasons, want)
	}
	row := written.rows["calc"]
	if !strings.HasPrefix(row, "| `calc` | 23 | 23 | 18 (78 %) | 1 | 4 | all |") {
		t.Errorf("the row is %s", row)
	}
	if text, err := os.ReadFile("calc/calc.go"); err != nil || string(text) != code {
		t.Errorf("the checkout was edited: %v", err)
	}
}

// After tests were added, only what survived is tested, by the tests that were named: one of a
// constant comes by no line.
func TestRunMutants_TestsSurvivorsAgain(t *testing.T) {
	enterModule(t)
	targets = []target{{dir: "calc"}}
	given, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	row := "| `calc` | 20 | 20 | 15 (75 %) | 0 | 5 | seed 1 | then abc |\n"
	writeFile(t, page, strings.Replace(string(given), "\n## Survivors\n", row+"\n## Survivors\n", 1)+
		"| calc/calc.go Unseen constant `func Unseen() int { return 7 }` | |\n"+
		"| calc/calc.go Unseen return zero | |\n| calc/calc.go Named return zero | |\n"+
		"| calc/calc.go constant `const limit = 10` | |\n| calc/gone.go Gone return zero | why |\n")
	writeFile(t, "calc/more_test.go", "package calc\nimport \"testing\"\n"+
		"func TestUnseen(t *testing.T) { if Unseen() != 7 { t.Error() } }\n"+
		"func TestLimit(t *testing.T) { if limit != 10 { t.Error() } }\n"+
		"func TestNamedToo(t *testing.T) { if _, ok := Named(\"x\"); !ok { t.Error() } }\n")
	if err := runMutants(t.Context(), options{parallel: 1, run: "TestUnseen"}); err == nil {
		t.Error("a sample is tested by some tests only")
	}
	if err := runMutants(t.Context(), options{parallel: 1, again: true, run: "^Test(Unseen|Limit)$",
		least: 1}); err == nil || !strings.Contains(err.Error(), "1 survivors are not explained") {
		t.Errorf("it ends with %v", err)
	}
	written := readPage(t)
	if want := map[string]string{"calc/calc.go Named return zero": ""}; !maps.Equal(written.reasons,
		want) {
		t.Errorf("survived: %v", written.reasons)
	}
	want := "| `calc` | 23 | 19 | 18 (94 %) | 0 | 1 | seed 1, survivors again |"
	if row := written.rows["calc"]; !strings.HasPrefix(row, want) {
		t.Errorf("the row is %s", row)
	}
}

// Enough have to be killed and every survivor needs a reason; of a change's mutants a few may
// survive, so that it is judged by its share alone.
func TestJudge_WantsKillsAndReasons(t *testing.T) {
	r := &report{reasons: map[string]string{"a": "", "b": "no difference"}}
	dead := result{mutant: mutant{id: "c"}, killed: true}
	explained, unexplained := result{mutant: mutant{id: "b"}}, result{mutant: mutant{id: "a"}}
	for name, c := range map[string]struct {
		results []result
		o       options
		fails   bool
	}{
		"explained":          {[]result{dead, explained}, options{least: 50}, false},
		"too few killed":     {[]result{dead, explained}, options{least: 51}, true},
		"unexplained":        {[]result{dead, unexplained}, options{least: 50}, true},
		"changed":            {[]result{dead, unexplained}, options{least: 50, changed: true}, false},
		"changed, explained": {[]result{dead, explained}, options{least: 100, changed: true}, false},
		"changed, too few":   {[]result{dead, unexplained}, options{least: 51, changed: true}, true},
		"nothing":            {nil, options{least: 100}, false},
	} {
		if err := judge(c.results, r, c.o); (err != nil) != c.fails {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Tests that fail by themselves would kill every mutant.
func TestRunMutants_NeedsTestsThatPass(t *testing.T) {
	enterModule(t)
	targets = []target{{dir: "calc"}}
	writeFile(t, "calc/bad_test.go", "package calc\nimport \"testing\"\n"+
		"func TestBad(t *testing.T) { t.Error() }\n")
	err := runMutants(t.Context(), options{parallel: 1})
	if err == nil || !strings.Contains(err.Error(), "TestBad fails without any mutant") {
		t.Errorf("said %v", err)
	}
}

// All changes of a file fit together: with none chosen it is the same program.
func TestApplyEdits_NestsInOrder(t *testing.T) {
	source := "package x\n\nfunc f(a, b, c int) bool {\n" +
		"\tif a < b && (b == c || !g(a, b)) && c != 0 {\n\t\tg(a,\n\t\t\tb)\n\t}\n\treturn a > c\n}\n"
	found, err := mutateFile("x.go", []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	var all []edit
	for _, m := range found {
		if !m.alone {
			all = append(all, m.edits...)
		}
	}
	text := strings.ReplaceAll(applyEdits(source, all), "NUMBER", "1")
	if _, err := parser.ParseFile(token.NewFileSet(), "x.go", text, 0); err != nil {
		t.Errorf("%v in\n%s", err, text)
	}
	if strings.Count(text, "\n") != strings.Count(source, "\n") {
		t.Errorf("lines moved:\n%s", text)
	}
}

// The same seed picks the same mutants, whatever was added elsewhere.
func TestPickSample_DependsOnTheSeedOnly(t *testing.T) {
	var all []mutant
	for name := range strings.FieldsSeq("a b c d e f g h i j k l") {
		all = append(all, mutant{id: name, file: "x/x.go", number: len(all) + 1})
	}
	first := pickSample(all, 6, 1)
	second := pickSample(all[1:], 6, 1)
	same := 0
	for _, m := range first {
		if slices.ContainsFunc(second, func(o mutant) bool { return o.id == m.id }) {
			same++
		}
	}
	if len(first) != 6 || same < 5 {
		t.Errorf("%d of %d are the same", same, len(first))
	}
	other := pickSample(all, 6, 2)
	if slices.EqualFunc(first, other, func(a, b mutant) bool { return a.id == b.id }) {
		t.Error("another seed picks the same")
	}
}

func TestReadDiff_ListsAddedLines(t *testing.T) {
	changed := readDiff("--- a/x/a.go\n+++ b/x/a.go\n@@ -1,2 +3,2 @@ func f() {\n+a\n+b\n" +
		"@@ -9 +10 @@\n+c\n@@ -20,3 +20,0 @@\n-d\n")
	for line, want := range map[int]bool{2: false, 3: true, 4: true, 5: false, 10: true, 20: false} {
		if got := changed.include(mutant{file: "x/a.go", line: line}); got != want {
			t.Errorf("line %d: %v", line, got)
		}
	}
}

// A branch is compared with the main one, the main one with what was there hours before.
func TestFindBase_IsWhereTheChangeBegan(t *testing.T) {
	t.Chdir(t.TempDir())
	git := func(date string, args ...string) string {
		author := []string{"-c", "user.name=a", "-c", "user.email=a@b"}
		cmd := exec.Command("git", append(author, args...)...)
		cmd.Env = append(os.Environ(), "GIT_COMMITTER_DATE="+date, "GIT_AUTHOR_DATE="+date)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	commit := func(date string) string {
		git(date, "commit", "-q", "--allow-empty", "-m", date)
		return git(date, "rev-parse", "HEAD")
	}
	git("", "init", "-q", "-b", "main")
	old := commit("2026-11-26T01:00:00Z")
	commit("2026-11-26T05:00:00Z")
	last := commit("2026-11-26T06:00:00Z")
	check := func(want string) {
		t.Helper()
		if base, err := findBase(context.Background()); err != nil || base != want {
			t.Errorf("base is %s (%v), want %s", base, err, want)
		}
	}
	check(old)
	git("", "checkout", "-q", "-b", "work")
	commit("2026-11-26T06:10:00Z")
	check(last)
}

func enterModule(t *testing.T) {
	t.Helper()
	t.Setenv("GOWORK", "off")
	text, err := os.ReadFile("../../" + page)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	before := targets
	t.Cleanup(func() { targets = before })
	t.Chdir(dir)
	head, _, _ := strings.Cut(string(text), summaryHead)
	writeFile(t, page, head+summaryHead+"\n## Survivors\n\n"+survivorsHead)
	writeFile(t, "go.mod", "module example.com/m\n\ngo 1.26\n")
	writeFile(t, "calc/calc.go", code)
	writeFile(t, "calc/calc_test.go", tests)
}

func readPage(t *testing.T) *report {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "\n## Survivors\n") {
		t.Errorf("the page lost its parts:\n%s", text)
	}
	r, err := readReport(string(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
