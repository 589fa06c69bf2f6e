package ingress

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"runtime/debug"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// plainConn is a client's connection on which only plain requests have come: GET, HEAD or OPTIONS
// of HTTP/1.1 without a body and without anything unusual. One goroutine reads them and calls the
// same handler that net/http's server would call. That server starts a goroutine for each request,
// which watches for the client's leaving, and makes a context, a map and several buffers; here they
// belong to the connection, and only a request that lasts is watched.
//
// At the first request that is not plain, the connection goes to net/http's server, which reads
// that request from its first byte. Nothing is refused here.
type plainConn struct {
	server *Server
	hand   func(net.Conn)
	conn   net.Conn
	under  *idleconn.Conn
	ctx    context.Context // ends with the connection
	cancel context.CancelFunc
	blank  *http.Request // what all requests of the connection have in common

	request http.Request
	header  http.Header
	values  []string // of the header
	answer  plainWriter
	rest    []byte      // of later requests
	unwatch func() bool // stopWatch; made once, it costs nothing per request

	mu       sync.Mutex
	state    plainState
	served   bool          // a request was answered
	since    int64         // the tick at which the state began
	left     bool          // the client is gone
	watching chan struct{} // closed when the goroutine that watches the client has ended
	upstream *conn         // closed when the client leaves
}

type plainState int

const (
	plainIdle    plainState = iota // waits for the first byte of a request
	plainReading                   // has a part of a head
	plainActive                    // answers a request
	plainGone                      // closed, or handed over
)

// plainRoom bounds the head of a plain request.
const plainRoom = 8 << 10

var plainRooms = sync.Pool{New: func() any { return new([plainRoom]byte) }}

// newPlainConn returns nil for a connection that is not plain TCP, such as one of TLS.
func newPlainConn(s *Server, c net.Conn, hand func(net.Conn)) *plainConn {
	c = idleconn.WrapConn(c)
	if idleconn.FindPlain(c) == nil {
		return nil
	}
	ctx, cancel := context.WithCancel(context.Background())
	p := &plainConn{server: s, hand: hand, conn: c, under: idleconn.FindConn(c), ctx: ctx,
		cancel: cancel, header: make(http.Header), values: make([]string, 0, 16)}
	p.blank = new(http.Request).WithContext(ctx)
	p.blank.Proto, p.blank.ProtoMajor, p.blank.ProtoMinor = "HTTP/1.1", 1, 1
	p.blank.Header, p.blank.Body = p.header, http.NoBody
	p.blank.RemoteAddr = c.RemoteAddr().String()
	p.answer = plainWriter{conn: p, header: make(http.Header)}
	p.unwatch = p.stopWatch
	return p
}

// serve answers requests until the connection ends or is handed over.
func (p *plainConn) serve() {
	defer func() {
		if failed := recover(); failed != nil && failed != http.ErrAbortHandler {
			p.server.ErrorLog.Printf("panic serving %s: %v\n%s", p.blank.RemoteAddr, failed, debug.Stack())
		}
		p.answer.releaseBuffers()
		p.endConn()
	}()
	for p.serveNext() {
	}
}

// serveNext waits for a request and answers it.
func (p *plainConn) serveNext() bool {
	if len(p.rest) == 0 && p.under.Wait() != nil {
		return false
	}
	room := plainRooms.Get().(*[plainRoom]byte)
	defer func() {
		if room != nil {
			plainRooms.Put(room)
		}
	}()
	size, n, found := p.readHead(room[:])
	switch found {
	case headOdd:
		p.handOver(bytes.Clone(room[:n]))
		return false
	case headWhole:
		p.rest = append(p.rest[:0], room[size:n]...)
	default:
		return false
	}
	plainRooms.Put(room)
	room = nil
	if !p.beginRequest() {
		return false
	}
	p.answer.beginAnswer()
	p.server.Handler.ServeHTTP(&p.answer, &p.request)
	p.answer.endAnswer()
	return p.finishRequest()
}

// readHead reads until there is a whole head in room. size is the head's, n what was read.
func (p *plainConn) readHead(room []byte) (size, n int, found headState) {
	n = copy(room, p.rest)
	for {
		if n > 0 {
			if size, found = p.parseHead(room[:n]); found != headPartial {
				return size, n, found
			}
		}
		if n == len(room) {
			return 0, n, headOdd
		}
		if n > 0 && !p.waitForRest() {
			return 0, n, headEnded
		}
		more, err := p.conn.Read(room[n:])
		n += more
		switch {
		case more > 0 || err == nil:
		case n > 0 && errors.Is(err, io.EOF):
			return 0, n, headOdd // net/http's server answers half a request
		default:
			return 0, n, headEnded
		}
	}
}

