package agent

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
)

// minSecret is the shortest secret that can be masked: shorter ones would hide
// half of every text.
const minSecret = 8

// maxHeld bounds what a Stream holds back, in bytes.
const maxHeld = 1 << 20

// masked stands for what may not be read.
const masked = "[secret]"

// Masker hides known secrets in text: as they are, and in the forms in which
// programs print them (base64 at each of its three offsets, hexadecimal, URL
// and JSON escapes). It is immutable; a nil one hides nothing.
type Masker struct {
	patterns []string
	longest  int
}

// NewMasker knows the given secrets. Of secrets with several lines each long
// line counts by itself, since logs are read line by line.
func NewMasker(secrets []string) *Masker {
	m := &Masker{}
	for _, secret := range secrets {
		m.add(secret)
		if strings.ContainsAny(secret, "\r\n") {
			for _, line := range strings.FieldsFunc(secret, isLineBreak) {
				m.add(strings.TrimSpace(line))
			}
		}
	}
	slices.Sort(m.patterns)
	m.patterns = slices.Compact(m.patterns)
	for _, p := range m.patterns {
		m.longest = max(m.longest, len(p))
	}
	return m
}

func isLineBreak(r rune) bool { return r == '\n' || r == '\r' }

func (m *Masker) add(secret string) {
	if len(secret) < minSecret {
		return
	}
	m.patterns = append(m.patterns, secret, hex.EncodeToString([]byte(secret)),
		strings.ToUpper(hex.EncodeToString([]byte(secret))),
		url.QueryEscape(secret), url.PathEscape(secret), jsonInner(secret, true),
		jsonInner(secret, false))
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for offset := range 3 {
			m.patterns = append(m.patterns, base64Core(encoding, secret, offset))
		}
	}
}

// base64Core is the part of an encoding that depends on the secret alone when
// offset bytes stand before it.
func base64Core(encoding *base64.Encoding, secret string, offset int) string {
	padded := append(make([]byte, offset), secret...)
	encoded := encoding.EncodeToString(padded)
	// The first bits of a character may belong to what stands before, the last
	// ones to what follows.
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

// spans finds everything to hide, merged where secrets overlap.
func (m *Masker) spans(text string) []span {
	var found []span
	for _, p := range m.patterns {
		for at := 0; ; {
			i := strings.Index(text[at:], p)
			if i < 0 {
				break
			}
			found = append(found, span{at + i, at + i + len(p)})
			at += i + 1
		}
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
	return replace(text, m.spans(text))
}

// minPart is the shortest part of a secret that MaskPart hides: fewer bytes tell
// nothing, and begin or end many words.
const minPart = 4

// MaskPart hides the secrets of a text that is a part of another one: where it was
// cut, at its head or at its tail, it may also begin or end with a part of a secret.
func (m *Masker) MaskPart(text string, headCut, tailCut bool) string {
	if m == nil {
		return text
	}
	hide := m.spans(text)
	for _, p := range m.patterns {
		for n := min(len(p)-1, len(text)); headCut && n >= minPart; n-- {
			if strings.HasPrefix(text, p[len(p)-n:]) {
				hide = append(hide, span{0, n})
				break
			}
		}
		for n := min(len(p)-1, len(text)); tailCut && n >= minPart; n-- {
			if strings.HasSuffix(text, p[:n]) {
				hide = append(hide, span{len(text) - n, len(text)})
				break
			}
		}
	}
	return replace(text, mergeSpans(hide))
}

func replace(text string, hide []span) string {
	if len(hide) == 0 {
		return text
	}
	var b strings.Builder
	at := 0
	for _, s := range hide {
		b.WriteString(text[at:s.from])
		b.WriteString(masked)
		at = s.to
	}
	b.WriteString(text[at:])
	return b.String()
}

// Tree hides secrets in every string of a JSON tree, keys included, and
// reports whether there was one.
func (m *Masker) Tree(tree any) (out any, found bool) {
	switch v := tree.(type) {
	case string:
		hidden := m.Mask(v)
		return hidden, hidden != v
	case []any:
		list := make([]any, len(v))
		for i, item := range v {
			hidden, f := m.Tree(item)
			list[i], found = hidden, found || f
		}
		return list, found
	case map[string]any:
		object := make(map[string]any, len(v))
		for key, item := range v {
			hidden, f := m.Tree(item)
			name := m.Mask(key)
			object[name], found = hidden, found || f || name != key
		}
		return object, found
	}
	return tree, false
}

// Stream hides secrets in text that comes in pieces, also those that are cut
// in two by a border. It holds back as much as a secret could begin with.
type Stream struct {
	masker *Masker
	held   string
}

// Stream begins a text.
func (m *Masker) Stream() *Stream { return &Stream{masker: m} }

// Write takes a piece in and returns what can be shown by now.
func (s *Stream) Write(piece string) string {
	if s.masker == nil || s.masker.longest == 0 {
		return piece
	}
	text := s.held + piece
	hide := s.masker.spans(text)
	safe := max(0, len(text)-s.masker.longest+1)
	for i, h := range hide {
		if h.to < safe {
			continue
		}
		// A secret over the border stays whole, in case it goes on.
		if h.from < safe {
			safe = h.from
		}
		hide = hide[:i]
		break
	}
	if len(text)-safe > maxHeld {
		// Only a periodic secret in a periodic text comes here.
		safe = len(text)
		hide = s.masker.spans(text)
	}
	s.held = text[safe:]
	return replace(text[:safe], hide)
}

// Flush returns the rest, at the end of the text.
func (s *Stream) Flush() string {
	rest := s.masker.Mask(s.held)
	s.held = ""
	return rest
}

// Cut returns the rest of a text whose end is missing: the first part of a secret
// may be the last of it.
func (s *Stream) Cut() string {
	rest := s.masker.MaskPart(s.held, false, true)
	s.held = ""
	return rest
}
