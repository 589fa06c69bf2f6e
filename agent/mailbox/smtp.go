package mailbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
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
	// idleTimeout is the shortest that RFC 5321 allows: connection pools keep some open. A mail has
	// to be sent within it, too.
	idleTimeout = 5 * time.Minute
	// maxConns bounds the connections of one deployment; more wait in the relay's backlog.
	maxConns = 20
	// bytesPerSecond and burstBytes are how fast one deployment may fill its mailbox. Each mail
	// counts for leastCost at least, which makes 64 mails a second, and each byte of a command for
	// commandCost: answering commands is work for the agent, and no application sends many.
	bytesPerSecond = 4 << 20
	burstBytes     = 32 << 20
	leastCost      = 64 << 10
	commandCost    = 64
	// partingTimeout bounds the wait for connections whose clients are gone: a mail that came whole
	// is stored.
	partingTimeout = 10 * time.Second
	// longestAddress is more than RFC 5321 allows.
	longestAddress = 320
)

// Accepter waits for the next connection of a client.
type Accepter func(ctx context.Context) (net.Conn, error)

// Serve speaks SMTP with the clients of one deployment until ctx ends or accept fails, and stores
// their mails.
func (b *Box) Serve(ctx context.Context, accept Accepter, log *slog.Logger) error {
	server := smtp.NewServer(smtp.BackendFunc(func(c *smtp.Conn) (smtp.Session, error) {
		conn, ours := c.Conn().(*clientConn)
		if !ours {
			return nil, errors.New("the connection is of another listener")
		}
		return &session{box: b, conn: conn, log: log, helo: cleanAddress(c.Hostname()),
			peer: conn.RemoteAddr().String()}, nil
	}))
	server.Domain = "mail"
	// The size of mails is bounded by the session, so that one which is refused is counted.
	server.MaxRecipients, server.MaxLineLength = maxRecipients, maxLine
	server.AllowInsecureAuth = true
	server.ReadTimeout, server.WriteTimeout = idleTimeout, time.Minute
	// Who asks for reports of delivery gets none: nothing is delivered.
	server.EnableSMTPUTF8, server.EnableBINARYMIME, server.EnableDSN = true, true, true
	server.ErrorLog = debugLog{log}
	serving, stop := context.WithCancel(ctx)
	defer stop()
	err := server.Serve(&acceptListener{ctx: serving, accept: accept,
		slots: make(chan struct{}, maxConns), pace: rate.NewLimiter(bytesPerSecond, burstBytes)})
	// The server's own Close takes away what its connections are using at that moment. Without
	// their clients, they end by themselves.
	stop()
	ending, cancel := context.WithTimeout(context.WithoutCancel(ctx), partingTimeout)
	defer cancel()
	if failed := server.Shutdown(ending); failed != nil {
		log.Warn("mail connections did not end", "error", failed)
	}
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
	pace   *rate.Limiter
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
	part := context.AfterFunc(l.ctx, func() { _ = conn.Close() })
	return &clientConn{Conn: conn, ctx: l.ctx, pace: l.pace, release: sync.OnceFunc(func() {
		part()
		<-l.slots
	})}, nil
}

// Close implements net.Listener.
func (*acceptListener) Close() error { return nil }

// Addr implements net.Listener.
func (*acceptListener) Addr() net.Addr { return &net.TCPAddr{} }

// clientConn reads no faster than its deployment may send, and makes room for another connection
// when it is closed.
type clientConn struct {
	net.Conn
	ctx     context.Context
	pace    *rate.Limiter
	release func()
	// inMail: what comes is a mail. paid is how much of it was paid for already, in bytes.
	inMail atomic.Bool
	paid   atomic.Int64
}

// Read implements net.Conn. The end of the connection is not told as io.EOF, which is also the end
// of a piece of a mail: half a piece would be taken for the whole. In the middle of a mail, every
// failure is the end: what comes later must not be taken for commands.
func (c *clientConn) Read(to []byte) (int, error) {
	n, err := c.Conn.Read(to[:min(len(to), leastCost)])
	cost := int64(n) * commandCost
	if c.inMail.Load() {
		cost = int64(n) - c.paid.Load()
		c.paid.Store(max(-cost, 0))
	}
	if failed := c.waitForBytes(cost); failed != nil {
		return 0, net.ErrClosed
	}
	if err != nil && c.inMail.Load() {
		_ = c.Close()
		return n, net.ErrClosed
	}
	if errors.Is(err, io.EOF) {
		err = net.ErrClosed
	}
	return n, err
}

