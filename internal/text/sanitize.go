package text

import (
	"strings"
	"unicode"
)

// SanitizeKeepingColors makes a program's output safe for a terminal: it keeps text and colours.
// Every other control character, and with it the beginning of every other escape sequence, becomes
// visible.
func SanitizeKeepingColors(s string) string { return cleanText(s, true) }

// SanitizeText is SanitizeKeepingColors without the colours.
func SanitizeText(s string) string { return cleanText(s, false) }

func cleanText(s string, colours bool) string {
	if !strings.ContainsFunc(s, isUnprintable) {
		return s
	}
	var b strings.Builder
	for s != "" {
		before, rest, found := strings.Cut(s, "\x1b[")
		b.WriteString(strings.Map(replaceUnprintable, before))
		if !found {
			break
		}
		code, after := parseColour(rest)
		switch {
		case after < 0:
			b.WriteString(shown + "[")
			s = rest
			continue
		case colours:
			b.WriteString("\x1b[" + code + "m")
		}
		s = rest[after:]
	}
	return b.String()
}

// shown replaces what cannot be shown.
const shown = "\uFFFD"

// parseColour reads "1;31m" and where it ends; -1 when it is no colour.
func parseColour(s string) (code string, after int) {
	n := strings.IndexFunc(s, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
	if n < 0 || n > 32 || s[n] != 'm' {
		return "", -1
	}
	return s[:n], n + 1
}

// ReplaceControls replaces every control character, also those that begin a colour, and marks that
// turn the direction of text.
func ReplaceControls(s string) string { return strings.Map(replaceUnprintable, s) }

func replaceUnprintable(r rune) rune {
	if isUnprintable(r) {
		return '\uFFFD'
	}
	return r
}

// isUnprintable are control characters, and marks that turn the direction of text.
func isUnprintable(r rune) bool {
	return r != '\n' && r != '\t' && unicode.IsControl(r) ||
		r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069 || r == 0x200E || r == 0x200F
}
