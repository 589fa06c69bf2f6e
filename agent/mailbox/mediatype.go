package mailbox

import (
	"io"
	"mime"
	"net/url"
	"strings"

	"golang.org/x/text/encoding/htmlindex"
)

// readMediaType reads a type or a disposition with its parameters, also as applications write them
// who quote nothing: the standard library gives up on all parameters then.
func readMediaType(value string) (kind string, params map[string]string) {
	kind, params, err := mime.ParseMediaType(value)
	if params == nil {
		params = map[string]string{}
	}
	parts := splitParameters(value)
	if err != nil {
		kind = strings.ToLower(strings.TrimSpace(parts[0]))
	}
	for _, part := range parts[1:] {
		name, text, ok := strings.Cut(part, "=")
		name, text = strings.ToLower(strings.TrimSpace(name)), unquoteValue(strings.TrimSpace(text))
		if short, encoded := strings.CutSuffix(name, "*"); encoded {
			name, text = short, decodeExtended(text)
		}
		if _, known := params[name]; ok && !known && text != "" {
			params[name] = text
		}
	}
	return kind, params
}

// splitParameters splits at the semicolons outside of quotes.
func splitParameters(value string) (parts []string) {
	begin, quoted := 0, false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case c == '\\' && quoted:
			i++
		case c == '"':
			quoted = !quoted
		case c == ';' && !quoted:
			parts = append(parts, value[begin:i])
			begin = i + 1
		}
	}
	return append(parts, value[begin:])
}

func unquoteValue(text string) string {
	inner, ok := strings.CutPrefix(text, `"`)
	if !ok {
		return text
	}
	inner, _ = strings.CutSuffix(inner, `"`)
	return strings.NewReplacer(`\\`, `\`, `\"`, `"`).Replace(inner)
}

// decodeExtended decodes RFC 2231's CHARSET'LANGUAGE'TEXT. The standard library knows UTF-8 alone.
func decodeExtended(value string) string {
	charset, rest, ok := strings.Cut(value, "'")
	_, text, whole := strings.Cut(rest, "'")
	if !ok || !whole {
		return ""
	}
	plain, err := url.PathUnescape(text)
	if err != nil {
		return text
	}
	if e, err := htmlindex.Get(charset); err == nil {
		if read, err := io.ReadAll(e.NewDecoder().Reader(strings.NewReader(plain))); err == nil {
			return string(read)
		}
	}
	return plain
}
