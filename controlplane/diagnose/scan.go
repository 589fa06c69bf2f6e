package diagnose

import (
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/internal/mask"
)

// shapes are secrets that nobody has to know to recognise them: keys in PEM, credentials in a URL
// or a header, tokens of ours.
var shapes = map[string]*regexp.Regexp{
	"what looks like a private key": regexp.MustCompile(
		`(?s)-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\z)`),
	"what looks like a password in a URL": regexp.MustCompile(
		`\b[a-zA-Z][a-zA-Z0-9+.-]*://[^/\s:@"]*:[^/\s@"]+@`),
	"what looks like an Authorization header": regexp.MustCompile(
		`(?i)\bauthorization["']?\s*[:=]\s*["']?(?:bearer|basic)\s+[^\s"',]+`),
	"what looks like a token of NullOps": regexp.MustCompile(`\bnop[a-z]?\d?_[A-Za-z0-9_-]{20,}`),
}

// scanner searches files for secrets, and hides them.
type scanner struct {
	// kinds are the secrets, by what they are.
	kinds []secretKind
	// found says what was hidden where.
	found []string
}

type secretKind struct {
	what   string
	masker *mask.Masker
}

// newScanner knows the secrets that are given. Values of projects count even if they are short.
func newScanner(secrets map[string][]controlplane.Plain) *scanner {
	s := &scanner{}
	for _, what := range slices.Sorted(maps.Keys(secrets)) {
		var values []string
		for _, v := range secrets[what] {
			values = append(append(values, v.Reveal()), partsOfURL(v.Reveal())...)
		}
		s.kinds = append(s.kinds, secretKind{what, mask.New(nil, values...)})
	}
	return s
}

// shortestSegment is from when on a part of a URL's path may be what is secret in it.
const shortestSegment = 12

// partsOfURL returns what may be secret in a URL by itself: chats have a token in its path.
func partsOfURL(text string) (parts []string) {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" {
		return nil
	}
	if password, set := u.User.Password(); set {
		parts = append(parts, password)
	}
	for segment := range strings.SplitSeq(u.Path, "/") {
		if len(segment) >= shortestSegment {
			parts = append(parts, segment)
		}
	}
	for _, all := range u.Query() {
		for _, value := range all {
			if len(value) >= shortestSegment {
				parts = append(parts, value)
			}
		}
	}
	return parts
}

// hide returns a text without secrets.
func (s *scanner) hide(name, text string) string {
	for _, k := range s.kinds {
		hidden := k.masker.Mask(text)
		s.note(name, k.what, strings.Count(hidden, mask.Placeholder)-
			strings.Count(text, mask.Placeholder))
		text = hidden
	}
	for _, what := range slices.Sorted(maps.Keys(shapes)) {
		n := 0
		text = shapes[what].ReplaceAllStringFunc(text, func(string) string {
			n++
			return mask.Placeholder
		})
		s.note(name, what, n)
	}
	return text
}

func (s *scanner) note(name, what string, times int) {
	switch {
	case times == 1:
		s.found = append(s.found, fmt.Sprintf("%s: %s", name, what))
	case times > 1:
		s.found = append(s.found, fmt.Sprintf("%s: %s, %d times", name, what, times))
	}
}
