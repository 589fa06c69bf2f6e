package wire

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// A far end that does not read for a while, as one whose person has paused a download, and pings
// meanwhile, does not end the connection: everything that is written arrives.
func TestCarrier_SurvivesAPingWhileItsDataIsNotRead(t *testing.T) {
	t.Parallel()
	const size = 64 << 20 // more than the kernel holds on the way
	arrived := make(chan int64, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = ws.CloseNow() }()
		time.Sleep(time.Second) // until the writer waits
		ping, cancel := context.WithTimeout(t.Context(), 6*time.Second)
		defer cancel()
		_ = ws.Ping(ping) // nobody reads, so no answer is noticed
		n, _ := io.Copy(io.Discard, websocket.NetConn(t.Context(), ws, websocket.MessageBinary))
		arrived <- n
	}))
	t.Cleanup(server.Close)
	c, err := dialCarrier(t.Context(), strings.Replace(server.URL, "http", "ws", 1), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	c.finishHandshake()
	if _, err := c.Write(make([]byte, size)); err != nil {
		t.Fatalf("the connection ended: %v", err)
	}
	_ = c.Close()
	if n := <-arrived; n < size/2 {
		t.Errorf("%d bytes arrived", n)
	}
}

// carrierPair returns both ends of a connection.
func carrierPair(t *testing.T) (near, far *Carrier) {
	t.Helper()
	accepted := make(chan *Carrier, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c, err := acceptCarrier(w, r)
		if err != nil {
			t.Error(err)
		}
		accepted <- c
	}))
	t.Cleanup(server.Close)
	near, err := dialCarrier(t.Context(), strings.Replace(server.URL, "http", "ws", 1),
		server.Client())
	if err != nil {
		t.Fatal(err)
	}
	far = <-accepted
	t.Cleanup(func() { _, _ = near.Close(), far.Close() })
	return near, far
}

// Deadlines end reads and writes, and no longer once they are lifted.
func TestCarrier_ObeysDeadlines(t *testing.T) {
	t.Parallel()
	near, far := carrierPair(t)
	if near.LocalAddr().String() != "local" || !strings.HasPrefix(near.RemoteAddr().String(),
		"ws://") ||
		!strings.HasPrefix(far.RemoteAddr().String(), "127.0.0.1:") {
		t.Errorf("the ends are %s and %s", near.RemoteAddr(), far.RemoteAddr())
	}
	b := make([]byte, 8)
	expect := func(what string, wantN int, want error, n int, err error) {
		t.Helper()
		if n != wantN || !errors.Is(err, want) {
			t.Errorf("%s: %d bytes, %v", what, n, err)
		}
	}
	expectRead := func(what string, wantN int, want error) {
		t.Helper()
		n, err := near.Read(b)
		expect(what, wantN, want, n, err)
	}
	_, _ = far.Write([]byte("late"))
	<-near.arrived // it is there
	signal(near.arrived)
	_ = near.SetReadDeadline(time.Unix(1, 0))
	expectRead("data and a past deadline", 0, os.ErrDeadlineExceeded)
	n, err := near.Write([]byte("x"))
	expect("a write beside it", 1, nil, n, err)
	_ = near.SetReadDeadline(time.Now().Add(time.Minute))
	expectRead("a deadline that was moved on", 4, nil)
	_ = near.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	expectRead("a short one", 0, os.ErrDeadlineExceeded)
	_ = near.SetReadDeadline(time.Now().Add(20 * time.Millisecond))
	_ = near.SetReadDeadline(time.Time{})
	time.Sleep(30 * time.Millisecond)
	_, _ = far.Write([]byte("more"))
	expectRead("one that was lifted", 4, nil)
	_ = near.SetDeadline(time.Unix(1, 0))
	expectRead("both, reading", 0, os.ErrDeadlineExceeded)
	n, err = near.Write([]byte("x"))
	expect("both, writing", 0, os.ErrDeadlineExceeded, n, err)
	n, err = near.Read(nil)
	expect("nothing to read into", 0, nil, n, err)
	_ = far.SetWriteDeadline(time.Unix(1, 0))
	n, err = far.Write([]byte("x"))
	expect("a past deadline of writes", 0, os.ErrDeadlineExceeded, n, err)
}

