package mask

import (
	"bytes"
	"html"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// A program that prints a secret inside other output may have escaped it. There are many encoders,
// and each leaves other characters alone. So instead of listing escaped forms, we undo escapes in
// the text and search for the secret in the result.

const (
	// viewDepth is how many encodings may be nested: JSON in JSON in a URL.
	viewDepth = 3
	// maxViews bounds the work for a text made to have many readings.
	maxViews = 48
	// longestEscape is how much one escape may take, in bytes.
	longestEscape = 40
)

// decodedText is a text with the escapes of some encodings undone.
type decodedText struct {
	text []byte
	// starts holds, for each byte and for the end, where in the original text the
	// character or escape begins that it comes from.
	starts []int32
}

// sourceSpan is the part of the original text that from to to was made of.
func (v decodedText) sourceSpan(from, to int) span {
	if v.starts == nil {
		return span{from, to}
	}
	end := to
	// A secret may end inside the bytes that one escape encodes.
	for end < len(v.text) && v.starts[end] == v.starts[to-1] {
		end++
	}
	return span{int(v.starts[from]), int(v.starts[end])}
}

// unescape decodes one escape at the beginning of a text and returns its length, or 0 if
// there is none.
type unescape func(text []byte) (decoded []byte, length int)

// decoder undoes one kind of encoding.
type decoder struct {
	// marks are the bytes that an escape begins with.
	marks string
	read  unescape
}

var decoders = []decoder{{"%", readPercent}, {"\\", readBackslash}, {"&", readEntity}}

// formDecoder is used only for secrets with spaces: plus signs are everywhere.
var formDecoder = decoder{"%+", readForm}

// decodeViews returns every reading of a text in which at least one escape was undone.
func decodeViews(text string, withForms bool) []decodedText {
	all := decoders
	if withForms {
		all = append(slices.Clip(all), formDecoder)
	}
	if !hasMark([]byte(text), all) {
		return nil
	}
	plain := decodedText{text: []byte(text)}
	var found []decodedText
	level := []decodedText{plain}
	for range viewDepth {
		var next []decodedText
		for _, v := range level {
			for _, d := range all {
				decoded, changed := d.decodeView(v)
				if changed && len(found) < maxViews && !holdsView(found, decoded) {
					found, next = append(found, decoded), append(next, decoded)
				}
			}
		}
		level = next
	}
	return found
}

func hasMark(text []byte, all []decoder) bool {
	for _, d := range all {
		if d.firstEscape(text) >= 0 {
			return true
		}
	}
	return false
}

func holdsView(all []decodedText, v decodedText) bool {
	for _, other := range all {
		if bytes.Equal(other.text, v.text) {
			return true
		}
	}
	return false
}

// firstEscape is where the first escape may be; -1 means that there is none.
func (d decoder) firstEscape(text []byte) int {
	if len(d.marks) == 1 {
		return bytes.IndexByte(text, d.marks[0])
	}
	return bytes.IndexAny(text, d.marks)
}

// decodeView undoes the escapes of a view.
func (d decoder) decodeView(v decodedText) (out decodedText, changed bool) {
	next := d.firstEscape(v.text)
	if next < 0 {
		return decodedText{}, false
	}
	out.text = make([]byte, 0, len(v.text))
	out.starts = make([]int32, 0, len(v.text)+1)
	for at := 0; at < len(v.text); {
		if next < 0 {
			next = len(v.text) - at
		}
		for range next {
			out.text = append(out.text, v.text[at])
			out.starts = append(out.starts, v.sourceStart(at))
			at++
		}
		if at == len(v.text) {
			break
		}
		decoded, length := d.read(v.text[at:])
		if length == 0 {
			decoded, length = v.text[at:at+1], 1
		} else {
			changed = true
		}
		for _, b := range decoded {
			out.text = append(out.text, b)
			out.starts = append(out.starts, v.sourceStart(at))
		}
		at += length
		next = d.firstEscape(v.text[at:])
	}
	out.starts = append(out.starts, v.sourceStart(len(v.text)))
	return out, changed
}

func (v decodedText) sourceStart(i int) int32 {
	if v.starts == nil {
		return int32(i)
	}
	return v.starts[i]
}

// readForm decodes HTML form encoding: a plus is a space.
func readForm(text []byte) ([]byte, int) {
	if text[0] == '+' {
		return []byte(" "), 1
	}
	return readPercent(text)
}

// readPercent reads %2F, and %u002F as JavaScript's old escape writes it.
func readPercent(text []byte) ([]byte, int) {
	if len(text) < 3 {
		return nil, 0
	}
	if n, ok := readHex(text[1:], 2); ok {
		return []byte{byte(n)}, 3
	}
	if text[1] == 'u' {
		return readUnicode(text)
	}
	return nil, 0
}

func readHex(text []byte, digits int) (uint64, bool) {
	if len(text) < digits {
		return 0, false
	}
	n, err := strconv.ParseUint(string(text[:digits]), 16, 32)
	return n, err == nil
}

// letterEscapes maps the letter after a backslash to the byte that it stands for.
var letterEscapes = map[byte]byte{'n': '\n', 't': '\t', 'r': '\r', 'b': '\b', 'f': '\f',
	'v': '\v', 'a': '\a'}

// readBackslash reads the escapes of JSON, and of string literals of other languages,
// shells and regular expressions.
func readBackslash(text []byte) ([]byte, int) {
	if len(text) < 2 {
		return nil, 0
	}
	switch c := text[1]; c {
	case 'u':
		return readUnicode(text)
	case 'U':
		if n, ok := readHex(text[2:], 8); ok && n <= utf8.MaxRune {
			return utf8.AppendRune(nil, rune(n)), 10
		}
	case 'x':
		if len(text) > 2 && text[2] == '{' {
			return readUnicode(text)
		}
		if n, ok := readHex(text[2:], 2); ok {
			return []byte{byte(n)}, 4
		}
	case '0', '1', '2', '3':
		return readOctal(text)
	default:
		if b, ok := letterEscapes[c]; ok {
			return []byte{b}, 2
		}
		if c >= ' ' && c < 0x7f && !isAlphanumeric(c) {
			return []byte{c}, 2
		}
	}
	return nil, 0
}

func isAlphanumeric(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// readOctal reads \303, as C, git and shells write bytes.
func readOctal(text []byte) ([]byte, int) {
	if len(text) < 4 {
		return nil, 0
	}
	n, err := strconv.ParseUint(string(text[1:4]), 8, 8)
	if err != nil {
		return nil, 0
	}
	return []byte{byte(n)}, 4
}

// readUnicode reads \u002f, or two of them that are one character together, \u{2f} of
// JavaScript and \x{2f} of Perl, and %u002f.
func readUnicode(text []byte) ([]byte, int) {
	if len(text) > 2 && text[2] == '{' {
		end := bytes.IndexByte(text[:min(len(text), len(`\u{10FFFF}`))], '}')
		if end < 0 {
			return nil, 0
		}
		n, err := strconv.ParseUint(string(text[3:end]), 16, 32)
		if err != nil || n > utf8.MaxRune {
			return nil, 0
		}
		return utf8.AppendRune(nil, rune(n)), end + 1
	}
	n, ok := readHex(text[2:], 4)
	if !ok {
		return nil, 0
	}
	r := rune(n)
	if utf16.IsSurrogate(r) && len(text) >= 12 && text[6] == text[0] && text[7] == 'u' {
		if low, ok := readHex(text[8:], 4); ok {
			if both := utf16.DecodeRune(r, rune(low)); both != utf8.RuneError {
				return utf8.AppendRune(nil, both), 12
			}
		}
	}
	return utf8.AppendRune(nil, r), 6
}

// readEntity reads &lt;, &#60; and &#x3C;. Without the semicolon, which encoders
// always write, it would be the beginning of many words.
func readEntity(text []byte) ([]byte, int) {
	end := bytes.IndexByte(text[:min(len(text), longestEscape)], ';')
	if end < 2 {
		return nil, 0
	}
	name := string(text[1:end])
	if number, numeric := strings.CutPrefix(name, "#"); numeric {
		base := 10
		if digits := strings.TrimLeft(number, "xX"); digits != number {
			number, base = digits, 16
		}
		n, err := strconv.ParseUint(number, base, 32)
		if err != nil || n > utf8.MaxRune {
			return nil, 0
		}
		return utf8.AppendRune(nil, rune(n)), end + 1
	}
	for i := range len(name) {
		if !isAlphanumeric(name[i]) {
			return nil, 0
		}
	}
	decoded := html.UnescapeString("&" + name + ";")
	if strings.HasSuffix(decoded, ";") && name != "semi" {
		// Unknown, or only its beginning is known.
		return nil, 0
	}
	return []byte(decoded), end + 1
}
