package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent"
)

// A plugin's lines are whole, its long ones are cut between characters, and what is beyond the
// limit of stdout is refused and not kept.
func TestPluginOutput_PassesLinesOn(t *testing.T) {
	t.Parallel()
	var lines []string
	o := agent.NewPluginOutput(agent.PluginSpec{StdoutLimit: 4},
		func(l string) { lines = append(lines, l) })
	long := strings.Repeat("a", agent.MaxLogLine-1) + "é" + "end"
	for _, p := range []string{"one\r\ntw", "o\n", long + "\n", "bad \xff\x00\n", "rest"} {
		if n, err := o.Stderr().Write([]byte(p)); n != len(p) || err != nil {
			t.Fatal(n, err)
		}
	}
	for i, p := range []string{"1234", "5", "6"} {
		_, err := o.Stdout().Write([]byte(p))
		if errors.Is(err, agent.ErrStdoutLimit) != (i > 0) {
			t.Errorf("writing %q ends with %v", p, err)
		}
	}
	o.Flush()
	r := o.Result()
	want := []string{"one", "two", strings.Repeat("a", agent.MaxLogLine-1), "éend",
		"bad \uFFFD\uFFFD", "rest"}
	if strings.Join(lines, "|") != strings.Join(want, "|") || r.Lines != 6 {
		t.Errorf("%d lines: %.80q", r.Lines, lines)
	}
	select {
	case <-o.Full():
	default:
		t.Error("too much on stdout is not noticed")
	}
	if string(r.Stdout) != "1234" {
		t.Errorf("stdout is %q", r.Stdout)
	}
}

// pieces takes what comes before the end of a line.
type pieces []string

func (p *pieces) TakePiece(text string) { *p = append(*p, text) }

// A cut between the bytes of a character is a cut all the same: the piece says that its line
// continues.
func TestPluginOutput_TellsPiecesFromLines(t *testing.T) {
	t.Parallel()
	for short := range 4 {
		var cut pieces
		var lines []string
		o := agent.NewPluginOutput(agent.PluginSpec{Pieces: &cut},
			func(text string) { lines = append(lines, text) })
		long := strings.Repeat("x", agent.MaxLogLine-short) + "\U0001F511-and-more"
		_, _ = o.Stderr().Write([]byte(long + "\nshort\n"))
		if len(cut) != 1 || len(lines) != 2 || cut[0]+lines[0] != long {
			t.Errorf("%d bytes before the cut: %d pieces and %d lines", short, len(cut), len(lines))
		}
	}
	var cut pieces
	o := agent.NewPluginOutput(agent.PluginSpec{Pieces: &cut}, func(string) {})
	_, _ = o.Stderr().Write([]byte(strings.Repeat("x", agent.MaxLogLine) + "\n"))
	if len(cut) != 0 {
		t.Error("a line of exactly the longest length is taken for a piece")
	}
}
