package postgres

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// escapeUnstorable spells NUL and bytes that are not UTF-8 as \x00 and the like. PostgreSQL's type
// text refuses both, and an audit entry that quotes a request must not be lost because of its
// bytes.
func escapeUnstorable(s string) string {
	if utf8.ValidString(s) && !strings.Contains(s, "\x00") {
		return s
	}
	var b strings.Builder
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if r == 0 || r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, s[0])
		} else {
			b.WriteString(s[:size])
		}
		s = s[size:]
	}
	return b.String()
}
