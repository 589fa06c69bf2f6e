package logcause

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// shape is a log as a program of some kind writes it, and what people want to read of it.
type shape struct{ name, log, want string }

// readShapes reads a file of logs: each begins with "=== name: what is wanted".
func readShapes(t testing.TB, file string) (shapes []shape) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	for _, one := range strings.Split("\n"+string(text), "\n=== ")[1:] {
		title, log, _ := strings.Cut(one, "\n")
		name, want, _ := strings.Cut(title, ": ")
		shapes = append(shapes, shape{name, strings.TrimRight(log, "\n"), want})
	}
	return shapes
}

func allShapes(t testing.TB) (shapes []shape) {
	for _, file := range []string{"plain.txt", "traces.txt", "records.txt"} {
		shapes = append(shapes, readShapes(t, file)...)
	}
	return append(shapes, hostileShapes()...)
}

func hostileShapes() []shape {
	return []shape{
		{"nothing", "", ""},
		{"colours", "\x1b[1;31mERROR\x1b[0m: no \x1b[4mprices\x1b[24m\n\x1b[32mbye\x1b[0m",
			"ERROR: no prices"},
		{"movements", "\x1b[2K\x1b[1Gerror: \x1b]8;;http://evil\x07no prices\x1b]8;;\x07\x1b[?25h",
			"error: no prices"},
		{"colours in json", `{"level":"error","msg":"\u001b[31mno prices\u001b[0m"}`, "no prices"},
		{"a frame in colours", "Error: no prices\n\x1b[90m    at fail (/error.js:1:1)\x1b[39m",
			"Error: no prices"},
		{"progress", "loading 10 %\rloading 90 %\rerror: no prices\r\nbye", "error: no prices"},
		{"text direction", "error: \u202eno\u202c pri\u200bces", "error: no prices"},
		{"bytes", "error: no \xff\xfe prices\x00\x07", "error: no \uFFFD prices"},
		{"line breaks in json", `{"level":"error","msg":"no prices\nsecond line\n\n"}`,
			"no prices"},
		{"pictures", "🚀 starting\n❌ Ошибка: нет цен\n👋", "❌ Ошибка: нет цен"},
		{"nested deeply", strings.Repeat(`{"error":`, 500) + `"x"` + strings.Repeat(`}`, 500) +
			"\nno prices: error", "no prices: error"},
		{"signs only", "error: no prices\n!!! ### ???\n\x1b[0m\n   ", "error: no prices"},
		{"cut off", `{"level":"error","msg":"no prices, error","stack":"` +
			strings.Repeat("x", 2*maxLine), "no prices, error"},
		{"a long trace", "java.lang.IllegalStateException: no price list\n" +
			strings.Repeat("\tat com.shop.Fail.error(Fail.java:7)\n", 150),
			"java.lang.IllegalStateException: no price list"},
	}
}

// promise: U-01
func TestFind(t *testing.T) {
	t.Parallel()
	for _, c := range allShapes(t) {
		if got := Find(strings.Split(c.log, "\n")); got.Text != c.want {
			t.Errorf("%s: %q, want %q", c.name, got.Text, c.want)
		}
	}
}

// The line that people are led to is the one that says it.
func TestFind_KnowsTheLine(t *testing.T) {
	t.Parallel()
	for log, want := range map[string]int{
		"a\nerror: b\nbye": 1,
		"Traceback (most recent call last):\n  File \"a\", line 1\n    x()\nBoom: b\nbye": 3,
		"thread 'main' panicked at a.rs:1:2:\nb\nnote: c":                                 1,
		"Error: a\n\nCaused by:\n    0: b\n    1: c\nbye":                                 4,
		"x\n{\n  \"level\": \"error\",\n  \"message\": \"b\"\n}\nbye":                     3,
		strings.Repeat("x\n", 500) + "error: b\nbye":                                      500,
	} {
		if got := Find(strings.Split(log, "\n")); got.Index != want || !got.IsError {
			t.Errorf("%.40q: line %d (%t), want %d", log, got.Index, got.IsError, want)
		}
	}
	if got := Find([]string{"error: too long ago", "done"}); !got.IsError {
		t.Errorf("%+v", got)
	}
	if got := Find(append([]string{"error: long ago"}, make([]string, Lines)...)); got.Text != "" {
		t.Errorf("it reads too far back: %+v", got)
	}
}

func TestFind_IsShort(t *testing.T) {
	t.Parallel()
	long := Find([]string{"error: " + strings.Repeat("é", 10_000)}).Text
	if len(long) > maxBytes+len("…") || !utf8.ValidString(long) || !strings.HasSuffix(long, "…") {
		t.Errorf("%d bytes of a long line", len(long))
	}
}

// Whatever a program prints, the cause is one line of text from one of its lines.
func FuzzFind(f *testing.F) {
	for _, c := range allShapes(f) {
		f.Add(c.log)
	}
	f.Fuzz(func(t *testing.T, log string) {
		lines := strings.Split(log, "\n")
		got := Find(lines)
		if !utf8.ValidString(got.Text) || strings.ContainsAny(got.Text, "\n\r\x1b\x00") {
			t.Errorf("%q", got.Text)
		}
		if got.Index < 0 || got.Index >= len(lines) || len(got.Text) > maxBytes+len("…") {
			t.Errorf("line %d of %d, %d bytes", got.Index, len(lines), len(got.Text))
		}
	})
}
