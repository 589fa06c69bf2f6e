package mailbox

import (
	"bufio"
	"encoding/base64"
	"errors"
	"fmt"
	"html"
	"io"
	"mime/multipart"
	"mime/quotedprintable"
	"regexp"
	"slices"
	"strings"
	"unicode"

	"golang.org/x/text/encoding/htmlindex"
	bom "golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
)

const (
	// maxDepth and maxParts bound the tree of parts; no mail program makes a deeper one.
	maxDepth = 8
	maxParts = 100
	// maxText is how much of a text or an HTML page is shown.
	maxText = 1 << 20
	// maxLinks is how many links are listed.
	maxLinks = 100
)

// Message is a mail as people read it.
type Message struct {
	Summary
	Header []Field
	// Text and HTML are UTF-8. HTML is as the application wrote it: nobody may take it for safe.
	Text, HTML string
	// Links are the web addresses in the text and the HTML, each once.
	Links       []string
	Attachments []Attachment
	// Problems are sentences about what cannot be shown.
	Problems []string
}

// Attachment is a part that is not shown as text.
type Attachment struct {
	// Index is the part's place in the mail.
	Index     int
	Name      string
	Type      string
	Bytes     int64
	ContentID string
}

// Read reads a mail.
func (b *Box) Read(number int64) (m Message, err error) {
	b.store.parsers <- struct{}{}
	defer func() { <-b.store.parsers }()
	return b.walkParts(number, nil)
}

// Part calls use with one part of a mail, decoded.
func (b *Box) Part(number int64, index int, use func(Attachment, io.Reader) error) error {
	b.store.parsers <- struct{}{}
	defer func() { <-b.store.parsers }()
	found := false
	_, err := b.walkParts(number, func(a Attachment, content io.Reader) error {
		if a.Index != index {
			return nil
		}
		found = true
		return use(a, content)
	})
	if err == nil && !found {
		return ErrNoMail
	}
	return err
}

// walkParts reads a mail, and calls visit, which may be nil, with each attachment.
func (b *Box) walkParts(
	number int64, visit func(Attachment, io.Reader) error,
) (m Message, err error) {
	summary, mail, err := b.openFile(number)
	if err != nil {
		return m, err
	}
	defer func() { _ = mail.Close() }()
	w := &walker{visit: visit}
	w.Summary = summary
	h, err := readHeader(mail.Reader)
	if err != nil {
		return m, fmt.Errorf("read a mail: %w", err)
	}
	w.Header = h.decodeFields()
	w.addProblem(h.problem)
	w.readPart(h.firstValue, mail.Reader, 0)
	if w.failed != nil {
		return m, w.failed
	}
	w.Links = findLinks(w.HTML, w.Text)
	return w.Message, nil
}

// walker goes through the parts of one mail.
type walker struct {
	Message
	visit  func(Attachment, io.Reader) error
	parts  int
	failed error
}

func (w *walker) addProblem(sentence string) {
	if sentence != "" && !slices.Contains(w.Problems, sentence) {
		w.Problems = append(w.Problems, sentence)
	}
}

// readPart reads one part and those in it. field returns the part's header fields.
func (w *walker) readPart(field func(string) string, body io.Reader, depth int) {
	kind, params := readMediaType(field("Content-Type"))
	kind = firstOf(kind, "text/plain")
	if strings.HasPrefix(kind, "multipart/") && params["boundary"] != "" {
		w.readParts(body, params["boundary"], depth)
		return
	}
	index := w.parts
	w.parts++
	decoded := decodeTransfer(field("Content-Transfer-Encoding"), body)
	disposition, names := readMediaType(field("Content-Disposition"))
	name := decodeWords(firstOf(names["filename"], params["name"]))
	shown := disposition != "attachment" && name == ""
	switch {
	case shown && kind == "text/plain":
		w.addText(decoded, params["charset"])
	case shown && kind == "text/html" && w.HTML == "":
		w.HTML = w.readText(decoded, params["charset"])
	default:
		w.addAttachment(Attachment{Index: index, Name: fileName(name), Type: shortenText(kind),
			ContentID: strings.Trim(field("Content-ID"), "<> ")}, decoded)
	}
}

// fileName is what an attachment may be called: no folder, and nothing that leads to one or that
// turns the direction of text, which makes exe.pdf of fdp.exe.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, name)
	name = strings.TrimLeft(name[strings.LastIndexAny(name, `/\:`)+1:], ". ")
	return shortenText(name)
}

