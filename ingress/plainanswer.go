package ingress

import (
	"bytes"
	"io"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

// plainAnswer is the head of a service's answer, read without net/http: of HTTP/1.1, whole in the
// buffer, with a length or without a body, and without anything unusual. It belongs to the
// connection and is used again for the next answer: a http.ResponseWriter keeps nothing of the
// headers that it was given.
type plainAnswer struct {
	response http.Response
	header   http.Header
	values   []string
	body     lengthBody
}

// readAnswer reads the head of an answer.
func (c *conn) readAnswer(r *http.Request) (*http.Response, error) {
	if _, err := c.in.Peek(1); err == nil {
		arrived, err := c.in.Peek(c.in.Buffered())
		if size := c.answer.parse(arrived, r); err == nil && size > 0 {
			_, err = c.in.Discard(size)
			c.answer.body.c = c
			return &c.answer.response, err
		}
	}
	return http.ReadResponse(c.in, r)
}

// parse returns the size of the head, or 0 if net/http has to read it.
func (a *plainAnswer) parse(arrived []byte, r *http.Request) int {
	end := bytes.Index(arrived, endOfHead)
	if end < 0 {
		return 0
	}
	head := string(arrived[:end+len("\r\n")])
	line, head, _ := strings.Cut(head, "\r\n")
	a.response = http.Response{Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1, Request: r,
		Body: http.NoBody}
	if !a.parseStatusLine(line) || !a.parseHeader(head) || !a.readSpecialHeaders(r.Method) {
		return 0
	}
	return end + len(endOfHead)
}

// parseStatusLine reads the status of a final answer.
func (a *plainAnswer) parseStatusLine(line string) bool {
	status, ok := strings.CutPrefix(line, "HTTP/1.1 ")
	const digits = len("200")
	if !ok || len(status) < digits || len(status) > digits && status[digits] != ' ' ||
		!isPlainValue(status) {
		return false
	}
	for i := range digits {
		if status[i] < '0' || status[i] > '9' {
			return false
		}
		a.response.StatusCode = a.response.StatusCode*10 + int(status[i]-'0')
	}
	a.response.Status = status
	return a.response.StatusCode >= http.StatusOK
}

func (a *plainAnswer) parseHeader(head string) bool {
	if a.header == nil {
		a.header = make(http.Header)
	}
	clear(a.header)
	a.values = a.values[:0]
	for head != "" {
		line, rest, ended := strings.Cut(head, "\r\n")
		name, value, ok := strings.Cut(line, ":")
		if !ended || !ok || !isHeaderName(name) || !isPlainValue(value) {
			return false
		}
		a.values = addHeader(a.header, a.values, name, value)
		head = rest
	}
	a.response.Header = a.header
	return true
}

// addHeader adds a header to h. Its value is kept in values, which saves an allocation of its own.
func addHeader(h http.Header, values []string, name, value string) []string {
	name, value = textproto.CanonicalMIMEHeaderKey(name), textproto.TrimString(value)
	if former, ok := h[name]; ok {
		h[name] = append(former, value)
		return values
	}
	values = append(values, value)
	n := len(values)
	h[name] = values[n-1 : n : n] // an append must not write over the next one
	return values
}

// readSpecialHeaders reads what headers say about the body and the connection.
func (a *plainAnswer) readSpecialHeaders(method string) bool {
	h := a.header
	for _, odd := range []string{"Transfer-Encoding", "Trailer", "Pragma"} {
		if _, ok := h[odd]; ok {
			return false
		}
	}
	switch connection := h["Connection"]; {
	case len(connection) == 0:
	case len(connection) == 1 && strings.EqualFold(connection[0], "keep-alive"):
	case len(connection) == 1 && strings.EqualFold(connection[0], "close"):
		a.response.Close = true
		delete(h, "Connection") // as net/http does
	default:
		return false
	}
	length := h["Content-Length"]
	if method == http.MethodHead || !mayHaveBody(a.response.StatusCode) || len(length) != 1 {
		// Without a length a body ends with the connection.
		return len(length) == 0 && !mayHaveBody(a.response.StatusCode)
	}
	n, err := strconv.ParseUint(length[0], 10, 63)
	if err != nil {
		return false
	}
	a.response.ContentLength = int64(n)
	if n > 0 {
		a.body = lengthBody{left: int64(n)}
		a.response.Body = &a.body
	}
	return true
}

// lengthBody is a body of known length.
type lengthBody struct {
	c    *conn
	left int64
}

// Read implements io.Reader.
func (b *lengthBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, io.EOF
	}
	n, err := b.c.in.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	switch {
	case b.left == 0:
		err = io.EOF // spares another read
	case err == io.EOF:
		err = io.ErrUnexpectedEOF
	}
	return n, err
}

// Close implements io.Closer.
func (*lengthBody) Close() error { return nil }
