package ingress

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/textproto"
	"os"
	"strings"
	"time"
)

// Most requests are a GET without a body. net/http's Transport passes each one through two
// more goroutines, which costs about as much as all the rest, so these requests are written
// and read by the goroutine that serves the client. Only requests that may safely be sent
// again are handled this way: a connection that the service has closed is detected only by
// using it.

// maxHead bounds the head of an answer; net/http has no bound of its own here.
const maxHead = 256 << 10

var errStatus = errors.New("the status of the answer is less than 100")

var errHead = errors.New("the head of the answer is longer than 256 KiB")

// isPlain reports whether a request can be served without net/http's Transport.
func isPlain(r *http.Request) bool {
	switch r.Method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
	default:
		return false
	}
	return r.ContentLength == 0 && len(r.TransferEncoding) == 0 && len(r.Header["Expect"]) == 0
}

// servePlain asks the service and passes its answer on.
func (u *upstream) servePlain(w http.ResponseWriter, r *http.Request) {
	if c, res := u.fetchResponseHead(w, r); c != nil {
		u.finishAnswer(w, c, res)
	}
}

// fetchResponseHead sends the request and returns the head of the service's response, or writes an
// error page.
func (u *upstream) fetchResponseHead(
	w http.ResponseWriter, r *http.Request,
) (*conn, *http.Response) {
	c, res, err := u.sendRequest(w, r)
	if err == nil {
		if err = u.filterAnswer(res); err == nil {
			return c, res
		}
		c.close()
	}
	u.answerFailure(w, r, err)
	return nil, nil
}

// finishAnswer copies the response to the client.
func (u *upstream) finishAnswer(w http.ResponseWriter, c *conn, res *http.Response) {
	if err := u.copyAnswer(w, c, res); err != nil {
		c.close()
		// What has arrived is passed on; a truncated response must not look complete.
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}
	u.reuseOrClose(c, res)
}

// staleWithin is how soon a kept connection that had died shows it. One that ends later had a
// service at work on the request.
const staleWithin = time.Second

// sendRequest sends the request and reads the head of the response. If a kept connection
// turns out to be dead, it is sent once more, on a new one: had the request itself ended the
// service, it would end it on each kept connection. A timeout or a late end does not count as
// dead: the service has the request, and sending it again would execute it twice.
func (u *upstream) sendRequest(
	w http.ResponseWriter,
	r *http.Request,
) (*conn, *http.Response, error) {
	connect := u.idle.get
	for {
		c, err := connect(r.Context())
		if err != nil {
			return nil, nil, err
		}
		began := time.Now()
		res, err := c.roundTrip(w, r, u.owner.config.AnswerPatience)
		if err == nil {
			return c, res, nil
		}
		c.close()
		if !c.kept || c.heard || r.Context().Err() != nil ||
			errors.Is(err, os.ErrDeadlineExceeded) || time.Since(began) > staleWithin {
			return nil, nil, fmt.Errorf("ask %s: %w", u.route.Target, err)
		}
		connect = u.idle.openNew
	}
}

// copyAnswer copies the response. A response without a length is a stream: it is flushed
// whenever the service has sent no more for now.
func (u *upstream) copyAnswer(w http.ResponseWriter, c *conn, res *http.Response) error {
	h := w.Header()
	dropHops(res.Header)
	respellHeaders(res.Header)
	copyHeaders(h, res.Header)
	w.WriteHeader(res.StatusCode)
	if res.Body == http.NoBody {
		return nil
	}
	if from, to := canSplice(w, c, res); from != nil {
		return spliceBody(w, c, res, from, to)
	}
	buf := u.owner.buffers.Get()
	defer u.owner.buffers.Put(buf)
	events := strings.HasPrefix(res.Header.Get("Content-Type"), "text/event-stream")
	if events {
		c.leavePool()
	}
	stream := events || res.ContentLength < 0
	for {
		if stream && c.in.Buffered() == 0 {
			if err := http.NewResponseController(w).Flush(); err != nil {
				return err
			}
		}
		n, err := res.Body.Read(buf)
		if n > 0 {
			if _, err := w.Write(buf[:n]); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return passTrailers(w, res)
		}
		if err != nil {
			return err
		}
	}
}

