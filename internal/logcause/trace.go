package logcause

import (
	"regexp"
	"strings"
)

// maxBlock is how many lines may belong together.
const maxBlock = 60

var (
	isTraceback = regexp.MustCompile(`Traceback \(most recent call last\):$`)
	isPanic     = regexp.MustCompile(`^thread '.*' (\(\d+\) )?panicked at .*:$`)
	isFinding   = regexp.MustCompile(`validation errors? for \S+$`)
	listedCause = regexp.MustCompile(`^\s+(\d+: )?(\S.*)$`)
)

// readTraceback reads a trace of Python: its cause is the first line below it that is not indented.
// Source lines in it may speak of errors too.
func readTraceback(lines []string, _ Cause, _ int) (finding, bool) {
	if !isTraceback.MatchString(lines[0]) || isIndented.MatchString(lines[0]) {
		return finding{}, false
	}
	for i := 1; i < min(len(lines), Lines); i++ {
		line := lines[i]
		if line == "" || isIndented.MatchString(line) {
			continue
		}
		said := strings.TrimSpace(line)
		if isFinding.MatchString(said) && i+2 < len(lines) {
			// Pydantic names the field and what is wrong with it below.
			said += ": " + strings.TrimSpace(lines[i+1]) + ": " + strings.TrimSpace(lines[i+2])
		}
		return finding{text: trimTime(said), rank: rankError, lines: i + 1, at: i}, true
	}
	return finding{}, false
}

// readPanic reads a panic of Rust, whose message stands on the next line.
func readPanic(lines []string, _ Cause, _ int) (finding, bool) {
	if !isPanic.MatchString(lines[0]) || len(lines) < 2 {
		return finding{}, false
	}
	said := lines[0] + " " + strings.TrimSpace(lines[1])
	return finding{text: said, rank: rankError, lines: 2, at: 1}, true
}

// readCauses reads a list of causes below an error, as programs in Rust print them. The last one is
// what the others result from.
func readCauses(lines []string, before Cause, _ int) (finding, bool) {
	if lines[0] != "Caused by:" {
		return finding{}, false
	}
	last, n := "", 1
	for ; n < min(len(lines), maxBlock); n++ {
		listed := listedCause.FindStringSubmatch(lines[n])
		if listed == nil {
			break
		}
		last = listed[2]
	}
	if last == "" {
		return finding{}, false
	}
	if before.Text != "" && !strings.Contains(before.Text, last) {
		last = before.Text + ": " + last
	}
	return finding{text: last, rank: rankError, lines: n, at: n - 1}, true
}
