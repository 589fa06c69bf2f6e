package ingress

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

// plainWriter is the http.ResponseWriter of plain requests. It collects the head and a short body,
// so that they leave in one write. Contrary to net/http's it guesses no Content-Type, and the
// connection cannot be taken over: requests for an upgrade are not plain.
type plainWriter struct {
	conn   *plainConn
	header http.Header

	status int  // 0 until the head of the answer was given
	begun  bool // the head is complete in out, or was sent
	// bodyless answers have no body whatever is written: of HEAD, of 204, of 304.
	bodyless, chunked bool
	length, written   int64 // length is what the head says, or -1
	closes            bool  // the connection ends with this answer
	failed            error

	out  *plainBuffer // what was not sent yet; of a head that is not complete, the beginning
	body *plainBuffer // the beginning of a body whose length is not known yet
}

// plainBuffer has room for the heads of most answers with a short body.
type plainBuffer struct{ b []byte }

const (
	plainBufferSize = 8 << 10
	// lengthUpTo is the longest body that gets a length of us. Longer ones are chunked.
	lengthUpTo = 2 << 10
)

var plainBuffers = sync.Pool{New: func() any {
	return &plainBuffer{make([]byte, 0, plainBufferSize)}
}}

func putBuffer(b **plainBuffer) {
	if *b != nil && cap((*b).b) <= 2*plainBufferSize {
		(*b).b = (*b).b[:0]
		plainBuffers.Put(*b)
	}
	*b = nil
}

// beginAnswer prepares the writer for the next request.
func (w *plainWriter) beginAnswer() {
	clear(w.header)
	*w = plainWriter{conn: w.conn, header: w.header, length: -1,
		out: plainBuffers.Get().(*plainBuffer)}
}

// releaseBuffers gives the buffers back.
func (w *plainWriter) releaseBuffers() {
	putBuffer(&w.out)
	putBuffer(&w.body)
}

// Header implements http.ResponseWriter.
func (w *plainWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *plainWriter) WriteHeader(status int) {
	switch {
	case w.status != 0:
		return
	case status < http.StatusOK:
		w.writeInterim(status)
		return
	}
	w.status = status
	w.bodyless = w.conn.request.Method == http.MethodHead || !mayHaveBody(status)
	w.closes = w.conn.request.Close || w.conn.server.plain.ending.Load() ||
		headerHas(w.header, "Connection", "close")
	w.writeStatusLine(status)
	if mayHaveBody(status) {
		w.declareLength()
	}
	w.writeHeaders(status)
	if !mayHaveBody(status) || w.length >= 0 {
		w.begun = true
		w.appendText("\r\n")
	}
}

func headerHas(h http.Header, name, value string) bool {
	return len(h[name]) > 0 && h[name][0] == value
}

func mayHaveBody(status int) bool {
	return status >= http.StatusOK && status != http.StatusNoContent &&
		status != http.StatusNotModified
}

// writeInterim sends a 1xx answer at once. Another answer follows it.
func (w *plainWriter) writeInterim(status int) {
	w.writeStatusLine(status)
	for name, values := range w.header {
		if name != "Content-Length" && name != "Transfer-Encoding" {
			w.writeHeader(name, values)
		}
	}
	w.appendText("\r\n")
	_ = w.send(nil)
}

func (w *plainWriter) writeStatusLine(status int) {
	out := append(w.out.b, "HTTP/1.1 "...)
	out = strconv.AppendInt(out, int64(status), 10)
	out = append(out, ' ')
	if text := http.StatusText(status); text != "" {
		out = append(out, text...)
	} else {
		out = append(out, "status code "...)
		out = strconv.AppendInt(out, int64(status), 10)
	}
	w.out.b = append(out, "\r\n"...)
}

// declareLength reads the length that the handler has set, and drops one that is none.
func (w *plainWriter) declareLength() {
	values := w.header["Content-Length"]
	if len(values) == 0 {
		return
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil || n < 0 {
		delete(w.header, "Content-Length")
		return
	}
	w.length = n
}

// writeHeaders writes all headers that do not depend on the body.
func (w *plainWriter) writeHeaders(status int) {
	dated := false
	for name, values := range w.header {
		switch name {
		case "Connection", "Transfer-Encoding":
			continue // written here, if at all
		case "Content-Length":
			if !mayHaveBody(status) {
				continue
			}
		case "Content-Type":
			if status == http.StatusNotModified {
				continue
			}
		case "Date":
			dated = true
		}
		if !strings.HasPrefix(name, http.TrailerPrefix) {
			w.writeHeader(name, values)
		}
	}
	if !dated {
		w.appendText("Date: ")
		w.out.b = time.Now().UTC().AppendFormat(w.out.b, http.TimeFormat)
		w.appendText("\r\n")
	}
	if w.closes {
		w.appendText("Connection: close\r\n")
	}
}

func (w *plainWriter) writeHeader(name string, values []string) {
	if !isHeaderName(name) {
		return
	}
	for _, value := range values {
		w.appendText(name)
		w.appendText(": ")
		w.appendText(cleanValue(value))
		w.appendText("\r\n")
	}
}

// isHeaderName is for what a service sends, which may have an underscore.
func isHeaderName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !plainBytes[c].name && c != '_' {
			return false
		}
	}
	return name != ""
}

