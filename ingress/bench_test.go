package ingress_test

import (
	"context"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// BenchmarkProxy compares the ingress with httputil.ReverseProxy as a plain
// program would use it, both straight to one service with a body of 1 KiB.
// What the tunnel costs on top is measured by tools/bench.
func BenchmarkProxy(b *testing.B) {
	body := strings.Repeat("x", 1024)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain")
		_, _ = io.WriteString(w, body)
	}))
	defer service.Close()
	addr := service.Listener.Addr().String()
	r := newRoute("cart", "web")
	ours, err := ingress.New(ingress.Config{
		Dial: func(ctx context.Context, _ ingress.Route) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	ours.SetTable(ingress.NewTable(1, append(makeRoutes(10_000), r)))
	target := &url.URL{Scheme: "http", Host: addr}
	plain := httputil.NewSingleHostReverseProxy(target)
	plain.ErrorLog = log.New(io.Discard, "", 0)
	pooled := httputil.NewSingleHostReverseProxy(target)
	pooled.Transport = &http.Transport{MaxIdleConnsPerHost: 128}
	for _, c := range []struct {
		name    string
		handler http.Handler
	}{{"ours", ours}, {"plain", plain}, {"plain, pooled", pooled}} {
		b.Run(c.name, func(b *testing.B) {
			loadServer(b,
				ingress.NewServer(c.handler, quietLogger()), r.Host)
		})
	}
}

// loadServer asks over 64 connections at once, reading no more than it must.
func loadServer(b *testing.B, s *ingress.Server, host string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- s.Serve(l) }()
	defer func() { _ = s.Close(); <-done }()
	request := []byte("GET / HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: bench\r\n\r\n")
	b.SetParallelism(32)
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		buf := make([]byte, 4096)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			n, err := conn.Read(buf)
			for want := 1024; err == nil && !isWhole(buf[:n], want); {
				var more int
				more, err = conn.Read(buf[n:])
				n += more
			}
			if err != nil {
				b.Error(err)
				return
			}
		}
	})
}

// isWhole says that a head and a body of that length have come.
func isWhole(b []byte, length int) bool {
	i := strings.Index(string(b), "\r\n\r\n")
	return i >= 0 && len(b)-i-4 >= length
}
