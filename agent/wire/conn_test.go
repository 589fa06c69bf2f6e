package wire_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

func wantClose(t *testing.T, err error, code wire.Code, byPeer bool, says string) {
	t.Helper()
	var closed *wire.CloseError
	if !errors.As(err, &closed) || closed.Code != code || closed.ByPeer != byPeer ||
		!strings.Contains(closed.Reason, says) {
		t.Errorf("ended with %v, want code %d (by peer: %v) saying %q", err, code, byPeer, says)
	}
}

func TestSession_CarriesBothWaysInOrder(t *testing.T) {
	agent := newAgent(t)
	control := agent.Open(t) // promise: N-201
	far := <-agent.Sessions
	const n = 500
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for i := range int64(n) {
			if err := control.Send(t.Context(), wire.Ack{Seq: i}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	tasks.Go(func() {
		for i := range int64(n) {
			if err := far.Send(t.Context(), wire.Event{Seq: i}); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for i := range int64(n) {
		down, err := far.Receive(t.Context())
		if err != nil || down != (wire.Ack{Seq: i}) {
			t.Fatal(down, err)
		}
		up, err := control.Receive(t.Context())
		if err != nil || up.(wire.Event).Seq != i {
			t.Fatal(up, err)
		}
	}
	tasks.Wait()
}

func TestSession_ClosesWithCodeAndReason(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		if err := agent.Send(t.Context(), wire.TokenRefused{Kid: "last words"}); err != nil {
			t.Fatal(err)
		}
		if err := agent.Close(wire.CodeRevoked, "the token was rotated"); err != nil {
			t.Fatal(err)
		}
		if m, err := control.Receive(t.Context()); m != (wire.TokenRefused{Kid: "last words"}) {
			t.Errorf("what came before the end is lost: %v, %v", m, err)
		}
		_, err := control.Receive(t.Context())
		wantClose(t, err, wire.CodeRevoked, true, "the token was rotated")
		wantClose(t, agent.Err(), wire.CodeRevoked, false, "rotated")
		if err := control.Send(t.Context(), wire.Ack{}); err == nil {
			t.Error("sent into a closed session")
		}
	})
}

func TestSession_RefusesToSendWhatIsTooBig(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		big := wire.RefuseToken{Kid: strings.Repeat("x", wire.MaxMessage)}
		if err := control.Send(t.Context(), big); err == nil ||
			!strings.Contains(err.Error(), "split it") {
			t.Errorf("got %v", err)
		}
		// The session is none the worse for it, and a message just below passes.
		fits := wire.RefuseToken{Kid: strings.Repeat("x", wire.MaxMessage-100)}
		if err := control.Send(t.Context(), fits); err != nil {
			t.Fatal(err)
		}
		if m, err := agent.Receive(t.Context()); err != nil || m != fits {
			t.Fatal(err)
		}
	})
}

// rawSession is a proven control plane that then breaks the session's rules.
func rawSession(t *testing.T, agent *wiretest.Agent) (*websocket.Conn, net.Conn) {
	t.Helper()
	conn, err := wire.Dial(t.Context(), agent.DialConfig())
	if err != nil {
		t.Fatal(err)
	}
	ws, _, err := websocket.Dial(t.Context(), "ws://agent"+wire.PathSession,
		&websocket.DialOptions{HTTPClient: &http.Client{Transport: wire.NewTransport(
			func(context.Context) (net.Conn, error) { return conn, nil })}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.CloseNow() })
	return ws, conn
}

// T35: a peer that breaks the protocol loses the session, and costs little.
//
// threat: T35
// fault: F34
func TestSession_EndsOnHostilePeers(t *testing.T) {
	for name, tc := range map[string]struct {
		send func(context.Context, *websocket.Conn, net.Conn) error
		code wire.Code
		says string
	}{
		"2 MiB message": {func(ctx context.Context, ws *websocket.Conn, _ net.Conn) error {
			_ = ws.Write(ctx, websocket.MessageText, make([]byte, 2<<20))
			return nil
		}, wire.CodeTooBig, "1048576"},
		"frame that announces 1 GiB": {func(_ context.Context, _ *websocket.Conn,
			c net.Conn) error {
			head := binary.BigEndian.AppendUint64([]byte{0x81, 0x80 | 127}, 1<<30)
			_, _ = c.Write(append(head, 0, 0, 0, 0))
			_, _ = io.Copy(c, io.LimitReader(zeroes{}, 1<<30))
			return nil
		}, wire.CodeTooBig, "1048576"},
		"binary message": {func(ctx context.Context, ws *websocket.Conn, _ net.Conn) error {
			return ws.Write(ctx, websocket.MessageBinary, []byte("{}"))
		}, wire.CodeProtocol, "only text"},
		"unknown command": {func(ctx context.Context, ws *websocket.Conn, _ net.Conn) error {
			return ws.Write(ctx, websocket.MessageText, []byte(`{"type":"rm","payload":{}}`))
		}, wire.CodeProtocol, `unknown command type "rm"`},
		"a report instead of a command": {func(ctx context.Context, ws *websocket.Conn,
			_ net.Conn) error {
			return ws.Write(ctx, websocket.MessageText, []byte(`{"type":"vitals","payload":{}}`))
		}, wire.CodeProtocol, "vitals"},
		"no JSON": {func(ctx context.Context, ws *websocket.Conn, _ net.Conn) error {
			return ws.Write(ctx, websocket.MessageText, []byte("hello"))
		}, wire.CodeProtocol, "decode message"},
	} {
		t.Run(name, func(t *testing.T) {
			agent := newAgent(t)
			ws, conn := rawSession(t, agent)
			session := <-agent.Sessions
			before := heapInUse()
			if err := tc.send(t.Context(), ws, conn); err != nil {
				t.Fatal(err)
			}
			go func() { _, _, _ = ws.Read(context.Background()) }() // lets the goodbye pass
			<-session.Done()
			// promise: V-06
			wantClose(t, session.Err(), tc.code, false, tc.says)
			if grown := heapInUse() - before; grown > 16<<20 {
				t.Errorf("the heap grew by %d MiB", grown>>20)
			}
		})
	}
}

// mute is a connection whose far end can vanish without a FIN: what is written disappears, and
// nothing arrives, not even an end.
type mute struct {
	net.Conn
	vanished atomic.Bool
	closed   chan struct{}
	closing  sync.Once
}

func (m *mute) Write(p []byte) (int, error) {
	if m.vanished.Load() {
		return len(p), nil
	}
	return m.Conn.Write(p)
}

func (m *mute) Read(p []byte) (int, error) {
	for {
		n, err := m.Conn.Read(p)
		switch {
		case !m.vanished.Load():
			return n, err
		case err != nil:
			<-m.closed
			return 0, net.ErrClosed
		}
	}
}

// Close does not reach the far end, either.
func (m *mute) Close() error {
	m.closing.Do(func() { close(m.closed) })
	if m.vanished.Load() {
		return m.SetDeadline(time.Unix(1, 0))
	}
	return m.Conn.Close()
}

// F32: half-open TCP is noticed at both ends within 15 seconds, at whichever
// moment between two pings it happens.
//
// fault: F32
func TestSession_NoticesAHalfOpenConnection(t *testing.T) {
	for _, after := range []time.Duration{0, 1, 3_000, 4_999, 5_000, 5_001, 9_000, 61_234} {
		t.Run(fmt.Sprintf("after %d ms", after), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
				config := agent.DialConfig()
				var link *mute
				connect := config.Connect
				config.Connect = func(ctx context.Context, n, a string) (net.Conn, error) {
					c, err := connect(ctx, n, a)
					link = &mute{Conn: c, closed: make(chan struct{})}
					return link, err
				}
				conn, err := wire.Dial(t.Context(), config)
				if err != nil {
					t.Fatal(err)
				}
				control, err := wire.OpenSession(t.Context(), conn)
				if err != nil {
					t.Fatal(err)
				}
				far := <-agent.Sessions
				time.Sleep(after * time.Millisecond)
				link.vanished.Store(true)
				begin := time.Now()
				<-control.Done()
				<-far.Done()
				if took := time.Since(begin); took >= 15*time.Second || took < 4*time.Second {
					t.Errorf("noticed after %v", took)
				}
				wantClose(t, control.Err(), wire.CodeSilent, false, "half-open")
				wantClose(t, far.Err(), wire.CodeSilent, false, "half-open")
				_ = control.Close(wire.CodeGone, "")
				_ = link.Conn.Close()
			})
		})
	}
}

