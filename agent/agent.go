package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/engine"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/script"
	"github.com/nullops/nullops/pipeline"
)

// Config is what an agent needs.
type Config struct {
	// Data is the folder for certificate, journal and state; only one agent
	// may use it.
	Data string
	// Token is the node's. Nil means: the one used before.
	Token *wire.Token
	Build wire.Build
	// Listener accepts plain TCP; TLS and the proof are put in front of it.
	// Run closes it.
	Listener net.Listener
	Log      *slog.Logger
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
	// DiskPatience is how long one write to Data may take; default 60 s.
	DiskPatience time.Duration
	// ListEvery, VitalsEvery, InventoryEvery and ProbeEvery default to 10 s, 5 s,
	// a minute and ten minutes. A negative ProbeEvery means never.
	ListEvery      time.Duration
	VitalsEvery    time.Duration
	InventoryEvery time.Duration
	ProbeEvery     time.Duration
	// DiskFloor is what stays free where images are; the zero value never
	// removes any. CollectEvery defaults to a minute.
	DiskFloor    DiskFloor
	CollectEvery time.Duration
}

// Agent is one node's. See the package comment for what it promises.
type Agent struct {
	config   Config
	runtime  Runtime
	scripts  script.Runner
	log      *slog.Logger
	identity *wire.Identity
	state    *state
	store    *store
	logs     *logbook
	inbox    *inbox
	listener *wire.Listener
	pulls    pulls
	images   *imageBook
	// hangs is closed when a write to the disk has not returned within DiskPatience.
	hangs chan struct{}

	// Owned by the loop.
	machines map[string]*deployment
	batch    []entry
	todo     []pendingEffect
	// asked is when a full set of goals arrived in this process.
	asked bool
	// named collects the names of a full set that comes in several messages.
	named map[string]bool
	// held lists deployments that have no goal but must not be removed yet.
	held protectedDeployments

	// ops are the operations that run; Run waits for them.
	ops sync.WaitGroup
	// report and relist wake the session's sender and the reconcile loop.
	report broadcast
	relist chan struct{}
	// record keeps measurements; lookAgain wakes watchNode.
	record    *sampleRecord
	lookAgain chan struct{}
	disk      diskWatch
	// pluginList holds the newest list that is not stored yet.
	pluginList chan []wire.PluginImage
	// witnessed holds the audit's newest end that is not stored yet.
	witnessed chan wire.AuditHead
	ahead     *imagePrefetcher
	checks    checks
	// swept is closed once leftovers of earlier volume copies are removed, so that new copies
	// may begin.
	swept chan struct{}
	// published wakes goroutines that wait for a changed view.
	published broadcast

	mu        sync.Mutex
	inventory inventory
	views     map[string]view
	wanted    map[string]secretsRequest
	wishes    int64
	progress  map[progressKey]*progressEntry
	health    map[progressKey]ProbeResult
	vitals    *wire.Vitals
	session   *wire.AgentSession
	// writing has a channel for each deployment whose volumes are written; it is closed
	// at the end.
	writing map[string]chan struct{}
}

// deployment is one machine and what runs for it.
type deployment struct {
	id     string
	m      *engine.Machine
	cancel map[int64]context.CancelFunc
	wake   time.Time
	// unready is the service that the run gave up on.
	unready startupFailure
}

// startupFailure is a service that exited or did not become ready, and why.
type startupFailure struct {
	step    pipeline.StepKey
	message string
}

// secretsRequest is an open request for a run's secrets. The number distinguishes a new
// request for the same run from an earlier one that was answered.
type secretsRequest struct {
	wire.SecretsWanted
	number   int64
	refusals int
}

// view is the part of a deployment's state that other goroutines than the loop may read. It
// is replaced, never modified.
type view struct {
	goal     *wire.Goal
	state    wire.DeploymentState
	bundle   *bundle
	restarts map[string]int
	steps    map[pipeline.StepKey]pipeline.StepStatus
	// still: see engine.Machine.
	still   int64
	stopped []pipeline.StepKey
	sealed  map[pipeline.StepKey][]byte
}

