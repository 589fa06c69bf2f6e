package fleet_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/dummy"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// noSecrets is what a run gets that has none.
type noSecrets struct{}

func (noSecrets) Open(context.Context, controlplane.DeploymentID, controlplane.Run) (
	[]byte, map[string]string, error) {
	return make([]byte, 32), map[string]string{}, nil
}

func (noSecrets) PullCredentials(context.Context, []string) (map[string]wire.RegistryAuth, error) {
	return map[string]wire.RegistryAuth{}, nil
}

// noUsage forgets what is measured.
type noUsage struct{}

func (noUsage) Observe(context.Context, access.Actor, controlplane.NodeID,
	controlplane.NodeVitals) error {
	return nil
}

func (noUsage) Store(context.Context, access.Actor, controlplane.NodeID,
	controlplane.UsageBatch) error {
	return nil
}

// noJournal has nothing for agents to remember.
type noJournal struct{}

func (noJournal) CurrentHead(context.Context, access.Actor) (controlplane.AuditHead, bool, error) {
	return controlplane.AuditHead{}, false, nil
}

func (noJournal) CompareHeads(context.Context, access.Actor, controlplane.NodeID, string,
	[]controlplane.AuditHead) (bool, error) {
	return true, nil
}

// link is the network between the control plane and a real agent.
type link struct {
	pipes *wiretest.PipeListener
	mu    sync.Mutex
	down  bool
	conns []net.Conn
}

func (l *link) Dial(ctx context.Context, network, address string) (net.Conn, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down {
		return nil, errors.New("no route to host")
	}
	c, err := l.pipes.Dial(ctx, network, address)
	if err == nil {
		l.conns = append(l.conns, c)
	}
	return c, err
}

func (l *link) set(down bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = down
	for _, c := range l.conns {
		_ = c.Close()
	}
	l.conns = nil
}

// realAgent is a real agent on an engine without containers, on which services start when
// the test lets them.
type realAgent struct {
	*link
	engine *dummy.Runtime
	// starting yields the name of each service that is to start; it waits for release.
	starting chan string
	release  func()
}

// startAgent replaces the rig's scripted agent by a real one.
func (r *rig) startAgent() *realAgent {
	r.t.Helper()
	a := &realAgent{link: &link{pipes: wiretest.NewPipeListener()},
		starting: make(chan string, 16)}
	goes := make(chan struct{})
	a.release = sync.OnceFunc(func() { close(goes) })
	a.engine = dummy.New(dummy.Hooks{Fail: func(op, subject string) error {
		if op == "start" {
			a.starting <- subject
			<-goes
		}
		return nil
	}})
	one, err := agent.New(agent.Config{Data: r.t.TempDir(), Token: &r.agent.Token, Build: "dev",
		Listener: a.pipes, Log: slog.New(slog.DiscardHandler), ListEvery: 100 * time.Millisecond},
		a.engine)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- one.Run(ctx) }()
	r.t.Cleanup(func() {
		a.release()
		stop()
		if err := <-ended; err != nil {
			r.t.Errorf("the agent ended with: %v", err)
		}
	})
	r.connect, r.secrets, r.usage, r.journal = a.Dial, noSecrets{}, noUsage{}, noJournal{}
	return a
}

// waitUntil looks again and again for what nobody reports.
func (r *rig) waitUntil(limit time.Duration, what string, so func() bool) {
	r.t.Helper()
	for end := time.Now().Add(limit); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			r.t.Fatalf("%s: not within %s", what, limit)
		}
	}
}

func (r *rig) isNode(status string) func() bool {
	return func() bool {
		return pgtest.QueryValue[string](r.t, r.url, "SELECT status FROM nodes") == status
	}
}

// isReady asks a database that may be away.
func (r *rig) isReady(d controlplane.Deployment) func() bool {
	return func() bool {
		got, err := r.lifecycle.Get(r.t.Context(), system, d.ID)
		return err == nil && got.Status == controlplane.Ready
	}
}

