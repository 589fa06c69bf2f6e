package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/nullops/nullops/internal/idleconn"
	"github.com/nullops/nullops/internal/wait"
)

// ListenConfig is what an agent's listener needs.
type ListenConfig struct {
	// Identity is the agent's, from LoadOrCreateIdentity.
	Identity *Identity
	Verifier Verifier
	Build    Build
	// Log receives refused connections, a bounded number per minute. Nil
	// discards them.
	Log *slog.Logger
}

// Listener yields only connections whose far end has proven the token.
// Accepting never waits for a handshake, and at most 64 unproven connections
// exist at once.
type Listener struct {
	inner  net.Listener
	tls    *tls.Config
	proof  prover
	own    Thumbprint
	lobby  *preAuthLimiter
	log    *rateLimitedLog
	proven chan *ProvenConn
	ctx    context.Context
	cancel context.CancelFunc
	tasks  sync.WaitGroup

	mu   sync.Mutex
	live map[*ProvenConn]struct{}
}

var _ net.Listener = (*Listener)(nil)

// NewListener guards inner, which it owns from now on. Close ends what it
// started.
func NewListener(inner net.Listener, c ListenConfig) *Listener {
	ctx, cancel := context.WithCancel(context.Background())
	l := &Listener{
		inner: inner, tls: serverTLS(c.Identity, c.Verifier.Trusts),
		proof: prover{build: c.Build, verifier: c.Verifier}, own: c.Identity.Thumbprint(),
		lobby: newPreAuthLimiter(), log: newRateLimitedLog(c.Log), proven: make(chan *ProvenConn),
		ctx: ctx, cancel: cancel, live: map[*ProvenConn]struct{}{},
	}
	l.tasks.Go(l.acceptAll)
	return l
}

// Accept waits for the next proven connection, a *ProvenConn.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.proven:
		return c, nil
	case <-l.ctx.Done():
		return nil, fmt.Errorf("accept agent connection: %w", net.ErrClosed)
	}
}

// Addr is the inner listener's.
func (l *Listener) Addr() net.Addr { return l.inner.Addr() }

// Close stops accepting, drops unproven connections and returns when all goroutines of the
// listener have ended. Proven connections stay open: see Cut.
func (l *Listener) Close() error {
	l.cancel()
	err := l.inner.Close()
	l.tasks.Wait()
	return err
}

// CloseMatching closes at once every live connection that doomed names, and says how
// many. Store the reason first: see Verifier.Admit.
func (l *Listener) CloseMatching(doomed func(Peer) bool) int {
	var cut []*ProvenConn
	l.mu.Lock()
	for c := range l.live {
		if doomed(c.peer) {
			cut = append(cut, c)
		}
	}
	l.mu.Unlock()
	for _, c := range cut {
		c.closeAbruptly()
	}
	return len(cut)
}

func (l *Listener) acceptAll() {
	var pause time.Duration
	for l.ctx.Err() == nil {
		c, err := l.inner.Accept()
		if err == nil {
			pause = 0
			l.lobby.addConn(c, time.Now())
			l.tasks.Go(func() { l.admitConn(c) })
			continue
		}
		if errors.Is(err, net.ErrClosed) {
			l.cancel()
			return
		}
		// Most likely there are no file descriptors left: wait until some are closed.
		l.log.warn("accept failed", "error", err)
		pause = min(max(2*pause, 5*time.Millisecond), time.Second)
		_ = wait.Sleep(l.ctx, pause) // The loop ends with l.ctx.
	}
}

// admitConn takes one connection through handshake and proof, then passes it to Accept.
func (l *Listener) admitConn(c net.Conn) {
	stop := context.AfterFunc(l.ctx, func() { _ = c.Close() })
	proven, err := l.handshakeAndProve(c)
	stop()
	l.lobby.removeConn(c, err == nil, time.Now())
	if err != nil {
		l.log.warn("connection refused", "from", c.RemoteAddr().String(), "error", err)
		_ = c.Close()
		return
	}
	select {
	case l.proven <- proven:
	case <-l.ctx.Done():
		proven.closeAbruptly()
	}
}

func (l *Listener) handshakeAndProve(c net.Conn) (*ProvenConn, error) {
	if err := c.SetDeadline(time.Now().Add(proofTimeout)); err != nil {
		return nil, fmt.Errorf("limit the handshake: %w", err)
	}
	conn := tls.Server(idleconn.WrapConn(c), l.tls)
	if err := conn.HandshakeContext(l.ctx); err != nil {
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	state := conn.ConnectionState()
	b, err := newBinding(state, l.own, SPKIOf(state.PeerCertificates[0]))
	if err != nil {
		return nil, err
	}
	proven := &ProvenConn{Conn: conn}
	proven.onClose = func() { l.untrackConn(proven) }
	_, err = l.proof.answerProof(conn, b, func(p Peer) error {
		proven.peer = p
		l.trackConn(proven)
		return l.proof.verifier.Admit(l.ctx, p)
	})
	if isMaintenancePeer(err, proven.peer) {
		// The peer got the reason, and disconnects unless it came to upgrade this agent.
		l.log.warn("control plane of another release", "error", err)
		proven.limited = true
		err = nil
	}
	if err == nil {
		err = c.SetDeadline(time.Time{})
	}
	if err != nil {
		l.untrackConn(proven)
		return nil, err
	}
	return proven, nil
}

func (l *Listener) trackConn(c *ProvenConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.live[c] = struct{}{}
}

func (l *Listener) untrackConn(c *ProvenConn) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.live, c)
}

type connKey struct{}

// ConnContext is for http.Server's field of that name: PeerFrom and
// ServeSession need it.
func ConnContext(ctx context.Context, c net.Conn) context.Context {
	if proven, ok := c.(*ProvenConn); ok {
		return context.WithValue(ctx, connKey{}, proven)
	}
	return ctx
}

// PeerFrom returns the proven peer that sent a request; ok is false for a connection
// without a proof.
func PeerFrom(ctx context.Context) (Peer, bool) {
	c, ok := ctx.Value(connKey{}).(*ProvenConn)
	if !ok {
		return Peer{}, false
	}
	return c.peer, true
}
