package wire_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// pipePlane is a control plane that agents reach in memory.
func pipePlane(t *testing.T, guard *tokenGuard) (*http.Client, chan *wire.Carrier) {
	t.Helper()
	waiting := make(chan *wire.Carrier, 1024)
	return servePipes(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/below"+wire.PathStandby {
			t.Errorf("it dials %s", r.URL)
		}
		if c, _, err := wire.AcceptStandby(w, r, guard); err == nil {
			waiting <- c
		}
	}), waiting
}

// standbyConfig is that of an agent with a token.
func standbyConfig(client *http.Client, token wire.Token, log io.Writer) wire.StandbyConfig {
	return wire.StandbyConfig{
		URL:    &url.URL{Scheme: "ws", Host: "plane", Path: "/below/", RawQuery: "x=1", Fragment: "y"},
		Client: client, Log: slog.New(slog.NewTextHandler(log, nil)),
		Credential: func() (string, wire.Key, error) { return token.Kid, token.Key(), nil },
	}
}

// An agent keeps four connections ready, replaces what is used at once, and what ended soon.
func TestStandbyListener_KeepsFourReady(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
		client, waiting := pipePlane(t, &tokenGuard{token: token})
		var log bytes.Buffer
		l := wire.NewStandbyListener(standbyConfig(client, token, &log))
		synctest.Wait()
		if len(waiting) != 4 {
			t.Fatalf("%d connections are ready", len(waiting))
		}
		used := <-waiting
		_, _ = io.WriteString(used, "hello")
		accepted, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, 5)
		if _, err := io.ReadFull(accepted, got); err != nil || string(got) != "hello" {
			t.Errorf("got %q, %v", got, err)
		}
		if synctest.Wait(); len(waiting) != 4 {
			t.Errorf("%d are ready after one was used", len(waiting))
		}
		_ = (<-waiting).Close()
		if synctest.Wait(); len(waiting) != 3 {
			t.Errorf("%d are ready at once after one ended", len(waiting))
		}
		time.Sleep(250 * time.Millisecond)
		if synctest.Wait(); len(waiting) != 4 {
			t.Errorf("%d are ready after a pause", len(waiting))
		}
		// One that was used when nobody accepts it is closed with the listener.
		unclaimed := <-waiting
		_, _ = io.WriteString(unclaimed, "hello")
		synctest.Wait()
		_ = l.Close()
		if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
			t.Errorf("accepted after the end: %v", err)
		}
		time.Sleep(time.Hour)
		for _, c := range []*wire.Carrier{unclaimed, <-waiting, <-waiting, <-waiting} {
			if c.Err() == nil {
				t.Error("a connection outlived its listener")
			}
		}
		if len(waiting) > 1 { // what replaced the last one
			t.Errorf("%d connections were opened after the end", len(waiting))
		}
		if _, err := io.WriteString(accepted, "x"); err != nil {
			t.Errorf("what was accepted ended: %v", err)
		}
		_ = accepted.Close()
		if n := strings.Count(log.String(), "\n"); n != 1 ||
			!strings.Contains(log.String(), `msg="connected to the control plane"`) {
			t.Errorf("it logged\n%s", log.String())
		}
	})
}

// An agent that cannot dial tries more and more rarely, and says each reason once.
func TestStandbyListener_WaitsBetweenAttempts(t *testing.T) {
	for name, c := range map[string]struct {
		err error
		// The least and most attempts of the four loops: in half a second, and in the half hour
		// after the first minute.
		soon, later [2]int32
	}{
		// Pauses of 125 to 250 ms, 250 to 500 ms, and so on to 7.5 to 15 s.
		"a failure": {errors.New("no route"), [2]int32{8, 12}, [2]int32{4 * 120, 4 * 240}},
		"a refusal": {wire.ErrUnknownKid, [2]int32{4, 4}, [2]int32{4 * 120, 4 * 240}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var log bytes.Buffer
				var attempts atomic.Int32
				config := standbyConfig(http.DefaultClient, wire.Token{}, &log)
				config.Credential = func() (string, wire.Key, error) {
					attempts.Add(1)
					if time.Since(began(t)) > time.Hour {
						return "", wire.Key{}, errors.New("no name")
					}
					return "", wire.Key{}, c.err
				}
				start := began(t)
				l := wire.NewStandbyListener(config)
				check := func(want [2]int32) {
					t.Helper()
					if n := attempts.Swap(0); n < want[0] || n > want[1] {
						t.Errorf("after %s there were %d attempts, not %v", time.Since(start), n, want)
					}
				}
				time.Sleep(500 * time.Millisecond)
				check(c.soon)
				time.Sleep(time.Minute - 500*time.Millisecond)
				attempts.Store(0)
				time.Sleep(30 * time.Minute)
				check(c.later)
				time.Sleep(time.Hour)
				_ = l.Close()
				attempts.Store(0)
				time.Sleep(time.Hour)
				check([2]int32{0, 0})
				want := []string{c.err.Error(), "no name"}
				lines := strings.Split(strings.TrimSpace(log.String()), "\n")
				for i, line := range lines {
					if len(lines) != len(want) || !strings.Contains(line, want[i]) {
						t.Fatalf("it logged\n%s", log.String())
					}
				}
			})
		})
	}
}

