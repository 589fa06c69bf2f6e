package logcause

import (
	"regexp"
	"strings"
)

// clock is the part of a time that all its forms share.
const clock = `\d{1,2}:\d\d(:\d\d)?([.,]\d+)?`

var (
	saysError = regexp.MustCompile(`(?i)error|fatal|panic|exception|fail|cannot|can't|can not|` +
		`could not|couldn't|unable|denied|refused|not found|no such|invalid|missing|killed|abort|` +
		`traceback|fehler|erreur|ошибка|错误|エラー`)
	hintsAtError = regexp.MustCompile(`(?i)already in use|time(d )?-?out|unreachable|unavailable|` +
		`undefined|unbound|unknown|unexpected|unsupported|unauthori[sz]ed|forbidden|rejected|` +
		`required|must (be|not|have)|` +
		`not (set|exist|allowed|permitted|supported|defined|empty|ready)|n't exist|` +
		`exceed|out of memory|no space left|disk full|corrupt|illegal|mismatch|violat|` +
		`crash|segfault|segmentation|deadlock|broken pipe|reset by peer|giving up|wrong|` +
		`\bbad |\bno (license|permission|route|value|default)|(?-i:\bE[A-Z]{5,}\b)`)
	url = regexp.MustCompile(`\w+://\S+`)

	// timestamps matches the time, and a process or stream, that a line begins with.
	timestamps = regexp.MustCompile(`^\s*[\[(]?(` +
		`\d{4}[-/.]\d\d[-/.]\d\d[T ,]+` + clock +
		`(\s?(Z|UTC|GMT|[A-Z]{2,3}T|[+-]\d\d:?\d\d)\b)?` +
		`|\d{4}[-/]\d\d[-/]\d\d` +
		`|\d{1,2}[/ -][A-Z][a-z]{2}[/ -]\d{4}[: ]` + clock + `( [+-]\d{4})?` +
		`|([A-Z][a-z]{2},? )?[A-Z][a-z]{2} +\d{1,2},? (\d{4},? )?` + clock + `( [AP]M)?( \d{4})?` +
		`|` + clock + `)[\])]?[\s,:|-]*`)
	// levels finds the level that a line states, after its time.
	levels = []struct {
		pattern *regexp.Regexp
		rank    rank
	}{
		{regexp.MustCompile(`^\W{0,3}(?i:trace|debug|info|notice|verbose|log|hint|detail|` +
			`statement|context|note)\b\W`), rankPlain},
		{regexp.MustCompile(`^\W{0,3}(?i:warn|warning|deprecated)\b\W`), rankWeak},
		{regexp.MustCompile(`^\W{0,3}(?i:err|error|eror|fatal|crit|critical|panic|alert|emerg|` +
			`emergency|severe|fatal error|uncaught|unhandled)\b\s*[\]:>|)=-]`), rankError},
		// As glog writes them.
		{regexp.MustCompile(`^I\d{4} \d\d:\d\d:\d\d`), rankPlain},
		{regexp.MustCompile(`^W\d{4} \d\d:\d\d:\d\d`), rankWeak},
		{regexp.MustCompile(`^[EF]\d{4} \d\d:\d\d:\d\d`), rankError},
		{levelWithin(`TRACE|DEBUG|INFO|NOTICE|VERBOSE|LOG`, `trace|debug|info|notice|log`),
			rankPlain},
		{levelWithin(`WARN|WARNING`, `warn|warning`), rankWeak},
		{levelWithin(`ERROR|FATAL|CRITICAL|SEVERE|PANIC|EMERG|ALERT`,
			`err|error|fatal|crit|critical|alert|emerg`), rankError},
	}
	// isException matches the line that names an exception, also within a trace.
	isException = regexp.MustCompile(`^\s*(\[?(cause|errors)\]?: |Caused by: |---> |what\(\):|` +
		`(Uncaught |Unhandled |Exception in thread |PHP )|\*\* \(|` +
		`[\w$.:\\/]*(Error|Exception)\b[^=;]{0,30}: )`)
	// isFarewell matches what is said after the cause, or about the program that started the failed
	// one.
	isFarewell = regexp.MustCompile(`(?i)^\W*(shutting|shut) down|^\W*(exiting|exited|` +
		`terminat(ing|ed)|stopping|stopped|aborting|aborted|goodbye|bye|killed|` +
		`cleaning up|closing)\b|` +
		`^\W*(see|visit|for (more|further)|run with|try|to (see|fix|learn)|please)\b|` +
		`\b(exit|exited|return(ed)?|status)\W+(with )?(a )?(non-?zero )?(exit )?` +
		`(code|status|signal)\b|` +
		`\bexit value \d|\bexiting\W*$|shutting down: master|worker failed to boot|^BUILD FAILED|` +
		`command failed|lifecycle script|ELIFECYCLE|^make(\[\d+\])?: \*\*\*|^\[?nodemon\]?|` +
		`^=+ .* =+$|^FAIL(ED)?(\s*$|\t| \()|^(Segmentation fault|Bus error|Illegal instruction)|` +
		`^(core dumped|stack trace|stack backtrace|errors?:?$)|^runtime: |` +
		`the above exception|a complete log of this run|^node:internal|` +
		`\b0 (errors?|failures?|failed)\b|` +
		`\bno (errors?|failures?)\b|without (errors?|failures?)`)
	// isFrame matches the lines of stack traces and of the source that they show.
	isFrame = regexp.MustCompile(`^\s+(at |File "|\.\.\. \d+ (more|common)|/|from |in /|` +
		`thrown in )|^goroutine \d+ |^created by |^\[signal |^\S+\(.*\)$|^\s*--- End of |` +
		`^exit status \d+$|` +
		`^Traceback |^#\d+[: ]|^\s+\d+: +(0x|\S+::|<)|^\s*\^[\s^~]*$|^\s*~+|` +
		`^\s+(raise|throw|return|await|yield|import|from|panic!?\(|throw new)\b|` +
		`^Node\.js v|^Require stack:|^- /|^\s*During handling of|^\s+\|\s|^\s+[+|] ?-+|` +
		`^Caused by:$|^(fail|crit|warn|info|dbug|trce): [\w.]+\[\d+\]$|^\s*Suppressed: `)
	isIndented = regexp.MustCompile(`^(\t| {2,})`)
	// fromNPM is how npm begins each of its lines.
	fromNPM  = regexp.MustCompile(`^npm (ERR!|error)\s*`)
	npmNoise = regexp.MustCompile(`^(code|errno|path|syscall|signal|command|dest|cwd|node|npm|` +
		`A complete log|in workspace|at (workspace|location)|Lifecycle script)\b`)
)

