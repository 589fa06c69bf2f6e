package fleet

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

const (
	// mostStandbys is how many connections of one node wait here at most. When one more comes,
	// the oldest goes: it may be of an agent that is gone.
	mostStandbys = 8
	// standbyWait bounds how long a caller waits for the agent's next connection, and
	// standbyLook is how often it asks the other processes again meanwhile.
	standbyWait = 4 * time.Second
	standbyLook = 500 * time.Millisecond
)

var errNoStandby = errors.New("its agent has not connected: is it running, with agent.connect " +
	"set to this control plane's URL? Its log says what it is told")

// StandbyTable is what the connections that agents leave need of the database.
type StandbyTable interface {
	// FindStandbyNode returns the node of a token that is active or not yet refused by its
	// agent, and what proves the token; otherwise it wraps wire.ErrUnknownKid.
	FindStandbyNode(ctx context.Context, kid string) (controlplane.Node, wire.Key, error)
	// PutStandbyHost says where this process can be asked, for a while.
	PutStandbyHost(ctx context.Context, url, fingerprint string) error
	DeleteStandbyHost(ctx context.Context) error
	// ListStandbyHosts returns the other processes that can be asked.
	ListStandbyHosts(ctx context.Context) ([]controlplane.StandbyHost, error)
}

// Standbys has the connections that agents which dial have left, until they are used. A process
// that has none of a node asks the others for one, so that it does not matter where an agent's
// connection ends: at any replica, behind any load balancer.
type Standbys struct {
	table StandbyTable
	// ingress is the identity of an ingress of its own, which may ask for connections. Nil if
	// there is none.
	ingress *wire.Identity
	log     *slog.Logger
	limits  standbyLimits
	hosts   standbyHosts

	mu      sync.Mutex
	waiting map[controlplane.NodeID][]standby
	// arrivals are closed when the next connection of a node comes.
	arrivals map[controlplane.NodeID]chan struct{}
}

// standby is one connection that waits.
type standby struct {
	conn *wire.Carrier
	kid  string
}

// NewStandbys makes an empty set. ingress may be nil.
func NewStandbys(table StandbyTable, ingress *wire.Identity, log *slog.Logger) *Standbys {
	return &Standbys{table: table, ingress: ingress, log: log, limits: newStandbyLimits(),
		hosts: standbyHosts{table: table}, waiting: map[controlplane.NodeID][]standby{},
		arrivals: map[controlplane.NodeID]chan struct{}{}}
}

// Take returns a connection to the node's agent on which nothing was said yet. It waits a moment
// for one.
func (s *Standbys) Take(ctx context.Context, link NodeLink) (net.Conn, error) {
	if s == nil {
		return nil, errNoStandby
	}
	ctx, cancel := context.WithTimeoutCause(ctx, standbyWait, errNoStandby)
	defer cancel()
	for {
		arrival := s.nextArrival(link.Node.ID)
		if c := s.takeLocal(link.Node.ID, link.Kid); c != nil {
			return c, nil
		}
		if c := s.hosts.ask(ctx, link); c != nil {
			return c, nil
		}
		look := time.NewTimer(standbyLook)
		select {
		case <-arrival:
			look.Stop()
		case <-look.C:
		case <-ctx.Done():
			look.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// mayReach reports whether an attempt to reach the node can succeed: it says no at once if its
// agent would have to connect first.
func (s *Standbys) mayReach(ctx context.Context, n controlplane.Node) bool {
	if n.Connect != controlplane.ConnectAgent {
		return true
	}
	if s == nil {
		return false
	}
	s.mu.Lock()
	here := len(s.waiting[n.ID]) > 0
	s.mu.Unlock()
	return here || len(s.hosts.list(ctx)) > 0
}

// takeLocal returns nil if no connection is here that the token opened. One that a former token
// opened is not used: whoever holds that token is not the node any more.
func (s *Standbys) takeLocal(id controlplane.NodeID, kid string) *wire.Carrier {
	s.mu.Lock()
	defer s.mu.Unlock()
	all := s.waiting[id]
	for i, b := range slices.Backward(all) {
		if b.kid == kid && b.conn.Err() == nil {
			s.setLocked(id, slices.Delete(all, i, i+1))
			return b.conn
		}
	}
	return nil
}

func (s *Standbys) setLocked(id controlplane.NodeID, all []standby) {
	if len(all) == 0 {
		delete(s.waiting, id)
		return
	}
	s.waiting[id] = all
}

// arrivalAfterMiss is closed when a connection of the node comes, or has come meanwhile.
func (s *Standbys) arrivalAfterMiss(id controlplane.NodeID) <-chan struct{} {
	if s == nil {
		return nil
	}
	arrival := s.nextArrival(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting[id]) > 0 {
		here := make(chan struct{})
		close(here)
		return here
	}
	return arrival
}

// nextArrival is closed when the next connection of the node comes.
func (s *Standbys) nextArrival(id controlplane.NodeID) <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	arrival := s.arrivals[id]
	if arrival == nil {
		arrival = make(chan struct{})
		s.arrivals[id] = arrival
	}
	return arrival
}

// park keeps a connection until it is taken or ends.
func (s *Standbys) park(id controlplane.NodeID, kid string, c *wire.Carrier) {
	s.mu.Lock()
	all := append(s.waiting[id], standby{conn: c, kid: kid})
	var oldest *wire.Carrier
	if len(all) > mostStandbys {
		oldest = all[0].conn
		all = slices.Delete(all, 0, 1)
	}
	s.setLocked(id, all)
	if arrival := s.arrivals[id]; arrival != nil {
		close(arrival)
		delete(s.arrivals, id)
	}
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close()
	}
	context.AfterFunc(c.Context(), func() { s.forget(id, c) })
}

func (s *Standbys) forget(id controlplane.NodeID, c *wire.Carrier) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.setLocked(id, slices.DeleteFunc(s.waiting[id], func(b standby) bool { return b.conn == c }))
}

// Close ends all connections that wait.
func (s *Standbys) Close() {
	s.mu.Lock()
	all := s.waiting
	s.waiting = map[controlplane.NodeID][]standby{}
	s.mu.Unlock()
	for _, node := range all {
		for _, b := range node {
			_ = b.conn.Close()
		}
	}
}
