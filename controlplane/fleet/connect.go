package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// keepConnected connects to one node, again after each failure, until its context ends
// or another control plane takes the lease; then it calls ended.
//
// It returns once a session is open, because a waiting goroutine costs a stack and
// there are thousands of sessions. The end of a session calls keepConnected again.
func (f *Fleet) keepConnected(
	ctx context.Context,
	id controlplane.NodeID,
	pause backoff,
	ended func(),
) {
	for {
		began := time.Now()
		s, err := f.connectInTurn(ctx, id)
		f.Dialed(dialResult(err))
		if s != nil {
			s.serve(func(why error) {
				f.Ended(ctx, time.Since(began))
				why = f.recordNoSession(ctx, id, why)
				if f.waitToRetry(ctx, id, why, time.Since(began), &pause) {
					f.keepConnected(ctx, id, pause, ended)
					return
				}
				f.releaseLease(ctx, id)
				ended()
			})
			return
		}
		if !f.waitToRetry(ctx, id, err, time.Since(began), &pause) {
			f.releaseLease(ctx, id)
			ended()
			return
		}
	}
}

// dialResult is a word for how an attempt to open a session ended.
func dialResult(err error) string {
	_, other := errors.AsType[*wire.IncompatibleError](err)
	_, untrusted := errors.AsType[*wire.UntrustedError](err)
	switch {
	case err == nil:
		return "connected"
	case errors.Is(err, errElsewhere):
		return "elsewhere"
	case untrusted || errors.Is(err, errWaitsForPerson):
		return "untrusted"
	case other:
		return "incompatible"
	case errors.Is(err, wire.ErrRefused) || errors.Is(err, errNoToken):
		return "refused"
	}
	return "unreachable"
}

// waitToRetry waits before the next try, unless there is none.
func (f *Fleet) waitToRetry(ctx context.Context, id controlplane.NodeID, err error,
	lasted time.Duration, pause *backoff) bool {
	if ctx.Err() != nil {
		return false
	}
	if errors.Is(err, errElsewhere) {
		f.Log.InfoContext(ctx, notOurs, "node_id", id)
		return false
	}
	if lasted > longestWait || errors.Is(err, errWaitsForPerson) {
		pause.reset()
	}
	if pause.failures == 0 && !errors.Is(err, errWaitsForPerson) {
		f.Log.WarnContext(ctx, "no session with node", "node_id", id, "error", err)
	} else {
		f.Log.DebugContext(ctx, "still no session with node", "node_id", id, "error", err)
	}
	var arrival <-chan struct{}
	if errors.Is(err, errNoStandby) {
		arrival = f.Dial.Standbys.arrivalAfterMiss(id)
	}
	return pause.wait(ctx, arrival)
}

var (
	errWaitsForPerson = errors.New("its certificate changed and waits for approval")
	errElsewhere      = errors.New("another control plane has the lease")
	errNoToken        = errors.New("its token was revoked: rotate it to make a new one")
)

// notOurs is logged when a node goes to another control plane, or waits for a
// person.
const notOurs = "a node is not ours to command any more"

// releaseLease returns the lease, so that another control plane can take over at once.
// It does nothing if another one holds it by now.
func (f *Fleet) releaseLease(ctx context.Context, id controlplane.NodeID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := f.Nodes.ReleaseLease(ctx, id, f.Holder); err != nil {
		f.Log.DebugContext(ctx, "lease was not given back", "node_id", id, "error", err)
	}
}

