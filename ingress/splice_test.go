package ingress_test

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
)

// A large body that the kernel moves is the service's, byte for byte; the connection serves the
// next request, and a body that ends early does not look whole.
func TestProxy_SplicesLargeBodies(t *testing.T) {
	t.Parallel()
	b := newBed(t)
	block := make([]byte, 3<<20)
	if _, err := rand.Read(block); err != nil {
		t.Fatal(err)
	}
	route := b.at("cart", "web", serveConns(t, func(c net.Conn) {
		for in := bufio.NewReader(c); ; {
			r, err := http.ReadRequest(in)
			if err != nil {
				return
			}
			_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(block))
			if r.URL.Path == "/cut" {
				_, _ = c.Write(block[:len(block)-1])
				return
			}
			_, _ = c.Write(block)
		}
	}))
	b.set(route)
	client, err := net.Dial("tcp", b.addr)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	in := bufio.NewReader(client)
	for _, path := range []string{"/whole", "/again", "/cut"} {
		_, _ = fmt.Fprintf(client, "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n", path, victim)
		res, err := http.ReadResponse(in, nil)
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(res.Body)
		if path == "/cut" {
			if !errors.Is(err, io.ErrUnexpectedEOF) {
				t.Errorf("a body that was cut ends with %v", err)
			}
			continue
		}
		if err != nil || !bytes.Equal(got, block) {
			t.Errorf("%s: %d bytes of %d arrived, or others: %v", path, len(got), len(block), err)
		}
	}
	if n := b.countDials(route.Target); n != 1 {
		t.Errorf("%d connections were opened; want 1", n)
	}
}
