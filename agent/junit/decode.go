package junit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"golang.org/x/text/encoding/charmap"
)

var (
	// declaration is the XML declaration with its encoding.
	declaration = regexp.MustCompile(
		`^\s*<\?xml\s[^>]{0,200}?\bencoding\s*=\s*["']([A-Za-z0-9._:-]{1,40})["']`)
	// terminalEscape is what colours text in a terminal, also as pytest writes it.
	terminalEscape = regexp.MustCompile(`^(?:\x1b|#x1[bB]|&#27;|&#x0*1[bB];)\[[0-9;?]*[A-Za-z]`)
	// illegalReference is a reference to a control character, which XML 1.0 does not allow.
	illegalReference = regexp.MustCompile(
		`^&#(?:x0*(?:[0-8bBcCeEfF]|1[0-9a-fA-F])|0*(?:[0-8]|1[124-9]|2[0-9]|3[01]));`)
)

// longestEscape is how many bytes one of these may take.
const longestEscape = 64

// decodeText returns a document as UTF-8. What XML forbids but runners write all the same,
// such as colours and broken characters, is removed: the results are worth more than the form.
func decodeText(data []byte) ([]byte, error) {
	text, err := convertEncoding(data)
	if err != nil {
		return nil, err
	}
	text = bytes.ToValidUTF8(text, []byte("\uFFFD"))
	clean := text[:0:0]
	from := 0
	for i := 0; i < len(text); {
		n := illegalLength(text[i:])
		if n == 0 {
			i++
			continue
		}
		clean = append(clean, text[from:i]...)
		i += n
		from = i
	}
	return append(clean, text[from:]...), nil
}

// illegalLength is how many bytes at the beginning of a text may not be in XML; usually none.
func illegalLength(text []byte) int {
	switch b := text[0]; {
	case b == 0x1b || b == '&' || b == '#':
		part := text[:min(len(text), longestEscape)]
		for _, r := range []*regexp.Regexp{terminalEscape, illegalReference} {
			if at := r.FindIndex(part); at != nil {
				return at[1]
			}
		}
		if b == 0x1b {
			return 1
		}
	case b < 0x20 && b != '\t' && b != '\n' && b != '\r':
		return 1
	case b == 0xef && (bytes.HasPrefix(text, []byte("\uFFFE")) ||
		bytes.HasPrefix(text, []byte("\uFFFF"))):
		return 3
	}
	return 0
}

func convertEncoding(data []byte) ([]byte, error) {
	switch {
	case bytes.HasPrefix(data, []byte("\xef\xbb\xbf")):
		return data[3:], nil
	case bytes.HasPrefix(data, []byte("\xff\xfe")):
		return decodeUTF16(data[2:], binary.LittleEndian), nil
	case bytes.HasPrefix(data, []byte("\xfe\xff")):
		return decodeUTF16(data[2:], binary.BigEndian), nil
	}
	declared := declaration.FindSubmatch(data)
	if declared == nil {
		return data, nil
	}
	switch strings.ToLower(string(declared[1])) {
	case "iso-8859-1", "latin1", "iso8859-1":
		return charmap.ISO8859_1.NewDecoder().Bytes(data)
	case "iso-8859-15":
		return charmap.ISO8859_15.NewDecoder().Bytes(data)
	case "windows-1252", "cp1252":
		return charmap.Windows1252.NewDecoder().Bytes(data)
	}
	// The declaration could be read byte by byte, so "utf-16" is not true; .NET writes it about
	// UTF-8. The same holds for all others whose bytes are valid UTF-8.
	if utf8.Valid(data) || strings.EqualFold(string(declared[1]), "utf-8") {
		return data, nil
	}
	return nil, fmt.Errorf("its encoding %q is not known here: write it as UTF-8", declared[1])
}

func decodeUTF16(data []byte, order binary.ByteOrder) []byte {
	units := make([]uint16, len(data)/2)
	for i := range units {
		units[i] = order.Uint16(data[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}
