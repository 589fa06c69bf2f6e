package mask

// maxHeld bounds what a Stream holds back, in bytes.
const maxHeld = 2 << 20

// contextSize is how much of what was shown a Stream remembers: an escape may
// begin there.
const contextSize = 64

// Stream hides secrets in text that comes in pieces, also those that are cut in two by a border. It
// holds back a tail that could be the beginning of a secret.
type Stream struct {
	masker *Masker
	// context is the end of what was returned, as it was before.
	context string
	held    string
}

// NewStream begins a text.
func (m *Masker) NewStream() *Stream { return &Stream{masker: m} }

// Write takes a piece in and returns what can be shown by now. It waits for more
// than it must, so that a long text is not searched again for every piece.
func (s *Stream) Write(piece string) string {
	if s.masker == nil || s.masker.longest == 0 {
		return piece
	}
	s.held += piece
	if len(s.held) < 2*s.masker.longest {
		return ""
	}
	text, begin := s.context+s.held, len(s.context)
	hide := s.masker.findSecrets(text)
	safe := len(text) - s.masker.longest + 1
	for i, h := range hide {
		if h.to < safe {
			continue
		}
		// A secret that reaches beyond the border is held back as a whole, in case it continues.
		safe, hide = max(min(safe, h.from), begin), hide[:i]
		break
	}
	if len(text)-safe > maxHeld {
		// Only a periodic secret in a periodic text comes here.
		safe = len(text)
		hide = s.masker.findSecrets(text)
	}
	s.context, s.held = text[contextStart(text, safe):safe], text[safe:]
	return maskSpans(text[:safe], clipSpans(hide, begin))[begin:]
}

// contextStart is where the context of a border begins. It does not begin among
// backslashes, since each second one of them means something else.
func contextStart(text string, border int) int {
	start := max(0, border-contextSize)
	for start > 0 && border-start < 16*contextSize && text[start-1] == '\\' {
		start--
	}
	return start
}

// clipSpans drops the parts of spans before begin.
func clipSpans(all []span, begin int) []span {
	var clipped []span
	for _, s := range all {
		if s.to > begin {
			clipped = append(clipped, span{max(s.from, begin), s.to})
		}
	}
	return clipped
}

// Flush returns the rest, at the end of the text.
func (s *Stream) Flush() string { return s.flushHeld(false) }

// FlushTruncated returns the rest of a text whose end is missing: the first part of a secret
// may be the last of it.
func (s *Stream) FlushTruncated() string { return s.flushHeld(true) }

func (s *Stream) flushHeld(cut bool) string {
	if s.held == "" {
		s.context = ""
		return ""
	}
	text, begin := s.context+s.held, len(s.context)
	s.context, s.held = "", ""
	hide := s.masker.findSecrets(text)
	if cut {
		hide = mergeSpans(append(hide, s.masker.findCutSecrets(text, false, true)...))
	}
	return maskSpans(text, clipSpans(hide, begin))[begin:]
}
