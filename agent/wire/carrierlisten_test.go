package wire_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// servePipes serves HTTP on connections in memory, and returns a client that opens them.
func servePipes(t *testing.T, handler http.HandlerFunc) *http.Client {
	t.Helper()
	pipes := wiretest.NewPipeListener()
	server := &http.Server{Handler: handler}
	go func() { _ = server.Serve(pipes) }()
	client := &http.Client{Transport: &http.Transport{DialContext: pipes.Dial}}
	t.Cleanup(func() {
		client.CloseIdleConnections()
		_ = server.Close()
	})
	return client
}

// An unused connection ends when a ping every twenty seconds is not answered within ten. One that
// was used stays: it has watches of its own.
func TestCarrier_EndsWithoutAnAnswerToItsPing(t *testing.T) {
	for name, c := range map[string]struct {
		reads, writes bool
		want          time.Duration
	}{
		"a silent far end": {false, false, 30 * time.Second},
		"one that answers": {true, false, 0},
		"one that is used": {false, true, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				over := make(chan struct{})
				client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
					ws, err := websocket.Accept(w, r, nil)
					if err != nil {
						t.Error(err)
						return
					}
					defer func() { _ = ws.CloseNow() }()
					if c.writes {
						_ = ws.Write(t.Context(), websocket.MessageBinary, []byte("x"))
					}
					if c.reads {
						ws.CloseRead(t.Context())
					}
					<-over
				})
				conn, err := wire.DialCarrier(t.Context(), "ws://agent/", client)
				if err != nil {
					t.Fatal(err)
				}
				carrier, began := conn.(*wire.Carrier), time.Now()
				select {
				case <-carrier.Done():
				case <-time.After(5 * time.Minute):
				}
				took, said := time.Since(began), carrier.Err()
				if c.want == 0 && said != nil || c.want > 0 && took != c.want ||
					said != nil && said.Error() != "no answer to a ping" {
					t.Errorf("after %s: %v", took, said)
				}
				close(over)
				_ = conn.Close()
			})
		})
	}
}

// The same holds for the end that a proxy connects to: what it was sent something on stays, though
// its pings are not answered.
func TestCarrierListener_KeepsWhatIsUsed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		pipes := wiretest.NewPipeListener()
		l := wire.NewCarrierListener(pipes, slog.New(slog.DiscardHandler))
		ends := map[bool]bool{}
		for _, used := range []bool{true, false} {
			ws, _, err := websocket.Dial(t.Context(), "ws://agent/", &websocket.DialOptions{
				HTTPClient: &http.Client{Transport: &http.Transport{DialContext: pipes.Dial}}})
			if err != nil {
				t.Fatal(err)
			}
			far, err := l.Accept()
			if err != nil {
				t.Fatal(err)
			}
			if used {
				_ = ws.Write(t.Context(), websocket.MessageBinary, []byte("x"))
			}
			time.Sleep(5 * time.Minute)
			ends[used] = far.(*wire.Carrier).Err() != nil
			_, _ = ws.CloseNow(), far.Close()
		}
		if ends[true] || !ends[false] {
			t.Errorf("used, it ended: %v; unused: %v", ends[true], ends[false])
		}
		_ = l.Close()
	})
}

// While data waits for its reader, no ping waits behind it.
func TestCarrier_DoesNotPingWhileItWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		over := make(chan struct{})
		client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			<-over
			_ = ws.CloseNow()
		})
		conn, err := wire.DialCarrier(t.Context(), "ws://agent/", client)
		if err != nil {
			t.Fatal(err)
		}
		written := make(chan error, 1)
		go func() {
			_, err := conn.Write(make([]byte, 16<<20)) // more than the pipe holds
			written <- err
		}()
		time.Sleep(5 * time.Minute)
		if err := conn.(*wire.Carrier).Err(); err != nil {
			t.Errorf("the connection ended: %v", err)
		}
		close(over)
		if err := <-written; err == nil {
			t.Error("what nobody read counts as written")
		}
		_ = conn.Close()
	})
}

// A listener behind a proxy takes WebSockets only, and ends what nobody accepted.
func TestCarrierListener_Closes(t *testing.T) {
	inner := listenLoopback(t)
	l := wire.NewCarrierListener(inner, slog.New(slog.DiscardHandler))
	if l.Addr() != inner.Addr() {
		t.Errorf("its address is %s", l.Addr())
	}
	url := "ws://" + inner.Addr().String() + "/below"
	if answer, err := http.Get("http" + strings.TrimPrefix(url, "ws")); err != nil ||
		answer.StatusCode != http.StatusUpgradeRequired {
		t.Errorf("a plain request: %v, %v", answer, err)
	} else {
		_ = answer.Body.Close()
	}
	near, err := wire.DialCarrier(t.Context(), url, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	far, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	waiting, err := wire.DialCarrier(t.Context(), url, http.DefaultClient)
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("accepted after the end: %v", err)
	}
	if _, err := waiting.Read(make([]byte, 1)); err == nil {
		t.Error("what nobody accepted lives on")
	}
	if _, err := io.WriteString(far, "x"); err != nil {
		t.Errorf("what was accepted ended: %v", err)
	}
	got := make([]byte, 1)
	if _, err := near.Read(got); err != nil || string(got) != "x" {
		t.Errorf("got %q, %v", got, err)
	}
	_, _ = near.Close(), far.Close()
	if _, err := wire.DialCarrier(t.Context(), url, http.DefaultClient); err == nil {
		t.Error("a closed listener was reached")
	}
}

