package ingress

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// cutter is a connection whose reads end when its deadline is in the past.
type cutter struct {
	*httptest.ResponseRecorder
	body *io.PipeReader
}

func (c cutter) SetReadDeadline(at time.Time) error {
	if !at.IsZero() && at.Before(time.Now()) {
		return c.body.CloseWithError(errors.New("deadline"))
	}
	return nil
}

// serveDripping sends pieces of a size, a pause before each, and returns how long that went well.
// Answered is a service that began to answer at once.
func serveDripping(t *testing.T, size, pieces int, pause time.Duration, answered bool,
) (lasted time.Duration, failure error) {
	synctest.Test(t, func(*testing.T) {
		in, out := io.Pipe()
		r := httptest.NewRequest(http.MethodPost, "/", in)
		p := &Proxy{config: Config{}.withDefaults()}
		u, r := p.boundBody(cutter{httptest.NewRecorder(), in}, r)
		var sender sync.WaitGroup
		sender.Go(func() {
			for range pieces {
				time.Sleep(pause)
				if _, err := out.Write(make([]byte, size)); err != nil {
					return
				}
			}
			_ = out.Close()
		})
		if answered {
			u.WriteHeader(http.StatusOK)
		}
		began := time.Now()
		_, failure = io.Copy(io.Discard, r.Body)
		lasted = time.Since(began)
		_ = in.Close()
		sender.Wait()
	})
	return lasted, failure
}

func TestUpload_Patience(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		size, pieces int
		pause        time.Duration
		answered     bool
		cut          time.Duration // 0 is never
	}{
		"an hour, slowly":       {size: 64, pieces: 3600, pause: time.Second},
		"short of a minute":     {size: 4096, pieces: 60, pause: 59 * time.Second},
		"a minute of nothing":   {size: 4096, pieces: 2, pause: 61 * time.Second, cut: time.Minute},
		"a byte now and then":   {size: 1, pieces: 1000, pause: 10 * time.Second, cut: time.Minute},
		"what is answered ends": {size: 1, pieces: 10, pause: time.Hour, answered: true},
	} {
		lasted, err := serveDripping(t, c.size, c.pieces, c.pause, c.answered)
		if (c.cut > 0) != errors.Is(err, errStalled) || c.cut == 0 && err != nil ||
			c.cut > 0 && (lasted < c.cut || lasted > c.cut+time.Second) {
			t.Errorf("%s: %v after %s", name, err, lasted)
		}
	}
}

// Once a service answers, its client may be silent for as long as it likes, also in the middle of
// a Read.
func TestUpload_AnAnswerEndsThePatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, out := io.Pipe()
		p := &Proxy{config: Config{}.withDefaults()}
		u, r := p.boundBody(cutter{httptest.NewRecorder(), in},
			httptest.NewRequest(http.MethodPost, "/", in))
		go func() {
			time.Sleep(30 * time.Second)
			u.WriteHeader(http.StatusOK)
			time.Sleep(time.Hour)
			_, _ = out.Write([]byte("x"))
			_ = out.Close()
		}()
		if n, err := io.Copy(io.Discard, r.Body); n != 1 || err != nil {
			t.Errorf("%d bytes, %v", n, err)
		}
	})
}

// Nobody else reads a body whose rest is thrown away.
func TestUpload_WhatIsDiscardedIsTaken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		in, _ := io.Pipe()
		p := &Proxy{config: Config{}.withDefaults()}
		u, r := p.boundBody(cutter{httptest.NewRecorder(), in},
			httptest.NewRequest(http.MethodPost, "/", in))
		u.discardArrived()
		if _, err := r.Body.Read(make([]byte, 1)); err != http.ErrBodyReadAfterClose {
			t.Errorf("it is read: %v", err)
		}
	})
}

// lingering is a connection that keeps its last deadline.
type lingering struct {
	*httptest.ResponseRecorder
	deadline time.Time
}

func (l *lingering) SetReadDeadline(at time.Time) error {
	l.deadline = at
	return nil
}

// The rest of a body is read for a moment after its answer, so that a close does not destroy that.
func TestUpload_TheRestLingers(t *testing.T) {
	t.Parallel()
	for patience, want := range map[time.Duration]time.Duration{
		time.Minute: lingerTime, time.Millisecond: time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			l := &lingering{ResponseRecorder: httptest.NewRecorder()}
			p := &Proxy{config: Config{BodyPatience: patience}.withDefaults()}
			u, _ := p.boundBody(l, httptest.NewRequest(http.MethodPost, "/", http.NoBody))
			u.limitDrain()
			if got := time.Until(l.deadline); got != want {
				t.Errorf("with a patience of %s it lingers for %s", patience, got)
			}
		})
	}
}
