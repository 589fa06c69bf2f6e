package controlplane

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// Sentence writes a message as people read it: with a capital letter and a full stop, and what
// stands after a semicolon as a sentence of its own. Messages are stored without both, so that they
// can also stand inside other text. One that begins with somebody's own word, such as a name, keeps
// that word as it is.
func Sentence(message string) string {
	message = strings.TrimSpace(message)
	if message == "" {
		return ""
	}
	parts := splitClauses(message)
	for i, part := range parts {
		first, _, _ := strings.Cut(part, " ")
		if firstWords[strings.TrimRight(first, ",:.")] || i > 0 && isPlainWord(first) {
			parts[i] = capitalize(part)
		}
	}
	message = strings.Join(parts, ". ")
	if last, _ := utf8.DecodeLastRuneInString(message); strings.ContainsRune(".?!…:", last) {
		return message
	}
	return message + "."
}

// splitClauses splits at semicolons, but not within parentheses: a list in them stays one.
func splitClauses(message string) (parts []string) {
	open := 0
	for part := range strings.SplitSeq(message, "; ") {
		if open > 0 {
			parts[len(parts)-1] += "; " + part
		} else {
			parts = append(parts, part)
		}
		open += strings.Count(part, "(") - strings.Count(part, ")")
	}
	return parts
}

// isPlainWord reports whether a word is of small letters only, and so no name or reference.
func isPlainWord(word string) bool {
	return word != "" && strings.IndexFunc(strings.TrimRight(word, ","), func(r rune) bool {
		return !unicode.IsLower(r)
	}) < 0
}

func capitalize(s string) string {
	first, size := utf8.DecodeRuneInString(s)
	return string(unicode.ToUpper(first)) + s[size:]
}

// firstWords are the words of ours that messages begin with. A test reads all messages in the
// source and fails for a word that is missing here.
var firstWords = setOf(`
	a an another the this that there it you your
	no neither nobody only every all exactly two too new give
	something somebody people plain include from at in nothing
	passkeys recovery row second
	agent approval attempt backup cell certificate cluster comment configuration copy delivery
	deployment deployments device document environment events execution field file format gate
	group host image invitation key label labels link master message migration name node nodes pull
	notification object offer orders page password pattern person pipeline plugin port project
	pruning programs provisioning queue registry release remarks request review rule run runs
	script secret secrets service services session status step tag team template token user
	users value version volume webhook
`)

func setOf(words string) map[string]bool {
	all := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		all[word] = true
	}
	return all
}
