package main

import (
	"net/http"

	"github.com/coder/websocket"
)

// serveEcho sends back every message it gets, until the other side closes.
func (s server) serveEcho(w http.ResponseWriter, r *http.Request) {
	conn, err := websocket.Accept(w, r, &websocket.AcceptOptions{
		// It echoes: a foreign page learns nothing it did not send.
		InsecureSkipVerify: true,
	})
	if err != nil {
		s.log.Warn("accept a WebSocket", "error", err)
		return
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(1 << 20)
	for {
		kind, message, err := conn.Read(r.Context())
		if err != nil {
			return
		}
		if err := conn.Write(r.Context(), kind, message); err != nil {
			return
		}
	}
}
