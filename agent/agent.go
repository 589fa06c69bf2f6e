package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/nullops/nullops/agent/mailbox"
	"github.com/nullops/nullops/agent/offer"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/durable"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/internal/script"
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
	// Dial replaces Listener: the agent dials its control plane. Its Credential is not used.
	Dial *wire.StandbyConfig
	// Sockets is the folder of the Unix socket where an ingress on this machine gets connected
	// sockets; empty is off. IngressUser may use it besides root and the agent's own user; -1 is
	// nobody.
	Sockets     string
	IngressUser int
	Log         *slog.Logger
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
	// Disk is what Data is on; default the machine's. Another one is for tests only.
	Disk durable.FS
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
	// Sandboxes is how many sandboxes of later plugins one run may have ready; zero is none.
	Sandboxes int
	// Mails bounds the mails of deployments that are caught; the zero value catches none.
	Mails mailbox.Limits
	// Offers is how the site decides about deployments that the node is offered.
	Offers offer.Config
	// Diagnosis lets the control plane look at this process.
	Diagnosis Diagnosis
}

// Agent is one node's. See the package comment for what it promises. Its parts share the base, and
// each holds what else only it needs.
type Agent struct {
	*base
	loop        *loop
	node        *nodeInventory
	lister      *lister
	measuring   *measuring
	prefetch    *pluginPrefetch
	collector   *imageCollector
	sessions    *sessions
	volumes     *volumeServer
	deployments *deploymentServer
	maintenance *maintenance
	mails       *mailCatcher
}

// base is what all parts of an agent use.
type base struct {
	*board
	config   Config
	runtime  Runtime
	scripts  script.Runner
	log      *slog.Logger
	identity *wire.Identity
	state    *state
	store    *store
	logs     *logbook
	inbox    *inbox
	pulls    pulls
	images   *imageBook
	checks   checks
	// report wakes the session's sender.
	report broadcast
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
		c.ProbeEvery = 10 * time.Minute // docs/threats.md, T26
	}
	if c.CollectEvery <= 0 {
		c.CollectEvery = time.Minute
	}
	if c.DiskPatience <= 0 {
		c.DiskPatience = time.Minute // docs/faults.md, F24
	}
	if c.Disk == nil {
		c.Disk = durable.OS{}
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Offers.Log = c.Log
	a := assembleParts(&base{board: newBoard(), config: c, runtime: r, log: c.Log, inbox: newInbox(),
		logs: newLogbook(), pulls: newPulls(), checks: checks{ended: map[string]time.Time{}}})
	if err := a.openStores(); err != nil {
		return nil, err
	}
	return a, nil
}

// assembleParts makes the parts and connects each to the parts that it needs.
func assembleParts(b *base) *Agent {
	a := &Agent{base: b, collector: &imageCollector{b}, deployments: &deploymentServer{base: b}}
	requests := &secretRequests{base: b, wanted: map[string]secretsRequest{}}
	a.node = &nodeInventory{base: b, lookAgain: make(chan struct{}, 1)}
	a.loop = &loop{base: b, requests: requests, node: a.node, machines: map[string]*deployment{},
		hangs: make(chan struct{})}
	a.prefetch = &pluginPrefetch{base: b, node: a.node, ahead: newImagePrefetcher()}
	a.lister = &lister{base: b, loop: a.loop, node: a.node, prefetch: a.prefetch,
		relist: make(chan struct{}, 1), swept: make(chan struct{})}
	a.measuring = &measuring{base: b, lister: a.lister, record: newRecord(), probes: newProbing()}
	a.sessions = &sessions{base: b, loop: a.loop, node: a.node, lister: a.lister, requests: requests,
		prefetch: a.prefetch, measuring: a.measuring, pluginList: make(chan []wire.PluginImage, 1),
		witnessed: make(chan wire.AuditHead, 1)}
	a.volumes = &volumeServer{base: b, lister: a.lister, writing: map[string]chan struct{}{}}
	a.maintenance = &maintenance{base: b, sessions: a.sessions}
	a.mails = &mailCatcher{base: b, oldRelays: map[string]bool{}}
	if b.config.Mails.Mail > 0 {
		a.mails.boxes = mailbox.Open(filepath.Join(b.config.Data, mailboxDir), b.config.Mails)
	}
	return a
}

