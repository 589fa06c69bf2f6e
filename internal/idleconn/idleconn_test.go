package idleconn_test

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"

	"github.com/nullops/nullops/internal/idleconn"
)

// connectEnds returns the two ends of a connection over loopback.
func connectEnds(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	one, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	other, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = one.Close(); _ = other.Close() })
	return one.(*net.TCPConn), other.(*net.TCPConn)
}

// connectTLS returns both ends of a TLS connection over Conns.
func connectTLS(t *testing.T) (client, server *tls.Conn) {
	t.Helper()
	trusted := httptest.NewUnstartedServer(nil)
	trusted.StartTLS()
	t.Cleanup(trusted.Close)
	one, other := connectEnds(t)
	client = tls.Client(idleconn.WrapConn(one), &tls.Config{InsecureSkipVerify: true})
	server = tls.Server(idleconn.WrapConn(other), trusted.TLS)
	done := make(chan error, 1)
	go func() { done <- server.Handshake() }()
	if err := errors.Join(client.Handshake(), <-done); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func TestConn_BriefReadsWhatIsThere(t *testing.T) {
	near, far := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	var p [8]byte
	if n, err := c.ReadWithoutBlocking(c.Read, p[:]); n != 0 || !errors.Is(err, idleconn.ErrNotYet) {
		t.Fatalf("of silence: %d %v", n, err)
	}
	for _, said := range []string{"one", "two"} {
		if _, err := io.WriteString(far, said); err != nil {
			t.Fatal(err)
		}
		if err := c.Wait(); err != nil {
			t.Fatal(err)
		}
		if n, err := c.ReadWithoutBlocking(c.Read, p[:]); err != nil || string(p[:n]) != said {
			t.Fatalf("%q %v", p[:n], err)
		}
		if _, err := c.ReadWithoutBlocking(c.Read, p[:]); !errors.Is(err, idleconn.ErrNotYet) {
			t.Fatalf("behind it: %v", err)
		}
	}
	_ = far.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	if n, err := c.ReadWithoutBlocking(c.Read, p[:]); n != 0 || err != io.EOF {
		t.Errorf("at the end: %d %v", n, err)
	}
}

func TestConn_CloseEndsWait(t *testing.T) {
	near, _ := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- c.Wait() }()
	_ = c.Close()
	if err := <-done; err == nil {
		t.Error("no error")
	}
}

// What goes in in pieces of any size comes out whole, over TLS and over TCP, and
// then the end.
func TestCopy_CarriesAllAndTheEnd(t *testing.T) {
	sent := make([]byte, 8<<20)
	if _, err := rand.Read(sent); err != nil {
		t.Fatal(err)
	}
	enter, a := connectEnds(t)
	b, c := connectTLS(t)
	d, leave := connectEnds(t)
	var all sync.WaitGroup
	for _, way := range []struct{ to, from net.Conn }{{b, idleconn.WrapConn(a)},
		{idleconn.WrapConn(d), c}} {
		all.Go(func() {
			if err := idleconn.Copy(way.to, way.from); err != nil {
				t.Error(err)
			}
			if err := way.to.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
				t.Error(err)
			}
		})
	}
	all.Go(func() {
		for size, rest := 1, sent; len(rest) > 0; size = size*3%200_001 + 1 {
			n := min(size, len(rest))
			if _, err := enter.Write(rest[:n]); err != nil {
				t.Error(err)
				return
			}
			rest = rest[n:]
		}
		_ = enter.CloseWrite()
	})
	got, err := io.ReadAll(leave)
	all.Wait()
	if err != nil || !bytes.Equal(got, sent) {
		t.Errorf("%d of %d bytes arrived, error %v", len(got), len(sent), err)
	}
}

// A copied connection without traffic holds no buffer.
func TestCopy_SilenceHoldsNoBuffer(t *testing.T) {
	const many = 64
	var all sync.WaitGroup
	before := heapInUse()
	var speakers []net.Conn
	for range many {
		from, speaker := connectEnds(t)
		to, listener := connectEnds(t)
		speakers = append(speakers, speaker)
		all.Go(func() { _ = idleconn.Copy(to, idleconn.WrapConn(from)) })
		if _, err := speaker.Write([]byte("a")); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(listener, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
	}
	if each := (heapInUse() - before) / many; each > 8<<10 {
		t.Errorf("%d bytes each", each)
	}
	for _, c := range speakers {
		_ = c.Close()
	}
	all.Wait()
}

func heapInUse() int64 {
	runtime.GC()
	runtime.GC() // pools keep what they have for one more
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
