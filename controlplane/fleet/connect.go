package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// keep dials one node for ever, until its context ends or somebody else has the
// lease.
func (f *Fleet) keep(ctx context.Context, id controlplane.NodeID) {
	log := f.Log.With("node", id)
	defer f.release(ctx, id)
	var pause backoff
	for {
		began := time.Now()
		err := f.once(ctx, id)
		if ctx.Err() != nil {
			return
		}
		if errors.Is(err, errElsewhere) {
			log.InfoContext(ctx, notOurs)
			return
		}
		if time.Since(began) > longestWait || errors.Is(err, errWaitsForPerson) {
			pause.healthy()
		}
		if pause.failures == 0 && !errors.Is(err, errWaitsForPerson) {
			log.WarnContext(ctx, "no session with node", "error", err)
		} else {
			log.DebugContext(ctx, "still no session with node", "error", err)
		}
		if !pause.wait(ctx) {
			return
		}
	}
}

var (
	errWaitsForPerson = errors.New("its certificate changed and waits for approval")
	errElsewhere      = errors.New("another control plane has the lease")
	errNoToken        = errors.New("its token was revoked: rotate it to make a new one")
)

// notOurs is logged when a node goes to another control plane, or waits for a
// person.
const notOurs = "a node is not ours to command any more"

// release lets the next control plane in at once. A lease that is somebody
// else's by now is left alone.
func (f *Fleet) release(ctx context.Context, id controlplane.NodeID) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	if err := f.Nodes.Release(ctx, id, f.Holder); err != nil {
		f.Log.DebugContext(ctx, "lease was not given back", "node", id, "error", err)
	}
}

// once takes the lease, dials, serves, and notes on the node why it ended.
func (f *Fleet) once(ctx context.Context, id controlplane.NodeID) error {
	var b beginning
	var conn *wire.ProvenConn
	err := aside(func() (err error) {
		b, conn, err = f.reach(ctx, id)
		return err
	})
	if conn == nil {
		return err
	}
	return f.note(ctx, id, f.serve(ctx, b, conn))
}

// aside does something on another goroutine, and waits for it. A handshake and
// the database need a large stack for a moment; who then waits for days would
// keep it, and there are thousands of them.
func aside(do func() error) error {
	done := make(chan error, 1)
	go func() { done <- do() }()
	return <-done
}

// reach takes the lease and dials, when it is this node's turn to. Without a
// connection, why there is none is noted.
func (f *Fleet) reach(
	ctx context.Context, id controlplane.NodeID,
) (b beginning, conn *wire.ProvenConn, err error) {
	select {
	case f.dials <- struct{}{}:
	case <-ctx.Done():
		return b, nil, context.Cause(ctx)
	}
	defer func() { <-f.dials }()
	if b, err = f.apply(ctx, id); err != nil {
		return b, nil, err
	}
	if b.Node.Status == controlplane.NodeUntrusted {
		// Not even a question goes there until a person has looked.
		return b, nil, errWaitsForPerson
	}
	if b.Kid == "" {
		f.tryDeliver(ctx, b.Link, b.Epoch)
		return b, nil, f.note(ctx, id, errNoToken)
	}
	config, err := f.Dial.config(b.Link, b.Epoch)
	if err != nil {
		return b, nil, f.note(ctx, id, err)
	}
	conn, err = f.dial(ctx, config)
	if errors.Is(err, wire.ErrRefused) {
		// It may still hold a token that was revoked while it was away.
		f.tryDeliver(ctx, b.Link, b.Epoch)
	}
	if other, ok := errors.AsType[*wire.IncompatibleError](err); ok {
		return b, nil, f.noteIncompatible(ctx, b.Link, b.Epoch, other)
	}
	if err != nil {
		return b, nil, f.note(ctx, id, err)
	}
	return b, conn, nil
}

// dial connects at once, and waits for its turn with the rest. A node that does
// not answer holds nobody up; one that accepts and hangs, for a moment only.
func (f *Fleet) dial(ctx context.Context, c wire.DialConfig) (*wire.ProvenConn, error) {
	var leave func()
	defer func() {
		if leave != nil {
			leave()
		}
	}()
	connect := c.Connect
	if connect == nil {
		connect = (&net.Dialer{}).DialContext
	}
	c.Connect = func(ctx context.Context, network, address string) (net.Conn, error) {
		raw, err := connect(ctx, network, address)
		if err != nil || leave != nil {
			return raw, err
		}
		select {
		case f.handshakes <- struct{}{}:
			leave = sync.OnceFunc(func() { <-f.handshakes })
			time.AfterFunc(handshakeTurn, leave)
			return raw, nil
		case <-ctx.Done():
			return nil, errors.Join(context.Cause(ctx), raw.Close())
		}
	}
	return wire.Dial(ctx, c)
}

// config pins what is known: the trusted certificate, or before first
// contact the one an admin expects, if any.
func (d Dialing) config(link Link, epoch int64) (wire.DialConfig, error) {
	c := wire.DialConfig{Address: link.Node.Address, Identity: d.Identity, Build: d.Build,
		NodeID: string(link.Node.ID), Kid: link.Kid, Key: link.Key, Epoch: uint64(epoch),
		Connect: d.Connect}
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

// note writes down why there is no session, for people, and returns the cause.
func (f *Fleet) note(ctx context.Context, id controlplane.NodeID, why error) error {
	stopped := ctx.Err() != nil
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var untrusted *wire.UntrustedError
	var err error
	switch {
	case errors.As(why, &untrusted) && !examined(untrusted):
		err = f.Nodes.Offline(ctx, id, "another certificate answers, and hung up before it could "+
			"prove the token; trying again")
	case errors.As(why, &untrusted):
		err = f.Nodes.Untrusted(ctx, id, hex(untrusted.Got), untrusted.ProofValid)
	case stopped || errors.Is(why, errElsewhere):
		// We stop, or are not the one to speak of it any more. The node is as
		// online as before: its ingress goes on, and who commands it next, in a
		// second or after our restart, says what it finds.
	default:
		err = f.Nodes.Offline(ctx, id, reason(why))
	}
	return errors.Join(why, err)
}

// examined reports whether a changed certificate was asked for the token and
// answered. One whose line broke in between deserves no verdict yet.
func examined(u *wire.UntrustedError) bool {
	return u.ProofValid || errors.Is(u.Examined, wire.ErrRefused) ||
		errors.Is(u.Examined, wire.ErrIntercepted) || errors.Is(u.Examined, wire.ErrNotAgent)
}

func hex(t wire.Thumbprint) string { return fmt.Sprintf("%x", t[:]) }
