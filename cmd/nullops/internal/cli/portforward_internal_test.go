package cli

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/coder/websocket"
)

// What comes back after this side has ended its half reaches the program that
// asked, and then the connection ends.
func TestForward_HalfClose(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			_ = json.NewEncoder(w).Encode(map[string]any{"ticket": "t",
				"expires_at": time.Now().Add(time.Minute)})
			return
		}
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer func() { _ = ws.CloseNow() }()
		_, _, _ = ws.Read(r.Context())
		_ = ws.Write(r.Context(), websocket.MessageText, []byte(`{"ready":true}`))
		var all []byte
		for {
			_, part, err := ws.Read(r.Context())
			if err != nil {
				return
			}
			if len(part) == 0 {
				break
			}
			all = append(all, part...)
		}
		_ = ws.Write(r.Context(), websocket.MessageBinary, append([]byte("heard "), all...))
		_ = ws.Close(websocket.StatusNormalClosure, "closed by the service")
	}))
	defer server.Close()
	api, err := dialAPI(login{URL: server.URL, Token: "x"})
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	passed := make(chan error, 1)
	go func() {
		conn, err := l.Accept()
		if err == nil {
			err = forward{client: api, deployment: "00000000-0000-0000-0000-000000000001",
				service: "db", port: 5432}.forwardConn(t.Context(), conn)
		}
		passed <- err
	}()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	if _, err := io.WriteString(conn, "question"); err != nil {
		t.Fatal(err)
	}
	if err := conn.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(conn); err != nil || string(got) != "heard question" {
		t.Errorf("%q %v", got, err)
	}
	if err := <-passed; err != nil {
		t.Error(err)
	}
}