func TestSession_LivesForeverWhenIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		time.Sleep(time.Hour)
		if err := control.Send(t.Context(), wire.Ack{Seq: 1}); err != nil {
			t.Fatal(err)
		}
		if _, err := agent.Receive(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// On a slow link the pong queues behind a large message: any byte is a sign of
// life.
func TestSession_TakesBytesForLife(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
		ws, _ := rawSession(t, agent) // never reads, so it never answers a ping
		session := <-agent.Sessions
		go func() { _, _, _ = agentDrain(session) }()
		text := []byte(`{"type":"ack","payload":{"seq":1}}`)
		for range 30 {
			if err := ws.Write(t.Context(), websocket.MessageText, text); err != nil {
				t.Fatal(err, session.Err())
			}
			time.Sleep(2 * time.Second)
		}
		if session.Err() != nil {
			t.Errorf("closed a live connection: %v", session.Err())
		}
	})
}

func agentDrain(s *wire.AgentSession) (n int, last wire.Command, err error) {
	for {
		m, err := s.Receive(context.Background())
		if err != nil {
			return n, last, err
		}
		n, last = n+1, m
	}
}

// A program that stops taking messages stops the flood at a bounded number and
// then ends the session; one that pauses loses nothing.
func TestSession_BoundsWhatIsNotTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		sent := make(chan int, 1)
		go func() {
			n := 0
			for control.Send(t.Context(), wire.Ack{Seq: int64(n)}) == nil {
				n++
			}
			sent <- n
		}()
		time.Sleep(8 * time.Second)
		for i := range int64(100) {
			if m, err := agent.Receive(t.Context()); err != nil || m != (wire.Ack{Seq: i}) {
				t.Fatal(m, err)
			}
		}
		begin := time.Now()
		<-agent.Done()
		wantClose(t, agent.Err(), wire.CodeSlow, false, "not taken")
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("ended after %v", took)
		}
		if n := <-sent; n > 1000 {
			t.Errorf("%d messages went into a session nobody reads", n)
		}
	})
}

