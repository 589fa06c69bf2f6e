package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/reach"
)

const (
	// greetWithin is how long a connection may stay open without a ticket.
	greetWithin = 10 * time.Second
	// pingEvery keeps proxies from closing a quiet terminal, and lets both ends notice a
	// dead connection.
	pingEvery = 15 * time.Second
	// DefaultIdle ends a terminal without input and output.
	DefaultIdle = 30 * time.Minute
)

// defaultShell is the best shell that an image has.
func defaultShell() []string {
	return []string{"/bin/sh", "-c", "command -v bash >/dev/null 2>&1 && exec bash; exec sh"}
}

// OpenReach opens the connection that a ticket is for.
func (s *server) OpenReach(
	ctx context.Context, _ OpenReachRequestObject,
) (OpenReachResponseObject, error) {
	r := noteOf(ctx).asked
	if r == nil || s.Reach == nil || r.Header.Get("Upgrade") != "websocket" {
		return nil, &controlplane.Error{Kind: controlplane.Invalid, Code: "upgrade_required",
			Message: "this is for WebSockets only", Remedy: "Open it with nullops exec, or the UI."}
	}
	// Browsers send Origin, and only browsers send a cookie.
	origin := r.Header.Get("Origin")
	if origin == "" && !callerOf(ctx).credential.Session.IsEmpty() ||
		origin != "" && !s.ownOrigin(origin, r.Host) {
		return nil, &controlplane.Error{Kind: controlplane.Forbidden, Code: "cross_origin",
			Message: "the connection comes from another site's page"}
	}
	return reachSocket{server: s, ctx: ctx, asked: r}, nil
}

// ownOrigin reports whether the origin has exactly the scheme, host and port that serve the UI.
func (s *server) ownOrigin(origin, host string) bool {
	u, err := url.Parse(origin)
	return err == nil && (origin == s.origin || u.Scheme == s.URL.Scheme && host != "" &&
		origin == u.Scheme+"://"+host)
}

// reachSocket is one connection, from its upgrade to its end.
type reachSocket struct {
	server *server
	ctx    context.Context
	asked  *http.Request
}

// greeting is the first frame of a connection.
type greeting struct {
	Ticket  string         `json:"ticket"`
	Command []string       `json:"command"`
	TTY     bool           `json:"tty"`
	Window  sidecar.Window `json:"window"`
}

// VisitOpenReachResponse implements OpenReachResponseObject.
func (c reachSocket) VisitOpenReachResponse(w http.ResponseWriter) error {
	// Whose page it may be was checked above, more strictly than the library does.
	ws, err := websocket.Accept(w, c.asked, &websocket.AcceptOptions{InsecureSkipVerify: true})
	if err != nil {
		return nil //nolint:nilerr // The library has answered.
	}
	defer func() { _ = ws.CloseNow() }()
	ws.SetReadLimit(sidecar.MaxFrame + 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.ctx))
	defer cancel()
	visit, first, err := c.openVisit(ctx, ws)
	if err != nil {
		c.sendRefusal(ctx, ws, err)
		return nil
	}
	why := c.serve(ctx, ws, visit, first)
	if err := visit.CloseWithReason(why); err != nil {
		c.server.Log.DebugContext(ctx, "a connection into a service ended", "error", err.Error())
	}
	return nil
}

// openVisit reads the first frame, takes its ticket and opens what it is for.
func (c reachSocket) openVisit(
	ctx context.Context, ws *websocket.Conn,
) (*reach.OpenConnection, greeting, error) {
	var g greeting
	first, cancel := context.WithTimeout(ctx, greetWithin)
	defer cancel()
	_, text, err := ws.Read(first)
	if err != nil || json.Unmarshal(text, &g) != nil || g.Ticket == "" {
		return nil, g, &controlplane.Error{Kind: controlplane.Invalid, Code: "no_ticket",
			Message: "the first message holds no ticket"}
	}
	if len(g.Command) == 0 {
		g.Command = defaultShell()
	}
	open, cancelOpen := context.WithTimeout(ctx, 3*greetWithin)
	defer cancelOpen()
	visit, err := c.server.Reach.Redeem(open, actorOf(c.ctx), controlplane.NewPlain(g.Ticket),
		g.Command[0])
	return visit, g, err
}

// sendRefusal sends the error as an HTTP answer would have it, and closes.
func (c reachSocket) sendRefusal(ctx context.Context, ws *websocket.Conn, err error) {
	var known *controlplane.Error
	if !errors.As(err, &known) {
		c.server.Log.WarnContext(ctx, "a connection into a service failed",
			"request_id", requestID(c.ctx), "error", err.Error())
		known = &controlplane.Error{Kind: controlplane.Unavailable, Code: "node_unreachable",
			Message: "the service's node does not answer", Remedy: "Try again when it is online."}
	}
	text, _ := json.Marshal(map[string]Problem{"problem": toProblem(known, requestID(c.ctx))})
	out, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	if ws.Write(out, websocket.MessageText, text) == nil {
		_ = ws.Close(websocket.StatusPolicyViolation, known.Code)
	}
}

// visitConn is an open connection into a service.
type visitConn struct {
	reachSocket
	ws    *websocket.Conn
	visit *reach.OpenConnection
	to    *sidecar.FrameWriter
	// used is when a byte last passed in either direction, in nanoseconds.
	used atomic.Int64
}