// The link breaks while a run is under way, and both ends live on: the node is offline within
// seconds, the run continues on it, and is reported once the link is back. Nothing runs again.
//
// fault: F31
func TestLink_CutInTheMiddleOfARun(t *testing.T) {
	r := newRig(t)
	a := r.startAgent()
	r.start("a")
	r.waitUntilOnline()
	d := r.createDeployment("d")
	<-a.starting
	r.waitUntil(10*time.Second, "the run is under way", func() bool {
		return r.get(d.ID).Status == controlplane.Applying
	})
	a.set(true)
	// promise: N-214, N-270
	r.waitUntil(10*time.Second, "the node is offline", r.isNode("offline"))
	a.release()
	// promise: N-270
	r.waitUntil(10*time.Second, "the run continues", func() bool {
		return slices.Contains(a.engine.OperationLog(), "start api")
	})
	if got := r.get(d.ID); got.Status != controlplane.Applying {
		t.Errorf("nobody can have reported it, and it is %s", got.Status)
	}
	a.set(false)
	r.waitUntil(15*time.Second, "the node is online", r.isNode("online"))
	r.waitUntil(10*time.Second, "the run's end is reported", func() bool {
		return r.get(d.ID).Status == controlplane.Ready
	})
	if got := r.get(d.ID); got.Run != 1 || got.RunID != d.RunID {
		t.Errorf("it is run %d", got.Run)
	}
	if log := a.engine.OperationLog(); !slices.Equal(log, []string{"start api"}) {
		t.Errorf("on the node ran %v", log)
	}
}

// A service dies and cannot be started again: its deployment stops looking well within fifteen
// seconds.
func TestLink_DeadServiceIsSeenSoon(t *testing.T) {
	r := newRig(t)
	a := r.startAgent()
	a.release()
	r.start("a")
	r.waitUntilOnline()
	d := r.createDeployment("d")
	r.waitUntil(15*time.Second, "it is ready", r.isReady(d))
	if got := r.get(d.ID); got.Degraded != "" {
		t.Fatalf("before its service died it is degraded: %s", got.Degraded)
	}
	a.engine.SetHooks(dummy.Hooks{Fail: func(op, _ string) error {
		if op == "start" {
			return errors.New("it does not start")
		}
		return nil
	}})
	a.engine.CrashService(string(d.ID), "api", 1)
	// promise: O-05
	r.waitUntil(15*time.Second, "its deployment is degraded", func() bool {
		return r.get(d.ID).Degraded != ""
	})
}

// A link that breaks as soon as it is there is tried less and less often, so that the node's
// state, and the routes that depend on it, change a few times instead of all the time.
//
// fault: F36
func TestLink_FlapsAndTheNodeDoesNot(t *testing.T) {
	testpart.Rotate(t)
	r := newRig(t)
	r.start("a")
	const flapping = 4 * time.Second
	sessions := 0
	for end := time.After(flapping); ; sessions++ {
		select {
		case s := <-r.sessions:
			s.cut()
			continue
		case <-end:
		}
		break
	}
	// The pauses double from a quarter of a second, so the fifth session begins after two to
	// four seconds. Without that there would be ten a second.
	if sessions < 2 || sessions > 6 {
		t.Errorf("%d sessions in %s", sessions, flapping)
	}
	changes := pgtest.QueryValue[int](t, r.url, `SELECT count(*) FROM node_events
		WHERE kind IN ('online', 'offline')`)
	if changes > 2*sessions {
		t.Errorf("the node's state changed %d times in %d sessions", changes, sessions)
	}
	r.waitForSession() // It is not given up.
	r.waitUntilOnline()
}

// PostgreSQL goes away while a run is under way. The agent continues, and what it did is stored
// when the database is back.
//
// fault: F13
func TestLink_AgentsWorkWithoutTheDatabase(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	proxy, through := pgtest.NewProxy(t, pgtest.URL(t, migrations.FS))
	r := newRigOn(t, through)
	a := r.startAgent()
	r.start("a")
	r.waitUntilOnline()
	d := r.createDeployment("d")
	<-a.starting
	proxy.SetDown(true)
	a.release()
	r.waitUntil(10*time.Second, "the run continues", func() bool {
		return slices.Contains(a.engine.OperationLog(), "start api")
	})
	proxy.SetDown(false)
	r.waitUntil(20*time.Second, "the run's end is stored", r.isReady(d))
	if log := a.engine.OperationLog(); !slices.Equal(log, []string{"start api"}) {
		t.Errorf("on the node ran %v", log)
	}
}