func TestSession_SendGivesUpWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		control, agent := wiretest.NewSessionPair(t)
		stop := errors.New("enough")
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(stop)
		if _, err := control.Receive(ctx); !errors.Is(err, stop) {
			t.Errorf("receive: %v", err)
		}
		_ = control.Send(ctx, wire.Ack{Seq: 1})
		if err := control.Send(t.Context(), wire.Ack{Seq: 2}); err != nil {
			t.Fatalf("a caller that gave up took the session with it: %v", err)
		}
		for {
			m, err := agent.Receive(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if m == (wire.Ack{Seq: 2}) {
				return
			}
		}
	})
}

// T36: no answer but the upgrade is believed, and no redirect is followed.
//
// threat: T36
func TestOpenSession_BelievesNothingButTheUpgrade(t *testing.T) {
	elsewhere := listenLoopback(t)
	defer elsewhere.Close()
	visited := make(chan struct{}, 1)
	go func() {
		if c, err := elsewhere.Accept(); err == nil {
			visited <- struct{}{}
			_ = c.Close()
		}
	}()
	for _, status := range []int{200, 204, 302, 307, 401, 404, 500} {
		t.Run(http.StatusText(status), func(t *testing.T) {
			asked := atomic.Int64{}
			agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t),
				Hostile: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					asked.Add(1)
					w.Header().Set("Location", "http://"+elsewhere.Addr().String()+"/")
					w.Header().Set("WWW-Authenticate", "Basic")
					w.WriteHeader(status)
				})})
			conn, err := wire.Dial(t.Context(), agent.DialConfig())
			if err != nil {
				t.Fatal(err)
			}
			_, err = wire.OpenSession(t.Context(), conn)
			if !errors.Is(err, wire.ErrNoSession) ||
				!strings.Contains(err.Error(), fmt.Sprint(status)) {
				t.Errorf("got %v", err)
			}
			if _, err := conn.Write([]byte("x")); err == nil {
				t.Error("the connection is still open")
			}
			if asked.Load() != 1 {
				t.Errorf("%d requests", asked.Load())
			}
		})
	}
	if len(visited) > 0 {
		t.Error("a redirect was followed")
	}
}