// A connection that was ready for a while is replaced soon after its end, however long the agent
// had to wait for it.
func TestStandbyListener_ForgetsItsPauseAfterAWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
		client, waiting := pipePlane(t, &tokenGuard{token: token})
		config := standbyConfig(client, token, io.Discard)
		config.Credential = func() (string, wire.Key, error) {
			if time.Since(began(t)) < 5*time.Minute {
				return "", wire.Key{}, errors.New("no route")
			}
			return token.Kid, token.Key(), nil
		}
		l := wire.NewStandbyListener(config)
		time.Sleep(6 * time.Minute)
		if synctest.Wait(); len(waiting) != 4 {
			t.Fatalf("%d connections are ready", len(waiting))
		}
		_ = (<-waiting).Close()
		time.Sleep(250 * time.Millisecond)
		if synctest.Wait(); len(waiting) != 4 {
			t.Errorf("%d are ready a moment after one ended", len(waiting))
		}
		_ = l.Close()
	})
}

// began is when the clock of a bubble starts.
func began(*testing.T) time.Time { return time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) }

// A refusal is asked about again every quarter of a minute.
func TestStandbyListener_AsksARefusalAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
		var asked atomic.Int32
		guard := &countingGuard{tokenGuard{token: token, no: &wire.RefusedError{
			Code: wire.CodeRefused, Reason: "this node is dialed"}}, &asked}
		client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			_, _, _ = wire.AcceptStandby(w, r, guard)
		})
		var log bytes.Buffer
		l := wire.NewStandbyListener(standbyConfig(client, token, &log))
		time.Sleep(5 * time.Second)
		if n := asked.Load(); n != 4 {
			t.Errorf("it asked %d times in five seconds", n)
		}
		time.Sleep(time.Minute)
		if n := asked.Load(); n < 4*5 || n > 4*9 {
			t.Errorf("it asked %d times in a minute", n)
		}
		_ = l.Close()
		if l.Addr().String() != "ws://plane/below/?x=1#y" || l.Addr().Network() != "websocket" {
			t.Errorf("its address is %s", l.Addr())
		}
		if n := strings.Count(log.String(), "\n"); n != 1 ||
			!strings.Contains(log.String(), "this node is dialed") {
			t.Errorf("it logged\n%s", log.String())
		}
	})
}

type countingGuard struct {
	tokenGuard
	asked *atomic.Int32
}

func (g *countingGuard) AdmitStandby(context.Context, wire.StandbyClaim) error {
	g.asked.Add(1)
	return g.no
}

// A far end has five seconds to prove its claim, and is told no more than that it did not.
func TestAcceptStandby_GivesFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := make(chan error, 1)
		client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			c, _, err := wire.AcceptStandby(w, r, &tokenGuard{})
			if c != nil {
				t.Error("a stranger has a connection")
			}
			refused <- err
		})
		began := time.Now()
		ws, _, err := websocket.Dial(t.Context(), "ws://plane/",
			&websocket.DialOptions{HTTPClient: client})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, _, err = ws.Read(t.Context())
		}
		var closed websocket.CloseError
		if !errors.As(err, &closed) || closed.Code != websocket.StatusCode(wire.CodeRefused) ||
			!strings.HasPrefix(closed.Reason, "token refused") || time.Since(began) != 5*time.Second {
			t.Errorf("after %s: %v", time.Since(began), err)
		}
		if err := <-refused; !errors.Is(err, context.DeadlineExceeded) &&
			!strings.Contains(fmt.Sprint(err), "timeout") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// A proven connection has no limit of time.
