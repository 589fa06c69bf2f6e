// Package mask hides secrets in text that people read: in the usual encodings,
// also where the text comes in pieces that cut a secret in two.
package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

const (
	// minSecret is the shortest secret that can be masked: shorter ones, such as the
	// port that a plugin answered, would hide half of every text. The control plane
	// refuses values below this; minValue is for those that a project had before.
	minSecret = 8
	minValue  = 4
	// minPart is the shortest part of a secret that MaskPart hides: fewer bytes
	// tell nothing, and begin or end many words.
	minPart = 4
	// escapeRest is how many bytes of an escape may be on one side of a cut.
	escapeRest = 12
	// growth is how much longer a secret can become by nested escapes, and maxGrown limits that
	// for long secrets, in bytes.
	growth   = 16
	maxGrown = 512 << 10
)

// Placeholder replaces secret values.
const Placeholder = "[secret]"

// Masker replaces known secrets in text: verbatim, in base64 at each of its three offsets,
// in hexadecimal, and each of these escaped as in URLs, HTML and string literals, also
// nested. It is immutable; a nil Masker hides nothing.
type Masker struct {
	// patterns are searched in the original text, cores also in text with escapes undone. A secret
	// as Go's own encoders escape it is a pattern too, so that it is found even after text that
	// looks like the beginning of an escape.
	patterns [][]byte
	cores    [][]byte
	// inText searches for patterns, inViews for cores.
	inText, inViews *finder
	// spaces is set if a secret has one, which forms write as a plus.
	spaces bool
	// longest is how much of a text may be one secret.
	longest int
}

// New makes a Masker that knows the given secrets of any kind, and the values of a project's
// secrets, which are also hidden when they are short. Of secrets with several lines
// each long line counts by itself, since logs are read line by line.
func New(secrets []string, values ...string) *Masker {
	m := &Masker{}
	for _, value := range values {
		m.addShort(value)
		if lines := splitLines(value); len(lines) > 1 && longestOf(lines) < minSecret {
			// Printed line by line, nothing of it would be hidden.
			for _, line := range lines {
				m.addShort(line)
			}
		}
	}
	for _, secret := range append(slices.Clip(secrets), values...) {
		m.addLines(secret)
		for _, part := range secretParts(secret) {
			m.addLines(part)
		}
	}
	m.patterns, m.cores = sortUnique(m.patterns), sortUnique(m.cores)
	m.inText, m.inViews = newFinder(m.patterns), newFinder(m.cores)
	for _, p := range m.patterns {
		m.longest = max(m.longest, len(p))
	}
	return m
}

func sortUnique(all [][]byte) [][]byte {
	slices.SortFunc(all, bytes.Compare)
	return slices.CompactFunc(all, bytes.Equal)
}

func isLineBreak(r rune) bool { return r == '\n' || r == '\r' }

// splitLines returns the lines of a text without the space around them.
func splitLines(text string) (lines []string) {
	for _, line := range strings.FieldsFunc(text, isLineBreak) {
		lines = append(lines, strings.TrimSpace(line))
	}
	return lines
}

func longestOf(lines []string) (longest int) {
	for _, line := range lines {
		longest = max(longest, len(line))
	}
	return longest
}

// addShort hides a value that is too short for a secret.
func (m *Masker) addShort(value string) {
	if len(value) >= minValue && len(value) < minSecret {
		m.addCores(value, []string{value})
	}
}

// addLines hides a secret, and each of its lines.
func (m *Masker) addLines(secret string) {
	m.addSecret(secret)
	if strings.ContainsAny(secret, "\r\n") {
		for _, line := range splitLines(secret) {
			m.addSecret(line)
		}
	}
}

func (m *Masker) addSecret(secret string) {
	if len(secret) < minSecret {
		return
	}
	cores := []string{secret, hex.EncodeToString([]byte(secret)),
		strings.ToUpper(hex.EncodeToString([]byte(secret)))}
	cores = append(cores, base64Forms(secret)...)
	if latin, ok := latinForm(secret); ok {
		cores = append(cores, latin)
	}
	m.addCores(secret, append(cores, quotedForms(secret)...))
	escaped := []string{url.QueryEscape(secret), url.PathEscape(secret),
		jsonInner(secret, true), jsonInner(secret, false)}
	forms := append(wrappedForms(secret), listedForms(secret)...)
	forms = append(append(forms, escaped...), printableForm(secret))
	for _, form := range append(escaped, cores[1:]...) {
		// What is in base64 may be a URL, a document, or a sign-in that is in base64 already.
		if form != secret && len(form) >= minSecret && len(form) <= maxWrapped {
			forms = append(forms, base64Forms(form)...)
		}
	}
	for _, form := range forms {
		m.patterns = append(m.patterns, []byte(form))
	}
}

// base64Forms returns what depends on a text alone in base64, wherever the text begins.
func base64Forms(text string) (all []string) {
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			all = append(all, base64Core(encoding, text, offset))
		}
	}
	return all
}

