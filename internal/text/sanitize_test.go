package text_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/internal/text"
)

// threat: T42
func TestSanitize(t *testing.T) {
	for _, c := range []struct{ name, in, coloured, plain string }{
		{"plain text", "ready\tnow", "ready\tnow", "ready\tnow"},
		{"colour", "\x1b[1;31mbad\x1b[0m", "\x1b[1;31mbad\x1b[0m", "bad"},
		{"clear screen", "a\x1b[2Jb", "a\uFFFD[2Jb", "a\uFFFD[2Jb"},
		{"title", "\x1b]0;x\x07", "\uFFFD]0;x\uFFFD", "\uFFFD]0;x\uFFFD"},
		{"cut off", "\x1b[1", "\uFFFD[1", "\uFFFD[1"},
		{"text direction", "a\u202eb", "a\uFFFDb", "a\uFFFDb"},
		{"carriage return", "a\rb", "a\uFFFDb", "a\uFFFDb"},
	} {
		if got := text.SanitizeKeepingColors(c.in); got != c.coloured {
			t.Errorf("%s: coloured %q, want %q", c.name, got, c.coloured)
		}
		if got := text.SanitizeText(c.in); got != c.plain {
			t.Errorf("%s: plain %q, want %q", c.name, got, c.plain)
		}
	}
}

// Whatever the input, the output has no escape sequences but colours.
func FuzzSanitizeText(f *testing.F) {
	f.Add("\x1b[31m\x1b[\x1b[m")
	f.Fuzz(func(t *testing.T, s string) {
		if strings.Contains(text.SanitizeText(s), "\x1b") {
			t.Errorf("%q keeps an escape", s)
		}
	})
}
