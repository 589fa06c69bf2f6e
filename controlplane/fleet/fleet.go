// Package fleet keeps one supervised session with each node's agent.
//
// Goals are sent to the agent and reports come back. Fleet reads goals from the
// database after a notification and also on a tick, so a lost notification costs two
// seconds. It passes each report to lifecycle and acknowledges it after the commit. A
// node is online exactly while its session is open.
//
// Several control planes may share a database: only the holder of a node's lease talks
// to its agent, and the agent rejects the lower epoch of an earlier holder.
package fleet

import (
	"context"
	"crypto/x509"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/internal/failpoint"
	"github.com/nullops/nullops/pipeline"
)

const (
	// tick is how often rows are read without a wake-up, in case a notification was lost.
	tick = 2 * time.Second
	// lookEvery is how often free leases are looked for. With a lease of ten seconds, a
	// node whose control plane died is connected again within twelve.
	lookEvery = time.Second
	// lookRest is the shortest pause between two listings of the nodes. A pause is also at least
	// lookShare times as long as the listing took: ten thousand nodes take a while to list.
	lookRest  = 100 * time.Millisecond
	lookShare = 20
)

// NodeLink is a node with what it takes to reach it.
type NodeLink struct {
	Node controlplane.Node
	// Kid names the active token; it is empty when the token was revoked.
	Kid string
	Key wire.Key
	// Refuse lists revoked tokens that the agent has not confirmed to refuse.
	Refuse []string
}

// SessionStart is what it takes to begin a session with a node.
type SessionStart struct {
	NodeLink
	Epoch int64
	// LastReport is the last that is committed; Busy says that something is, or
	// may be, on the node.
	LastReport int64
	Busy       bool
	// Digest is the node's, see Nodes.Digests.
	Digest string
}

// Nodes is what fleet needs of the node table and of the keys sealed in it.
type Nodes interface {
	// ListEnabled lists the nodes to keep a session with: those that need no person's decision
	// first, and whose lease is free or belongs to this holder. Of is the digest of what was read:
	// if it is known, nothing has changed, and ids is nil.
	ListEnabled(ctx context.Context, holder, known string) (
		ids []controlplane.NodeID, of string, err error)
	// Link reads one node from the database.
	GetLink(ctx context.Context, id controlplane.NodeID) (NodeLink, error)
	// Epoch is the lease's present epoch, for connections beside the session.
	Epoch(ctx context.Context, id controlplane.NodeID) (int64, error)
	// Begin acquires the leases of some nodes and reads what is needed to begin sessions
	// with them. Nodes whose lease another holder has are left out.
	BeginSessions(ctx context.Context, ids []controlplane.NodeID, holder string) (
		map[controlplane.NodeID]SessionStart, error)
	// Renew renews leases. It returns those that were not renewed: lost ones have another
	// holder, busy ones are retried next time.
	RenewLeases(ctx context.Context, ids []controlplane.NodeID, holder string) (
		lost, busy []controlplane.NodeID, err error)
	// Digests returns one digest for each node that the holder commands; it changes with
	// everything that a session has to act on. Of is the digest of them all: if it is known, nothing
	// has changed, and all is nil.
	Digests(ctx context.Context, holder, known string) (
		all map[controlplane.NodeID]string, of string, err error)
	// ListAwaited lists nodes of the holder where a run waits for room.
	ListAwaited(ctx context.Context, holder string) ([]controlplane.NodeID, error)
	// Release returns a lease before it ends, so that another control plane need not wait.
	ReleaseLease(ctx context.Context, id controlplane.NodeID, holder string) error
	// Met stores the certificate and build of an agent that proved the token, and its
	// inventory.
	RecordContact(ctx context.Context, id controlplane.NodeID, thumbprint, build string,
		inventory controlplane.Inventory) error
	// Online notes that the agent has goals and plugins: it can be used.
	MarkOnline(ctx context.Context, id controlplane.NodeID) error
	// Offline, Untrusted and Incompatible note why there is none.
	MarkOffline(ctx context.Context, id controlplane.NodeID, detail string) error
	MarkUntrusted(ctx context.Context, id controlplane.NodeID, got string, proofValid bool) error
	MarkIncompatible(ctx context.Context, id controlplane.NodeID, build, detail string) error
	// Introduced stores what an agent of another release reports about itself.
	RecordIntroduction(ctx context.Context, id controlplane.NodeID, build string,
		inventory controlplane.Inventory) error
	// Revoked returns the tokens that Link.Refuse names, to connect to an agent that still
	// uses one of them.
	ListRevokedTokens(ctx context.Context, id controlplane.NodeID) ([]Credential, error)
	// Refused notes that the agent itself refuses a token from now on.
	ConfirmRevocation(ctx context.Context, id controlplane.NodeID, kid string) error
	// FinishDrains moves the drains of nodes that are empty, or late.
	FinishDrains(ctx context.Context) error
	// RecordInventory stores the node's inventory after it changed during a session.
	RecordInventory(ctx context.Context, id controlplane.NodeID, i controlplane.Inventory) error
	// PluginImages is the catalogue's list, for the agents' registries.
	PluginImages(ctx context.Context) (map[string]pipeline.Image, error)
	// KeptImages is what no agent may remove, however little room it has.
	KeptImages(ctx context.Context) ([]pipeline.Image, error)
}