// waitForBytes waits until the connection may read so many bytes more.
func (c *clientConn) waitForBytes(cost int64) error {
	if cost <= 0 {
		return nil
	}
	return c.pace.WaitN(c.ctx, int(cost))
}

// Close implements net.Conn.
func (c *clientConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// session is one client's.
type session struct {
	box        *Box
	conn       *clientConn
	log        *slog.Logger
	peer, helo string
	// mu guards the envelope: a client may reset while a mail that comes in pieces is stored.
	mu   sync.Mutex
	from string
	to   []string
}

// AuthMechanisms implements smtp.AuthSession.
func (*session) AuthMechanisms() []string { return []string{sasl.Plain, sasl.Login} }

// Auth implements smtp.AuthSession. Anybody is let in, also with mechanisms that are not offered:
// some applications insist on one. What they say is kept nowhere.
func (*session) Auth(mechanism string) (sasl.Server, error) {
	switch mechanism {
	case sasl.Login:
		return &openDoor{asks: []string{"Username:", "Password:"}}, nil
	case "CRAM-MD5":
		return &openDoor{asks: []string{"<1@mail>"}}, nil
	case sasl.Plain, "XOAUTH2", sasl.OAuthBearer:
		return &openDoor{asks: []string{""}}, nil
	}
	return nil, smtp.ErrAuthUnknownMechanism
}

// openDoor is the server's end of a sign-in that anybody passes who answers.
type openDoor struct {
	asks  []string
	begun bool
}

// Next implements sasl.Server.
func (o *openDoor) Next(response []byte) (challenge []byte, done bool, err error) {
	if response != nil && !o.begun {
		o.asks = o.asks[1:] // the first answer came with the command
	}
	o.begun = true
	if len(o.asks) == 0 {
		return nil, true, nil
	}
	challenge, o.asks = []byte(o.asks[0]), o.asks[1:]
	return challenge, false, nil
}

// Mail implements smtp.Session.
func (s *session) Mail(from string, o *smtp.MailOptions) error {
	if o != nil && o.Size > s.box.store.limits.Mail {
		if s.conn.waitForBytes(leastCost) != nil {
			return errShutdown
		}
		return s.countRefusal(smtp.ErrDataTooLarge)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from = cleanAddress(from)
	return nil
}

// Rcpt implements smtp.Session.
func (s *session) Rcpt(to string, _ *smtp.RcptOptions) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.to = append(s.to, cleanAddress(to))
	return nil
}

// cleanAddress is what is kept of an address: people read it in lists.
func cleanAddress(address string) string {
	return cutValid(cleanText(address), longestAddress)
}

// Data implements smtp.Session.
func (s *session) Data(r io.Reader) error {
	s.mu.Lock()
	e := Envelope{At: time.Now().UTC(), From: s.from, To: slices.Clone(s.to), Peer: s.peer,
		Helo: s.helo}
	s.mu.Unlock()
	if s.conn.waitForBytes(leastCost) != nil {
		return errShutdown
	}
	s.conn.paid.Store(leastCost)
	s.conn.inMail.Store(true)
	defer s.conn.inMail.Store(false)
	err := s.box.Add(e, &boundedMail{from: r, left: s.box.store.limits.Mail})
	if err == nil {
		return nil
	}
	if errors.Is(err, smtp.ErrTooLongLine) {
		return s.countRefusal(errLongLine)
	}
	if _, aborted := errors.AsType[net.Error](err); aborted || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, smtp.ErrDataReset) {
		// The client gave up. That is no mail.
		return err
	}
	// The client hears the answer when it has sent everything.
	_, _ = io.Copy(io.Discard, r)
	return s.countRefusal(err)
}

// countRefusal counts a mail that is not stored, and returns what its client is told.
func (s *session) countRefusal(err error) error {
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

var (
	errShutdown = &smtp.SMTPError{Code: 421, EnhancedCode: smtp.EnhancedCode{4, 3, 2},
		Message: "The deployment takes no more mails"}
	errLongLine = &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 6, 0},
		Message: "A line of the mail is longer than 256 KiB"}
)

// Reset implements smtp.Session.
func (s *session) Reset() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from, s.to = "", nil
}

// Logout implements smtp.Session.
func (*session) Logout() error { return nil }

// boundedMail fails when more comes than a mail may have.
type boundedMail struct {
	from io.Reader
	left int64
}

// Read implements io.Reader.
func (m *boundedMail) Read(to []byte) (int, error) {
	n, err := m.from.Read(to)
	if m.left -= int64(n); m.left < 0 {
		return 0, smtp.ErrDataTooLarge
	}
	return n, err
}
