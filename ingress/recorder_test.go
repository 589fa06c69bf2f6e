package ingress_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
)

// serveConns serves each connection with f and closes it afterwards.
func serveConns(t *testing.T, f func(net.Conn)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	open := map[net.Conn]bool{}
	var all sync.WaitGroup
	all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			open[c] = true
			mu.Unlock()
			all.Go(func() {
				f(c)
				_ = c.Close()
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		mu.Lock()
		for c := range open {
			_ = c.Close()
		}
		mu.Unlock()
		all.Wait()
	})
	return l.Addr().String()
}

// recorder is an upstream that keeps every byte it was sent and counts the
// requests a strict reader finds in them.
type recorder struct {
	addr string

	mu       sync.Mutex
	closed   *sync.Cond // after each connection's end
	ended    int        // connections that were served to their end
	all      bytes.Buffer
	requests []*http.Request
	broken   int // connections on which something was not a request
}

func newRecorder(t *testing.T) *recorder {
	r := new(recorder)
	r.closed = sync.NewCond(&r.mu)
	r.addr = serveConns(t, r.serve)
	return r
}

func (r *recorder) serve(c net.Conn) {
	defer r.end()
	in := bufio.NewReader(io.TeeReader(c, r))
	for {
		req, err := http.ReadRequest(in)
		if err != nil {
			r.judge(err)
			return
		}
		r.note(req)
		if _, err := io.Copy(io.Discard, req.Body); err != nil {
			r.judge(err)
			return
		}
		answer := "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
		if req.Method == http.MethodHead {
			answer = strings.TrimSuffix(answer, "ok")
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

func (r *recorder) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended++
	r.closed.Broadcast()
}

// wait returns once that many connections have come and gone.
func (r *recorder) wait(conns int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for r.ended < conns {
		r.closed.Wait()
	}
}

// judge distinguishes bytes that are no request from a connection that was closed.
func (r *recorder) judge(err error) {
	var lost net.Error
	if err != io.EOF && !errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &lost) {
		r.note(nil)
	}
}

func (r *recorder) note(req *http.Request) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if req == nil {
		r.broken++
		return
	}
	r.requests = append(r.requests, req)
}

func (r *recorder) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Write(p)
}

func (r *recorder) reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all.Reset()
	r.requests, r.broken = nil, 0
}

func (r *recorder) bytes() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

func (r *recorder) count() (requests, broken int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.requests), r.broken
}
