package ingress_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/ingress"
)

// flatSize is many times what may be allocated while it passes.
const flatSize = 64 << 20

// zeros is a body that takes no memory.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// measureAllocated returns how much memory f took, in the whole process.
func measureAllocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestProxy_LargeBodiesTakeNoMemory(t *testing.T) {
	for name, chunked := range map[string]bool{"with a length": false, "chunked": true} {
		b := newBed(t)
		b.set(b.up("cart", "web", func(w http.ResponseWriter, r *http.Request) {
			n, err := io.Copy(io.Discard, r.Body)
			if err != nil || n != flatSize {
				http.Error(w, "short", http.StatusBadRequest)
				return
			}
			if !chunked {
				w.Header().Set("Content-Length", "67108864")
			}
			_, _ = io.CopyN(w, zeros{}, flatSize)
		}))
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+b.addr+"/",
			io.LimitReader(zeros{}, flatSize))
		req.Host = victim
		if !chunked {
			req.ContentLength = flatSize
		}
		c := newClient(t)
		took := measureAllocated(func() {
			res, err := c.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			n, err := io.Copy(io.Discard, res.Body)
			if err != nil || n != flatSize || res.StatusCode != 200 {
				t.Errorf("%s: %d, %d bytes, %v", name, res.StatusCode, n, err)
			}
		})
		if took > flatSize/16 {
			t.Errorf("%s: %d bytes allocated for %d passed twice", name, took, flatSize)
		}
	}
}

// A body that was cut must not look whole.
func TestProxy_ServiceDiesInMidBody(t *testing.T) {
	for name, answer := range map[string]string{
		"with a length": "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhello",
		"chunked":       "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
	} {
		b := newBed(t)
		r := b.at("cart", "web", serveAnswer(t, answer))
		b.set(r)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+b.addr, nil)
		req.Host = r.Host
		res, err := newClient(t).Do(req)
		if err != nil {
			continue // cut before the head was sent: as good
		}
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err == nil {
			t.Errorf("%s: %d %q looks whole", name, res.StatusCode, body)
		}
	}
}

func TestProxy_ServiceDiesBeforeItsAnswer(t *testing.T) {
	for name, answer := range map[string]string{
		"silence": "", "half a head": "HTTP/1.1 200 OK\r\nX: y", "garbage": "\x00\x01\x02\r\n\r\n",
		"not http":     "SSH-2.0-x\r\n",
		"endless head": "HTTP/1.1 200 OK\r\n" + strings.Repeat("X: y\r\n", 90_000),
	} {
		b := newBed(t)
		var asked atomic.Int32
		r := b.at("cart", "web", serveConns(t, func(c net.Conn) {
			if _, err := http.ReadRequest(bufio.NewReader(c)); err == nil {
				asked.Add(1)
				_, _ = io.WriteString(c, answer)
			}
		}))
		b.set(r)
		res, _ := b.ask(http.MethodPost, r.Host, "/", nil)
		if res.StatusCode != http.StatusBadGateway || asked.Load() != 1 {
			t.Errorf("%s: %d after %d attempts, want 502 after one", name, res.StatusCode, asked.Load())
		}
	}
}

func TestProxy_ClientLeaves(t *testing.T) {
	b := newBed(t)
	began, ended := make(chan struct{}), make(chan struct{})
	r := b.up("cart", "web", func(_ http.ResponseWriter, r *http.Request) {
		close(began)
		<-r.Context().Done()
		close(ended)
	})
	b.set(r)
	ctx, cancel := context.WithCancel(t.Context())
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.addr, nil)
	req.Host = r.Host
	done := make(chan error)
	go func() {
		res, err := newClient(t).Do(req)
		if err == nil {
			_ = res.Body.Close()
		}
		done <- err
	}()
	<-began
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
	<-ended // the test's own timeout is the limit
}

func TestProxy_KeepsConnectionsToServices(t *testing.T) {
	b := newBed(t)
	r := b.up("cart", "web", sayText("hello"))
	flat := r
	flat.Host = "web--cart--env." + domain
	b.set(r, flat)
	for range 20 {
		b.get(r.Host)
		b.get(flat.Host)
	}
	if n := b.countDials(r.Target); n != 1 {
		t.Errorf("%d connections for 40 requests in a row, want 1", n)
	}
	// The route goes and comes back: the old connection is not used again.
	b.set()
	if res, _ := b.get(r.Host); res.StatusCode != 404 {
		t.Errorf("%d, want 404", res.StatusCode)
	}
	b.set(r)
	b.get(r.Host)
	if n := b.countDials(r.Target); n != 2 {
		t.Errorf("%d connections, want a new one after the route was gone", n)
	}
}

func TestNewServer_HasLimits(t *testing.T) {
	s := ingress.NewServer(http.NotFoundHandler(), quietLogger())
	if s.ReadHeaderTimeout <= 0 || s.IdleTimeout <= 0 || s.MaxHeaderBytes <= 0 ||
		s.MaxHeaderBytes > 256<<10 || !s.DisableGeneralOptionsHandler {
		t.Errorf("server = %+v", s)
	}
	if s.ReadTimeout != 0 || s.WriteTimeout != 0 {
		t.Errorf("uploads and event streams would be cut: %v, %v", s.ReadTimeout, s.WriteTimeout)
	}
}