func (m *Masker) addCores(secret string, cores []string) {
	for _, core := range cores {
		m.cores = append(m.cores, []byte(core))
		m.patterns = append(m.patterns, []byte(core))
	}
	m.spaces = m.spaces || strings.Contains(secret, " ")
	m.longest = max(m.longest, min(growth*len(secret), maxGrown))
}

// base64Core is the part of an encoding that depends on the secret alone when
// offset bytes stand before it.
func base64Core(encoding *base64.Encoding, secret string, offset int) string {
	padded := append(make([]byte, offset), secret...)
	encoded := encoding.EncodeToString(padded)
	// The first bits of a character may belong to the preceding byte, the last ones to the
	// following one.
	first := (offset*8 + 5) / 6
	return encoded[first : len(padded)*8/6]
}

func jsonInner(secret string, escapeHTML bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(escapeHTML)
	if err := enc.Encode(secret); err != nil {
		return secret
	}
	return strings.Trim(strings.TrimSuffix(b.String(), "\n"), `"`)
}

// span is a range of bytes.
type span struct{ from, to int }

// findSecrets returns everything to hide, merged where secrets overlap.
func (m *Masker) findSecrets(text string) []span {
	if len(m.patterns) == 0 {
		return nil
	}
	var found []span
	m.inText.findAll([]byte(text), func(from, to int) { found = append(found, span{from, to}) })
	for _, v := range decodeViews(text, m.spaces) {
		m.inViews.findAll(v.text, func(from, to int) { found = append(found, v.sourceSpan(from, to)) })
	}
	return mergeSpans(found)
}

// mergeSpans sorts spans, and makes one of those that touch.
func mergeSpans(found []span) []span {
	slices.SortFunc(found, func(a, b span) int { return a.from - b.from })
	merged := found[:0]
	for _, s := range found {
		if n := len(merged); n > 0 && s.from <= merged[n-1].to {
			merged[n-1].to = max(merged[n-1].to, s.to)
			continue
		}
		merged = append(merged, s)
	}
	return merged
}

// Mask hides the secrets of a complete text.
func (m *Masker) Mask(text string) string {
	if m == nil {
		return text
	}
	return maskSpans(text, m.findSecrets(text))
}

// MaskPart hides the secrets of a text that is a part of another one: where it was
// cut, at its head or at its tail, it may also begin or end with a part of a secret.
func (m *Masker) MaskPart(text string, headCut, tailCut bool) string {
	if m == nil {
		return text
	}
	return maskSpans(
		text,
		mergeSpans(append(m.findSecrets(text), m.findCutSecrets(text, headCut, tailCut)...)),
	)
}

// findCutSecrets finds parts of secrets at the ends of a text that was cut out of a longer
// one.
func (m *Masker) findCutSecrets(text string, headCut, tailCut bool) (found []span) {
	views := append(decodeViews(text, m.spaces), decodedText{text: []byte(text)})
	for _, v := range views {
		for _, core := range m.cores {
			if n := headPart(v.text, core); headCut && n > 0 {
				found = append(found, span{0, v.sourceSpan(0, n).to})
			}
			if n := tailPart(v.text, core); tailCut && n > 0 {
				found = append(found, span{v.sourceSpan(len(v.text)-n, len(v.text)).from, len(text)})
			}
		}
	}
	return found
}

// headPart is how much of a text's head belongs to a secret that began before it.
// The first bytes may be the rest of an escape.
func headPart(text, secret []byte) int {
	for n := min(len(secret)-1, len(text)); n >= minPart; n-- {
		for skip := range min(escapeRest, len(text)-n+1) {
			if bytes.HasPrefix(text[skip:], secret[len(secret)-n:]) {
				return skip + n
			}
		}
	}
	return 0
}

// tailPart returns how many bytes at the end of a text are the beginning of the secret. The
// last bytes may be the beginning of an escape.
func tailPart(text, secret []byte) int {
	last := max(0, len(text)-escapeRest)
	escape := bytes.LastIndexAny(text[last:], "%\\&")
	for n := min(len(secret)-1, len(text)); n >= minPart; n-- {
		if bytes.HasSuffix(text, secret[:n]) {
			return n
		}
		if escape >= 0 {
			border := last + escape
			if bytes.HasSuffix(text[:border], secret[:n]) {
				return n + len(text) - border
			}
		}
	}
	return 0
}

func maskSpans(text string, hide []span) string {
	if len(hide) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range hide {
		b.WriteString(text[at:s.from])
		b.WriteString(Placeholder)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// MaskTree hides secrets in every string of a JSON tree, keys included, and
// reports whether there was one.
func (m *Masker) MaskTree(tree any) (out any, found bool) {
	switch v := tree.(type) {
	case string:
		hidden := m.Mask(v)
		return hidden, hidden != v
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			hidden, f := m.MaskTree(item)
			list[i], found = hidden, found || f
		}
		return list, found
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			hidden, f := m.MaskTree(item)
			name := m.Mask(key)
			object[name], found = hidden, found || f || name != key
		}
		return object, found
	}
	return tree, false
}
