package ingress_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// newImpatientBed makes a bed that waits for nobody.
func newImpatientBed(t *testing.T) *bed {
	return newBed(t, func(c *ingress.Config) { c.BodyPatience = 300 * time.Millisecond })
}

// isRead is a service that wants the whole body first.
func isRead(w http.ResponseWriter, r *http.Request) {
	n, err := io.Copy(io.Discard, r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_, _ = fmt.Fprint(w, n)
}

// post opens a connection and writes to it; every read has a generous end.
func (b *bed) post(text string) (net.Conn, *bufio.Reader) {
	b.t.Helper()
	c, err := net.Dial("tcp", b.addr)
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(2 * time.Minute))
	if _, err := io.WriteString(c, text); err != nil {
		b.t.Fatal(err)
	}
	return c, bufio.NewReader(c)
}

// A client that stops in the middle of a body, or sends a byte now and then, gets an error and
// loses its connection; the service loses the request.
func TestProxy_StalledBodyIsCut(t *testing.T) {
	t.Parallel()
	const host = " / HTTP/1.1\r\nHost: " + victim + "\r\n"
	for name, text := range map[string]string{
		"length":   "POST" + host + "Content-Length: 100000\r\n\r\nhello",
		"chunked":  "PUT" + host + "Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
		"nothing":  "POST" + host + "Content-Length: 5\r\n\r\n",
		"in a GET": "GET" + host + "Content-Length: 5\r\n\r\nhell",
		"trickle":  "POST" + host + "Content-Length: 100000\r\n\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newImpatientBed(t)
			b.set(b.up("cart", "web", isRead))
			c, in := b.post(text)
			if name == "trickle" {
				go func() {
					for err := error(nil); err == nil; _, err = io.WriteString(c, "x") {
						time.Sleep(30 * time.Millisecond)
					}
				}()
			}
			res, err := http.ReadResponse(in, nil)
			if err != nil || res.StatusCode != http.StatusRequestTimeout || !res.Close {
				t.Fatalf("%+v, %v, want 408 and the end", res, err)
			}
			_, _ = io.Copy(io.Discard, res.Body)
			if _, err := in.ReadByte(); errors.Is(err, nil) {
				t.Error("there is more after the page")
			}
		})
	}
}

// A body that nobody wants is not waited for either, whether the page is ours
// or the service's.
func TestProxy_UnwantedBodyIsNotAwaited(t *testing.T) {
	t.Parallel()
	for name, service := range map[string]http.HandlerFunc{
		"no such host": nil,
		"early":        sayText("no"),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newImpatientBed(t)
			if service != nil {
				b.set(b.up("cart", "web", service))
			}
			_, in := b.post("POST / HTTP/1.1\r\nHost: " + victim + "\r\nContent-Length: 9\r\n\r\nhello")
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			// The service may have waited for the body, and so got none.
			if _, err := io.Copy(io.Discard, res.Body); err != nil {
				t.Errorf("%d: %v", res.StatusCode, err)
			}
			if _, err := in.ReadByte(); !errors.Is(err, io.EOF) {
				t.Errorf("after %d: %v, want the end", res.StatusCode, err)
			}
		})
	}
}

// Over HTTP/2 only the stream is lost.
func TestProxy_StalledBodyIsCutOverHTTP2(t *testing.T) {
	t.Parallel()
	b := newImpatientBed(t)
	r := b.up("cart", "web", isRead)
	b.zone(ingress.GateOpen, r)
	chain, key, roots := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(string) bool { return true }}
	shown.Set(nil, issuer)
	client := newBrowser(t, b.serveTLS(shown), roots)
	silence, end := io.Pipe()
	defer end.Close()
	res, err := client.Post("https://"+r.Host+"/", "text/plain", silence)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	if res.ProtoMajor != 2 || res.StatusCode != http.StatusRequestTimeout {
		t.Errorf("%s %d, want 408", res.Proto, res.StatusCode)
	}
}