// waitForRest is called when a part of a head has come. The rest has to come soon.
func (p *plainConn) waitForRest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == plainGone {
		return false
	}
	if p.state == plainIdle {
		p.state = plainReading
		return p.conn.SetReadDeadline(time.Now().Add(p.server.ReadHeaderTimeout)) == nil
	}
	return true
}

// beginRequest begins a request, unless the connection was closed meanwhile for being idle.
func (p *plainConn) beginRequest() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == plainGone {
		return false
	}
	if p.state == plainReading && p.conn.SetReadDeadline(time.Time{}) != nil {
		return false
	}
	p.state, p.since = plainActive, p.server.plain.now.Load()
	return true
}

// finishRequest ends a request, and says whether the connection can take another one.
func (p *plainConn) finishRequest() bool {
	p.mu.Lock()
	ended := p.left || p.answer.closes || p.state == plainGone
	if !ended {
		p.state, p.served, p.since = plainIdle, true, p.server.plain.now.Load()
	}
	watching := p.watching
	p.watching, p.upstream = nil, nil
	p.mu.Unlock()
	if ended {
		return false
	}
	return watching == nil || p.endWatch(watching)
}

// endWatch waits for the goroutine that watches the client: there must be one reader only.
func (p *plainConn) endWatch(watching chan struct{}) bool {
	if p.conn.SetReadDeadline(time.Unix(1, 0)) != nil {
		return false
	}
	<-watching
	return p.conn.SetReadDeadline(time.Time{}) == nil
}

// handOver gives the connection to net/http's server, with what was read of it.
func (p *plainConn) handOver(read []byte) {
	p.mu.Lock()
	gone := p.state == plainGone
	reading := p.state == plainReading
	p.state = plainGone
	p.mu.Unlock()
	if gone || reading && p.conn.SetReadDeadline(time.Time{}) != nil {
		return
	}
	p.under.Unread(read)
	conn := p.conn
	p.conn = nil
	p.server.plain.removeConn(p)
	p.hand(conn)
}

// endConn closes the connection, unless it was handed over.
func (p *plainConn) endConn() {
	p.server.plain.removeConn(p)
	p.mu.Lock()
	p.state = plainGone
	p.mu.Unlock()
	p.cancel()
	if p.conn != nil {
		_ = p.conn.Close()
	}
}

// checkTime closes a connection that has been idle for too long, and has the client watched during
// a request that lasts.
func (p *plainConn) checkTime(now int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch p.state {
	case plainIdle:
		if limit := p.server.idleLimit(p.served); limit > 0 && now-p.since > ticksIn(limit) {
			p.closeLocked()
		}
	case plainActive:
		if p.watching == nil && now-p.since > 1 {
			p.watching = make(chan struct{})
			go p.watchClient(p.watching)
		}
	}
}

// closeIdle closes the connection if no request is under way on it, nor can be expected: a new one
// is left alone for a while.
func (p *plainConn) closeIdle(now int64, fresh time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state == plainIdle && (p.served || now-p.since > ticksIn(fresh)) {
		p.closeLocked()
	}
}

// close closes the connection, whatever it does.
func (p *plainConn) close() {
	p.cancelRequest()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.state != plainGone {
		p.closeLocked()
	}
}

func (p *plainConn) closeLocked() {
	p.state = plainGone
	_ = p.conn.Close()
}

// watchClient ends the request when its client leaves. It reads nothing; what comes meanwhile is
// the next request.
func (p *plainConn) watchClient(done chan<- struct{}) {
	defer close(done)
	err := p.under.Wait()
	if err == nil {
		err = p.under.PeekEnd()
	}
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		p.cancelRequest()
	}
}

// cancelRequest ends what is being done for the client.
func (p *plainConn) cancelRequest() {
	p.mu.Lock()
	p.left = true
	upstream := p.upstream
	p.mu.Unlock()
	p.cancel()
	if upstream != nil {
		upstream.close()
	}
}

// watchFor has c closed when the client leaves, until the returned function is called, which says
// whether c is still open. It is what context.AfterFunc does, at no cost.
func (p *plainConn) watchFor(c *conn) func() bool {
	p.mu.Lock()
	p.upstream = c
	left := p.left
	p.mu.Unlock()
	if left {
		c.close()
	}
	return p.unwatch
}

func (p *plainConn) stopWatch() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.upstream = nil
	return !p.left
}
