package ingress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/nullops/nullops/internal/idleconn"
)

// WebSockets are idle most of the time, and there may be many thousands. So they keep no
// handler goroutine and no buffer: only two connections with a small stack each.

// serveSocket asks the service for a WebSocket. If it agrees, its connection and
// the client's are joined, and outlive the request.
func (p *Proxy) serveSocket(
	u *upstream,
	w http.ResponseWriter,
	r *http.Request,
	at *requestTarget,
) {
	asking := r.Context()
	r, leave := p.trackPass(r.WithContext(context.WithoutCancel(asking)), at)
	stop := context.AfterFunc(asking, leave)
	joined := false
	defer func() {
		if stop(); !joined {
			leave()
		}
	}()
	c, res := u.fetchResponseHead(w, r)
	switch {
	case c == nil:
	case res.StatusCode != http.StatusSwitchingProtocols:
		u.finishAnswer(w, c, res)
	default:
		if err := joinUpgraded(w, c, res, leave); err != nil {
			c.close()
			panic(http.ErrAbortHandler)
		}
		joined = true
	}
}

// joinUpgraded takes over the client's connection, writes the service's response, and from
// then on copies both ways. It calls leave when both directions have ended.
func joinUpgraded(w http.ResponseWriter, c *conn, res *http.Response, leave func()) error {
	client, ours, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return fmt.Errorf("take over the client's connection: %w", err)
	}
	early, err := ours.Peek(ours.Reader.Buffered())
	if err == nil {
		_, err = client.Write(switchingResponse(w.Header(), c, res))
	}
	if err == nil && len(early) > 0 {
		_, err = c.raw.Write(early)
	}
	if err != nil {
		return errors.Join(err, client.Close())
	}
	c.leavePool()
	c.in, c.out = nil, nil // the buffers; c itself stays to be closed
	idleconn.CopyBothWays(client, c.raw, leave)
	return nil
}

// switchingResponse is the service's 101 response, and the bytes that may have arrived
// right after it.
func switchingResponse(h http.Header, c *conn, res *http.Response) []byte {
	dropHops(res.Header)
	respellHeaders(res.Header)
	copyHeaders(h, res.Header)
	h.Set("Connection", "Upgrade")
	h.Set("Upgrade", "websocket")
	var out bytes.Buffer
	out.WriteString("HTTP/1.1 101 Switching Protocols\r\n")
	_ = h.Write(&out) // memory takes all of it
	out.WriteString("\r\n")
	said, _ := c.in.Peek(c.in.Buffered())
	out.Write(said)
	return out.Bytes()
}
