package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestWriteTrackRecord_NeedsTheTests(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		t.Helper()
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	head := "commit\tdate\tbug\tfound by\treproduced by\n"
	row := "0123abcd\t2026-11-20\tIt was lost\ttest: fuzz\ta TestA -seed 7\n"
	write(table, head+row+"0123abce\t2026-11-21\tIt hung\tnot recorded\t\n")
	if err := writeTrackRecord(root); err == nil || !strings.Contains(err.Error(), "a has no TestA") {
		t.Errorf("a test that is not there: %v", err)
	}
	write("a/a_test.go", "package a\n\nfunc TestA(t *testing.T) {}\n")
	if err := writeTrackRecord(root); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"2 bugs, 1 of them with a test", "| test | 1 |",
		"| 2026-11-21 | 0123abce | It hung | not recorded | none |\n" +
			"| 2026-11-20 | 0123abcd | It was lost | test: fuzz | `a` TestA -seed 7 |\n"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	for _, wrong := range []string{row + row, "0123abcd\t2026-11-20\tno finder\n"} {
		write(table, head+wrong)
		if err := writeTrackRecord(root); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
}