// scriptedListener accepts what it is given.
type scriptedListener struct {
	net.Listener
	accepts chan any // a net.Conn or an error
	closed  chan struct{}
	fails   error
}

func newScriptedListener(fails error) *scriptedListener {
	return &scriptedListener{accepts: make(chan any), closed: make(chan struct{}), fails: fails}
}

func (l *scriptedListener) Accept() (net.Conn, error) {
	select {
	case next := <-l.accepts:
		if c, ok := next.(net.Conn); ok {
			return c, nil
		}
		return nil, next.(error)
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *scriptedListener) Close() error {
	close(l.closed)
	return l.fails
}

func (l *scriptedListener) Addr() net.Addr { return &net.UnixAddr{Name: "first", Net: "unix"} }

// Several listeners are one: what any of them accepts or fails with comes out, and all are closed.
func TestJoinListeners_AcceptsFromAll(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		first, second := newScriptedListener(nil), newScriptedListener(errors.New("stuck"))
		third := newScriptedListener(errors.New("stuck too"))
		l := wire.JoinListeners(first, second, third)
		if l.Addr().String() != "first" {
			t.Errorf("its address is %s", l.Addr())
		}
		for _, from := range []*scriptedListener{first, second, first} {
			near, far := net.Pipe()
			go func() { from.accepts <- far }()
			if c, err := l.Accept(); err != nil || c != far {
				t.Errorf("accepted %v, %v", c, err)
			}
			_, _ = near.Close(), far.Close()
		}
		failure, began := errors.New("no descriptors"), time.Now()
		go func() { second.accepts <- failure; second.accepts <- failure }()
		for range 2 {
			if _, err := l.Accept(); !errors.Is(err, failure) {
				t.Errorf("the failure is %v", err)
			}
		}
		if time.Since(began) != 5*time.Millisecond {
			t.Errorf("it tried again after %s", time.Since(began))
		}
		near, unclaimed := net.Pipe()
		first.accepts <- unclaimed
		if err := l.Close(); err == nil || err.Error() != "stuck" {
			t.Errorf("closed with %v", err)
		}
		if _, err := near.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
			t.Errorf("what nobody accepted is left open: %v", err)
		}
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted after the end: %v", err)
		}
	})
}

// A listener without descriptors waits a little longer each time, at most a second, and begins
// anew after a success. It ends with the listener inside.
func TestListener_WaitsWhenAcceptFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		inner := newScriptedListener(nil)
		l := wire.NewListener(inner, wire.ListenConfig{Identity: wiretest.NewIdentity(t),
			Verifier: wiretest.NewMemoryVerifier(), Build: "dev"})
		fail := func() time.Duration {
			began := time.Now()
			inner.accepts <- errors.New("too many open files")
			return time.Since(began)
		}
		fail()
		want := 5 * time.Millisecond
		for range 12 {
			if took := fail(); took != want {
				t.Errorf("it waited %s instead of %s", took, want)
			}
			want = min(2*want, time.Second)
		}
		near, far := net.Pipe()
		inner.accepts <- far
		_ = near.Close()
		fail()
		if took := fail(); took != 5*time.Millisecond {
			t.Errorf("after a success it waited %s", took)
		}
		inner.accepts <- net.ErrClosed
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("it goes on with %v", err)
		}
		_ = l.Close()
	})
}

// A connection that has proven itself takes no place of those that have not, however many of one
// address there are.
func TestListener_FreesThePlaceOfTheProven(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := wiretest.NewAgent(t, wiretest.AgentConfig{})
		first, err := wire.Dial(t.Context(), agent.DialConfig())
		if err != nil {
			t.Fatal(err)
		}
		var more []net.Conn
		for range 32 { // as many places as one address has
			c, err := agent.DialConfig().Connect(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			more = append(more, c)
			synctest.Wait()
		}
		_, _ = io.WriteString(first, "GET /late HTTP/1.0\r\n\r\n")
		if answer, err := io.ReadAll(first); err != nil ||
			!strings.HasPrefix(string(answer), "HTTP/1.0 404") {
			t.Errorf("%q, %v", answer, err)
		}
		_ = first.Close()
		for _, c := range more {
			_ = c.Close()
		}
	})
}

// Only what the listener has proven has a peer.
func TestConnContext_KnowsProvenConnectionsOnly(t *testing.T) {
	near, far := net.Pipe()
	defer func() { _, _ = near.Close(), far.Close() }()
	ctx := context.WithValue(t.Context(), keyOfTest{}, "kept")
	if got := wire.ConnContext(ctx, near); got != ctx {
		t.Error("a connection without proof changes the context")
	}
	if peer, ok := wire.PeerFrom(ctx); ok || peer != (wire.Peer{}) {
		t.Errorf("it has the peer %+v", peer)
	}
}

type keyOfTest struct{}