func passTrailers(w http.ResponseWriter, res *http.Response) error {
	narrowExtras(res.Trailer)
	if len(res.Trailer) == 0 {
		return nil
	}
	// Without this a short body would get a length, and no trailers.
	if err := http.NewResponseController(w).Flush(); err != nil {
		return err
	}
	for name, values := range res.Trailer {
		w.Header()[http.TrailerPrefix+name] = values
	}
	return nil
}

// reuseOrClose keeps the connection if the next byte on it must belong to the next
// response. After HEAD it may belong to a body that should not have been sent.
func (u *upstream) reuseOrClose(c *conn, res *http.Response) {
	watched := c.unwatch()
	if !watched || res.Close || c.in.Buffered() > 0 || res.Request.Method == http.MethodHead {
		c.close()
		return
	}
	u.idle.put(c, time.Now())
}

// roundTrip writes one request and reads the head of its response, for which the service
// has as long as patience. From here until unwatch the connection is closed when the
// request's context ends.
func (c *conn) roundTrip(
	w http.ResponseWriter, r *http.Request, patience time.Duration,
) (*http.Response, error) {
	c.heard = false
	c.left = maxHead
	if plain, ok := w.(*plainWriter); ok && r.Context() == plain.conn.ctx {
		c.unwatch = plain.conn.watchFor(c)
	} else {
		c.unwatch = context.AfterFunc(r.Context(), c.close)
	}
	c.startPatience(patience)
	res, err := c.exchangeHeads(w, r)
	// A body may take as long as it takes.
	if !c.stopPatience() {
		return nil, os.ErrDeadlineExceeded
	}
	return res, err
}

// exchangeHeads writes one request and reads the head of its response.
func (c *conn) exchangeHeads(w http.ResponseWriter, r *http.Request) (*http.Response, error) {
	writeHead(c.out, r)
	if err := c.out.Flush(); err != nil {
		return nil, err
	}
	// Any number of 1xx answers may come first; maxHead bounds them all together.
	for {
		res, err := c.readAnswer(r)
		if err != nil {
			return nil, err
		}
		if res.StatusCode >= 200 || res.StatusCode == http.StatusSwitchingProtocols {
			c.left = math.MaxInt64
			return res, nil
		}
		if res.StatusCode < http.StatusContinue {
			return nil, errStatus
		}
		passInterim(w, r, res.StatusCode, res.Header)
	}
}

// writeHead writes a request without a body. Errors stay in the writer until
// its Flush.
func writeHead(out *bufio.Writer, r *http.Request) {
	write := func(parts ...string) {
		for _, p := range parts {
			_, _ = out.WriteString(p)
		}
	}
	// As it was sent: URL.RequestURI decodes %2F when the path also holds a byte that should have
	// been escaped. Bytes that could end the line were refused before.
	write(r.Method, " ", r.RequestURI, " HTTP/1.1\r\nHost: ", r.Host, "\r\n")
	named := r.Header["Connection"]
	for name, values := range r.Header {
		if isHop(name) || isProxyOnlyHeader(name) || name == "Content-Length" || listsToken(named, name) {
			continue
		}
		name = specSpelling(name)
		for _, v := range values {
			write(name, ": ", v, "\r\n")
		}
	}
	if wantsUpgrade(r) {
		write("Connection: Upgrade\r\nUpgrade: websocket\r\n")
	}
	ip, proto := clientOrigin(r)
	write("X-Forwarded-For: ", ip, "\r\nX-Forwarded-Host: ", r.Host,
		"\r\nX-Forwarded-Proto: ", proto, "\r\n\r\n")
}

// listsToken reports whether a Connection header lists another header.
func listsToken(connection []string, name string) bool {
	for _, line := range connection {
		for token := range strings.SplitSeq(line, ",") {
			if strings.EqualFold(textproto.TrimString(token), name) {
				return true
			}
		}
	}
	return false
}

// isHop finds the headers that belong to one connection (RFC 9110, 7.6.1).
func isHop(name string) bool {
	switch name {
	case "Connection", "Proxy-Connection", "Keep-Alive", "Proxy-Authenticate",
		"Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade":
		return true
	}
	return false
}

func dropHops(h http.Header) {
	named := h["Connection"]
	for name := range h {
		if isHop(name) || listsToken(named, name) {
			delete(h, name)
		}
	}
}
