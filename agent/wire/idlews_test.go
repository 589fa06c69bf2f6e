package wire_test

import (
	"bufio"
	"crypto/sha1"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// rawAgent returns the control plane's session, and what is below the agent's end.
func rawAgent(t *testing.T, c wiretest.AgentConfig) (*wire.Session, *bufio.ReadWriter) {
	t.Helper()
	taken := make(chan *bufio.ReadWriter, 1)
	c.Hostile = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, both, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		t.Cleanup(func() { _ = conn.Close() })
		key := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") +
			"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
		fmt.Fprintf(both, "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n"+
			"Connection: Upgrade\r\nSec-WebSocket-Accept: %s\r\n\r\n",
			base64.StdEncoding.EncodeToString(key[:]))
		if err := both.Flush(); err != nil {
			t.Error(err)
		}
		taken <- both
	})
	agent := wiretest.NewAgent(t, c)
	return agent.Open(t), <-taken
}

// agentFrame returns a frame as an agent sends it: not masked.
func agentFrame(first byte, payload string) []byte {
	f := []byte{first}
	switch n := len(payload); {
	case n < 126:
		f = append(f, byte(n))
	case n < 1<<16:
		f = binary.BigEndian.AppendUint16(append(f, 126), uint16(n))
	default:
		f = binary.BigEndian.AppendUint64(append(f, 127), uint64(n))
	}
	return append(f, payload...)
}

// readFrame reads one short frame of the control plane's.
func readFrame(t *testing.T, r io.Reader) (first byte, payload string) {
	t.Helper()
	var head [6]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		t.Fatal(err)
	}
	if head[1]&0x80 == 0 || head[1]&0x7f > 125 {
		t.Fatalf("a frame that begins with %x", head)
	}
	text := make([]byte, head[1]&0x7f)
	if _, err := io.ReadFull(r, text); err != nil {
		t.Fatal(err)
	}
	for i := range text {
		text[i] ^= head[2+i%4]
	}
	return head[0], string(text)
}

// refusalOf returns a report of about so many bytes.
func refusalOf(n int) (wire.TokenRefused, string) {
	m := wire.TokenRefused{Kid: strings.Repeat("k", n)}
	return m, `{"type":"token_refused","payload":{"kid":"` + m.Kid + `"}}`
}

// Both kinds of connection: one that is waited on without a read under way, and
// one that cannot be.
func overBoth(t *testing.T, test func(*testing.T, wiretest.AgentConfig)) {
	t.Run("TCP", func(t *testing.T) { test(t, wiretest.AgentConfig{Listener: listenLoopback(t)}) })
	t.Run("memory", func(t *testing.T) { test(t, wiretest.AgentConfig{}) })
}

func TestSession_PutsFramesTogether(t *testing.T) {
	overBoth(t, func(t *testing.T, c wiretest.AgentConfig) {
		session, agent := rawAgent(t, c)
		want, text := refusalOf(70_000)
		frames := [][]byte{agentFrame(0x01, text[:10]), agentFrame(0x89, "are you there"),
			agentFrame(0x00, text[10:50_000]), agentFrame(0x8a, "nobody asked"),
			agentFrame(0x80, text[50_000:])}
		go func() {
			for _, f := range frames {
				// A pause between any two bytes is as good as none.
				for _, part := range [][]byte{f[:1], f[1:3], f[3:]} {
					_, _ = agent.Write(part)
					_ = agent.Flush()
					time.Sleep(20 * time.Millisecond)
				}
			}
		}()
		first, payload := readFrame(t, agent)
		if first != 0x8a || payload != "are you there" {
			t.Errorf("a ping was answered by %x %q", first, payload)
		}
		if got, err := session.Receive(t.Context()); err != nil || got != want {
			t.Fatalf("%.80v, %v", got, err)
		}
	})
}

func TestSession_EndsOnAgentsThatBreakFrames(t *testing.T) {
	_, text := refusalOf(10)
	for name, tc := range map[string]struct {
		bytes []byte
		code  uint16
		says  string
	}{
		"masked":               {append([]byte{0x81, 0x84}, "keyytext"...), 1002, "not agreed"},
		"a reserved bit":       {agentFrame(0xc1, text), 1002, "not agreed"},
		"an unknown kind":      {agentFrame(0x83, text), 1002, "not agreed"},
		"an unknown control":   {agentFrame(0x8b, text), 1002, "not agreed"},
		"a long ping":          {agentFrame(0x89, strings.Repeat("x", 126)), 1002, "too long"},
		"a ping in pieces":     {agentFrame(0x09, "x"), 1002, "in pieces"},
		"an end without begin": {agentFrame(0x80, text), 1002, "out of order"},
		"two beginnings": {append(agentFrame(0x01, text), agentFrame(0x81, text)...), 1002,
			"out of order"},
		"announces 1 GiB": {binary.BigEndian.AppendUint64([]byte{0x81, 127}, 1<<30),
			1009, "1048576"},
		"grows over the limit": {append(agentFrame(0x01, strings.Repeat("x", wire.MaxMessage)),
			agentFrame(0x80, "x")...), 1009, "1048576"},
	} {
		t.Run(name, func(t *testing.T) {
			overBoth(t, func(t *testing.T, c wiretest.AgentConfig) {
				session, agent := rawAgent(t, c)
				before := heapInUse()
				go func() { _, _ = agent.Write(tc.bytes); _ = agent.Flush() }()
				first, payload := readFrame(t, agent)
				if first != 0x88 || len(payload) < 2 ||
					binary.BigEndian.Uint16([]byte(payload)) != tc.code {
					t.Errorf("it was told %x %q, want a goodbye with %d", first, payload, tc.code)
				}
				<-session.Done()
				if err := session.Err(); err == nil || !strings.Contains(err.Error(), tc.says) {
					t.Errorf("ended with %v, want %q", err, tc.says)
				}
				if grown := heapInUse() - before; grown > 16<<20 {
					t.Errorf("the heap grew by %d MiB", grown>>20)
				}
			})
		})
	}
}

