package controlplane

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// MaxName is the length of the longest name. A DNS label may have 63
// characters; 40 leaves room for the flat host form service--deployment--env.
const MaxName = 40

// ValidName refuses what is not a DNS label of at most 40 characters. The
// field is the one to name in the answer.
func ValidName(field, name string) error {
	if isLabel(name) {
		return nil
	}
	return &Error{
		Kind: Invalid, Code: "name_invalid", Field: field,
		Message: fmt.Sprintf("%q is not a valid name", ClipText(name)),
		Remedy: "Use 1 to 40 lowercase letters, digits and hyphens, " +
			"with a letter or digit at both ends.",
	}
}

func isLabel(s string) bool {
	if s == "" || len(s) > MaxName || s[0] == '-' || s[len(s)-1] == '-' {
		return false
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

// IsDomain reports whether a text is a lowercase DNS name without a final dot.
func IsDomain(domain string) bool {
	if domain == "" || len(domain) > 200 {
		return false
	}
	for label := range strings.SplitSeq(domain, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-") != "" {
			return false
		}
	}
	return true
}

// ValidSecretName refuses what cannot be an environment variable's name.
func ValidSecretName(field, name string) error {
	ok := name != "" && len(name) <= 63 && name[0] >= 'A' && name[0] <= 'Z'
	for _, c := range []byte(name) {
		ok = ok && (c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_')
	}
	if ok {
		return nil
	}
	return &Error{
		Kind: Invalid, Code: "secret_name_invalid", Field: field,
		Message: fmt.Sprintf("%q is not a valid secret name", ClipText(name)),
		Remedy:  "Use capital letters, digits and underscores, starting with a letter.",
	}
}

// ClipText keeps a caller's text from filling an answer or a log line. It cuts between
// characters, since PostgreSQL stores no half of one.
func ClipText(s string) string {
	limit := 80
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit] + "…"
}
