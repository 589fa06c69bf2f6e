package ingress_test

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// A gRPC call is HTTP/2 from end to end: messages go both ways while it lasts,
// and its status comes in the trailers.
func TestProxy_GRPC(t *testing.T) {
	b := newBed(t)
	addr := serveGRPC(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Trailer", "Grpc-Status")
		if r.ProtoMajor != 2 || r.Header.Get("Te") != "trailers" {
			http.Error(w, r.Proto, http.StatusTeapot)
			return
		}
		flush := http.NewResponseController(w)
		if err := flush.Flush(); err != nil {
			return
		}
		message := make([]byte, 4)
		for {
			if _, err := io.ReadFull(r.Body, message); err != nil {
				break
			}
			if _, err := w.Write(bytes.ToUpper(message)); err != nil || flush.Flush() != nil {
				return
			}
		}
		w.Header().Set("Grpc-Status", "0")
	})
	r := b.at("cart", "api", addr)
	b.zone(ingress.GateOpen, r)
	chain, key, roots := makeAuthority(t)
	issuer, err := ingress.NewIssuer(chain, key)
	if err != nil {
		t.Fatal(err)
	}
	shown := &ingress.Certificates{Issues: func(string) bool { return true }}
	shown.Set(nil, issuer)
	client := newBrowser(t, b.serveTLS(shown), roots)
	in, out := io.Pipe()
	req, err := http.NewRequestWithContext(t.Context(), "POST", "https://"+r.Host+"/pkg.Svc/Talk", in)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/grpc")
	req.Header.Set("Te", "trailers")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	for _, word := range []string{"ping", "pong"} {
		if _, err := io.WriteString(out, word); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 4)
		if _, err := io.ReadFull(res.Body, got); err != nil || string(got) == word {
			t.Fatalf("%d %q %v", res.StatusCode, got, err)
		}
	}
	_ = out.Close()
	if _, err := io.ReadAll(res.Body); err != nil || res.Trailer.Get("Grpc-Status") != "0" {
		t.Errorf("%v, trailers %v", err, res.Trailer)
	}
}

// serveGRPC starts a service that speaks HTTP/2 without TLS, as gRPC servers do.
func serveGRPC(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var two http.Protocols
	two.SetUnencryptedHTTP2(true)
	s := &http.Server{Handler: h, Protocols: &two}
	var done sync.WaitGroup
	done.Go(func() { _ = s.Serve(l) })
	t.Cleanup(func() { _ = s.Close(); done.Wait() })
	return l.Addr().String()
}

// gRPC-Web goes to services that speak HTTP/1.1 alone, over HTTP/2 too; every
// form of gRPC goes to services that speak HTTP/2.
func TestProxy_GRPCWebIsHTTP1(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	echo := func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		_, _ = w.Write(append([]byte(r.Proto+" "), body...))
	}
	web, grpc := b.up("cart", "web", echo), b.at("cart", "api", serveGRPC(t, echo))
	client := b.secureClient(web, grpc)
	for _, c := range []struct{ host, kind, want string }{
		{web.Host, "application/grpc-web", "HTTP/1.1 x"},
		{web.Host, "application/grpc-web+proto", "HTTP/1.1 x"},
		{web.Host, "application/grpc-web-text", "HTTP/1.1 x"},
		{web.Host, "application/grpc-web-text+proto; charset=utf-8", "HTTP/1.1 x"},
		{grpc.Host, "application/grpc", "HTTP/2.0 x"},
		{grpc.Host, "application/grpc+proto", "HTTP/2.0 x"},
		{grpc.Host, "Application/gRPC; charset=utf-8", "HTTP/2.0 x"},
	} {
		res, err := client.Post("https://"+c.host+"/pkg.Svc/Call", c.kind, strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil || res.StatusCode != 200 || string(body) != c.want {
			t.Errorf("%s: %d %q %v", c.kind, res.StatusCode, body, err)
		}
		_ = res.Body.Close()
	}
}
