package fleet_test

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/fleet"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

var system = access.System("test")

// stubCatalog is the real catalogue; only the registry behind it is made up.
type stubCatalog struct{ *catalog.Catalog }

func (stubCatalog) ResolveTag(_ context.Context, _ access.Actor, _ pipeline.Image,
	tag string) (controlplane.ImageFacts, error) {
	return controlplane.ImageFacts{
		Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(tag)))}, nil
}

// rig is a database, one node, and its agent, which follows the test's script. Control
// planes are started by the test.
type rig struct {
	t         *testing.T
	url       string
	store     *postgres.Store
	catalog   *catalog.Catalog
	nodes     *nodes.Nodes
	keys      *keyring.Keyring
	lifecycle *lifecycle.Lifecycle
	agent     *wiretest.Agent
	pipes     *wiretest.PipeListener
	node      controlplane.NodeID
	// ingress is the identity of an ingress of its own; nil without one.
	ingress *wire.Identity
	// roots and connect are how control planes reach agents.
	roots   *x509.CertPool
	connect func(ctx context.Context, network, address string) (net.Conn, error)
	// standbys are of the next control plane that starts.
	standbys *fleet.Standbys
	// These are for agents that are not scripted.
	secrets fleet.Secrets
	usage   fleet.Usage
	journal fleet.Journal
	// sessions yields each session once the control plane has acknowledged.
	sessions chan *agentSession

	mu      sync.Mutex
	welcome wire.Welcome
}

// agentSession is a session as the agent sees it, and the first word it heard.
type agentSession struct {
	*wire.AgentSession
	t   *testing.T
	ack int64
}

func newRig(t *testing.T) *rig {
	t.Helper()
	t.Parallel()
	return newRigOn(t, pgtest.URL(t, os.DirFS("../../migrations")))
}

func newRigOn(t *testing.T, database string) *rig {
	t.Helper()
	r := &rig{
		t:        t,
		url:      database,
		pipes:    wiretest.NewPipeListener(),
		sessions: make(chan *agentSession, 16),
	}
	r.connect = r.pipes.Dial
	r.store = pgtest.Open(t, r.url)
	r.agent = wiretest.NewAgent(t, wiretest.AgentConfig{Listener: r.pipes, Session: r.serve})
	r.welcome = wire.Welcome{Build: "dev", FirstSeq: 1, Inventory: wire.Inventory{Hostname: "n",
		Arch: "amd64", CPU: 8, Memory: 16 << 30, Disk: 1 << 40}}
	r.keys = keyringtest.New(t, r.store)
	log := slog.New(slog.DiscardHandler)
	token := r.agent.Token
	r.catalog = catalog.New(catalog.Config{Store: r.store, Keys: r.keys, Log: log})
	r.nodes = nodes.New(nodes.Config{Store: r.store, Keys: r.keys, AllowLoopback: true,
		IssueToken: func() (nodes.IssuedToken, error) {
			return nodes.IssuedToken{Token: controlplane.NewPlain(token.Reveal()), Kid: token.Kid,
				Key: token.Key().Bytes()}, nil
		}})
	r.lifecycle = lifecycle.New(lifecycle.Config{Store: r.store, Catalog: stubCatalog{r.catalog},
		Keys:       r.keys,
		IngressURL: &url.URL{Scheme: "http", Host: "localhost:8000"}, Log: log})
	r.define()
	return r
}

// define defines what a deployment needs.
func (r *rig) define() {
	r.t.Helper()
	ctx := r.t.Context()
	r.failOnError(r.catalog.PutRegistry(ctx, system, catalog.RegistryPut{Name: "local",
		Host: "localhost:5000", Insecure: true}))
	r.failOnError(r.catalog.PutService(ctx, system, catalog.ServicePut{Name: "api", Registry: "local",
		Image: "shop/api", TagMode: pipeline.Selectable}))
	r.failOnError(r.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost"}))
	r.failOnError(r.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "shop",
		Resources: pipeline.Resources{CPU: 4, MemoryMiB: 4096}}))
	r.failOnError(r.catalog.SavePipeline(ctx, system, "shop", pipeline.Pipeline{Format: 1,
		Steps: []pipeline.Step{{Key: "api", Service: &pipeline.ServiceStep{Name: "api",
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
			Resources: pipeline.Resources{CPU: 0.5, MemoryMiB: 256},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}}}}, "first"))
	e, err := r.nodes.AddNode(ctx, system, nodes.Put{Name: "n", Environment: "qa",
		Address: "agent.example.org:5000"})
	r.failOnError(nil, err)
	r.node = e.Node.ID
}

func (r *rig) failOnError(_ any, err error) {
	r.t.Helper()
	if err != nil {
		r.t.Fatal(err)
	}
}

