package wire

import (
	"context"
	"errors"
	"net"
	"testing"
)

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
