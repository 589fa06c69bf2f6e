package fleet

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// Limits on those who have not proven a token yet, and on how often a node may come.
const (
	mostUnproven          = 256
	mostUnprovenPerSource = 64
	// A source that failed standbyFailures times within a minute gets only mostSuspected. It is
	// not locked out, because all agents behind one proxy have one address.
	standbyFailures = 16
	mostSuspected   = 4
	standbyWindow   = time.Minute
	// standbysPerMinute is for one node; each visitor at the ingress may need one.
	standbysPerMinute = 1200
	mostStandbySource = 4096
)

// ServeHTTP answers on wire.PathStandby: to agents that leave a connection, and to other
// processes that ask for one.
func (s *Standbys) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	source := wire.SourceOf(r.RemoteAddr)
	if !s.limits.enter(source) {
		w.Header().Set("Retry-After", "5")
		http.Error(w, "too many connections that have proven nothing", http.StatusServiceUnavailable)
		return
	}
	guard := &standbyGuard{Standbys: s}
	c, claim, err := wire.AcceptStandby(w, r, guard)
	s.limits.leave(source, err == nil || guard.proven)
	if err != nil {
		s.log.DebugContext(r.Context(), "standby connection refused", "from", r.RemoteAddr,
			"node", guard.node.Name, "error", err)
		if guard.taken != nil {
			_ = guard.taken.Close()
		}
		return
	}
	if claim.Role == wire.StandbyRelay {
		go relay(c, guard.taken)
		return
	}
	s.park(guard.node.ID, claim.Kid, c)
}

// standbyGuard decides about one connection.
type standbyGuard struct {
	*Standbys
	node   controlplane.Node
	proven bool
	// taken is what a process that asked gets.
	taken *wire.Carrier
}

// StandbyKeys implements wire.StandbyGuard. A relay is asked for by a control plane, which has the
// keys of tokens, or by the ingress, which has others.
func (g *standbyGuard) StandbyKeys(
	ctx context.Context, claim wire.StandbyClaim,
) ([]wire.Key, error) {
	node, key, err := g.table.FindStandbyNode(ctx, claim.Kid)
	if err != nil {
		return nil, err
	}
	g.node = node
	keys := []wire.Key{key}
	if claim.Role == wire.StandbyRelay && g.ingress != nil {
		keys = append(keys, g.ingress.TunnelKey(claim.Kid))
	}
	return keys, nil
}

// AdmitStandby implements wire.StandbyGuard.
func (g *standbyGuard) AdmitStandby(_ context.Context, claim wire.StandbyClaim) error {
	g.proven = true
	no := func(code wire.Code, reason string) error {
		return &wire.RefusedError{Code: code, Reason: reason}
	}
	switch {
	case g.node.Connect != controlplane.ConnectAgent:
		return no(wire.CodeRefused, "the control plane dials this node: set its connect to agent, or "+
			"leave out agent.connect")
	case g.node.Status == controlplane.NodeDisabled:
		return no(wire.CodeRefused, "this node is disabled")
	case claim.Role == wire.StandbyRelay:
		if g.taken = g.takeLocal(g.node.ID, claim.Kid); g.taken == nil {
			return no(wire.CodeUnavailable, "no connection of this node is here")
		}
	case !g.limits.countNode(g.node.ID):
		return no(wire.CodeUnavailable, "this node connects too often")
	}
	return nil
}

// relay joins two connections until one of them ends.
func relay(a, b *wire.Carrier) {
	var both sync.WaitGroup
	pass := func(to, from net.Conn) {
		_, err := io.Copy(to, from)
		_ = errors.Join(err, to.Close(), from.Close()) // the ends inside say why
	}
	both.Go(func() { pass(a, b) })
	pass(b, a)
	both.Wait()
}

// standbyLimits counts connections before and after their proof.
type standbyLimits struct {
	mu       sync.Mutex
	total    int
	unproven map[string]int
	failures map[string]standbyCount
	nodes    map[controlplane.NodeID]standbyCount
}

// standbyCount counts within a minute.
type standbyCount struct {
	since time.Time
	n     int
}

func (c standbyCount) plusOne() standbyCount {
	if time.Since(c.since) > standbyWindow {
		c = standbyCount{since: time.Now()}
	}
	c.n++
	return c
}

func newStandbyLimits() standbyLimits {
	return standbyLimits{unproven: map[string]int{}, failures: map[string]standbyCount{},
		nodes: map[controlplane.NodeID]standbyCount{}}
}

func (l *standbyLimits) enter(source string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	most := mostUnprovenPerSource
	if f := l.failures[source]; f.n >= standbyFailures && time.Since(f.since) <= standbyWindow {
		most = mostSuspected
	}
	if l.total >= mostUnproven || l.unproven[source] >= most {
		return false
	}
	l.total++
	l.unproven[source]++
	return true
}

func (l *standbyLimits) leave(source string, proven bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.total--
	if l.unproven[source]--; l.unproven[source] == 0 {
		delete(l.unproven, source)
	}
	if proven {
		delete(l.failures, source)
		return
	}
	if len(l.failures) >= mostStandbySource {
		clear(l.failures) // bounds memory
	}
	l.failures[source] = l.failures[source].plusOne()
}

// countNode reports whether a node may leave one more connection.
func (l *standbyLimits) countNode(id controlplane.NodeID) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	c := l.nodes[id].plusOne()
	l.nodes[id] = c
	return c.n <= standbysPerMinute
}