// serve greets. The connection for step logs, which expects no greeting, ends by it.
func (r *rig) serve(ctx context.Context, s *wire.AgentSession) error {
	r.mu.Lock()
	welcome := r.welcome
	r.mu.Unlock()
	if err := s.Send(ctx, welcome); err != nil {
		return err
	}
	first, err := s.Receive(ctx)
	if err != nil {
		return err
	}
	if ack, ok := first.(wire.Ack); ok {
		r.sessions <- &agentSession{AgentSession: s, t: r.t, ack: ack.Seq}
	}
	<-s.Done()
	return nil
}

// setReportRange sets the report numbers that the agent names in its next welcome.
func (r *rig) setReportRange(first, last int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.welcome.FirstSeq, r.welcome.LastSeq = first, last
}

// start runs a control plane until stop is called or the test ends.
func (r *rig) start(holder string) (stop func()) {
	r.t.Helper()
	log := slog.New(slog.DiscardHandler)
	ctx, cancel := context.WithCancel(context.Background())
	listener := postgres.NewListener(r.store, log)
	f := fleet.New(fleet.Config{
		Nodes:     r.newNodeTable(holder),
		Lifecycle: r.lifecycle, Listener: listener, Holder: holder, Log: log,
		Dial: fleet.DialSettings{Identity: r.agent.ControlPlane, Ingress: r.ingress, Build: "dev",
			Standbys: r.standbys, Roots: r.roots, Connect: r.connect},
		Secrets: r.secrets, Usage: r.usage, Journal: r.journal,
		Logbook: logbook.New(r.store)})
	var running sync.WaitGroup
	listening, hush := context.WithCancel(context.Background())
	running.Go(func() { _ = listener.Run(listening) })
	ended := make(chan struct{})
	go func() { defer close(ended); _ = f.Run(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		<-ended
		hush()
		running.Wait()
	})
	r.t.Cleanup(stop)
	return stop
}

func (r *rig) newNodeTable(holder string) fleet.NodeTable {
	return fleet.NodeTable{Store: r.store, OpenKey: r.keys.OpenNodeKey, Holder: holder}
}

// waitForSession waits for the agent's next session.
func (r *rig) waitForSession() *agentSession {
	r.t.Helper()
	select {
	case s := <-r.sessions:
		return s
	case <-time.After(30 * time.Second):
		r.t.Fatal("no session within 30 seconds")
		return nil
	}
}

// nextCommand returns the next command of a kind, and skips others.
func nextCommand[C wire.Command](s *agentSession) C {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	for {
		m, err := s.Receive(ctx)
		if err != nil {
			s.t.Fatalf("instead of a %T: %v", *new(C), err)
		}
		if c, ok := m.(C); ok {
			return c
		}
	}
}

// goalOf waits for a message that has a goal of the deployment in its generation.
func (s *agentSession) goalOf(d controlplane.Deployment) wire.Goal {
	s.t.Helper()
	for {
		for _, g := range nextCommand[wire.Goals](s).Goals {
			if g.Deployment == string(d.ID) && g.Generation == d.Generation {
				return g
			}
		}
	}
}

func (s *agentSession) sendReport(report wire.Report) {
	s.t.Helper()
	if err := s.Send(s.t.Context(), report); err != nil {
		s.t.Fatal(err)
	}
}

// cut ends a session as a broken link does, as far as the control plane can see.
func (s *agentSession) cut() { _ = s.Close(wire.CodeGone, "the test cuts it") }

// waitUntilOnline waits until the database says that the node is online.
func (r *rig) waitUntilOnline() {
	r.t.Helper()
	for range 300 {
		if pgtest.QueryValue[string](r.t, r.url, "SELECT status FROM nodes") == "online" {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
	r.t.Fatal("the node is not online within 15 seconds")
}

func (r *rig) createDeployment(name string) controlplane.Deployment {
	r.t.Helper()
	d, err := r.lifecycle.Create(r.t.Context(), system, lifecycle.Request{Name: name,
		Project: "shop", Environment: "qa", Priority: controlplane.DefaultPriority,
		Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	r.failOnError(nil, err)
	return d
}

func (r *rig) get(id controlplane.DeploymentID) controlplane.Deployment {
	r.t.Helper()
	d, err := r.lifecycle.Get(r.t.Context(), system, id)
	r.failOnError(nil, err)
	return d
}

func newPhaseEvent(d controlplane.Deployment, seq int64, to wire.Phase) wire.Event {
	return wire.Event{Seq: seq, Deployment: string(d.ID), Generation: d.Generation,
		Run: string(d.RunID), At: time.Now(), Phase: to}
}
