package wiretest

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/wire"
)

// NodeID is the node that DialConfig dials as.
const NodeID = "0198c0de-0000-7000-8000-000000000001"

// Script is an agent's behaviour in one session. The session is closed when
// it returns.
type Script func(ctx context.Context, session *wire.AgentSession) error

// AgentConfig says what a scripted agent is. Every zero field has a default.
type AgentConfig struct {
	// Build defaults to "dev".
	Build wire.Build
	// ControlPlane is the client identity it trusts; made when nil.
	ControlPlane *wire.Identity
	// Identity is its own; made when nil.
	Identity *wire.Identity
	// Listener is where it listens; NewPipeListener when nil.
	Listener net.Listener
	// Session runs for each session; nil hands them to Agent.Sessions.
	Session Script
	// Handler serves everything else: tunnels, logs. Nil answers 404.
	Handler http.Handler
	// Hostile, when set, serves every request, sessions included.
	Hostile http.Handler
	// Verifier stands in front of Agent.Memory when set.
	Verifier func(*MemoryVerifier) wire.Verifier
	// Log gets what the listener logs.
	Log *slog.Logger
}

// Agent is a scripted agent that listens until the test ends.
type Agent struct {
	Token        wire.Token
	ControlPlane *wire.Identity
	Identity     *wire.Identity
	Memory       *MemoryVerifier
	Listener     *wire.Listener
	// Sessions gets each session when no script was given.
	Sessions chan *wire.AgentSession

	config AgentConfig
	inner  net.Listener
}

// NewAgent starts one.
func NewAgent(t testing.TB, c AgentConfig) *Agent {
	t.Helper()
	c = c.withDefaults(t)
	token := wire.NewToken(c.ControlPlane.SPKI())
	a := &Agent{
		Token: token, ControlPlane: c.ControlPlane, Identity: c.Identity,
		Memory: NewMemoryVerifier(token), Sessions: make(chan *wire.AgentSession, 16),
		config: c, inner: c.Listener,
	}
	a.Listener = wire.NewListener(c.Listener, wire.ListenConfig{
		Identity: c.Identity, Verifier: c.Verifier(a.Memory), Build: c.Build, Log: c.Log,
	})
	server := &http.Server{Handler: http.HandlerFunc(a.serve), ConnContext: wire.ConnContext}
	var serving sync.WaitGroup
	serving.Go(func() {
		if err := server.Serve(a.Listener); !errors.Is(err, http.ErrServerClosed) &&
			!errors.Is(err, net.ErrClosed) {
			t.Errorf("scripted agent: %v", err)
		}
	})
	t.Cleanup(func() {
		a.Listener.CloseMatching(func(wire.Peer) bool { return true })
		_ = server.Close()
		serving.Wait()
	})
	return a
}

func (c AgentConfig) withDefaults(t testing.TB) AgentConfig {
	t.Helper()
	if c.Build == "" {
		c.Build = "dev"
	}
	if c.ControlPlane == nil {
		c.ControlPlane = NewIdentity(t)
	}
	if c.Identity == nil {
		c.Identity = NewIdentity(t)
	}
	if c.Listener == nil {
		c.Listener = NewPipeListener()
	}
	if c.Handler == nil {
		c.Handler = http.NotFoundHandler()
	}
	if c.Verifier == nil {
		c.Verifier = func(m *MemoryVerifier) wire.Verifier { return m }
	}
	return c
}

// NewIdentity makes a certificate for either end.
func NewIdentity(t testing.TB) *wire.Identity {
	t.Helper()
	id, err := wire.NewIdentity("wiretest")
	if err != nil {
		t.Fatal(err)
	}
	return id
}

func (a *Agent) serve(w http.ResponseWriter, r *http.Request) {
	if a.config.Hostile != nil {
		a.config.Hostile.ServeHTTP(w, r)
		return
	}
	if r.Method != http.MethodGet ||
		(r.URL.Path != wire.PathSession && r.URL.Path != wire.PathRunLogs) {
		a.config.Handler.ServeHTTP(w, r)
		return
	}
	session, err := wire.ServeSession(w, r)
	if err != nil {
		return
	}
	if a.config.Session == nil {
		a.Sessions <- session
		<-session.Done()
	} else {
		_ = a.config.Session(r.Context(), session)
	}
	_ = session.Close(wire.CodeGone, "the script is over")
}

// DialConfig reaches this agent with its pin, token and build, epoch 1.
func (a *Agent) DialConfig() wire.DialConfig {
	c := wire.DialConfig{
		Address: a.inner.Addr().String(), Identity: a.ControlPlane,
		Thumbprint: a.Identity.Thumbprint(), NodeID: NodeID, Kid: a.Token.Kid,
		Key: a.Token.Key(), Epoch: 1, Build: a.config.Build,
	}
	if pipes, ok := a.inner.(*PipeListener); ok {
		c.Connect = pipes.Dial
	}
	return c
}

// Open dials and opens the session, or ends the test.
func (a *Agent) Open(t testing.TB) *wire.Session {
	t.Helper()
	conn, err := wire.Dial(t.Context(), a.DialConfig())
	if err != nil {
		t.Fatal(err)
	}
	session, err := wire.OpenSession(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = session.Close(wire.CodeGone, "the test is over") })
	return session
}

// NewSessionPair is two connected sessions, control plane's and agent's.
func NewSessionPair(t testing.TB) (*wire.Session, *wire.AgentSession) {
	t.Helper()
	a := NewAgent(t, AgentConfig{})
	session := a.Open(t)
	return session, <-a.Sessions
}