// New opens the data folder, which makes the certificate on the first start.
// Close it, or Run it: Run closes it.
func New(c Config, r Runtime) (*Agent, error) {
	if c.ListEvery <= 0 {
		c.ListEvery = 10 * time.Second
	}
	if c.VitalsEvery <= 0 {
		c.VitalsEvery = 5 * time.Second
	}
	if c.InventoryEvery <= 0 {
		c.InventoryEvery = time.Minute
	}
	if c.ProbeEvery == 0 {
		c.ProbeEvery = 10 * time.Minute // threats.md, T26
	}
	if c.CollectEvery <= 0 {
		c.CollectEvery = time.Minute
	}
	if c.DiskPatience <= 0 {
		c.DiskPatience = time.Minute // faults.md, F24
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	a := &Agent{config: c, runtime: r, log: c.Log, inbox: newInbox(), logs: newLogbook(),
		machines: map[string]*deployment{}, relist: make(chan struct{}, 1),
		record: newRecord(), lookAgain: make(chan struct{}, 1),
		pluginList: make(chan []wire.PluginImage, 1), ahead: newImagePrefetcher(),
		witnessed: make(chan wire.AuditHead, 1),
		checks:    checks{ended: map[string]time.Time{}},
		views:     map[string]view{}, wanted: map[string]secretsRequest{},
		writing:  map[string]chan struct{}{},
		progress: map[progressKey]*progressEntry{}, health: map[progressKey]ProbeResult{},
		pulls: newPulls(), hangs: make(chan struct{}), swept: make(chan struct{})}
	if err := a.openStores(); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Agent) openStores() error {
	store, machines, aside, err := openStore(a.config.Data, a.config.Failpoint)
	if err != nil {
		return err
	}
	a.store = store
	if aside != "" {
		a.log.Error("the journal is damaged and was put aside; the state comes back from "+
			"the control plane and the containers", "aside", aside)
	}
	a.identity, err = wire.LoadOrCreateIdentity(a.config.Data)
	if err == nil {
		a.state, err = openState(a.config.Data, a.config.Token)
	}
	if err == nil {
		a.images, err = openImageBook(a.config.Data)
	}
	if err == nil {
		err = a.numberEvents()
	}
	if err == nil {
		a.warnIfRevoked()
	}
	if err != nil {
		return errors.Join(err, store.close())
	}
	for id, m := range machines {
		a.machines[id] = &deployment{id: id, m: m, cancel: map[int64]context.CancelFunc{}}
	}
	return nil
}

// warnIfRevoked logs that the token was revoked, so no control plane can connect. The agent
// keeps running: it still maintains the deployments on this node.
func (a *Agent) warnIfRevoked() {
	if kid, refused := a.state.tokenStatus(); refused {
		a.log.Error("this agent's token was revoked: no control plane can connect before it is "+
			"started with the node's new token", "kid", kid)
	}
}

// numberEvents makes sure that no event number is used twice, even if the journal was lost:
// then numbering continues after all reserved numbers.
func (a *Agent) numberEvents() error {
	if _, last, _ := a.store.seqNumbers(); last == 0 {
		a.store.applyEntry(entry{Last: a.state.reservedSeq(), Acked: a.state.reservedSeq()})
	}
	_, last, _ := a.store.seqNumbers()
	return a.state.reserveSeqs(last)
}

// Close unlocks the data folder. Run does that too when it returns.
func (a *Agent) Close() error { return a.store.close() }

// Thumbprint is what the control plane pins.
func (a *Agent) Thumbprint() wire.Thumbprint { return a.identity.Thumbprint() }

// Plugins lists the catalogue's plugin images, as the control plane last sent it.
func (a *Agent) Plugins() []wire.PluginImage { return a.state.pluginImages() }

// Run serves until ctx ends or an error makes it stop. Services keep running on the engine;
// running plugins are stopped, since nothing would read their results.
//
// On ErrDiskHangs it leaks a goroutine that is blocked on the disk: the process must exit
// then.
func (a *Agent) Run(ctx context.Context) error {
	ended := make(chan error, 1)
	go func() { ended <- a.run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-a.hangs:
		return ErrDiskHangs
	}
}

func (a *Agent) run(ctx context.Context) error {
	a.listener = wire.NewListener(a.config.Listener, wire.ListenConfig{
		Identity: a.identity, Verifier: a.state, Build: a.config.Build, Log: a.log,
	})
	// Publish before a control plane can connect: an empty view would tell it that nothing runs
	// here, and the loop may be blocked on a full disk.
	a.publishViews()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.runLoop(ctx) })
	group.Go(func() error { return a.listRegularly(ctx) })
	group.Go(func() error { return a.measureRegularly(ctx) })
	group.Go(func() error { return a.collectImages(ctx) })
	group.Go(func() error { return a.watchDisk(ctx) })
	group.Go(func() error { return a.storePlugins(ctx) })
	group.Go(func() error { return a.storeHeads(ctx) })
	group.Go(func() error { return a.prefetchPlugins(ctx) })
	group.Go(func() error { return a.watchNode(ctx) })
	group.Go(func() error { return a.watchIsolation(ctx) })
	group.Go(func() error { return a.serveHTTP(ctx) })
	err := group.Wait()
	a.ops.Wait()
	err = errors.Join(err, a.store.close())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// serveHTTP answers HTTP over proven connections.
func (a *Agent) serveHTTP(ctx context.Context) error {
	server := &http.Server{Handler: a.newHandler(ctx), ConnContext: wire.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		_ = a.listener.Close()
		a.listener.CloseMatching(func(wire.Peer) bool { return true })
		_ = server.Close()
	})
	defer stop()
	err := server.Serve(a.listener)
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}

// viewOf returns what is known of a deployment.
func (a *Agent) viewOf(id string) (view, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	v, ok := a.views[id]
	return v, ok
}

// inbox holds the tasks for the loop. Posting never blocks. The queue needs no limit
// because the number of operations that can post is bounded.
type inbox struct {
	mu    sync.Mutex
	tasks []func(now time.Time)
	wake  chan struct{}
}

func newInbox() *inbox { return &inbox{wake: make(chan struct{}, 1)} }

func (i *inbox) addTask(task func(now time.Time)) {
	i.mu.Lock()
	i.tasks = append(i.tasks, task)
	i.mu.Unlock()
	select {
	case i.wake <- struct{}{}:
	default:
	}
}

func (i *inbox) takeAll() []func(now time.Time) {
	i.mu.Lock()
	defer i.mu.Unlock()
	tasks := i.tasks
	i.tasks = nil
	return tasks
}

// broadcast wakes all goroutines that wait on it. The zero value is ready to use.
type broadcast struct {
	mu sync.Mutex
	ch chan struct{}
}

// nextSignal returns a channel that is closed by the next notifyAll.
func (b *broadcast) nextSignal() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch == nil {
		b.ch = make(chan struct{})
	}
	return b.ch
}

func (b *broadcast) notifyAll() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.ch != nil {
		close(b.ch)
		b.ch = nil
	}
}