// levelWithin finds levels that follow a thread or a logger: in capital letters, or in brackets.
func levelWithin(capitals, bracketed string) *regexp.Regexp {
	return regexp.MustCompile(`^[^"'{]{0,60}?((^|[\s|\[(<])(` + capitals + `)([\s|\])>:]|$)|\[(` +
		bracketed + `)\])`)
}

// readText reads a line of words.
func readText(line string) finding {
	if strings.TrimSpace(line) == "" {
		return finding{}
	}
	if fromNPM.MatchString(line) {
		return readNPM(fromNPM.ReplaceAllString(line, ""))
	}
	if isFrame.MatchString(line) && !isException.MatchString(line) {
		return finding{}
	}
	said := trimTime(line)
	return finding{text: trimCause(said), rank: rankText(said)}
}

// readNPM reads a line of npm, which mostly repeats that the program failed.
func readNPM(said string) finding {
	if npmNoise.MatchString(said) {
		return finding{}
	}
	return finding{text: said, rank: min(rankText(said), rankHint)}
}

// rankText ranks a line without its time.
func rankText(said string) rank {
	words := url.ReplaceAllString(said, "")
	found := rankPlain
	switch {
	case saysError.MatchString(words) || isException.MatchString(words):
		found = rankError
	case hintsAtError.MatchString(words):
		found = rankHint
	}
	for _, level := range levels {
		if !level.pattern.MatchString(said) {
			continue
		}
		switch level.rank {
		case rankError:
			found = rankError
		case rankWeak:
			found = min(found, rankWeak)
		default:
			return rankPlain
		}
		break
	}
	if isFarewell.MatchString(words) ||
		isIndented.MatchString(said) && !isException.MatchString(said) {
		found = min(found, rankWeak)
	}
	return found
}

// trimTime removes the time that a line begins with: people see when a run failed beside it.
func trimTime(line string) string {
	if rest := timestamps.ReplaceAllString(line, ""); hasLetter(rest) {
		return rest
	}
	return line
}

// trimCause removes what marks a line as part of a trace.
func trimCause(said string) string {
	said = strings.TrimSpace(said)
	said = strings.TrimPrefix(said, "---> ")
	return strings.TrimSpace(strings.TrimPrefix(said, "what():"))
}