func (a *Agent) openStores() error {
	disk, dir := a.config.Disk, a.config.Data
	store, machines, damage, err := openStore(disk, dir, a.config.Failpoint)
	if err != nil {
		return err
	}
	a.store = store
	a.logDamage(damage, "the state comes back from the control plane and the containers")
	a.identity, err = wire.LoadOrCreateIdentityOn(disk, dir)
	if err == nil {
		a.state, damage, err = openState(disk, dir, a.config.Token)
		a.logDamage(damage, "the token and the control plane bring the state back")
	}
	if err == nil {
		a.images, damage, err = openImageBook(disk, dir)
		a.logDamage(damage, "images that were pulled so far stay until a run uses them again")
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
		m.LimitSandboxes(a.config.Sandboxes)
		a.loop.machines[id] = &deployment{id: id, m: m, cancel: map[int64]context.CancelFunc{}}
	}
	return nil
}

// logDamage logs that a file of the data folder was damaged.
func (a *Agent) logDamage(damage error, remedy string) {
	if damage != nil {
		a.log.Error("a file of the data folder is damaged", "damage", damage, "remedy", remedy)
	}
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
	case <-a.loop.hangs:
		return ErrDiskHangs
	}
}

func (a *Agent) run(ctx context.Context) error {
	a.sessions.listener = wire.NewListener(a.openLocalListener(a.openListener()), wire.ListenConfig{
		Identity: a.identity, Verifier: a.state, Build: a.config.Build, Log: a.log,
	})
	// Publish before a control plane can connect: an empty view would tell it that nothing runs
	// here, and the loop may be blocked on a full disk.
	a.loop.publishViews()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return a.loop.runLoop(ctx) })
	group.Go(func() error { return a.lister.listRegularly(ctx) })
	group.Go(func() error { return a.measuring.measureRegularly(ctx) })
	group.Go(func() error { return a.collector.collectImages(ctx) })
	group.Go(func() error { return a.node.watchDisk(ctx) })
	group.Go(func() error { return a.sessions.storePlugins(ctx) })
	group.Go(func() error { return a.sessions.storeHeads(ctx) })
	group.Go(func() error { return a.prefetch.prefetchPlugins(ctx) })
	group.Go(func() error { return a.node.watchNode(ctx) })
	group.Go(func() error { return a.node.watchIsolation(ctx) })
	group.Go(func() error { return a.deployments.passer.cutRemoved(ctx) })
	group.Go(func() error { return a.mails.catchMails(ctx) })
	group.Go(func() error { return a.serveHTTP(ctx) })
	err := group.Wait()
	a.loop.ops.Wait()
	err = errors.Join(err, a.store.close())
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return nil
	}
	return err
}

// openListener returns the listener of the settings, or begins to dial.
func (a *Agent) openListener() net.Listener {
	if a.config.Dial == nil {
		return a.config.Listener
	}
	c := *a.config.Dial
	c.Credential = a.state.credential
	return wire.NewStandbyListener(c)
}

// serveHTTP answers HTTP over proven connections.
func (a *Agent) serveHTTP(ctx context.Context) error {
	server := &http.Server{Handler: a.newHandler(ctx), ConnContext: wire.ConnContext,
		ReadHeaderTimeout: 10 * time.Second, MaxHeaderBytes: 16 << 10,
		ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug)}
	stop := context.AfterFunc(ctx, func() {
		_ = a.sessions.listener.Close()
		a.sessions.listener.CloseMatching(func(wire.Peer) bool { return true })
		_ = server.Close()
	})
	defer stop()
	err := server.Serve(a.sessions.listener)
	if ctx.Err() != nil || errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("serve: %w", err)
}
