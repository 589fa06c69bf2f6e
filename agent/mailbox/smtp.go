package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"time"

	"github.com/emersion/go-sasl"
	"github.com/emersion/go-smtp"
	"golang.org/x/time/rate"
)

const (
	// maxRecipients is what RFC 5321 demands of servers.
	maxRecipients = 100
	// maxLine is far beyond the standard: some applications write their HTML as one line.
	maxLine = 256 << 10
	// idleTimeout is the shortest that RFC 5321 allows: connection pools keep some open.
	idleTimeout = 5 * time.Minute
	// maxConns bounds the connections of one deployment; more wait in the relay's backlog.
	maxConns = 20
	// bytesPerSecond and burstBytes are how fast one deployment may fill its mailbox. Each mail
	// counts for leastCost at least, which makes 64 mails a second.
	bytesPerSecond = 4 << 20
	burstBytes     = 32 << 20
	leastCost      = 64 << 10
)

// Accepter waits for the next connection of a client.
type Accepter func(ctx context.Context) (net.Conn, error)

// Serve speaks SMTP with the clients of one deployment until ctx ends or accept fails, and stores
// their mails.
func (b *Box) Serve(ctx context.Context, accept Accepter, log *slog.Logger) error {
	pace := rate.NewLimiter(bytesPerSecond, burstBytes)
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		return &session{box: b, ctx: ctx, pace: pace, log: log, helo: c.Hostname(),
			peer: c.Conn().RemoteAddr().String()}, nil
	}))
	server.Domain = "mail"
	server.MaxRecipients, server.MaxMessageBytes = maxRecipients, b.store.limits.Mail
	server.MaxLineLength, server.AllowInsecureAuth = maxLine, true
	server.ReadTimeout, server.WriteTimeout = idleTimeout, time.Minute
	server.EnableSMTPUTF8, server.EnableBINARYMIME = true, true
	server.ErrorLog = debugLog{log}
	listener := &acceptListener{ctx: ctx, accept: accept, slots: make(chan struct{}, maxConns)}
	stop := context.AfterFunc(ctx, func() { _ = server.Close() })
	err := server.Serve(listener)
	stop()
	_ = server.Close()
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// debugLog takes what the SMTP server says of broken clients.
type debugLog struct{ log *slog.Logger }

func (d debugLog) Printf(format string, v ...any) {
	d.log.Debug("a mail connection broke", "error", strings.TrimSpace(fmt.Sprintf(format, v...)))
}

func (d debugLog) Println(v ...any) {
	d.log.Debug("a mail connection broke", "error", strings.TrimSpace(fmt.Sprintln(v...)))
}

// acceptListener makes an Accepter a net.Listener that bounds connections.
type acceptListener struct {
	ctx    context.Context
	accept Accepter
	slots  chan struct{}
}

// Accept implements net.Listener.
func (l *acceptListener) Accept() (net.Conn, error) {
	select {
	case l.slots <- struct{}{}:
	case <-l.ctx.Done():
		return nil, net.ErrClosed
	}
	conn, err := l.accept(l.ctx)
	if err != nil {
		<-l.slots
		return nil, err
	}
	return &slotConn{Conn: conn, release: sync.OnceFunc(func() { <-l.slots })}, nil
}

// Close implements net.Listener.
func (*acceptListener) Close() error { return nil }

// Addr implements net.Listener.
func (*acceptListener) Addr() net.Addr { return &net.TCPAddr{} }

// slotConn makes room for another connection when it is closed.
type slotConn struct {
	net.Conn
	release func()
}

// Close implements net.Conn.
func (c *slotConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// session is one client's.
type session struct {
	box        *Box
	ctx        context.Context
	pace       *rate.Limiter
	log        *slog.Logger
	peer, helo string
	from       string
	to         []string
}

// AuthMechanisms implements smtp.AuthSession.
func (*session) AuthMechanisms() []string { return []string{sasl.Plain, sasl.Login} }

// Auth implements smtp.AuthSession. Anybody is let in.
func (*session) Auth(mechanism string) (sasl.Server, error) {
	if mechanism == sasl.Login {
		return &loginServer{}, nil
	}
	return sasl.NewPlainServer(func(string, string, string) error { return nil }), nil
}

// loginServer is the server's end of AUTH LOGIN: it asks for a name and a password.
type loginServer struct{ asked int }

// Next implements sasl.Server.
func (l *loginServer) Next(response []byte) (challenge []byte, done bool, err error) {
	if l.asked == 0 && response != nil {
		// The name came with the command.
		l.asked++
	}
	l.asked++
	switch l.asked {
	case 1:
		return []byte("Username:"), false, nil
	case 2:
		return []byte("Password:"), false, nil
	}
	return nil, true, nil
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, _ *smtp.MailOptions) error {
	s.from = from
	return nil
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.to = append(s.to, to)
	return nil
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	paced := &pacedReader{from: r, ctx: s.ctx, pace: s.pace, left: leastCost}
	if err := s.pace.WaitN(s.ctx, leastCost); err != nil {
		return errShutdown
	}
	err := s.box.Add(Envelope{At: time.Now().UTC(), From: s.from, To: s.to, Peer: s.peer,
		Helo: s.helo}, paced)
	if err == nil {
		return nil
	}
	if _, aborted := errors.AsType[net.Error](err); aborted || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, smtp.ErrDataReset) {
		// The client gave up. That is no mail.
		return err
	}
	if failed := s.box.countRefused(); failed != nil {
		s.log.Warn("a mail was refused, and that could not be stored", "error", failed)
	}
	known, ok := errors.AsType[*smtp.SMTPError](err)
	switch {
	case ok:
		return known
	case errors.Is(err, errDiskFull):
		return &smtp.SMTPError{Code: 452, EnhancedCode: smtp.EnhancedCode{4, 3, 1},
			Message: "The node's disk is nearly full"}
	}
	s.log.Warn("a mail was not stored", "error", err)
	return &smtp.SMTPError{Code: 451, EnhancedCode: smtp.EnhancedCode{4, 3, 0},
		Message: "The mail could not be stored"}
}

var errShutdown = &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2},
	Message: "The deployment takes no more mails"}

// Reset implements smtp.Session.
func (s *session) Reset() { s.from, s.to = "", nil }

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }

// pacedReader lets a mail through no faster than its deployment may write.
type pacedReader struct {
	from io.Reader
	ctx  context.Context
	pace *rate.Limiter
	// left is what was paid for already.
	left int
}

// Read implements io.Reader.
func (p *pacedReader) Read(to []byte) (int, error) {
	to = to[:min(len(to), leastCost)]
	n, err := p.from.Read(to)
	if p.left -= n; p.left < 0 {
		if failed := p.pace.WaitN(p.ctx, -p.left); failed != nil {
			return n, errShutdown
		}
		p.left = 0
	}
	return n, err
}
