package wire

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
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