func TestAcceptStandby_LiftsTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
		client, waiting := pipePlane(t, &tokenGuard{token: token})
		near, err := wire.DialStandby(t.Context(), wire.StandbyDial{
			URL: "ws://plane/below" + wire.PathStandby, Client: client, Role: wire.StandbyAgent,
			Kid: token.Kid, Key: token.Key()})
		if err != nil {
			t.Fatal(err)
		}
		far := <-waiting
		time.Sleep(time.Minute)
		for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
			got := make([]byte, 4)
			if _, err := io.WriteString(way[0], "late"); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(way[1], got); err != nil || string(got) != "late" {
				t.Errorf("got %q, %v", got, err)
			}
		}
		_, _ = near.Close(), far.Close()
	})
}

// What answers at the control plane's address and is none is named as such.
func TestDialStandby_NamesWhatIsNoControlPlane(t *testing.T) {
	frame := func(text string) []byte {
		return append([]byte{0, 0, 0, byte(len(text))}, text...)
	}
	challenge := frame(`{"nonce":"` + strings.Repeat("A", 43) + `="}`)
	for name, c := range map[string]struct {
		says []byte
		code websocket.StatusCode
		want error
		text string
	}{
		"a short challenge": {frame(`{"nonce":"AAAA"}`), 0, wire.ErrNotAgent, "has 3 bytes"},
		"no challenge":      {frame(`[]`), 0, wire.ErrNotAgent, "read the challenge"},
		"no yes": {append(challenge, frame(`{"admitted":false}`)...), 0, wire.ErrNotAgent,
			"neither yes nor no"},
		"no verdict": {append(challenge, frame(`1`)...), 0, wire.ErrNotAgent, "read the verdict"},
		"a hang-up":  {nil, websocket.StatusNormalClosure, io.EOF, "the far end hung up"},
		"a refusal":  {nil, websocket.StatusCode(wire.CodeRefused), wire.ErrRefused, "no place"},
	} {
		client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err != nil {
				t.Error(err)
				return
			}
			_ = ws.Write(t.Context(), websocket.MessageBinary, c.says)
			if c.says == nil {
				_ = ws.Close(c.code, "no place")
			}
			_, _, _ = ws.Read(t.Context())
			_, _, _ = ws.Read(t.Context())
			_ = ws.CloseNow()
		})
		token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
		_, err := wire.DialStandby(t.Context(), wire.StandbyDial{URL: "ws://plane/", Client: client,
			Role: wire.StandbyAgent, Kid: token.Kid, Key: token.Key()})
		if !errors.Is(err, c.want) || !strings.Contains(fmt.Sprint(err), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "http://elsewhere/", http.StatusFound)
	})
	_, err := wire.DialStandby(t.Context(), wire.StandbyDial{URL: "ws://plane/", Client: client})
	if !errors.Is(err, wire.ErrNotAgent) || !strings.Contains(err.Error(), "302 Found") {
		t.Errorf("a redirect: %v", err)
	}
}

// A control plane that accepts and stays silent is given up after fifteen seconds, and a caller
// that gives up earlier is obeyed.
func TestDialStandby_GivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := servePipes(t, func(w http.ResponseWriter, r *http.Request) {
			ws, err := websocket.Accept(w, r, nil)
			if err == nil {
				_, _, _ = ws.Read(context.WithoutCancel(r.Context()))
				_ = ws.CloseNow()
			}
		})
		for _, limit := range []time.Duration{0, time.Second} {
			ctx, cancel := context.WithCancel(t.Context())
			want := 15 * time.Second
			if limit > 0 {
				ctx, cancel = context.WithTimeout(ctx, limit)
				want = limit
			}
			began := time.Now()
			c, err := wire.DialStandby(ctx, wire.StandbyDial{URL: "ws://plane/", Client: client})
			if c != nil || err == nil || time.Since(began) != want {
				t.Errorf("after %s: %v", time.Since(began), err)
			}
			cancel()
		}
	})
}