var lineEndToSpace = strings.NewReplacer("\r", " ", "\n", " ")

// cleanValue keeps a value on its line.
func cleanValue(value string) string {
	if strings.IndexByte(value, '\n') >= 0 || strings.IndexByte(value, '\r') >= 0 {
		value = lineEndToSpace.Replace(value)
	}
	return strings.Trim(value, " \t")
}

func (w *plainWriter) appendText(s string) { w.out.b = append(w.out.b, s...) }

// Write implements http.ResponseWriter.
func (w *plainWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	switch {
	case w.failed != nil:
		return 0, w.failed
	case !mayHaveBody(w.status):
		return 0, http.ErrBodyNotAllowed
	case w.length >= 0 && w.written+int64(len(p)) > w.length:
		w.closes = w.closes || !w.bodyless
		return 0, http.ErrContentLength
	}
	w.written += int64(len(p))
	if w.bodyless || len(p) == 0 {
		return len(p), nil
	}
	if !w.begun && w.written <= lengthUpTo {
		if w.body == nil {
			w.body = plainBuffers.Get().(*plainBuffer)
		}
		w.body.b = append(w.body.b, p...)
		return len(p), nil
	}
	w.beginChunks()
	return len(p), w.writeBody(p)
}

// beginChunks completes the head of an answer whose length nobody knows.
func (w *plainWriter) beginChunks() {
	if w.begun {
		return
	}
	w.begun = true
	if w.bodyless {
		w.appendText("\r\n")
		return
	}
	w.chunked = true
	w.appendText("Transfer-Encoding: chunked\r\n\r\n")
	if w.body != nil {
		_ = w.writeBody(w.body.b) // into memory
		putBuffer(&w.body)
	}
}

// writeBody collects what is short, and sends what is not with all before it.
func (w *plainWriter) writeBody(p []byte) error {
	if w.chunked {
		w.out.b = strconv.AppendInt(w.out.b, int64(len(p)), 16)
		w.appendText("\r\n")
	}
	const chunkEnd = 2
	if len(w.out.b)+len(p)+chunkEnd > plainBufferSize {
		if err := w.send(p); err != nil {
			return err
		}
	} else {
		w.out.b = append(w.out.b, p...)
	}
	if w.chunked {
		w.appendText("\r\n")
	}
	return nil
}

// send writes what was collected, and p behind it.
func (w *plainWriter) send(p []byte) error {
	if w.failed != nil {
		return w.failed
	}
	var err error
	switch {
	case len(p) == 0:
		_, err = w.conn.under.Write(w.out.b)
	case len(w.out.b) == 0:
		_, err = w.conn.under.Write(p)
	default:
		both := net.Buffers{w.out.b, p}
		_, err = both.WriteTo(w.conn.under.TCPConn)
	}
	w.out.b = w.out.b[:0]
	if err != nil {
		w.failed, w.closes = err, true
		w.conn.cancelRequest()
	}
	return err
}

// FlushError is what http.ResponseController calls.
func (w *plainWriter) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	w.beginChunks()
	if len(w.out.b) == 0 {
		return w.failed
	}
	return w.send(nil)
}

// ReadFrom implements io.ReaderFrom: the kernel moves a body of known length from one connection
// to the other.
func (w *plainWriter) ReadFrom(from io.Reader) (n int64, err error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.length < 0 || w.bodyless {
		return io.Copy(struct{ io.Writer }{w}, from)
	}
	if err := w.FlushError(); err != nil {
		return 0, err
	}
	// The kernel does it for a connection below one limit, and not below two.
	limited, ok := from.(*io.LimitedReader)
	if left := w.length - w.written; !ok || limited.N > left {
		limited = &io.LimitedReader{R: from, N: left}
	}
	n, err = w.conn.under.TCPConn.ReadFrom(limited)
	w.written += n
	if err != nil {
		w.failed, w.closes = err, true
	}
	return n, err
}

// endAnswer completes and sends the answer.
func (w *plainWriter) endAnswer() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !w.begun && w.isLengthKnown() {
		w.begun = true
		w.appendText("Content-Length: ")
		w.out.b = strconv.AppendInt(w.out.b, w.written, 10)
		w.appendText("\r\n\r\n")
		if w.body != nil {
			w.out.b = append(w.out.b, w.body.b...)
		}
	}
	w.beginChunks()
	if w.chunked {
		w.writeTrailers()
	}
	if len(w.out.b) > 0 {
		_ = w.send(nil)
	}
	if !w.bodyless && w.length >= 0 && w.written != w.length {
		w.closes = true // the client must not take what follows for the rest
	}
	w.releaseBuffers()
}

// isLengthKnown reports whether an answer that ends, and of which nothing was sent, gets a length.
// Of HEAD it is that of what the handler would have sent, if it did not look at the method.
func (w *plainWriter) isLengthKnown() bool {
	if w.bodyless {
		return 0 < w.written && w.written <= lengthUpTo
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return false
		}
	}
	return true
}

func (w *plainWriter) writeTrailers() {
	w.appendText("0\r\n")
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			w.writeHeader(name, values)
		}
	}
	w.appendText("\r\n")
}
