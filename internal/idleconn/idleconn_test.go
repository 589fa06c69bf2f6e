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
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

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

// Errors and waits of reads and writes are those of a plain TCP connection.
func TestConn_FailsAsTCP(t *testing.T) {
	t.Parallel()
	type outcome struct {
		Op                             string
		Timeout, Closed, Reset, Broken bool
	}
	read := func(c net.Conn) (int, error) { return c.Read(make([]byte, 8)) }
	write := func(c net.Conn) (int, error) { return c.Write(make([]byte, 32<<20)) }
	for name, try := range map[string]func(near net.Conn, far *net.TCPConn) (int, error){
		"read, too late": func(near net.Conn, _ *net.TCPConn) (int, error) {
			_ = near.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
			return read(near)
		},
		"read, closed": func(near net.Conn, _ *net.TCPConn) (int, error) {
			time.AfterFunc(10*time.Millisecond, func() { _ = near.Close() })
			return read(near)
		},
		"read, reset": func(near net.Conn, far *net.TCPConn) (int, error) {
			_ = far.SetLinger(0)
			time.AfterFunc(10*time.Millisecond, func() { _ = far.Close() })
			return read(near)
		},
		"write, too late": func(near net.Conn, _ *net.TCPConn) (int, error) {
			_ = near.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
			return write(near)
		},
		"write, closed": func(near net.Conn, _ *net.TCPConn) (int, error) {
			time.AfterFunc(10*time.Millisecond, func() { _ = near.Close() })
			return write(near)
		},
		"write, reset": func(near net.Conn, far *net.TCPConn) (int, error) {
			_ = far.SetLinger(0)
			time.AfterFunc(10*time.Millisecond, func() { _ = far.Close() })
			return write(near)
		},
		"write after its own end": func(near net.Conn, _ *net.TCPConn) (int, error) {
			_ = near.(interface{ CloseWrite() error }).CloseWrite()
			return write(near)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got [2]outcome
			for i := range got {
				near, far := connectEnds(t)
				var conn net.Conn = near
				if i == 1 {
					conn = idleconn.WrapConn(near)
				}
				_, err := try(conn, far)
				said, ok := errors.AsType[*net.OpError](err)
				if !ok {
					t.Fatalf("failed with %v", err)
				}
				got[i] = outcome{Op: said.Op, Timeout: said.Timeout(),
					Closed: errors.Is(err, net.ErrClosed), Reset: errors.Is(err, unix.ECONNRESET),
					Broken: errors.Is(err, unix.EPIPE)}
			}
			if got[0] != got[1] {
				t.Errorf("TCP fails with %+v, this with %+v", got[0], got[1])
			}
		})
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

// Pieces that are written one after the other leave together, and all of them leave: before a
// deadline of the past, as TLS sets it at its end, and before a close.
func TestConn_CoalescesPieces(t *testing.T) {
	near, far := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	c.Coalesce()
	large := strings.Repeat("x", 100<<10)
	var want strings.Builder
	got := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(far)
		got <- string(all)
	}()
	for i := range 300 {
		piece := strconv.Itoa(i) + " "
		if i%100 == 99 {
			piece = large
		}
		want.WriteString(piece)
		if _, err := io.WriteString(c, piece); err != nil {
			t.Fatal(err)
		}
		if i%70 == 0 {
			time.Sleep(time.Millisecond)
		}
	}
	if err := c.SetWriteDeadline(time.Now()); err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	if all := <-got; all != want.String() {
		t.Errorf("%d bytes arrived of %d", len(all), want.Len())
	}
}

func TestConn_CloseWritesWhatWasCollected(t *testing.T) {
	for range 100 {
		near, far := connectEnds(t)
		c, err := idleconn.Wrap(near)
		if err != nil {
			t.Fatal(err)
		}
		c.Coalesce()
		for _, piece := range []string{"one ", "two"} {
			if _, err := io.WriteString(c, piece); err != nil {
				t.Fatal(err)
			}
		}
		_ = c.Close()
		if all, err := io.ReadAll(far); err != nil || string(all) != "one two" {
			t.Fatalf("%q %v", all, err)
		}
	}
}

// An error of a write that was collected is that of a later one.
func TestConn_CoalescedErrorsComeLater(t *testing.T) {
	near, far := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	c.Coalesce()
	_ = far.SetLinger(0)
	_ = far.Close()
	for end := time.Now().Add(time.Minute); ; time.Sleep(time.Millisecond) {
		if _, err := io.WriteString(c, "x"); err != nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal("no write fails")
		}
	}
}

// What was put back is read first, and waited for no longer.
func TestConn_Unread(t *testing.T) {
	near, far := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	c.Unread([]byte("world"))
	c.Unread([]byte("hello "))
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	p := make([]byte, 8)
	if n, err := c.ReadWithoutBlocking(c.Read, p); err != nil || string(p[:n]) != "hello wo" {
		t.Fatalf("%q %v", p[:n], err)
	}
	if _, err := io.WriteString(far, "!"); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	if rest, err := io.ReadAll(c); err != nil || string(rest) != "rld!" {
		t.Errorf("%q %v", rest, err)
	}
	c.Unread([]byte("again"))
	var all strings.Builder
	if _, err := io.Copy(&all, c); err != nil || all.String() != "again" {
		t.Errorf("%q %v", all.String(), err)
	}
}

// Two pieces are one packet most of the time. Without coalescing they are always two.
func TestConn_CoalescingSparesPackets(t *testing.T) {
	near, far := connectEnds(t)
	c, err := idleconn.Wrap(near)
	if err != nil {
		t.Fatal(err)
	}
	c.Coalesce()
	const pairs = 200
	for range pairs {
		for _, piece := range []string{"head", "body"} {
			if _, err := io.WriteString(c, piece); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := io.ReadFull(far, make([]byte, len("headbody"))); err != nil {
			t.Fatal(err)
		}
	}
	if n := countPackets(t, near); n > pairs*3/2 {
		t.Errorf("%d packets for %d pairs", n, pairs)
	}
}

// countPackets counts those with data that a connection has sent.
func countPackets(t *testing.T, c *net.TCPConn) (n int) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	err = raw.Control(func(fd uintptr) {
		info, failed := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO)
		if failed != nil {
			t.Error(failed)
			return
		}
		n = int(info.Data_segs_out)
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}
