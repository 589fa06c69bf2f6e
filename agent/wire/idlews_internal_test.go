package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
)

// newIdlePair returns a control plane's end of a WebSocket, which reads by itself, and what is
// below the other end.
func newIdlePair(t *testing.T) (*idleWebSocket, net.Conn) {
	t.Helper()
	near, far := net.Pipe()
	s := newIdleWebSocket(near, nil)
	t.Cleanup(func() { _, _ = s.CloseNow(), far.Close() })
	go func() { _, _, _ = s.Read(context.Background()) }()
	return s, far
}

// readControl returns the payload of the next frame, which is masked and short.
func readControl(t *testing.T, from net.Conn) string {
	t.Helper()
	var head [6]byte
	if _, err := io.ReadFull(from, head[:]); err != nil {
		t.Fatal(err)
	}
	text := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(from, text); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	return string(text)
}

// Only the pong of its own ping ends the wait for it.
func TestIdleWebSocket_HeedsThePongOfItsPingOnly(t *testing.T) {
	t.Parallel()
	s, far := newIdlePair(t)
	answered := make(chan error, 1)
	go func() { answered <- s.Ping(t.Context()) }()
	text := readControl(t, far)
	for _, frame := range []string{"\x8a\x05other", "\x89\x01?"} {
		if _, err := io.WriteString(far, frame); err != nil {
			t.Fatal(err)
		}
	}
	if readControl(t, far) != "?" { // by now it has read what came before
		t.Error("its own ping is not answered")
	}
	if s.awaited.Load() == nil {
		t.Error("the pong of another ping ended the wait")
	}
	if _, err := io.WriteString(far, "\x8a"+string(rune(len(text)))+text); err != nil {
		t.Fatal(err)
	}
	if err := <-answered; err != nil {
		t.Errorf("its own pong: %v", err)
	}
}

// A write that is given up in the middle says so, and not that the connection was closed for it.
func TestIdleWebSocket_SaysThatAWriteWasGivenUp(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	s := newIdleWebSocket(near, nil)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		_, _ = far.Read(make([]byte, 1))
		cancel()
	}()
	err := s.Write(ctx, 1, []byte("hello"))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("it ended with %v", err)
	}
	_ = far.Close()
}