func (l *visitConn) recordActivity() { l.used.Store(time.Now().UnixNano()) }

func (l *visitConn) isTerminal() bool { return l.visit.Kind == controlplane.ReachTerminal }

// serve copies bytes until one end closes, and returns why it ended.
func (c reachSocket) serve(
	ctx context.Context, ws *websocket.Conn, visit *reach.OpenConnection, g greeting,
) string {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l := &visitConn{reachSocket: c, ws: ws, visit: visit, to: sidecar.NewFrameWriter(visit)}
	l.recordActivity()
	if err := l.sendStart(ctx, g); err != nil {
		return "connection lost"
	}
	ended := make(chan string, 3)
	go func() { ended <- l.fromPerson(ctx) }()
	go func() { ended <- l.fromService(ctx) }()
	go func() { ended <- l.watchIdle(ctx) }()
	why := <-ended
	// Close the service's end at once, so that a person without access can type nothing
	// while we close the other end. Then close that one with the reason, but do not wait
	// long.
	_ = visit.Conn.Close()
	_ = ws.Close(websocket.StatusNormalClosure, why)
	cancel()
	<-ended
	<-ended
	return why
}

// sendStart sends the service's end what to run, and the person's end that it is
// ready.
func (l *visitConn) sendStart(ctx context.Context, g greeting) error {
	if l.isTerminal() {
		err := l.to.JSON(sidecar.FrameStart, sidecar.Start{Command: g.Command, TTY: g.TTY,
			Window: g.Window})
		if err != nil {
			return err
		}
	}
	return l.write(ctx, websocket.MessageText, []byte(`{"ready":true}`))
}

func (l *visitConn) write(ctx context.Context, kind websocket.MessageType, data []byte) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return l.ws.Write(ctx, kind, data)
}

// fromPerson passes on what the person sends. A terminal's messages are frames: one byte of kind,
// then the content. To a port, an empty message ends the person's side; the service's answer still
// comes back.
func (l *visitConn) fromPerson(ctx context.Context) string {
	for {
		_, data, err := l.ws.Read(ctx)
		if err != nil {
			return "closed by the person"
		}
		l.recordActivity()
		switch {
		case l.isTerminal():
			err = l.forwardFrame(data)
		case len(data) == 0:
			err = l.visit.CloseWrite()
		default:
			_, err = l.visit.Write(data)
		}
		if err != nil {
			return "closed by the service"
		}
	}
}

func (l *visitConn) forwardFrame(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	switch kind := sidecar.FrameKind(data[0]); kind {
	case sidecar.FrameInput, sidecar.FrameEnd, sidecar.FrameWindow:
		return l.to.Write(kind, data[1:])
	default:
		return sidecar.ErrFrame
	}
}

// fromService passes on what comes back.
func (l *visitConn) fromService(ctx context.Context) string {
	if !l.isTerminal() {
		return l.bytesFromService(ctx)
	}
	for {
		f, err := sidecar.ReadFrame(l.visit)
		if err != nil {
			return "connection lost"
		}
		l.recordActivity()
		if l.write(ctx, websocket.MessageBinary, append([]byte{byte(f.Kind)}, f.Data...)) != nil {
			return "closed by the person"
		}
		if f.Kind == sidecar.FrameExit {
			return "ended"
		}
	}
}

func (l *visitConn) bytesFromService(ctx context.Context) string {
	buffer := make([]byte, sidecar.MaxFrame)
	for {
		n, err := l.visit.Read(buffer)
		l.recordActivity()
		if n > 0 && l.write(ctx, websocket.MessageBinary, buffer[:n]) != nil {
			return "closed by the person"
		}
		switch {
		case errors.Is(err, io.EOF):
			return "closed by the service"
		case err != nil:
			return "connection lost"
		}
	}
}

// watchIdle ends a connection that is idle, or whose person lost access, and pings the
// others.
func (l *visitConn) watchIdle(ctx context.Context) string {
	touched, stop := l.server.Subscribe("", controlplane.TopicAccess)
	defer stop()
	check := time.NewTicker(checkEvery)
	defer check.Stop()
	idle, pinged := l.server.Idle, time.Now()
	if idle <= 0 {
		idle = DefaultIdle
	}
	for {
		select {
		case <-ctx.Done():
			return "ended"
		case <-touched:
		case <-check.C:
		}
		if time.Since(time.Unix(0, l.used.Load())) > idle {
			return "idle for too long"
		}
		who, err := l.server.reauthenticateCaller(ctx, callerOf(l.ctx))
		if err == nil {
			err = l.server.Reach.IsStillAllowed(ctx, who.actor, l.visit.ConnectionRequest)
		}
		if k := controlplane.KindOf(err); err != nil && k != "" {
			return "access was withdrawn, or the deployment is gone"
		}
		if time.Since(pinged) < pingEvery {
			continue
		}
		pinged = time.Now()
		if l.isTerminal() && l.to.Write(sidecar.FramePing, nil) != nil || l.ping(ctx) != nil {
			return "connection lost"
		}
	}
}

func (l *visitConn) ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeWithin)
	defer cancel()
	return l.ws.Ping(ctx)
}
