package mailbox

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding/htmlindex"
)

const (
	// maxHeader is how much of a mail's header is read, maxFields how many of its fields, and
	// maxValue how much of each.
	maxHeader = 256 << 10
	maxFields = 200
	maxValue  = 8 << 10
	// shownValue is what a list shows of a field.
	shownValue = 500
)

// Field is one field of a header, with its encoded words decoded.
type Field struct {
	Name  string
	Value string
}

// header is the beginning of a mail, in the order of its fields.
type header struct {
	fields []Field
	// problem is why it is not whole.
	problem string
}

// readHeader reads up to the empty line after a header. Lines that are no fields are left out:
// applications write what they like, and people want to see the rest.
func readHeader(in *bufio.Reader) (h header, err error) {
	read, most := 0, maxValue
	for {
		line, err := readLine(in, most)
		if read += len(line); len(line) == 0 || err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return h, err
		}
		name, value, isField := strings.Cut(string(line), ":")
		switch {
		case read > maxHeader || len(h.fields) == maxFields:
			h.problem = fmt.Sprintf("Its header is very long: only the first %d fields are shown.",
				len(h.fields))
			// Only whether a line is empty counts from here on.
			read, most = maxHeader, 1
		case line[0] == ' ' || line[0] == '\t':
			h.continueField(string(line))
		case !isField || !isFieldName(name):
			h.problem = "Some lines of its header are not fields, and left out."
		default:
			h.fields = append(h.fields, Field{name, strings.TrimSpace(value)})
		}
	}
}

// continueField appends a line that begins with a space.
func (h *header) continueField(line string) {
	if len(h.fields) == 0 {
		return
	}
	last := &h.fields[len(h.fields)-1]
	if len(last.Value) < maxValue {
		last.Value += " " + strings.TrimSpace(line)
	}
}

func isFieldName(name string) bool {
	for _, c := range []byte(name) {
		if c <= ' ' || c > '~' {
			return false
		}
	}
	return name != ""
}

// readLine reads a line without its end, and of a long one the first bytes.
func readLine(in *bufio.Reader, most int) (line []byte, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if room := most - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return bytes.TrimRight(line, "\r\n"), err
		}
	}
}

// firstValue returns the first field of a name, undecoded.
func (h header) firstValue(name string) string {
	for _, f := range h.fields {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return ""
}

// decodeFields returns the fields as people read them.
func (h header) decodeFields() []Field {
	all := make([]Field, len(h.fields))
	for i, f := range h.fields {
		all[i] = Field{f.Name, decodeWords(f.Value)}
	}
	return all
}

// decodeWords decodes the encoded words of a field.
func decodeWords(value string) string {
	d := mime.WordDecoder{CharsetReader: func(charset string, in io.Reader) (io.Reader, error) {
		e, err := htmlindex.Get(charset)
		if err != nil {
			return nil, err
		}
		return e.NewDecoder().Reader(in), nil
	}}
	text, err := d.DecodeHeader(value)
	if err != nil {
		text = value
	}
	return cleanText(text)
}

// cleanText makes sure that a text is UTF-8 on one line.
func cleanText(text string) string {
	return strings.Map(func(r rune) rune {
		if isControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "\uFFFD"))
}

// summarizeMail makes a list's entry from the beginning of a mail.
func summarizeMail(e Envelope, begin []byte) Summary {
	// An error means that there is no more: what was read counts.
	h, _ := readHeader(bufio.NewReader(bytes.NewReader(begin)))
	return Summary{Envelope: e, Subject: shortenText(decodeWords(h.firstValue("Subject"))),
		Sender:     shortenText(decodeWords(h.firstValue("From"))),
		Recipients: shortenText(decodeWords(h.firstValue("To")))}
}

func shortenText(text string) string {
	if len(text) <= shownValue {
		return text
	}
	cut := shownValue
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + "…"
}
