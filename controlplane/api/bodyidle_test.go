package api_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/api"
)

// sendPartOfBody announces a body, sends one byte of it, and stays connected.
func (w *world) sendPartOfBody(method, path, token string) net.Conn {
	w.t.Helper()
	c, err := net.Dial("tcp", strings.TrimPrefix(w.server.URL, "http://"))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(30 * time.Second))
	_, err = fmt.Fprintf(c, "%s %s HTTP/1.1\r\nHost: nullops.test\r\nAuthorization: Bearer %s\r\n"+
		"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{", method, path, token)
	if err != nil {
		w.t.Fatal(err)
	}
	return c
}

// A body that stalls ends its request and its connection, whether the request
// was read (signed in), refused before it was read, or known to nobody.
func TestBody_ThatStallsEndsTheRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) { c.BodyIdle = 200 * time.Millisecond })
	w.people()
	for _, one := range []struct {
		method, path, token string
		want                int
	}{
		{"POST", "/api/v1/deployments", w.token("root"), http.StatusRequestTimeout},
		{"POST", "/api/v1/sessions", "", http.StatusRequestTimeout},
		{"POST", "/api/v1/deployments", "wrong", http.StatusUnauthorized},
		{"POST", "/api/v1/nothing", "wrong", http.StatusNotFound},
	} {
		c := w.sendPartOfBody(one.method, one.path, one.token)
		r := bufio.NewReader(c)
		got, err := http.ReadResponse(r, nil)
		if err != nil {
			t.Errorf("%s %s: no answer: %v", one.method, one.path, err)
			continue
		}
		if got.StatusCode != one.want {
			t.Errorf("%s %s answers %s, want %d", one.method, one.path, got.Status, one.want)
		}
		_, _ = bufio.NewReader(got.Body).WriteTo(new(strings.Builder))
		if _, err := r.ReadByte(); err == nil || strings.Contains(err.Error(), "timeout") {
			t.Errorf("%s %s keeps the connection: %v", one.method, one.path, err)
		}
	}
}

// A body that comes slowly, but comes, is read to its end, and the deadline
// does not end a request that works longer than a body may be silent.
func TestBody_ThatIsSlowIsRead(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *api.Config) { c.BodyIdle = time.Second })
	w.people()
	body := `{"user":"root","password":"` + password + `"}`
	c := w.sendPartOfBody("POST", "/api/v1/sessions", "")
	rest := body[1:] + strings.Repeat(" ", 1000-len(body))
	for _, part := range []string{rest[:10], rest[10:20], rest[20:]} {
		time.Sleep(600 * time.Millisecond)
		if _, err := c.Write([]byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	got, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil || got.StatusCode >= 300 {
		t.Fatalf("a slow body is answered %v, %v", got, err)
	}
}
