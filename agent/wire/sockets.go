package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
)

// HeaderSockets asks, in a CONNECT request over the agent's Unix socket, for a channel: from then
// on the ingress names targets, and gets for each a socket that is connected to the service.
const HeaderSockets = "Nullops-Sockets"

// socketRequest asks for one connected socket.
type socketRequest struct {
	ID     uint64 `json:"id"`
	Target string `json:"target"`
}

// socketReply answers a request, in any order. With status 200 a socket comes along.
type socketReply struct {
	ID      uint64 `json:"id"`
	Status  int    `json:"status"`
	Reason  string `json:"reason,omitempty"`
	Listens string `json:"listens,omitempty"`
}

// SocketServer is the agent's end of a channel.
type SocketServer struct {
	conn   net.Conn
	giving *givingConn
	// writing keeps a reply and its socket together.
	writing sync.Mutex
}

// SocketRequest is one request that came over a channel.
type SocketRequest struct {
	server *SocketServer
	id     uint64
	Target string
}

// AcceptSockets answers a request for a channel. It owns the connection from then on. If it was
// refused, the request is answered.
func AcceptSockets(w http.ResponseWriter, r *http.Request) (*SocketServer, error) {
	proven, ok := r.Context().Value(connKey{}).(*ProvenConn)
	var giving *givingConn
	if ok {
		giving, ok = proven.NetConn().(*givingConn)
	}
	if !ok {
		http.Error(w, "sockets are passed over the agent's Unix socket only", http.StatusBadRequest)
		return nil, errors.New("sockets were asked for over the network")
	}
	conn, err := AcceptTunnel(w)
	if err != nil {
		return nil, err
	}
	return &SocketServer{conn: conn, giving: giving}, nil
}

// Next waits for the next request. An error means that the channel has ended.
func (s *SocketServer) Next() (SocketRequest, error) {
	var q socketRequest
	if err := readFrame(s.conn, &q); err != nil {
		return SocketRequest{}, err
	}
	return SocketRequest{server: s, id: q.ID, Target: q.Target}, nil
}

// Close ends the channel.
func (s *SocketServer) Close() error { return s.conn.Close() }

// Pass answers with a connected socket, of which the sender keeps its own descriptor.
func (q SocketRequest) Pass(socket syscall.RawConn) error {
	return q.server.reply(socketReply{ID: q.id, Status: http.StatusOK}, socket)
}

// Refuse answers as a tunnel would be refused.
func (q SocketRequest) Refuse(status int, reason string, listens ListenAddrs) error {
	return q.server.reply(socketReply{ID: q.id, Status: status,
		Reason: reason[:min(len(reason), 512)], Listens: listens.String()}, nil)
}

func (s *SocketServer) reply(r socketReply, socket syscall.RawConn) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := s.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	if socket != nil {
		s.giving.attachToNextWrite(socket)
	}
	err := writeFrame(s.conn, r)
	if err != nil {
		// A reply that was written in part cannot be followed by another one.
		_ = s.conn.Close()
	}
	return err
}

// SocketClient is the ingress's end of a channel. Sockets that came over it end with it: their
// agent could not cut them any more.
type SocketClient struct {
	conn   net.Conn
	taking *takingConn
	// writing keeps requests apart.
	writing sync.Mutex
	done    chan struct{}

	mu      sync.Mutex
	ended   bool
	last    uint64
	waiting map[uint64]chan socketOutcome
	passed  map[*PassedConn]struct{}
}

type socketOutcome struct {
	reply socketReply
	conn  *PassedConn
	err   error
}

// OpenSockets opens a channel to the agent at the other end of conn, which came from Dial with
// DialLocal. It owns conn from now on, also on error.
func OpenSockets(ctx context.Context, conn *ProvenConn) (*SocketClient, error) {
	taking, ok := conn.NetConn().(*takingConn)
	if !ok {
		_ = conn.Close()
		return nil, errors.New("sockets cannot be passed over this connection")
	}
	opened, err := openWithHeader(ctx, conn, HeaderSockets, Target{Deployment: "any", Service: "any"})
	if err != nil {
		return nil, fmt.Errorf("open a channel for sockets: %w", err)
	}
	c := &SocketClient{conn: opened, taking: taking, done: make(chan struct{}),
		waiting: map[uint64]chan socketOutcome{}, passed: map[*PassedConn]struct{}{}}
	go c.readReplies()
	return c, nil
}

// ErrChannelEnded means that the agent did not answer, so that a tunnel may be tried instead.
var ErrChannelEnded = errors.New("the channel to the agent on this machine has ended")

// Done is closed when the channel has ended.
func (c *SocketClient) Done() <-chan struct{} { return c.done }

// Close ends the channel, and the sockets that came over it.
func (c *SocketClient) Close() error { return c.conn.Close() }