// A write that fails before its deadline says why it failed, and not that the time was over.
func TestCarrier_TellsAFailureFromADeadline(t *testing.T) {
	t.Parallel()
	near, _ := carrierPair(t)
	_ = near.Close()
	// One whose reader has not noticed yet that the WebSocket is closed.
	c := &Carrier{ws: near.ws, ctx: t.Context(), writeBy: newDeadline(t.Context())}
	if n, err := c.Write([]byte("x")); n != 0 || err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// A reader with a small buffer gets all, in order, and messages are pieces that proxies pass.
func TestCarrier_SendsPieces(t *testing.T) {
	t.Parallel()
	sent := bytes.Repeat([]byte("0123456789abcde"), 5000) // 75,000 bytes
	near, far := carrierPair(t)
	written := make(chan int, 1)
	go func() {
		n, _ := far.Write(sent)
		_ = far.ws.Close(websocket.StatusNormalClosure, "")
		written <- n
	}()
	var got []byte
	var err error
	for piece := make([]byte, 1000); err == nil; {
		var n int
		n, err = near.Read(piece)
		got = append(got, piece[:n]...)
	}
	if !bytes.Equal(got, sent) || err != io.EOF || <-written != len(sent) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
	if near.Err() != io.EOF || near.Context().Err() == nil {
		t.Errorf("afterwards its end is %v", near.Err())
	}
	var sizes []int
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		for err == nil {
			var piece []byte
			if _, piece, err = ws.Read(t.Context()); err == nil {
				sizes = append(sizes, len(piece))
			}
		}
	}))
	c, err := dialCarrier(t.Context(), strings.Replace(server.URL, "http", "ws", 1), server.Client())
	if err != nil {
		t.Fatal(err)
	}
	_, _ = c.Write(sent)
	c.closeWith(CodeGone, "")
	server.Close()
	if want := []int{32 << 10, 32 << 10, 75_000 - 64<<10}; !slices.Equal(sizes, want) {
		t.Errorf("the pieces have %v bytes", sizes)
	}
}

// Both ends know why a connection ended: the one that says so, and the one that is told.
func TestCarrier_SaysWhyItEnded(t *testing.T) {
	t.Parallel()
	near, far := carrierPair(t)
	reading := make(chan error, 1)
	go func() {
		_, err := near.Read(make([]byte, 1))
		reading <- err
	}()
	far.closeWith(CodeRefused, strings.Repeat("r", 200))
	var told *CloseError
	if err := <-reading; !errors.As(err, &told) || !told.ByPeer || told.Code != CodeRefused ||
		told.Reason != strings.Repeat("r", maxReason) {
		t.Errorf("the far end is told %v", err)
	}
	if !errors.As(far.Err(), &told) || told.ByPeer || told.Code != CodeRefused {
		t.Errorf("its own end is %v", far.Err())
	}
	if _, err := far.Write([]byte("x")); !errors.As(err, &told) {
		t.Errorf("a write afterwards: %v", err)
	}

	near, far = carrierPair(t)
	_ = near.Close()
	if _, err := near.Read(make([]byte, 1)); err != net.ErrClosed {
		t.Errorf("a read after its end: %v", err)
	}
	if _, err := far.Read(make([]byte, 1)); err == nil || far.Err() == nil {
		t.Errorf("the far end goes on: %v", err)
	}

	near, far = carrierPair(t)
	_ = far.ws.Write(t.Context(), websocket.MessageText, []byte("x"))
	if _, err := near.Read(make([]byte, 1)); err == nil ||
		!strings.Contains(err.Error(), "only binary messages are allowed") {
		t.Errorf("text is read as %v", err)
	}
	near, far = carrierPair(t)
	_ = far.ws.Write(t.Context(), websocket.MessageBinary, make([]byte, carrierPiece+1))
	if _, err := io.ReadFull(near, make([]byte, carrierPiece+1)); err == nil {
		t.Error("a message that is too long was read")
	}
}

