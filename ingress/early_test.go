package ingress_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// atOnce is far below every time limit that could end a response instead.
const atOnce = 1500 * time.Millisecond

// secureClient is a client that speaks HTTP/2 with the bed's ingress.
func (b *bed) secureClient(routes ...ingress.Route) *http.Client {
	b.t.Helper()
	b.zone(ingress.GateOpen, routes...)
	chain, key, roots := makeAuthority(b.t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		b.t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(string) bool { return true }}
	shown.Set(nil, issuer)
	return newBrowser(b.t, b.serveTLS(shown), roots)
}

// A service may end a gRPC stream, with or without messages, while the client's
// side is open. The status must reach the client at once.
func TestProxy_ServiceEndsOpenStream(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	grpc := b.at("grpc", "api", serveGRPC(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		if r.URL.Path == "/message" {
			_, _ = io.WriteString(w, "message")
			_ = http.NewResponseController(w).Flush()
		}
		w.Header().Set(http.TrailerPrefix+"Grpc-Status", "16")
	}))
	plain := b.at("plain", "api", serveConns(t, answerEarly))
	client := b.secureClient(grpc, plain)
	for _, c := range []struct{ host, path, kind, body, status string }{
		{grpc.Host, "/message", "application/grpc", "message", "16"},
		{grpc.Host, "/nothing", "application/grpc+proto", "", "16"},
		{plain.Host, "/", "text/plain", "no", ""},
	} {
		in, open := io.Pipe()
		began := time.Now()
		res, err := client.Post("https://"+c.host+c.path, c.kind, in)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		took := time.Since(began)
		if err != nil || string(body) != c.body || took > atOnce ||
			res.Trailer.Get("Grpc-Status")+res.Header.Get("Grpc-Status") != c.status {
			t.Errorf("%s%s: %q, %v, %v %v after %s", c.host, c.path, body, err, res.Header,
				res.Trailer, took)
		}
		_ = res.Body.Close()
		_ = open.Close()
	}
}

// answerEarly answers as soon as it has the head of a request, and reads on.
func answerEarly(c net.Conn) {
	if _, err := http.ReadRequest(bufio.NewReader(c)); err != nil {
		return
	}
	_, _ = io.WriteString(c, "HTTP/1.1 401 Unauthorized\r\nContent-Length: 2\r\n\r\nno")
	_, _ = io.Copy(io.Discard, c)
}

// Over HTTP/1.1 too an early response is complete at once, whether a service or the ingress sends
// it. The connection ends, since the body is in its way.
func TestProxy_EarlyResponseOverHTTP1(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	waits := newRoute("waits", "web")
	waits.State = ingress.StateApplying
	b.set(b.at("cart", "web", serveConns(t, answerEarly)), waits)
	for name, c := range map[string]struct {
		text   string
		status int
	}{
		"length":     {"Host: " + victim + "\r\nContent-Length: 9\r\n\r\nhello", 401},
		"long":       {"Host: " + victim + "\r\nContent-Length: 900000\r\n\r\nhello", 401},
		"chunked":    {"Host: " + victim + "\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n", 401},
		"nothing":    {"Host: nothing.example\r\nContent-Length: 9\r\n\r\nhello", 404},
		"starting":   {"Host: " + waits.Host + "\r\nTransfer-Encoding: chunked\r\n\r\n", 503},
		"bad target": {"Host: " + victim + "\r\nContent_Length: 1\r\nContent-Length: 9\r\n\r\n", 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			began := time.Now()
			_, in := b.post("POST / HTTP/1.1\r\n" + c.text)
			res, err := http.ReadResponse(in, nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = io.Copy(io.Discard, res.Body)
			if took := time.Since(began); err != nil || res.StatusCode != c.status || !res.Close ||
				took > atOnce {
				t.Errorf("%d, close %v, %v after %s", res.StatusCode, res.Close, err, took)
			}
			_, err = in.ReadByte()
			if took := time.Since(began); !errors.Is(err, io.EOF) || took > 5*time.Second {
				t.Errorf("connection: %v after %s, want its end", err, took)
			}
		})
	}
}

// A small body that nobody reads does not cost the connection.
func TestProxy_UnreadBodyKeepsConnection(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set()
	c, in := b.post("")
	for range 3 {
		if _, err := io.WriteString(c,
			"POST / HTTP/1.1\r\nHost: nothing.example\r\nContent-Length: 5\r\n\r\nhello"); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(in, nil)
		if err != nil || res.StatusCode != http.StatusNotFound || res.Close {
			t.Fatalf("%+v %v", res, err)
		}
		_, _ = io.Copy(io.Discard, res.Body)
	}
}

// Over HTTP/1.1 both sides may talk at the same time.
func TestProxy_BothDirectionsOverHTTP1(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
		flow := http.NewResponseController(w)
		if flow.EnableFullDuplex() != nil || flow.Flush() != nil {
			return
		}
		in := bufio.NewReader(r.Body)
		for {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			if _, err := io.WriteString(w, "heard "+line); err != nil || flow.Flush() != nil {
				return
			}
		}
	}))
	c, in := b.post("POST / HTTP/1.1\r\nHost: " + victim + "\r\nTransfer-Encoding: chunked\r\n\r\n")
	_ = c.SetDeadline(time.Now().Add(20 * time.Second))
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(res.Body)
	for _, word := range []string{"one\n", "two\n"} {
		if _, err := io.WriteString(c, "4\r\n"+word+"\r\n"); err != nil {
			t.Fatal(err)
		}
		if line, err := out.ReadString('\n'); err != nil || line != "heard "+word {
			t.Fatalf("%q %v", line, err)
		}
	}
	_, _ = io.WriteString(c, "0\r\n\r\n")
	if rest, err := io.ReadAll(out); err != nil || len(rest) > 0 {
		t.Errorf("%q %v", rest, err)
	}
}