// Dial asks for a socket that is connected to target. A *TunnelError is the agent's refusal.
func (c *SocketClient) Dial(ctx context.Context, target Target) (net.Conn, error) {
	answered := make(chan socketOutcome, 1)
	c.mu.Lock()
	c.last++
	id := c.last
	ended := c.ended
	if !ended {
		c.waiting[id] = answered
	}
	c.mu.Unlock()
	if ended {
		return nil, ErrChannelEnded
	}
	if err := c.send(socketRequest{ID: id, Target: target.String()}); err != nil {
		_ = c.conn.Close() // the reader ends all who wait
	}
	select {
	case o := <-answered:
		return o.result(target)
	case <-ctx.Done():
		c.forget(id, answered)
		return nil, fmt.Errorf("wait for a socket to %s: %w", target, context.Cause(ctx))
	}
}

func (o socketOutcome) result(target Target) (net.Conn, error) {
	switch {
	case o.err != nil:
		return nil, o.err
	case o.reply.Status != http.StatusOK:
		return nil, &TunnelError{Target: target, Status: o.reply.Status, Reason: o.reply.Reason,
			Listens: parseListens(o.reply.Listens)}
	}
	return o.conn, nil
}

func (c *SocketClient) send(q socketRequest) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.conn.SetWriteDeadline(time.Now().Add(writeTimeout)); err != nil {
		return err
	}
	return writeFrame(c.conn, q)
}

// forget drops a request that nobody waits for any more, with a socket that came for it meanwhile.
func (c *SocketClient) forget(id uint64, answered chan socketOutcome) {
	c.mu.Lock()
	delete(c.waiting, id)
	c.mu.Unlock()
	select {
	case o := <-answered:
		if o.conn != nil {
			_ = o.conn.Close()
		}
	default:
	}
}

func (c *SocketClient) readReplies() {
	var err error
	for err == nil {
		var r socketReply
		if err = readFrame(c.conn, &r); err != nil {
			break
		}
		o := socketOutcome{reply: r}
		if r.Status == http.StatusOK {
			if o.conn, o.err = c.claimSocket(); errors.Is(o.err, ErrChannelEnded) {
				err = o.err
			}
		}
		c.deliver(r.ID, o)
	}
	c.endAll()
}

// deliver passes an outcome to who waits for it.
func (c *SocketClient) deliver(id uint64, o socketOutcome) {
	c.mu.Lock()
	answered := c.waiting[id]
	delete(c.waiting, id)
	if answered != nil {
		answered <- o // it has room for one
	}
	c.mu.Unlock()
	if answered == nil && o.conn != nil {
		_ = o.conn.Close()
	}
}

// endAll ends those who wait, and every socket that came over the channel.
func (c *SocketClient) endAll() {
	_ = c.conn.Close()
	c.mu.Lock()
	c.ended = true
	for id, answered := range c.waiting {
		answered <- socketOutcome{err: ErrChannelEnded}
		delete(c.waiting, id)
	}
	passed := c.passed
	c.passed = map[*PassedConn]struct{}{}
	c.mu.Unlock()
	close(c.done)
	for p := range passed {
		_ = p.Close()
	}
}

// claimSocket makes a connection of the socket that came with a reply.
func (c *SocketClient) claimSocket() (*PassedConn, error) {
	fd, ok := c.taking.claim()
	switch {
	case !ok:
		return nil, fmt.Errorf("%w: no socket came with its reply", ErrChannelEnded)
	case fd < 0:
		return nil, errors.New("a socket of the agent was lost: this process has too many open " +
			"files; raise its limit")
	}
	file := os.NewFile(uintptr(fd), "passed socket")
	defer func() { _ = file.Close() }()
	raw, err := net.FileConn(file)
	if err != nil {
		return nil, fmt.Errorf("take over the socket: %w", err)
	}
	tcp, ok := raw.(*net.TCPConn)
	if !ok {
		_ = raw.Close()
		return nil, errors.New("the agent passed a socket that is not TCP")
	}
	under, err := idleconn.Wrap(tcp)
	if err != nil {
		_ = tcp.Close()
		return nil, err
	}
	p := &PassedConn{Conn: under, channel: c}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.passed[p] = struct{}{}
	return p, nil
}

// PassedConn is a connection to a service that its agent has opened and passed on. Its bytes do
// not go through the agent.
type PassedConn struct {
	*idleconn.Conn
	channel *SocketClient
}

var _ io.ReaderFrom = (*PassedConn)(nil)

// Close implements net.Conn. The agent still holds the socket, so it is shut down first: otherwise
// the service would not hear of the end, and the agent would not let go.
func (p *PassedConn) Close() error {
	p.channel.mu.Lock()
	delete(p.channel.passed, p)
	p.channel.mu.Unlock()
	if raw, err := p.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { _ = syscall.Shutdown(int(fd), syscall.SHUT_RDWR) })
	}
	return p.Conn.Close()
}