func TestOpenSession_GivesAHangingAgentFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{Hostile: http.HandlerFunc(
			func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })})
		conn, err := wire.Dial(t.Context(), agent.DialConfig())
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if _, err = wire.OpenSession(t.Context(), conn); !errors.Is(err, wire.ErrNoSession) {
			t.Errorf("got %v", err)
		}
		if took := time.Since(begin); took > 10*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestOpenRunLogs_IsASessionOfItsOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
		control := agent.Open(t)
		<-agent.Sessions
		conn, err := wire.Dial(t.Context(), agent.DialConfig())
		if err != nil {
			t.Fatal(err)
		}
		logs, err := wire.OpenRunLogs(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		far := <-agent.Sessions
		if err := far.Send(t.Context(), wire.LogBatch{Seq: 4}); err != nil {
			t.Fatal(err)
		}
		if m, err := logs.Receive(t.Context()); err != nil || m.(wire.LogBatch).Seq != 4 {
			t.Fatal(m, err)
		}
		_ = logs.Close(wire.CodeGone, "done")
		if control.Err() != nil {
			t.Errorf("the session went with its logs: %v", control.Err())
		}
	})
}

// A link at rest costs each end at most eight messages a minute.
func TestSession_IsQuietAtRest(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
		config := agent.DialConfig()
		var link *countedWrites
		connect := config.Connect
		config.Connect = func(ctx context.Context, n, a string) (net.Conn, error) {
			c, err := connect(ctx, n, a)
			link = &countedWrites{Conn: c}
			return link, err
		}
		conn, err := wire.Dial(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		control, err := wire.OpenSession(t.Context(), conn)
		if err != nil {
			t.Fatal(err)
		}
		far := <-agent.Sessions
		before := link.writes.Load()
		time.Sleep(10 * time.Minute)
		// promise: P-05
		if n := link.writes.Load() - before; n > 80 || n < 40 {
			t.Errorf("the control plane wrote %d messages in ten minutes", n)
		}
		// A message that is answered replaces the ping.
		before = link.writes.Load()
		for range 60 {
			if err := far.Send(t.Context(), wire.Vitals{Pong: true}); err != nil {
				t.Fatal(err)
			}
			if _, err := control.Receive(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := control.SendPong(t.Context()); err != nil {
				t.Fatal(err)
			}
			time.Sleep(5 * time.Second)
		}
		// A ping may have been due in between.
		if n := link.writes.Load() - before; n < 60 || n > 61 {
			t.Errorf("the control plane wrote %d messages as answers to 60", n)
		}
		_ = control.Close(wire.CodeGone, "")
		_ = link.Conn.Close()
	})
}

type countedWrites struct {
	net.Conn
	writes atomic.Int64
}

func (c *countedWrites) Write(p []byte) (int, error) {
	c.writes.Add(1)
	return c.Conn.Write(p)
}
