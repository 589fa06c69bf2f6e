package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/testpart"
)

const events = `{"Action":"output","Package":"x/a","Test":"TestX","Output":"why\n"}
{"Action":"%s","Package":"x/a","Test":"TestX","Elapsed":1}
{"Action":"output","Package":"x/a","Output":"PASS\n"}
{"Action":"pass","Package":"x/a","Elapsed":1.5}
`

func TestReport_FailsOnWhatMustNotHappen(t *testing.T) {
	for _, c := range []struct {
		action         string
		strict, failed bool
		shows          string
	}{
		{"pass", true, false, "1 run, 0 failed, 0 skipped"},
		{"fail", false, true, "why"},
		{"skip", false, false, "SKIP x/a TestX"},
		{"skip", true, true, "A skipped test is a failure here"},
	} {
		var out strings.Builder
		r := newReport(&out, c.strict)
		in := strings.NewReader(strings.Replace(events, "%s", c.action, 1))
		if err := readEvents(in, r); err != nil {
			t.Fatal(err)
		}
		if failed := r.finish(); failed != c.failed {
			t.Errorf("%s, strict %v: failed is %v", c.action, c.strict, failed)
		}
		if !strings.Contains(out.String(), c.shows) {
			t.Errorf("%s: %q is not in\n%s", c.action, c.shows, out.String())
		}
	}
}

// A test that is left to another run is no skipped one, even where skipping is a failure; the
// summary and the notes say which ran and which did not.
func TestReport_RotationIsNoSkip(t *testing.T) {
	in := fmt.Sprintf(`{"Action":"output","Package":"x/a","Test":"TestE/A","Output":" a.go: %s1\n"}
{"Action":"pass","Package":"x/a","Test":"TestE/A","Elapsed":1}
{"Action":"output","Package":"x/a","Test":"TestE/B","Output":" a.go: %s2\n"}
{"Action":"skip","Package":"x/a","Test":"TestE/B","Elapsed":0}
{"Action":"pass","Package":"x/a","Elapsed":1.5}
`, testpart.Ran, testpart.Left)
	var out strings.Builder
	r := newReport(&out, true)
	if err := readEvents(strings.NewReader(in), r); err != nil {
		t.Fatal(err)
	}
	if r.finish() {
		t.Error("a test that is left to another run fails this one")
	}
	const summary = "1 run, 0 failed, 0 skipped; in rotation: 1 run, 1 left to other days\n"
	if !strings.Contains(out.String(), summary) {
		t.Errorf("%q is not in\n%s", summary, out.String())
	}
	notes := filepath.Join(t.TempDir(), "notes")
	if err := r.noteRotation(notes); err != nil {
		t.Fatal(err)
	}
	const noted = "ran x/a TestE/A\nleft x/a TestE/B\n"
	if text, err := os.ReadFile(notes); err != nil || string(text) != noted {
		t.Errorf("noted %q (%v)", text, err)
	}
}

// The slowest tests are shown, of subtests the subtests, and not what waits for them.
func TestReport_SlowestAreThoseThatWork(t *testing.T) {
	var in strings.Builder
	for name, seconds := range map[string]float64{"TestE": 90, "TestE/Story": 60, "TestE/Short": 1,
		"TestE/Story/part": 40, "TestF": 30, "TestG": 2, "TestF/a": 3} {
		fmt.Fprintf(&in, `{"Action":"pass","Package":"x/a","Test":%q,"Elapsed":%v}`+"\n",
			name, seconds)
	}
	var out strings.Builder
	r := newReport(&out, false)
	if err := readEvents(strings.NewReader(in.String()), r); err != nil {
		t.Fatal(err)
	}
	want := []timed{{"x/a TestE/Story", 60}, {"x/a TestF", 30}}
	if got := r.slowest(); !reflect.DeepEqual(got, want) {
		t.Errorf("slow are %v, wanted %v", got, want)
	}
}

