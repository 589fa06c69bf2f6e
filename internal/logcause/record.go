package logcause

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"
)

const (
	// maxDepth bounds records within records.
	maxDepth = 3
	// maxPrefix is how much may stand before a record, such as the name of a container.
	maxPrefix = 80
)

// Names of members, in lower case and without signs, in the order in which they are asked.
var (
	messageKeys = []string{"message", "msg", "shortmessage", "textpayload", "event", "log", "m",
		"mt", "body", "text", "title", "fullmessage"}
	errorKeys = []string{"error", "err", "exception", "cause", "errormessage", "exceptionmessage",
		"errormsg", "errmsg", "errors", "reason", "failure", "x"}
	traceKeys = []string{"stacktrace", "errorstacktrace", "exceptionstacktrace", "excinfo", "trace",
		"stack", "errorstack"}
	levelKeys = []string{"level", "severity", "loglevel", "levelname", "lvl", "severitytext", "l",
		"priority", "status", "s"}
	// nestedKeys hold the record itself.
	nestedKeys = []string{"jsonpayload", "fields", "log", "record", "data", "payload", "attributes",
		"attr", "context", "details", "extra"}
	// detailKeys are asked within an error.
	detailKeys = []string{"message", "msg", "errmsg", "errormessage", "error", "reason",
		"description", "detail", "details", "text", "title"}

	cutMessage = regexp.MustCompile(`"(?:message|msg)"\s*:\s*("(?:[^"\\]|\\.)*")`)
	logfmtPair = regexp.MustCompile(`(?:^|\s)([A-Za-z_][\w.@-]*)=("(?:[^"\\]|\\.)*"|[^\s"]*)`)
)

// readRecord reads a line of JSON or logfmt, as loggers write it, or JSON on several lines. It is
// one only if it has a message.
func readRecord(lines []string, _ Cause, depth int) (finding, bool) {
	line := strings.TrimSpace(lines[0])
	if line == "{" {
		return readSpreadRecord(lines, depth)
	}
	start := strings.Index(line, "{")
	if start >= 0 && start <= maxPrefix && strings.HasSuffix(line, "}") {
		if record, ok := parseObject(line[start:]); ok {
			f, known := recordFinding(record, depth)
			if known && (start == 0 || stringAt(record, messageKeys[:2]) != "") {
				return f, true
			}
		}
	}
	if start == 0 {
		return readCutRecord(line)
	}
	return readLogfmt(line, depth)
}

// readSpreadRecord reads JSON that is indented over several lines.
func readSpreadRecord(lines []string, depth int) (finding, bool) {
	for n := 1; n < min(len(lines), maxBlock); n++ {
		if strings.TrimSpace(lines[n]) != "}" || isIndented.MatchString(lines[n]) {
			continue
		}
		record, ok := parseObject(strings.Join(lines[:n+1], "\n"))
		if !ok {
			return finding{}, false
		}
		f, known := recordFinding(record, depth)
		f.lines = n + 1
		f.at = max(0, slices.IndexFunc(lines[:n], isMessageMember))
		return f, known
	}
	return finding{}, false
}

// isMessageMember reports whether a line of JSON has a message.
func isMessageMember(line string) bool {
	key, _, found := strings.Cut(line, ":")
	return found && slices.Contains(messageKeys,
		normalizeKey(strings.Trim(strings.TrimSpace(key), `"`)))
}

// readCutRecord reads the message of JSON whose end is missing.
func readCutRecord(line string) (finding, bool) {
	var said string
	found := cutMessage.FindStringSubmatch(line)
	if found == nil || json.Unmarshal([]byte(found[1]), &said) != nil || !hasLetter(said) {
		return finding{}, false
	}
	return finding{text: said, rank: rankText(said)}, true
}

func readLogfmt(line string, depth int) (finding, bool) {
	record := map[string]any{}
	for _, pair := range logfmtPair.FindAllStringSubmatch(line, -1) {
		value := pair[2]
		if strings.HasPrefix(value, `"`) && json.Unmarshal([]byte(value), &value) != nil {
			value = strings.Trim(pair[2], `"`)
		}
		record[normalizeKey(pair[1])] = value
	}
	if stringAt(record, messageKeys[:2]) == "" || stringAt(record, levelKeys) == "" {
		return finding{}, false
	}
	return recordFinding(record, depth)
}

func parseObject(s string) (map[string]any, bool) {
	var record map[string]any
	if json.Unmarshal([]byte(s), &record) != nil {
		return nil, false
	}
	return normalizeKeys(record), true
}

// normalizeKeys makes names comparable: error_message, errorMessage and error.message are one.
func normalizeKeys(record map[string]any) map[string]any {
	out := make(map[string]any, len(record))
	// In order, so that the same line always says the same.
	for _, key := range slices.Sorted(maps.Keys(record)) {
		out[normalizeKey(key)] = record[key]
	}
	return out
}

func normalizeKey(key string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("_-.@$ ", r) {
			return -1
		}
		return r
	}, strings.ToLower(key))
}

