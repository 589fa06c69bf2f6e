package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/controlplane"
)

// keep dials one node for ever, until its context ends.
func (f *Fleet) keep(ctx context.Context, id controlplane.NodeID) {
	log := f.Log.With("node", id)
	var pause backoff
	for {
		began := time.Now()
		err := f.once(ctx, id)
		if ctx.Err() != nil {
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

var errWaitsForPerson = errors.New("its certificate changed and waits for approval")

// once takes the lease, dials, serves, and notes on the node why it ended.
func (f *Fleet) once(ctx context.Context, id controlplane.NodeID) error {
	epoch, err := f.Nodes.Lease(ctx, id, f.Holder)
	if err != nil || epoch == 0 {
		return errors.Join(err, errors.New("another control plane has the lease"))
	}
	link, err := f.Nodes.Link(ctx, id)
	if err != nil {
		return err
	}
	if link.Node.Status == controlplane.NodeUntrusted {
		// Not even a question goes there until a person has looked.
		return errWaitsForPerson
	}
	if link.Kid == "" {
		return f.note(ctx, id, errors.New("its token was revoked: rotate it to make a new one"))
	}
	config, err := f.Dial.config(link, epoch)
	if err != nil {
		return f.note(ctx, id, err)
	}
	conn, err := wire.Dial(ctx, config)
	if err != nil {
		return f.note(ctx, id, err)
	}
	err = f.serve(ctx, link, epoch, conn)
	return f.note(ctx, id, err)
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
	// The node must not look online because we are stopping.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	var untrusted *wire.UntrustedError
	var incompatible *wire.IncompatibleError
	var err error
	switch {
	case errors.As(why, &untrusted):
		err = f.Nodes.Untrusted(ctx, id, hex(untrusted.Got), untrusted.ProofValid)
	case errors.As(why, &incompatible):
		err = f.Nodes.Incompatible(ctx, id, string(incompatible.Theirs), fmt.Sprintf(
			"it runs %s, the control plane %s: run the same release on both",
			incompatible.Theirs, incompatible.Ours))
	default:
		err = f.Nodes.Offline(ctx, id, reason(why))
	}
	return errors.Join(why, err)
}

// reason is what people read beside "offline".
func reason(err error) string {
	var op *net.OpError
	switch {
	case err == nil:
		return "the link was closed"
	case errors.Is(err, wire.ErrRefused):
		return "the agent refused the token; give it the current one"
	case errors.Is(err, wire.ErrIntercepted), errors.Is(err, wire.ErrNotAgent):
		return unwrapped(err)
	case errors.As(err, &op) && op.Op == "dial":
		return "nothing answers at its address; is the agent running and the port open?"
	case errors.Is(err, context.Canceled):
		return "the control plane was stopped"
	}
	return unwrapped(err)
}

// unwrapped keeps the line short: the detail is in the log.
func unwrapped(err error) string {
	const most = 300
	text := err.Error()
	if len(text) > most {
		text = text[:most] + "…"
	}
	return text
}

func hex(t wire.Thumbprint) string { return fmt.Sprintf("%x", t[:]) }
