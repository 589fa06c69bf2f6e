package ingress

import (
	"errors"
	"io"
	"net/http"
	"sync"
	"time"
)

const (
	// bodyPatience is what nginx waits between two pieces of a body, too.
	bodyPatience = time.Minute
	// bodyRate, in bytes a second, is less than the slowest line carries. Who
	// sends so much never runs out of patience.
	bodyRate = 64
)

var errStalled = errors.New("the client stopped sending the request's body")

// upload is a request whose body is yet to come. What we wait for it is
// bounded: without that a client holds a connection, here and at the service,
// for as long as it likes by sending nothing, or a byte now and then. Time that
// the service takes is not counted, and once it answers, both may talk as
// slowly as they like.
type upload struct {
	http.ResponseWriter
	body     io.ReadCloser
	patience time.Duration
	drained  bool // by net/http, before it answers
	// left is what remains of the patience. Only Read has it.
	left  time.Duration
	timer *time.Timer

	mu sync.Mutex
	// until is when the Read under way has lasted too long; zero is none.
	until    time.Time
	answered bool // or gone
	stalled  bool
	ended    bool // there is no more to come
}

// receive bounds the wait for a request's body. The request is a copy: net/http
// looks at the body of its own to tell what it has to do with the rest.
func (p *Proxy) receive(w http.ResponseWriter, r *http.Request) (*upload, *http.Request) {
	u := &upload{ResponseWriter: w, body: r.Body, drained: r.ProtoMajor == 1,
		patience: p.config.BodyPatience, left: p.config.BodyPatience}
	r = r.WithContext(r.Context())
	r.Body = u
	return u, r
}

// Unwrap lets http.ResponseController flush.
func (u *upload) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	began := time.Now()
	u.wait(began)
	n, err := u.body.Read(p)
	u.left = min(u.patience, u.left-time.Since(began)+time.Duration(n)*time.Second/bodyRate)
	if u.waited(err) {
		return n, errStalled
	}
	return n, err
}

// Close implements io.Closer.
func (u *upload) Close() error { return u.body.Close() }

func (u *upload) wait(now time.Time) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = now.Add(u.left)
	switch {
	case u.answered:
	case u.timer == nil:
		u.timer = time.AfterFunc(u.left, u.expire)
	default:
		u.timer.Reset(u.left)
	}
}

// waited ends a wait, and says whether it was too long.
func (u *upload) waited(err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = time.Time{}
	if u.timer != nil {
		u.timer.Stop()
	}
	u.ended = u.ended || errors.Is(err, io.EOF)
	return u.stalled
}

// expire ends the Read under way. The timer may be late, and the Read another.
func (u *upload) expire() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if u.answered || u.until.IsZero() || now.Before(u.until) {
		return
	}
	u.stalled = true
	_ = http.NewResponseController(u.ResponseWriter).SetReadDeadline(now.Add(-time.Hour))
}

// settle ends all waiting, and says whether the body has come whole.
func (u *upload) settle() (ended bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answered = true
	return u.ended || u.stalled
}

// WriteHeader implements http.ResponseWriter.
func (u *upload) WriteHeader(status int) {
	if status >= http.StatusOK {
		u.settle()
	}
	u.ResponseWriter.WriteHeader(status)
}

// hurry bounds how long net/http waits, over HTTP/1, for the rest of a body that
// nobody wanted. It is for when nothing lasts any more: who answers for long would
// be cut off.
func (u *upload) hurry() {
	if !u.settle() && u.drained {
		_ = http.NewResponseController(u.ResponseWriter).SetReadDeadline(
			time.Now().Add(u.patience))
	}
}

// gaveUp says whether the answer is for a client that stopped sending.
func gaveUp(w http.ResponseWriter) bool {
	u, ok := w.(*upload)
	if !ok {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stalled
}
