package output_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/nullops/nullops/cmd/nullops/internal/cli/output"
)

// terminal is a writer of that width.
type terminal struct {
	strings.Builder
	columns int
}

func (t *terminal) Columns() int { return t.columns }

// A table is as wide as the terminal, and whole for programs.
func TestTable_FitsTheTerminal(t *testing.T) {
	rows := func() [][]string {
		return [][]string{{"NAME", "DETAIL", "AGE"},
			{"cart", strings.Repeat("long ", 30), "3 min"}, {"x\x1b[2J", "short", "2 d"}}
	}
	narrow := &terminal{columns: 40}
	if err := output.PrintTable(narrow, rows()); err != nil {
		t.Fatal(err)
	}
	for l := range strings.Lines(narrow.String()) {
		if n := len([]rune(strings.TrimRight(l, "\n"))); n > 40 {
			t.Errorf("%d columns: %q", n, l)
		}
	}
	if !strings.Contains(narrow.String(), "…") || strings.Contains(narrow.String(), "\x1b") {
		t.Errorf("the table is\n%s", narrow.String())
	}
	var whole bytes.Buffer
	if err := output.PrintTable(&whole, rows()); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(whole.String(), strings.Repeat("long ", 29)) {
		t.Errorf("a program gets\n%s", whole.String())
	}
}