// A package that does not compile has its compiler's words shown.
func TestReport_ShowsWhatDoesNotBuild(t *testing.T) {
	var out strings.Builder
	r := newReport(&out, false)
	in := `{"ImportPath":"x/a [x/a.test]","Action":"build-output","Output":"undefined: y\n"}
{"Action":"fail","Package":"x/a","Elapsed":0,"FailedBuild":"x/a [x/a.test]"}
not an event
`
	if err := readEvents(strings.NewReader(in), r); err != nil {
		t.Fatal(err)
	}
	if !r.finish() {
		t.Error("it did not fail")
	}
	for _, want := range []string{"undefined: y", "not an event"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
}

// Only a few plain failures are run again: never a race, a panic or a build.
func TestReport_RerunsOnlyWhatMayBeTheMachine(t *testing.T) {
	failed := strings.Replace(events, "%s", "fail", 1)
	for name, c := range map[string]struct {
		in    string
		limit int
		want  bool
	}{
		"a failure":     {failed, 3, true},
		"not asked for": {failed, 0, false},
		"a pass":        {strings.Replace(events, "%s", "pass", 1), 3, false},
		"a race":        {strings.Replace(failed, "why", "WARNING: DATA RACE", 1), 3, false},
		"a panic":       {strings.Replace(failed, "why", "panic: nil", 1), 3, false},
		"a build":       {`{"Action":"fail","Package":"x/a","FailedBuild":"x/a"}`, 3, false},
		"too many": {failed + strings.ReplaceAll(failed, "TestX", "TestY"), 1,
			false},
	} {
		var out strings.Builder
		r := newReport(&out, false)
		if err := readEvents(strings.NewReader(c.in), r); err != nil {
			t.Fatal(err)
		}
		if got := r.mayRerun(c.limit); got != c.want {
			t.Errorf("%s: may run again is %v", name, got)
		}
	}
}

// Of a test with subtests the failed ones run again, not the others.
func TestReport_RerunsTheFailedPartsOnly(t *testing.T) {
	var in strings.Builder
	tests := []string{"TestE/Cancel/late", "TestE/Cancel", "TestE/Disk_full", "TestE", "TestB"}
	for _, test := range tests {
		fmt.Fprintf(&in, `{"Action":"fail","Package":"x/a","Test":%q}`+"\n", test)
	}
	var out strings.Builder
	r := newReport(&out, false)
	if err := readEvents(strings.NewReader(in.String()), r); err != nil {
		t.Fatal(err)
	}
	want := []attempt{
		{"x/a", "^TestE$/^(Cancel|Disk_full)$", []string{"x/a TestE/Cancel", "x/a TestE/Disk_full"}},
		{"x/a", "^TestB$", []string{"x/a TestB"}},
	}
	if got := r.again(); !reflect.DeepEqual(got, want) {
		t.Errorf("got %v", got)
	}
	if r.mayRerun(2) || !r.mayRerun(3) {
		t.Error("three stories failed, and they count as something else")
	}
}

// What passes only on the second run is noted by its name; what fails twice is not, and what
// never ran again neither.
func TestRerunFailed_NotesWhatPassedAlone(t *testing.T) {
	module := t.TempDir()
	writeFile(t, filepath.Join(module, "go.mod"), "module x\n")
	writeFile(t, filepath.Join(module, "x_test.go"), `package x
import ("os"; "testing")
func TestOnce(t *testing.T) {
	t.Run("part", func(t *testing.T) {
		if _, err := os.Stat("been"); err != nil { _ = os.WriteFile("been", nil, 0o600); t.Fatal() }
	})
}
func TestAlways(t *testing.T) { t.Fatal("it is always wrong") }
func TestNever(t *testing.T) {}
`)
	t.Chdir(module)
	t.Setenv("GOWORK", "off")
	notes := filepath.Join(t.TempDir(), "notes")
	t.Setenv("NULLOPS_TEST_FLAKY", notes)
	reasons := filepath.Join(t.TempDir(), "reasons")
	t.Setenv("NULLOPS_TEST_REASONS", reasons)
	var out strings.Builder
	r := newReport(&out, false)
	if !runTests(r, []string{"./..."}) || !rerunFailed(r, []string{"./..."}) {
		t.Errorf("a test that always fails passed:\n%s", out.String())
	}
	if text, err := os.ReadFile(notes); err != nil || string(text) != "x TestOnce/part\n" {
		t.Errorf("noted %q (%v):\n%s", text, err, out.String())
	}
	if text, err := os.ReadFile(reasons); err != nil ||
		!strings.Contains(string(text), "x TestAlways\n    x_test.go:8: it is always wrong\n") {
		t.Errorf("the reasons are %q (%v)", text, err)
	}
}

func writeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
