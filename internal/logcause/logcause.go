// Package logcause finds the line of a log that most likely says why a program failed. The agent
// quotes it, and the control plane finds it again in the log that people open.
package logcause

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/nullops/nullops/internal/text"
)

const (
	// Lines is how many of the last lines are searched for the one that says why: the stack
	// trace of a Java server stands between it and the end.
	Lines = 200
	// maxBytes is how much of a line is returned. It is much more than is shown: callers mask it
	// before they shorten it, and a secret that is cut here lies outside what they show.
	maxBytes = 2 << 10
	// maxLine is how much of a line is read. More is no message.
	maxLine = 16 << 10
)

// Cause is what a log says of the failure.
type Cause struct {
	// Text is one line without control characters, escape sequences and time. It is empty if no
	// line has words in it.
	Text string
	// Index is the line that it is from.
	Index int
	// IsError says that the line speaks of an error. Otherwise it is only the last one with words.
	IsError bool
}

// rank says how likely a line names the cause. Of lines of the same rank, the last one counts.
type rank int

const (
	// rankNone is of a line that says where and not why, such as one of a stack trace.
	rankNone rank = iota
	// rankPlain is of any line with words.
	rankPlain
	// rankWeak speaks of an error, but repeats another or goes on after it: a warning, a farewell,
	// a program that started the failed one.
	rankWeak
	// rankHint has words that are usual in errors, and elsewhere.
	rankHint
	rankError
)

// finding is what one line, or several that belong together, says.
type finding struct {
	text string
	rank rank
	// lines is how many lines it takes up; at least one. at is the one of them that says it.
	lines, at int
}

// Find returns the line that most likely says why a program failed: the last one that speaks of an
// error, else the last one with words in it. Lines of JSON and logfmt give their message and error.
func Find(lines []string) Cause { return findWithin(lines, 0) }

func findWithin(lines []string, depth int) Cause {
	first := max(0, len(lines)-Lines)
	clean := make([]string, len(lines)-first)
	for i, line := range lines[first:] {
		clean[i] = cleanLine(line)
	}
	best, bestRank := Cause{}, rankNone
	for i := 0; i < len(clean); {
		f := readAt(clean[i:], best, depth)
		if f.rank >= bestRank && f.rank > rankNone && hasLetter(f.text) {
			best, bestRank = Cause{Text: shorten(f.text), Index: first + i + f.at}, f.rank
		}
		i += max(f.lines, 1)
	}
	best.IsError = bestRank >= rankWeak
	return best
}

// readAt reads the finding at the beginning of these lines. before is the best one so far.
func readAt(lines []string, before Cause, depth int) finding {
	for _, read := range []func([]string, Cause, int) (finding, bool){
		readRecord, readTraceback, readPanic, readCauses} {
		if f, ok := read(lines, before, depth); ok {
			return f
		}
	}
	return readText(lines[0])
}

var (
	// escapes are the escape sequences of terminals: colours, movements, titles and links.
	escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|" +
		"\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b[ -/]*[0-~]?")
	// eraseStart stands for "go to the beginning of the line", as progress bars do.
	eraseStart = regexp.MustCompile(`^.*\r`)
)

// cleanLine removes what only a terminal needs. Its beginning stays, since stack traces are told by
// their indentation.
func cleanLine(line string) string {
	if len(line) > maxLine {
		line = line[:maxLine]
	}
	line = strings.ToValidUTF8(line, "\uFFFD")
	line = escapes.ReplaceAllString(line, "")
	line = strings.TrimRightFunc(line, unicode.IsSpace)
	if strings.Contains(line, "\r") {
		line = eraseStart.ReplaceAllString(line, "")
	}
	return strings.Map(func(r rune) rune {
		if r == '\t' || r == '\n' {
			return r
		}
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) {
			return -1
		}
		return r
	}, line)
}

func hasLetter(s string) bool { return strings.ContainsFunc(s, unicode.IsLetter) }

func shorten(line string) string {
	line = strings.Join(strings.Fields(line), " ")
	return text.Clip(line, maxBytes)
}
