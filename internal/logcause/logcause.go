// Package logcause finds the line of a log that most likely says why a program failed. The agent
// quotes it, and the control plane finds it again in the log that people open.
package logcause

import (
	"encoding/json"
	"regexp"
	"strings"
	"unicode"

	"github.com/nullops/nullops/internal/text"
)

const (
	// Lines is how many of the last lines are searched for the one that says why: a stack trace
	// stands between it and the end.
	Lines = 40
	// maxBytes is how much of it is quoted: less than the agent shows of a readiness check.
	maxBytes = 300
)

// Cause is what a log says of the failure.
type Cause struct {
	// Text is one line without line breaks, shortened. It is empty if no line has words in it.
	Text string
	// Index is the line that it is from.
	Index int
	// IsError says that the line speaks of an error. Otherwise it is only the last one with words.
	IsError bool
}

var (
	saysError = regexp.MustCompile(`(?i)error|fatal|panic|exception|fail|cannot|can't|could not|` +
		`unable|denied|refused|not found|no such|invalid|missing|killed|abort|traceback`)
	// saysLevel finds levels that programs write in front of what is no error.
	saysLevel = regexp.MustCompile(
		`(?i)\blevel=(trace|debug|info)\b|^\S*\s*\[?(trace|debug|info)\]?\b`)
	// isFrame matches the lines of stack traces, which say where and not why.
	isFrame = regexp.MustCompile(`^\s+(at |File "|\.\.\. \d+ more|/|from )|^goroutine \d+ |` +
		`^\t|^\S+\(.*\)$|^exit status \d+$|^Traceback |` +
		`^npm (ERR!|error) (code|errno|path|A complete log)`)
)

// Find returns the line that most likely says why a program failed: the last one that speaks of an
// error, else the last one with words in it. Lines of JSON give their message.
func Find(lines []string) Cause {
	fallback := Cause{}
	for index := len(lines) - 1; index >= max(0, len(lines)-Lines); index-- {
		line := strings.TrimRight(lines[index], " \r\n")
		text, isError, known := parseLogRecord(line)
		if !known {
			if isFrame.MatchString(line) || !strings.ContainsFunc(line, unicode.IsLetter) {
				continue
			}
			text = line
			isError = saysError.MatchString(line) && !saysLevel.MatchString(line)
		}
		text = strings.Join(strings.Fields(text), " ")
		if isError && text != "" {
			return Cause{Text: shorten(text), Index: index, IsError: true}
		}
		if fallback.Text == "" {
			fallback = Cause{Text: shorten(text), Index: index}
		}
	}
	return fallback
}

// parseLogRecord reads a line of JSON, as loggers write it. It is known only if it has a message.
func parseLogRecord(line string) (text string, isError, known bool) {
	var record map[string]any
	if !strings.HasPrefix(strings.TrimSpace(line), "{") ||
		json.Unmarshal([]byte(line), &record) != nil {
		return "", false, false
	}
	text = firstText(record, "message", "msg", "Message", "MESSAGE", "log", "event")
	why := firstText(record, "error", "err", "exception", "cause")
	switch {
	case text == "" && why == "":
		return "", false, false
	case text == "":
		text = why
	case why != "" && !strings.Contains(text, why):
		text += ": " + why
	}
	return text, hasErrorLevel(record, why), true
}

func hasErrorLevel(record map[string]any, why string) bool {
	for _, key := range []string{"level", "severity", "lvl", "Level", "@l", "log.level"} {
		switch level := record[key].(type) {
		case string:
			switch strings.ToLower(level) {
			case "error", "fatal", "panic", "critical", "crit", "alert", "emergency", "err":
				return true
			}
			return false
		case float64: // as pino and bunyan count: 50 is an error, 60 is fatal
			return level >= 50
		}
	}
	return why != ""
}

// firstText returns the first of these members that is a text, or an object with a message.
func firstText(record map[string]any, keys ...string) string {
	for _, key := range keys {
		switch value := record[key].(type) {
		case string:
			if value != "" {
				return value
			}
		case map[string]any:
			if text, ok := value["message"].(string); ok && text != "" {
				return text
			}
		}
	}
	return ""
}

func shorten(line string) string {
	return text.Clip(strings.ToValidUTF8(line, "\uFFFD"), maxBytes)
}