// connectInTurn opens a session when it is this node's turn to.
func (f *Fleet) connectInTurn(
	ctx context.Context, id controlplane.NodeID,
) (s *session, err error) {
	defer controlplane.CatchPanic(ctx, f.Log, "connecting to node "+string(id), &err)
	select {
	case f.dials <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() { <-f.dials }()
	return f.connectNode(ctx, id)
}

// connectNode takes the lease, dials and opens a session. If that fails, it stores the reason.
func (f *Fleet) connectNode(ctx context.Context, id controlplane.NodeID) (*session, error) {
	b, err := f.claimNode(ctx, id)
	if err != nil {
		return nil, err
	}
	if b.Node.Status == controlplane.NodeUntrusted {
		// Not even a question goes there until a person has looked.
		return nil, errWaitsForPerson
	}
	if !f.Dial.Standbys.mayReach(ctx, b.Node) {
		return nil, f.recordNoSession(ctx, id, errNoStandby)
	}
	if b.Kid == "" {
		f.tryDeliver(ctx, b.NodeLink, b.Epoch)
		return nil, f.recordNoSession(ctx, id, errNoToken)
	}
	conn, err := f.dialNode(ctx, &b)
	if errors.Is(err, wire.ErrRefused) {
		// It may still hold a token that was revoked while it was away.
		f.tryDeliver(ctx, b.NodeLink, b.Epoch)
	}
	if b.Node.Status == controlplane.NodeIncompatible && f.absences.isShort(id, err) {
		return nil, err
	}
	f.absences.end(id)
	if other, ok := errors.AsType[*wire.IncompatibleError](err); ok {
		return nil, f.noteIncompatible(ctx, b.NodeLink, b.Epoch, other)
	}
	if err != nil {
		return nil, f.recordNoSession(ctx, id, err)
	}
	s, err := f.openSession(ctx, &b, conn)
	if err != nil {
		return nil, f.recordNoSession(ctx, id, err)
	}
	return s, nil
}

// dialNode opens the TCP connection at once, and waits for the handshake limiter
// before TLS. So an unreachable node delays no other node, and one that accepts and
// hangs delays them for handshakeTurn at most.
func (f *Fleet) dialNode(ctx context.Context, b *sessionBeginning) (*wire.ProvenConn, error) {
	c, err := f.Dial.dialConfig(b.NodeLink, b.Epoch)
	if err != nil {
		return nil, err
	}
	t := limiterTurn{adaptiveLimiter: f.pace}
	defer t.end()
	connect := c.Connect
	if connect == nil {
		connect = (&net.Dialer{}).DialContext
	}
	c.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := connect(ctx, network, address)
		if err != nil {
			return nil, err
		}
		if err := t.begin(ctx); err != nil {
			return nil, errors.Join(err, raw.Close())
		}
		return raw, nil
	}
	return wire.Dial(ctx, c)
}

// connectURL opens the WebSocket that leads to an agent behind a reverse proxy. The certificate of
// the proxy is checked as for any site. The proxies of the environment are not used: they would
// connect to addresses that nobody has vetted.
func (d DialSettings) connectURL(ctx context.Context, _, address string) (net.Conn, error) {
	client := wire.NewCarrierClient(nil, &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: d.Roots})
	defer client.CloseIdleConnections()
	if d.Connect != nil {
		client.Transport.(*http.Transport).DialContext = d.Connect
	}
	return wire.DialCarrier(ctx, address, client)
}

// agentConnects stands for the address of a node without one.
const agentConnects = "agent://"

// dialConfig pins what is known: the trusted certificate, or before first
// contact the one an admin expects, if any.
func (d DialSettings) dialConfig(link NodeLink, epoch int64) (wire.DialConfig, error) {
	c := wire.DialConfig{Address: link.Node.Address, Identity: d.Identity, Build: d.Build,
		NodeID: string(link.Node.ID), Kid: link.Kid, Key: link.Key, Epoch: uint64(epoch),
		Connect: d.Connect}
	switch {
	case link.Node.Connect == controlplane.ConnectAgent:
		c.Address = agentConnects
		c.Connect = func(ctx context.Context, _, _ string) (net.Conn, error) {
			return d.Standbys.Take(ctx, link)
		}
	case strings.Contains(c.Address, "://"):
		c.Connect = d.connectURL
	}
	pinned := link.Node.Thumbprint
	if pinned == "" {
		pinned = link.Node.Expected
	}
	if pinned == "" {
		return c, nil
	}
	var err error
	if c.Thumbprint, err = wire.ParseThumbprint(string(pinned)); err != nil {
		return c, fmt.Errorf("stored thumbprint: %w", err)
	}
	return c, nil
}

// recordNoSession writes down why there is no session, for people, and returns the cause.
func (f *Fleet) recordNoSession(ctx context.Context, id controlplane.NodeID, why error) error {
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var untrusted *wire.UntrustedError
	var err error
	switch {
	case errors.As(why, &untrusted) && !wasExamined(untrusted):
		err = f.Nodes.MarkOffline(ctx, id, "another certificate answers, and hung up before it could "+
			"prove the token; trying again")
	case errors.As(why, &untrusted):
		err = f.Nodes.MarkUntrusted(ctx, id, formatThumbprint(untrusted.Got), untrusted.ProofValid)
	case stopped || errors.Is(why, errElsewhere):
		// We are stopping, or another control plane has the node now. Leave its status: the
		// ingress still serves it, and the next holder of the lease stores what it finds.
	default:
		err = f.Nodes.MarkOffline(ctx, id, offlineReason(why))
	}
	return errors.Join(why, err)
}

// wasExamined reports whether a changed certificate was asked for the token and
// answered. One whose line broke in between deserves no verdict yet.
func wasExamined(u *wire.UntrustedError) bool {
	return u.ProofValid || errors.Is(u.Examined, wire.ErrRefused) ||
		errors.Is(u.Examined, wire.ErrIntercepted) || errors.Is(u.Examined, wire.ErrNotAgent)
}

func formatThumbprint(t wire.Thumbprint) string { return fmt.Sprintf("%x", t[:]) }
