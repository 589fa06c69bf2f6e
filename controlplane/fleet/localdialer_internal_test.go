package fleet

import (
	"bytes"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
)

// localRig is an agent's door on the network, a folder of sockets, and who dials.
type localRig struct {
	t      *testing.T
	agent  *wiretest.Agent
	folder string
	dialer *LocalDialer
	mu     sync.Mutex
	log    bytes.Buffer
}

// Write implements io.Writer, for the log.
func (r *localRig) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.log.Write(p)
}

// said returns the log since it was last asked for.
func (r *localRig) said() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.log.Reset()
	return r.log.String()
}

func newLocalRig(t *testing.T) *localRig {
	t.Helper()
	t.Parallel()
	folder, err := os.MkdirTemp("", "nops-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	r := &localRig{t: t, folder: folder}
	pipes := wiretest.NewPipeListener()
	r.agent = wiretest.NewAgent(t, wiretest.AgentConfig{Listener: pipes,
		Handler: http.HandlerFunc(answerTunnel)})
	tunnels := NewDialer(oneNode{link: NodeLink{Kid: r.agent.Token.Kid, Key: r.agent.Token.Key(),
		Node: controlplane.Node{ID: wiretest.NodeID, Status: controlplane.NodeOnline,
			Address:    "agent:5000",
			Thumbprint: controlplane.Thumbprint(formatThumbprint(r.agent.Identity.Thumbprint()))}}},
		DialSettings{Identity: r.agent.ControlPlane, Build: "dev", Connect: pipes.Dial})
	r.dialer = NewLocalDialer(tunnels, folder, slog.New(slog.NewTextHandler(r, nil)))
	return r
}

// answerTunnel is a service behind a tunnel.
func answerTunnel(w http.ResponseWriter, _ *http.Request) {
	if c, err := wire.AcceptTunnel(w); err == nil {
		_, _ = io.WriteString(c, "tunnel")
		_ = c.Close()
	}
}

// listen has an agent listen at the socket, whose certificate is identity's. It passes sockets to a
// service of its own, until stop.
func (r *localRig) listen(identity *wire.Identity) (stop func()) {
	r.t.Helper()
	local, err := wire.ListenLocal(r.path(), -1, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	service, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	go func() {
		for c, err := service.Accept(); err == nil; c, err = service.Accept() {
			_, _ = io.WriteString(c, "local")
			_ = c.Close()
		}
	}()
	door := wire.NewListener(local, wire.ListenConfig{Identity: identity, Verifier: r.agent.Memory,
		Build: "dev"})
	server := &http.Server{ConnContext: wire.ConnContext, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, q *http.Request) { passFrom(w, q, service.Addr().String()) })}
	go func() { _ = server.Serve(door) }()
	stop = sync.OnceFunc(func() {
		_ = door.Close()
		door.CloseMatching(func(wire.Peer) bool { return true })
		_ = server.Close()
		_ = service.Close()
	})
	r.t.Cleanup(stop)
	return stop
}

// passFrom passes sockets that are connected to address.
func passFrom(w http.ResponseWriter, r *http.Request, address string) {
	channel, err := wire.AcceptSockets(w, r)
	if err != nil {
		return
	}
	defer func() { _ = channel.Close() }()
	for q, err := channel.Next(); err == nil; q, err = channel.Next() {
		c, err := net.Dial("tcp4", address)
		if err != nil {
			_ = q.Refuse(http.StatusBadGateway, err.Error(), nil)
			continue
		}
		if raw, err := c.(*net.TCPConn).SyscallConn(); err == nil {
			_ = q.Pass(raw)
		}
		_ = c.Close()
	}
}

func (r *localRig) path() string { return wire.LocalSocket(r.folder, r.agent.Token.Kid) }

// leads opens a connection and fails unless it goes this way.
func (r *localRig) leads(want string) {
	r.t.Helper()
	conn, local, err := r.dialer.OpenTunnel(r.t.Context(), wiretest.NodeID,
		wire.Target{Deployment: "d1", Service: "web", Port: 80})
	if err != nil {
		r.t.Fatalf("nothing leads to the service: %v", err)
	}
	defer func() { _ = conn.Close() }()
	if got, _ := io.ReadAll(conn); string(got) != want || local != (want == "local") {
		r.t.Errorf("the way is %q, wanted %q", got, want)
	}
}

// The agent's socket is used as soon as it is there, again after each restart, and never while it
// is gone: then there is a tunnel.
func TestLocalDialer_FollowsTheAgent(t *testing.T) {
	r := newLocalRig(t)
	r.leads("tunnel")
	for range 2 {
		stop := r.listen(r.agent.Identity)
		r.leads("local")
		r.leads("local")
		stop()
		r.leads("tunnel")
	}
	if said := r.said(); strings.Contains(said, "WARN") ||
		strings.Count(said, "passes its services' sockets") != 2 {
		t.Errorf("it said:\n%s", said)
	}
}

// Whoever or whatever else is at the path, the tunnel is used, and one sentence says why.
func TestLocalDialer_UsesTunnelsWhenTheSocketIsWrong(t *testing.T) {
	for name, c := range map[string]struct {
		want  string
		plant func(*localRig)
	}{
		"a file": {"is not a socket", func(r *localRig) {
			if err := os.WriteFile(r.path(), nil, 0o600); err != nil {
				r.t.Fatal(err)
			}
		}},
		"the socket of a dead agent": {"its agent has ended", func(r *localRig) {
			l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: r.path()})
			if err != nil {
				r.t.Fatal(err)
			}
			l.SetUnlinkOnClose(false)
			_ = l.Close()
		}},
		"the agent of another node": {"want ", func(r *localRig) {
			r.listen(wiretest.NewIdentity(r.t))
		}},
		"a process that hangs up": {"TLS handshake", func(r *localRig) {
			l, err := net.Listen("unix", r.path())
			if err != nil {
				r.t.Fatal(err)
			}
			r.t.Cleanup(func() { _ = l.Close() })
			go func() {
				for c, err := l.Accept(); err == nil; c, err = l.Accept() {
					_ = c.Close()
				}
			}()
		}},
		"a folder whose name is too long": {"choose a folder with a shorter name", func(r *localRig) {
			r.dialer.folder = filepath.Join(r.folder, strings.Repeat("x", 108))
			if err := os.MkdirAll(r.dialer.folder, 0o755); err != nil {
				r.t.Fatal(err)
			}
			if err := os.WriteFile(wire.LocalSocket(r.dialer.folder, r.agent.Token.Kid), nil,
				0o600); err != nil {
				r.t.Fatal(err)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newLocalRig(t)
			c.plant(r)
			r.leads("tunnel")
			r.leads("tunnel")
			if said := r.said(); strings.Count(said, "\n") != 1 || !strings.Contains(said, c.want) {
				t.Errorf("it said:\n%s", said)
			}
		})
	}
}
