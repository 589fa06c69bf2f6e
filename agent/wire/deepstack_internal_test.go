package wire

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// newIdleTCP returns our end of a connection that can be idle, and the far end.
func newIdleTCP(t *testing.T) (*idleWebSocket, net.Conn) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	near, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	far, err := listener.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = near.Close(); _ = far.Close() })
	conn := idleconn.WrapConn(near)
	return newIdleWebSocket(conn, idleconn.FindConn(conn)), far
}

// More peers than there are spare stacks stop in the middle of a frame: nobody else waits for
// them, and each message arrives on its own connection in the end.
func TestDeepStacks_NobodyWaitsForAnotherPeer(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	type slowPeer struct {
		far  net.Conn
		read chan []byte
	}
	var slow []slowPeer
	for range 2 * spareStacks {
		s, far := newIdleTCP(t)
		p := slowPeer{far, make(chan []byte, 1)}
		go func() {
			_, data, _ := s.Read(ctx)
			p.read <- data
		}()
		writeAll(t, far, 0x81, 2, 'a') // half of a text message
		slow = append(slow, p)
	}
	s, far := newIdleTCP(t)
	for range 3 {
		writeAll(t, far, 0x81, 2, 'o', 'k')
		if _, data, err := s.Read(ctx); err != nil || string(data) != "ok" {
			t.Fatalf("beside peers that stopped: %q, %v", data, err)
		}
	}
	for i, p := range slow {
		writeAll(t, p.far, byte('A'+i))
		if got := <-p.read; !bytes.Equal(got, []byte{'a', byte('A' + i)}) {
			t.Errorf("peer %d: %q arrived", i, got)
		}
	}
}

func writeAll(t *testing.T, conn net.Conn, frame ...byte) {
	t.Helper()
	if _, err := conn.Write(frame); err != nil {
		t.Fatal(err)
	}
}