// readParts reads the parts of a multipart.
func (w *walker) readParts(body io.Reader, boundary string, depth int) {
	if depth == maxDepth {
		w.addProblem(fmt.Sprintf("Its parts are nested more than %d deep: the rest is not shown.",
			maxDepth))
		return
	}
	// The reader of the standard library bounds the headers of the parts.
	parts := multipart.NewReader(body, boundary)
	for first := true; w.failed == nil; first = false {
		part, err := parts.NextRawPart()
		switch {
		case errors.Is(err, io.EOF):
			if first {
				w.addProblem("It should have parts, but none was found.")
			}
			return
		case err != nil:
			w.addProblem("One of its parts is damaged: the rest is not shown.")
			return
		case w.parts >= maxParts:
			w.addProblem(fmt.Sprintf("It has more than %d parts: the rest is not shown.", maxParts))
			return
		}
		w.readPart(part.Header.Get, part, depth+1)
		// Empty multiparts count too: each costs as much as a part.
		w.parts++
	}
}

func (w *walker) addText(content io.Reader, charset string) {
	text := w.readText(content, charset)
	if w.Text != "" && text != "" {
		w.Text += "\n"
	}
	w.Text = cutValid(w.Text+text, maxText)
}

// readText reads a text as UTF-8, up to maxText.
func (w *walker) readText(content io.Reader, charset string) string {
	// A mark at the beginning says more than the header does, and is no part of the text.
	var fallback transform.Transformer = transform.Nop
	if charset != "" {
		if e, err := htmlindex.Get(charset); err == nil {
			fallback = e.NewDecoder()
		} else if !strings.EqualFold(charset, "us-ascii") {
			w.addProblem("Its character set " + shortenText(cleanText(charset)) +
				" is not known: it was read as UTF-8.")
		}
	}
	content = transform.NewReader(content, bom.BOMOverride(fallback))
	data, err := io.ReadAll(io.LimitReader(content, maxText+1))
	if err != nil {
		w.addProblem("A text in it is damaged: it is shown as far as it could be read.")
	}
	if len(data) > maxText {
		w.addProblem("A text in it is very long: only its first MiB is shown.")
	}
	text := strings.ReplaceAll(strings.ToValidUTF8(string(data), "\uFFFD"), "\r\n", "\n")
	return cutValid(strings.Map(showControl, text), maxText)
}

// showControl makes characters visible that would steer what shows a text, such as NUL and ESC.
func showControl(r rune) rune {
	if r != '\n' && r != '\t' && isControl(r) {
		return '\uFFFD'
	}
	return r
}

// isControl finds control characters, also those after ASCII: to a terminal, U+009B is ESC and [.
func isControl(r rune) bool { return r < ' ' || r >= 0x7f && r < 0xa0 }

func cutValid(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "")
}

func (w *walker) addAttachment(a Attachment, content io.Reader) {
	if w.visit != nil {
		w.failed = w.visit(a, content)
	}
	rest, err := io.Copy(io.Discard, content)
	a.Bytes = rest
	if err != nil {
		w.addProblem("An attachment is damaged: it can be downloaded as far as it could be read.")
	}
	w.Attachments = append(w.Attachments, a)
}

// decodeTransfer undoes a transfer encoding.
func decodeTransfer(encoding string, body io.Reader) io.Reader {
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "quoted-printable":
		return quotedprintable.NewReader(body)
	case "base64":
		return base64.NewDecoder(base64.StdEncoding, &base64Text{from: bufio.NewReader(body)})
	}
	return body
}

// base64Text leaves out what is not base64, such as spaces.
type base64Text struct{ from io.Reader }

// Read implements io.Reader.
func (t *base64Text) Read(to []byte) (int, error) {
	for {
		n, err := t.from.Read(to)
		kept := 0
		for _, c := range to[:n] {
			if isBase64(c) {
				to[kept] = c
				kept++
			}
		}
		if kept > 0 || err != nil {
			return kept, err
		}
	}
}

func isBase64(c byte) bool {
	return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' || '0' <= c && c <= '9' ||
		c == '+' || c == '/' || c == '='
}

func firstOf(all ...string) string {
	for _, s := range all {
		if s != "" {
			return s
		}
	}
	return ""
}

var (
	// htmlLink is the target of a link in HTML; textLink is an address in a text.
	htmlLink = regexp.MustCompile(`(?i)<a\s[^>]*?href\s*=\s*["']?(https?://[^"'\s>]+)`)
	textLink = regexp.MustCompile(`https?://[^\s<>"']+`)
)

// findLinks returns the web addresses that a reader of the mail would click.
func findLinks(page, text string) (all []string) {
	add := func(link string) {
		if len(all) < maxLinks && len(link) <= maxValue && !slices.Contains(all, link) {
			all = append(all, link)
		}
	}
	for _, found := range htmlLink.FindAllStringSubmatch(page, maxLinks) {
		add(html.UnescapeString(found[1]))
	}
	for _, found := range textLink.FindAllString(text, maxLinks) {
		add(strings.TrimRight(found, ".,;:!?)]"))
	}
	return all
}
