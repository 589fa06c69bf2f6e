// Package text shortens text that somebody else wrote, and makes it safe for a terminal.
package text

import (
	"strings"
	"unicode/utf8"
)

// Clip returns the first limit bytes of s, or a few less so that it does not split a
// character, and appends "…" if anything is missing.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}

// CleanLine makes the text of a stranger one short line without control characters.
func CleanLine(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, shown), "\r", " ")
	return Clip(strings.Join(strings.Fields(SanitizeText(s)), " "), limit)
}