// A connection is in use from the first byte on that follows the handshake, whenever it came.
func TestCarrier_NoticesItsUse(t *testing.T) {
	t.Parallel()
	isUsed := func(c *Carrier) bool {
		select {
		case <-c.used:
			return true
		default:
			return false
		}
	}
	near, far := carrierPair(t)
	_, _ = far.Write([]byte("handshake"))
	_, _ = io.ReadFull(near, make([]byte, 9))
	near.finishHandshake()
	if isUsed(near) {
		t.Error("the handshake counts as use")
	}
	_, _ = far.Write([]byte("x"))
	<-near.used
	_, _ = io.ReadFull(near, make([]byte, 1))
	_, _ = far.Write([]byte("y")) // once more is no other use

	if _, err := io.ReadFull(near, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	near, far = carrierPair(t)
	_, _ = far.Write([]byte("x"))
	<-near.arrived
	if isUsed(near) {
		t.Error("it is used before the handshake is over")
	}
	near.finishHandshake()
	if !isUsed(near) {
		t.Error("what had arrived is no use")
	}
}

// A proof of a standby connection is good for its challenge, role, token and key alone.
func TestCheckStandby_WantsAWholeProof(t *testing.T) {
	t.Parallel()
	token := NewToken(SPKI{1})
	other := NewToken(SPKI{1})
	for name, c := range map[string]struct {
		edit func(*standbyResponse)
		keys []Key
		want string
	}{
		"proven":           {func(*standbyResponse) {}, []Key{token.Key()}, ""},
		"one key of two":   {func(*standbyResponse) {}, []Key{token.Key(), other.Key()}, ""},
		"the other of two": {func(*standbyResponse) {}, []Key{other.Key(), token.Key()}, ""},
		"no key":           {func(*standbyResponse) {}, nil, "of kid"},
		"a key not set":    {func(*standbyResponse) {}, []Key{{}}, "of kid"},
		"a short nonce": {func(r *standbyResponse) { r.Nonce = r.Nonce[1:] }, []Key{token.Key()},
			"impossible fields"},
		"no kid": {func(r *standbyResponse) { r.Kid = "" }, []Key{token.Key()}, "impossible fields"},
		"an unknown role": {func(r *standbyResponse) { r.Role = "x" }, []Key{token.Key()},
			"impossible fields"},
	} {
		near, far := carrierPair(t)
		go func() {
			var challenge standbyChallenge
			_ = readFrame(near, &challenge)
			r := standbyResponse{Role: StandbyAgent, Kid: token.Kid, Nonce: newNonce()}
			c.edit(&r)
			r.Proof = standbyMAC(token.Key(), challenge.Nonce, r)
			_ = writeFrame(near, r)
		}()
		claim, err := far.checkStandby(t.Context(), keysGuard(c.keys))
		if c.want == "" && (err != nil || claim.Kid != token.Kid || claim.Role != StandbyAgent) ||
			c.want != "" && (!errors.Is(err, errUnproven) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %+v, %v", name, claim, err)
		}
		var v standbyVerdict
		if c.want == "" && (readFrame(near, &v) != nil || !v.Admitted) {
			t.Errorf("%s: the verdict is %+v", name, v)
		}
	}
}

// keysGuard has the same keys for everybody.
type keysGuard []Key

func (g keysGuard) StandbyKeys(context.Context, StandbyClaim) ([]Key, error) { return g, nil }

func (g keysGuard) AdmitStandby(context.Context, StandbyClaim) error { return nil }

// Only loopback addresses are read, and not many.
func TestParseListens_TakesLoopbackOnly(t *testing.T) {
	many := strings.Repeat("127.0.0.1:1 and ", maxListens-1) + "127.0.0.1:1"
	for text, want := range map[string]string{
		"": "", "127.0.0.1:80": "127.0.0.1:80", "127.0.0.1:80 and [::1]:80": "127.0.0.1:80 and [::1]:80",
		many: many, many + " and 127.0.0.1:1": "", "10.0.0.1:80": "", "127.0.0.1": "",
		"127.0.0.1:80 and 10.0.0.1:80": "", "[::1%eth0]:80": "",
	} {
		if got := parseListens(text); got.String() != want || (want == "") != (got == nil) {
			t.Errorf("%q is read as %q", text, got)
		}
	}
}