// PostgreSQL fails over to a replica that lost the end of what was committed. The agent sends
// again what is missing there, although it was acknowledged before, and repeats nothing.
//
// fault: F15
func TestLink_FailoverToAReplicaThatLostTheEnd(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	primary := pgtest.NewServer(t)
	proxy, through := pgtest.NewProxy(t, primary.Database(migrations.FS))
	r := newRigOn(t, through)
	a := r.startAgent()
	r.start("a")
	r.waitUntilOnline()
	d := r.createDeployment("d")
	<-a.starting
	r.waitUntil(10*time.Second, "the run is under way", func() bool {
		return r.get(d.ID).Status == controlplane.Applying
	})
	replica := primary.Replicate()
	replica.Kill()
	a.release()
	r.waitUntil(10*time.Second, "the run's end is stored", r.isReady(d))
	primary.Kill()
	replica.Start()
	replica.Promote()
	proxy.LeadTo(replica)
	if r.isReady(d)() {
		t.Fatal("the replica has what was committed last: it lost nothing")
	}
	r.waitUntil(30*time.Second, "the run's end is stored again", r.isReady(d))
	if log := a.engine.OperationLog(); !slices.Equal(log, []string{"start api"}) {
		t.Errorf("on the node ran %v", log)
	}
}

// A control plane ends in the middle of a burst of reports, as one does that is killed for its
// memory, and another one continues. Each report is stored once, and a burst does not grow
// the memory that it takes to store it.
//
// fault: F11
func TestLink_BurstOfReports(t *testing.T) {
	testpart.Rotate(t)
	// Not beside other tests: their memory would count.
	r := newRigOn(t, pgtest.URL(t, migrations.FS))
	stop := r.start("a")
	s := r.waitForSession()
	r.waitUntilOnline()
	d := r.createDeployment("d")
	s.goalOf(d)
	const burst, size = 1200, 32 << 10
	heap := watchHeap()
	send := func(s *agentSession, from int64) {
		for seq := from; seq <= burst; seq++ {
			e := newPhaseEvent(d, seq, wire.PhaseApplying)
			e.Message = strings.Repeat("x", size)
			if s.Send(context.Background(), e) != nil {
				return // The control plane is gone.
			}
		}
	}
	go send(s, 1)
	for nextCommand[wire.Ack](s).Seq < burst/4 {
		continue
	}
	r.setReportRange(1, burst)
	stop()
	r.start("b")
	s = r.waitForSession()
	if s.ack < burst/4 || s.ack >= burst {
		t.Errorf("the next control plane acknowledges %d of %d", s.ack, burst)
	}
	go send(s, s.ack+1)
	for nextCommand[wire.Ack](s).Seq < burst {
		continue
	}
	// Up to 16 MiB were seen for bursts of any length; what waits is a few dozen reports.
	if grown := heap(); grown > burst*size*2/3 {
		t.Errorf("the memory grew by %d MiB for %d MiB of reports", grown>>20, burst*size>>20)
	}
	if last := pgtest.QueryValue[int64](t, r.url, "SELECT last_seq FROM node_reports"); last != burst {
		t.Errorf("the last report stored is %d", last)
	}
}

// watchHeap returns a function that says how much the heap grew at most since.
func watchHeap() (grown func() uint64) {
	read := func() uint64 {
		var m runtime.MemStats
		runtime.GC() // What is in use counts, not what waits to be collected.
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before, highest := read(), uint64(0)
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			case <-time.After(50 * time.Millisecond):
				highest = max(highest, read())
			}
		}
	}()
	return func() uint64 { close(done); <-ended; return max(highest, before) - before }
}

// brokenUsage panics on the first measurement.
type brokenUsage struct {
	noUsage
	once *sync.Once
}

func (b brokenUsage) Observe(context.Context, access.Actor, controlplane.NodeID,
	controlplane.NodeVitals) error {
	b.once.Do(func() { panic("a measurement that nobody thought of") })
	return nil
}

// What one node reports makes a worker panic. That node's session ends, and is opened again;
// the control plane and its other work continue.
//
// fault: F63
func TestSession_PanicEndsThatSessionOnly(t *testing.T) {
	r := newRig(t)
	r.usage = brokenUsage{once: new(sync.Once)}
	r.start("a")
	first := r.waitForSession()
	r.waitUntilOnline()
	first.sendReport(wire.Vitals{})
	<-first.Done()
	second := r.waitForSession()
	r.waitUntilOnline()
	second.sendReport(wire.Vitals{})
	d := r.createDeployment("d")
	second.goalOf(d)
	second.sendReport(newPhaseEvent(d, 1, wire.PhaseApplying))
	nextCommand[wire.Ack](second)
}
