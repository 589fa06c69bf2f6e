package wire

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"
)

// scriptedSocket is a connection whose pings end as the test says, and whose reader hears of its
// end when broken is closed.
type scriptedSocket struct {
	ping   error
	pings  atomic.Int64
	broken chan struct{}
}

func (s *scriptedSocket) Read(ctx context.Context) (websocket.MessageType, []byte, error) {
	select {
	case <-s.broken:
		return 0, nil, io.ErrUnexpectedEOF
	case <-ctx.Done():
		return 0, nil, ctx.Err()
	}
}

func (s *scriptedSocket) Write(context.Context, websocket.MessageType, []byte) error { return nil }

func (s *scriptedSocket) Ping(context.Context) error {
	s.pings.Add(1)
	return s.ping
}

func (s *scriptedSocket) Close(websocket.StatusCode, string) error { return nil }

func (s *scriptedSocket) CloseNow() error { return nil }

func newScriptedConn(ping error) (*Session, *scriptedSocket) {
	s := &scriptedSocket{ping: ping, broken: make(chan struct{})}
	return newConn[Command, Report](s, &receipt{}, planeQuiet, nil, nil), s
}

// A ping that cannot be sent is no proof of silence: the session ends with what its reader hears.
func TestCheckLiveness_LeavesABrokenConnectionToTheReader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newScriptedConn(errors.New("broken pipe"))
		time.Sleep(planeQuiet + time.Second)
		if err := c.Err(); err != nil {
			t.Errorf("before its reader knows, it ended with %v", err)
		}
		close(s.broken)
		<-c.Done()
		if err := c.Err(); !errors.Is(err, io.ErrUnexpectedEOF) ||
			!strings.HasPrefix(err.Error(), "session lost") {
			t.Errorf("it ended with %v", err)
		}
		_ = c.Close(CodeGone, "")
	})
}

// A ping that is answered at once is followed by the next one after the quiet time, not later.
func TestCheckLiveness_PingsOnceInTheQuietTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newScriptedConn(nil)
		time.Sleep(10*planeQuiet + time.Second)
		if n := s.pings.Load(); n != 10 || c.Err() != nil {
			t.Errorf("%d pings in ten times the quiet time: %v", n, c.Err())
		}
		_ = c.Close(CodeGone, "")
	})
}