// recordFinding returns what a record says, and how badly.
func recordFinding(record map[string]any, depth int) (finding, bool) {
	if depth > maxDepth {
		return finding{}, false
	}
	message, why := stringAt(record, messageKeys), describeErrors(record)
	if message == "" {
		for _, key := range nestedKeys {
			if inner, ok := record[key].(map[string]any); ok {
				inner = normalizeKeys(inner)
				if _, states := statedRank(inner); !states {
					inheritMembers(inner, record)
				}
				if f, known := recordFinding(inner, depth+1); known && why == "" {
					return f, true
				}
			}
		}
	}
	if why == "" && message != "" {
		why = nestedErrors(record)
	}
	stated, states := statedRank(record)
	said, found := readMessage(message, depth)
	if trace := stringAt(record, traceKeys); trace != "" && (!states || stated > rankPlain) {
		// A message without an error of its own is explained by its trace.
		if cause := findWithin(strings.Split(trace, "\n"), depth+1); cause.IsError && why == "" {
			why = strings.TrimPrefix(cause.Text, "Caused by: ")
		}
	}
	said = joinClauses(said, why)
	switch {
	case said == "":
		return finding{}, false
	case states && stated == rankWeak:
		found = min(max(found, rankWeak), rankWeak)
	case states:
		found = stated
	case why != "":
		found = rankError
	}
	if states && stated == rankError && isFarewell.MatchString(said) && why == "" {
		found = rankWeak
	}
	return finding{text: said, rank: found}, true
}

// inheritMembers gives a record within another the level and the errors of that.
func inheritMembers(inner, outer map[string]any) {
	for _, keys := range [][]string{levelKeys, errorKeys} {
		for _, key := range keys {
			if value, has := outer[key]; has && inner[key] == nil {
				if _, nested := value.(map[string]any); !nested {
					inner[key] = value
				}
			}
		}
	}
}

// readMessage reads a message that is a record or several lines itself.
func readMessage(message string, depth int) (string, rank) {
	message = strings.TrimSpace(message)
	if depth < maxDepth && (strings.Contains(message, "\n") || strings.HasPrefix(message, "{")) {
		lines := strings.Split(message, "\n")
		if cause := findWithin(lines, depth+1); cause.IsError {
			return cause.Text, rankError
		}
		if len(lines) == 1 {
			f := readAt([]string{cleanLine(message)}, Cause{}, depth+1)
			return f.text, f.rank
		}
		// A message begins with what it is about.
		message = lines[0]
	}
	message = cleanLine(message)
	return trimTime(message), rankText(trimTime(message))
}

// describeErrors joins what the members for errors say, the outermost first.
func describeErrors(record map[string]any) string {
	for _, key := range errorKeys {
		if said := describeError(record[key], 0); said != "" {
			return said
		}
	}
	return ""
}

// nestedErrors looks for an error one level deeper.
func nestedErrors(record map[string]any) string {
	for _, key := range nestedKeys {
		if inner, ok := record[key].(map[string]any); ok {
			if said := describeErrors(normalizeKeys(inner)); said != "" {
				return said
			}
		}
	}
	return ""
}

// describeError is an error's message and, after it, that of its cause.
func describeError(value any, depth int) string {
	if depth > maxDepth {
		return ""
	}
	switch value := value.(type) {
	case string:
		said := strings.TrimSpace(value)
		if strings.Contains(said, "\n") {
			said = strings.TrimPrefix(findWithin(strings.Split(said, "\n"), depth+1).Text, "Caused by: ")
		}
		return cleanLine(said)
	case []any:
		for _, one := range value {
			if said := describeError(one, depth+1); said != "" {
				return said
			}
		}
	case map[string]any:
		inner := normalizeKeys(value)
		said := ""
		for _, key := range detailKeys {
			if said = describeError(inner[key], depth+1); said != "" {
				break
			}
		}
		if said == "" {
			said = describeError(inner[firstKey(inner, traceKeys)], depth+1)
		}
		if said == "" {
			said = stringAt(inner, []string{"type", "class", "name", "code"})
		}
		return joinClauses(said, describeError(inner[firstKey(inner, []string{"cause", "inner",
			"innerexception", "causedby", "err"})], depth+1))
	}
	return ""
}

// joinClauses joins a statement and its reason, unless it says it already.
func joinClauses(said, why string) string {
	switch {
	case said == "" || strings.Contains(why, said):
		return why
	case why == "" || strings.Contains(said, why):
		return said
	}
	return strings.TrimRight(said, ":. ") + ": " + why
}

// statedRank is what a record's level says.
func statedRank(record map[string]any) (stated rank, states bool) {
	for _, key := range levelKeys {
		switch level := record[key].(type) {
		case string:
			if r := rankOfLevel(level, key); r != rankNone {
				return r, true
			}
		case float64:
			return rankOfNumber(level, record), true
		}
	}
	return rankNone, false
}

func rankOfLevel(level, key string) rank {
	switch strings.ToLower(level) {
	case "error", "fatal", "panic", "dpanic", "critical", "crit", "alert", "emergency", "emerg",
		"err", "eror", "severe":
		return rankError
	case "warn", "warning":
		return rankWeak
	case "trace", "debug", "info", "information", "informational", "notice", "verbose", "default",
		"log", "ok":
		return rankPlain
	case "e", "f":
		return rankError
	case "w":
		return rankWeak
	case "i", "d", "d1", "d2", "v":
		return rankPlain
	case "0", "1", "2", "3":
		if key == "priority" {
			return rankError
		}
	}
	return rankNone
}

// rankOfNumber reads a level that is a number: pino and bunyan count up to 60, syslog down to 0.
func rankOfNumber(level float64, record map[string]any) rank {
	_, graylog := record["shortmessage"]
	switch {
	case graylog && level <= 3, !graylog && level >= 50:
		return rankError
	case graylog && level == 4, !graylog && level >= 40:
		return rankWeak
	}
	return rankPlain
}

func firstKey(record map[string]any, keys []string) string {
	for _, key := range keys {
		if _, has := record[key]; has {
			return key
		}
	}
	return ""
}

// stringAt is the first of these members that is a text, or an object with a message.
func stringAt(record map[string]any, keys []string) string {
	for _, key := range keys {
		switch value := record[key].(type) {
		case string:
			if strings.TrimSpace(value) != "" {
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