// Secrets opens what a run may have, and leaves an audit entry each time.
type Secrets interface {
	// Open returns a run's key, and its secrets by name.
	Open(ctx context.Context, deployment controlplane.DeploymentID,
		run controlplane.Run) (key []byte, values map[string]string, err error)
	// PullCredentials returns the credentials of each registry host that needs them.
	PullCredentials(ctx context.Context, hosts []string) (map[string]wire.RegistryAuth, error)
}

// Journal is the audit, the ends of whose chain agents remember.
type Journal interface {
	// CurrentHead returns the chain's head for the agent to remember; false if it must not be sent.
	CurrentHead(ctx context.Context, actor access.Actor) (controlplane.AuditHead, bool, error)
	// Testify hears what a node remembers; false when the audit is another one.
	CompareHeads(ctx context.Context, actor access.Actor, node controlplane.NodeID, name string,
		heads []controlplane.AuditHead) (bool, error)
}

// DialSettings is how agents are reached, for sessions and beside them.
type DialSettings struct {
	Identity *wire.Identity
	// Ingress is the identity of an ingress that has its own: agents let it open tunnels and
	// nothing else. Nil if the ingress connects as the control plane.
	Ingress *wire.Identity
	Build   wire.Build
	// Standbys has the connections of agents that dial. Nil has none.
	Standbys *Standbys
	// Roots vouch for reverse proxies in front of agents; nil is the system's authorities.
	Roots *x509.CertPool
	// Connect makes the TCP connection. It vets the address once a name is
	// resolved, so that a name cannot change its mind.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Config is what New needs.
type Config struct {
	Nodes     Nodes
	Secrets   Secrets
	Lifecycle *lifecycle.Lifecycle
	Logbook   *logbook.Logbook
	Usage     Usage
	Journal   Journal
	Listener  *postgres.Listener
	Dial      DialSettings
	// Holder names this process in leases.
	Holder string
	Log    *slog.Logger
	// Dialed hears of each attempt to open a session, and Ended how long a session lasted. Nil ones
	// hear of nothing.
	Dialed func(result string)
	Ended  func(ctx context.Context, lasted time.Duration)
	// Failpoint is for tests only.
	Failpoint failpoint.Hook
}

// Fleet supervises the sessions.
type Fleet struct {
	Config
	actor  access.Actor
	roster *sessionSet
	kept   keepListCache
	// dials bounds how many handshakes run at once.
	dials chan struct{}
	// pace bounds how many of them are past the TCP connection.
	pace         *adaptiveLimiter
	applications chan leaseClaim
	posts        *reportBatcher
	// begun counts sessions, for the tidier.
	begun atomic.Int64
	// settling bounds how many nodes that come back use the database at once.
	settling chan struct{}
	absences absences
}

// New makes a fleet; nothing is dialed before Run.
func New(c Config) *Fleet {
	if c.Dialed == nil {
		c.Dialed = func(string) {}
	}
	if c.Ended == nil {
		c.Ended = func(context.Context, time.Duration) {}
	}
	f := &Fleet{Config: c, actor: access.System("fleet"),
		dials: make(chan struct{}, dialsAtOnce), pace: newPace(),
		applications: make(chan leaseClaim),
		settling:     make(chan struct{}, settledAtOnce)}
	f.roster = newSessionSet(f)
	f.posts = newPosts(func(ctx context.Context, all ...lifecycle.Report) (err error) {
		defer controlplane.CatchPanic(ctx, c.Log, "storing reports", &err)
		return c.Lifecycle.Apply(ctx, f.actor, all...)
	})
	return f
}

// Run keeps a session with every enabled node until the context ends. It returns after
// the last session has ended.
func (f *Fleet) Run(ctx context.Context) error {
	wake := f.Listener.Subscribe("", controlplane.TopicNode)
	defer wake.Close()
	ticker := time.NewTicker(lookEvery)
	defer ticker.Stop()
	// Renewing leases and storing reports continue until the last session has ended.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var helpers, sessions sync.WaitGroup
	defer helpers.Wait()
	defer stop()
	defer sessions.Wait()
	helpers.Go(func() { _ = f.roster.run(background) })
	helpers.Go(func() { _ = f.answerAll(background) })
	// Storing reports has low priority: lease renewals and people must get database
	// connections first.
	helpers.Go(func() { _ = f.posts.run(postgres.WithLowPriority(background)) })
	helpers.Go(func() { _ = f.pace.run(background) })
	helpers.Go(func() { _ = f.collectGarbage(background) })
	running := map[controlplane.NodeID]*sessionKeeper{}
	var wanted wantedNodes
	for {
		began := time.Now()
		if err := wanted.read(ctx, f.Nodes, f.Holder); err != nil {
			f.Log.WarnContext(ctx, "nodes could not be read", "error", err)
		} else {
			f.adjustSessions(postgres.WithLowPriority(ctx), wanted.ids, running, &sessions)
		}
		if err := f.Nodes.FinishDrains(ctx); err != nil {
			f.Log.WarnContext(ctx, "drains could not be looked after", "error", err)
		}
		// While thousands come back, each is a wake-up.
		rest := time.NewTimer(min(lookEvery, max(lookRest, lookShare*time.Since(began))))
		select {
		case <-ctx.Done():
			rest.Stop()
			return nil
		case <-rest.C:
		}
		select {
		case <-ctx.Done():
			return nil
		case <-wake.Wake:
		case <-ticker.C:
		}
	}
}

// wantedNodes are the nodes to keep a session with, as they were read last. Ten thousand are read
// again only if one of them changed.
type wantedNodes struct {
	ids    map[controlplane.NodeID]bool
	digest string
}

func (w *wantedNodes) read(ctx context.Context, nodes Nodes, holder string) error {
	ids, digest, err := nodes.ListEnabled(ctx, holder, w.digest)
	if err != nil || digest == w.digest {
		return err
	}
	w.digest, w.ids = digest, make(map[controlplane.NodeID]bool, len(ids))
	for _, id := range ids {
		w.ids[id] = true
	}
	return nil
}

// sessionKeeper is the goroutine that keeps one node connected, see keepConnected.
type sessionKeeper struct {
	cancel context.CancelFunc
	ended  chan struct{}
	// told is set after its context was canceled, so that this is logged once.
	told bool
}

// adjustSessions starts and ends sessions to match wanted. A session that ended
// because another control plane took the lease may start again.
func (f *Fleet) adjustSessions(ctx context.Context, wanted map[controlplane.NodeID]bool,
	running map[controlplane.NodeID]*sessionKeeper, sessions *sync.WaitGroup) {
	for id, k := range running {
		select {
		case <-k.ended:
			delete(running, id)
		default:
			if !wanted[id] && !k.told {
				f.Log.InfoContext(ctx, notOurs, "node_id", id)
				k.told = true
				k.cancel()
			}
		}
	}
	for id := range wanted {
		if running[id] != nil {
			continue
		}
		nodeCtx, cancel := context.WithCancel(ctx)
		k := &sessionKeeper{cancel: cancel, ended: make(chan struct{})}
		running[id] = k
		sessions.Add(1)
		go f.keepConnected(nodeCtx, id, backoff{}, func() {
			close(k.ended)
			cancel()
			sessions.Done()
		})
	}
}
