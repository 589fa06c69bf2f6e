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
	// bodyRate, in bytes a second, is less than the slowest line carries. A client that sends this
	// fast never times out.
	bodyRate = 64
	// lingerTime is how long the rest of a body is still read after its answer
	// was sent: a close that meets unread bytes becomes a reset, which can destroy
	// the answer before the client reads it.
	lingerTime = 2 * time.Second
	// arrivedTime is enough for a body that is already on this machine.
	arrivedTime = 20 * time.Millisecond
	// maxDiscard is the most that is read of a body that is not needed.
	maxDiscard = 256 << 10
)

var errStalled = errors.New("the client stopped sending the request's body")

// upload is a request whose body is still to be received. The time we wait for it is
// limited: otherwise a client could hold a connection, here and at the service, by sending
// nothing or a byte now and then. Time that the service takes does not count, and once it
// responds, both sides may be as slow as they like.
type upload struct {
	http.ResponseWriter
	body     io.ReadCloser
	patience time.Duration
	one      bool // HTTP/1.x, where what is left of a body blocks the connection
	expects  bool // the client sends the body only after "100 Continue"
	// left is what remains of the patience. Only Read has it.
	left  time.Duration
	timer *time.Timer

	reading sync.Mutex // held during a Read

	mu sync.Mutex
	// until is when the running Read has lasted too long; zero if none runs.
	until    time.Time
	answered bool // or gone
	stalled  bool
	ended    bool // there is no more to come
	taken    bool // the service gets no more of it
}

// boundBody bounds the wait for a request's body. The request is a copy: net/http
// looks at the body of its own to tell what it has to do with the rest.
func (p *Proxy) boundBody(w http.ResponseWriter, r *http.Request) (*upload, *http.Request) {
	u := &upload{ResponseWriter: w, body: r.Body, one: r.ProtoMajor == 1,
		expects: len(r.Header["Expect"]) > 0, patience: p.config.BodyPatience,
		left: p.config.BodyPatience}
	if u.one {
		// Otherwise net/http reads the rest of the body before it sends the head of
		// an answer. It is an error only of writers that are not net/http's.
		_ = http.NewResponseController(w).EnableFullDuplex()
	}
	r = r.WithContext(r.Context())
	r.Body = u
	return u, r
}

// Unwrap lets http.ResponseController flush.
func (u *upload) Unwrap() http.ResponseWriter { return u.ResponseWriter }

// Read implements io.Reader.
func (u *upload) Read(p []byte) (int, error) {
	u.reading.Lock()
	defer u.reading.Unlock()
	began := time.Now()
	if !u.beginWait(began) {
		return 0, http.ErrBodyReadAfterClose
	}
	n, err := u.body.Read(p)
	u.left = min(u.patience, u.left-time.Since(began)+time.Duration(n)*time.Second/bodyRate)
	if u.endWait(err) {
		return n, errStalled
	}
	return n, err
}

// Close implements io.Closer.
func (u *upload) Close() error { return u.body.Close() }

// beginWait begins a wait, if the body may still be read.
func (u *upload) beginWait(now time.Time) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.taken {
		return false
	}
	u.until = now.Add(u.left)
	switch {
	case u.answered:
	case u.timer == nil:
		u.timer = time.AfterFunc(u.left, u.expire)
	default:
		u.timer.Reset(u.left)
	}
	return true
}

// endWait ends a wait, and says whether it was too long.
func (u *upload) endWait(err error) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.until = time.Time{}
	if u.timer != nil {
		u.timer.Stop()
	}
	u.ended = u.ended || errors.Is(err, io.EOF)
	return u.stalled
}

// expire ends the current Read. The timer may fire late, during another Read.
func (u *upload) expire() {
	u.mu.Lock()
	defer u.mu.Unlock()
	now := time.Now()
	if u.answered || u.until.IsZero() || now.Before(u.until) {
		return
	}
	u.stalled = true
	u.setReadDeadline(-time.Hour)
}

// markAnswered stops the time limit and reports whether the body was received completely.
func (u *upload) markAnswered() (ended bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.answered = true
	return u.ended || u.stalled
}

// WriteHeader implements http.ResponseWriter. After an early answer over HTTP/1
// the connection cannot be used again, since the rest of the body is in its way.
func (u *upload) WriteHeader(status int) {
	if status >= http.StatusOK && !u.markAnswered() && u.one {
		u.Header().Set("Connection", "close")
	}
	u.ResponseWriter.WriteHeader(status)
}

// limitDrain bounds how long net/http reads the rest of an HTTP/1 body after the response
// was sent. Call it when the response is complete.
func (u *upload) limitDrain() {
	if !u.markAnswered() && u.one {
		u.takeBody()
		u.setReadDeadline(min(u.patience, lingerTime))
	}
}

// takeBody ends the running Read and all later ones. net/http would end it too when the handler
// returns, and take every deadline away with it.
func (u *upload) takeBody() {
	u.mu.Lock()
	u.taken = true
	u.mu.Unlock()
	u.setReadDeadline(-time.Hour)
	u.reading.Lock()
	defer u.reading.Unlock()
}

// discardArrived reads what has arrived of a body that is not needed. If that was all of
// it, the connection can be reused.
func (u *upload) discardArrived() {
	if u.markAnswered() || !u.one || u.expects {
		return
	}
	u.takeBody()
	u.setReadDeadline(min(u.patience, arrivedTime))
	n, err := io.CopyN(io.Discard, u.body, maxDiscard)
	if n < maxDiscard && errors.Is(err, io.EOF) {
		u.mu.Lock()
		defer u.mu.Unlock()
		u.ended = true
	}
}

func (u *upload) setReadDeadline(after time.Duration) {
	_ = http.NewResponseController(u.ResponseWriter).SetReadDeadline(time.Now().Add(after))
}

// uploadOf finds the upload that is answered, or nil.
func uploadOf(w http.ResponseWriter) *upload {
	if a, ok := w.(*answerWriter); ok {
		w = a.ResponseWriter
	}
	u, _ := w.(*upload)
	return u
}

// isStalled says whether the answer is for a client that stopped sending.
func isStalled(w http.ResponseWriter) bool {
	u := uploadOf(w)
	if u == nil {
		return false
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	return u.stalled
}
