package api

import (
	"bufio"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// dialIdleLimited connects to a handler behind the limits.
func dialIdleLimited(t *testing.T, idle time.Duration, h http.HandlerFunc) net.Conn {
	t.Helper()
	s := &server{Config: Config{BodyIdle: idle}}
	web := httptest.NewServer(s.limitIdleBodies(h))
	t.Cleanup(web.Close)
	c, err := net.Dial("tcp", web.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	return c
}

// A body of which a byte comes now and then makes no progress.
func TestBody_ThatDripsEnds(t *testing.T) {
	t.Parallel()
	failed := make(chan error, 1)
	c := dialIdleLimited(t, 200*time.Millisecond, func(_ http.ResponseWriter, r *http.Request) {
		_, err := io.Copy(io.Discard, r.Body)
		failed <- err
	})
	_, err := io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	for range 100 { // each byte comes well before the time is over
		if err != nil {
			t.Fatal(err)
		}
		select {
		case err = <-failed:
			if err == nil || !strings.Contains(err.Error(), "no progress") {
				t.Errorf("the body ends with %v", err)
			}
			return
		case <-time.After(50 * time.Millisecond):
			_, err = io.WriteString(c, " ")
		}
	}
	t.Error("the body is waited for")
}

// A client that asks and does not read gives its connection back, and one that reads after a pause
// gets all of a response.
func TestResponse_ThatNobodyReadsEnds(t *testing.T) {
	t.Parallel()
	const part, parts = 1 << 20, 64
	failed := make(chan error, 1)
	c := dialIdleLimited(t, 300*time.Millisecond, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/pause" {
			_, _ = io.WriteString(w, "a")
			time.Sleep(600 * time.Millisecond)
			_, _ = io.WriteString(w, "b")
			return
		}
		var err error
		for range parts {
			if _, err = w.Write(make([]byte, part)); err != nil {
				break
			}
		}
		failed <- err
	})
	in := bufio.NewReader(c)
	for _, path := range []string{"/pause", "/never"} {
		_, _ = io.WriteString(c, "GET "+path+" HTTP/1.1\r\nHost: x\r\n\r\n")
		if path == "/never" {
			break
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		if body, err := io.ReadAll(res.Body); err != nil || string(body) != "ab" {
			t.Errorf("%q, %v", body, err)
		}
	}
	select {
	case err := <-failed:
		if err == nil {
			t.Error("64 MiB were written to nobody")
		}
	case <-time.After(20 * time.Second):
		t.Error("the response is never given up")
	}
}

// A body that comes slowly, but comes, is read to its end.
func TestBody_ThatPausesIsRead(t *testing.T) {
	t.Parallel()
	got := make(chan string, 1)
	c := dialIdleLimited(t, time.Second, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got <- string(body)
	})
	_, _ = io.WriteString(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\n")
	for _, part := range []string{"a", "b", "c"} {
		time.Sleep(600 * time.Millisecond)
		_, _ = io.WriteString(c, part)
	}
	if body := <-got; body != "abc" {
		t.Errorf("read %q", body)
	}
}