// The library is at the agent's end: each understands the other.
func TestSession_CarriesEverySizeOverTCP(t *testing.T) {
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t)})
	control := agent.Open(t)
	far := <-agent.Sessions
	sizes := []int{0, 1, 60, 80, 125, 126, 127, 4096, 1<<16 - 60, 1 << 16, 300_000,
		wire.MaxMessage - 100}
	var tasks sync.WaitGroup
	tasks.Go(func() {
		for _, n := range sizes {
			m := wire.RefuseToken{Kid: strings.Repeat("d", n)}
			if err := control.Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		}
	})
	tasks.Go(func() {
		for _, n := range sizes {
			m, _ := refusalOf(n)
			if err := far.Send(t.Context(), m); err != nil {
				t.Error(err)
			}
		}
	})
	for _, n := range sizes {
		up, err := control.Receive(t.Context())
		if want, _ := refusalOf(n); err != nil || up != want {
			t.Fatalf("%d bytes up: %v", n, err)
		}
		down, err := far.Receive(t.Context())
		if err != nil || down != (wire.RefuseToken{Kid: strings.Repeat("d", n)}) {
			t.Fatalf("%d bytes down: %v", n, err)
		}
	}
	tasks.Wait()
	// A waiter without a pending read is notified of the end too, after earlier messages.
	last, _ := refusalOf(3)
	if err := far.Send(t.Context(), last); err != nil {
		t.Fatal(err)
	}
	if err := far.Close(wire.CodeRevoked, "the token was rotated"); err != nil {
		t.Fatal(err)
	}
	if m, err := control.Receive(t.Context()); m != last {
		t.Errorf("what came before the end is lost: %v, %v", m, err)
	}
	_, err := control.Receive(t.Context())
	wantClose(t, err, wire.CodeRevoked, true, "the token was rotated")
}

func TestSession_SaysGoodbyeOverTCP(t *testing.T) {
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Listener: listenLoopback(t)})
	control := agent.Open(t)
	far := <-agent.Sessions
	if err := control.Close(wire.CodeGone, "the control plane stops"); err != nil {
		t.Fatal(err)
	}
	<-far.Done()
	wantClose(t, far.Err(), wire.CodeGone, true, "the control plane stops")
	if err := control.Send(t.Context(), wire.Ack{}); err == nil {
		t.Error("sent into a closed session")
	}
}

// An agent may say goodbye with a code alone, or with nothing.
func TestSession_HearsAShortGoodbye(t *testing.T) {
	for goodbye, code := range map[string]wire.Code{"": 1005, "\x0f\xa6": wire.CodeRevoked} {
		session, agent := rawAgent(t, wiretest.AgentConfig{})
		_, _ = agent.Write(agentFrame(0x88, goodbye))
		_ = agent.Flush()
		if first, text := readFrame(t, agent); first != 0x88 || text != goodbye {
			t.Errorf("%q is answered with %x %q", goodbye, first, text)
		}
		<-session.Done()
		wantClose(t, session.Err(), code, true, "")
	}
}

// News comes for each message and for the end, without anybody waiting.
func TestSession_TellsOfNews(t *testing.T) {
	overBoth(t, func(t *testing.T, c wiretest.AgentConfig) {
		agent := wiretest.NewAgent(t, c)
		control := agent.Open(t)
		far := <-agent.Sessions
		news := make(chan struct{}, 100)
		control.OnArrival(func() { news <- struct{}{} })
		<-news
		if control.HasPending() {
			t.Error("there is news of nothing")
		}
		m, _ := refusalOf(5)
		if err := far.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
		<-news
		if got, ok := control.TryReceive(); !ok || got != m || control.HasPending() {
			t.Errorf("got %v, %v", got, ok)
		}
		_ = far.Close(wire.CodeGone, "bye")
		<-news
		if !control.HasPending() || control.Err() == nil {
			t.Error("the end is no news")
		}
	})
}
