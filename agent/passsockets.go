package agent

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// maxSocketDials bounds the dials of one channel at a time; the relay has the same bound.
const maxSocketDials = 256

// socketPasser gives an ingress on this machine the sockets themselves that are connected to
// services, so that what visitors send and get does not go through the agent.
type socketPasser struct {
	*base
	dials *deploymentServer
	held  *heldSockets
}

// openLocalListener listens for an ingress on this machine, beside the other listener. Without it
// the ingress uses tunnels, so what is wrong with it does not stop the agent.
func (a *Agent) openLocalListener(other net.Listener) net.Listener {
	if a.config.Sockets == "" {
		return other
	}
	kid, _ := a.state.tokenStatus()
	path := wire.LocalSocket(a.config.Sockets, kid)
	held, err := newHeldSockets(a.log)
	if err == nil {
		var local net.Listener
		if local, err = wire.ListenLocal(path, a.config.IngressUser, a.log); err == nil {
			a.deployments.passer = &socketPasser{base: a.base, dials: a.deployments, held: held}
			a.log.Info("listening for an ingress on this machine", "file", path)
			return wire.JoinListeners(other, local)
		}
		held.close()
	}
	a.log.Warn("no socket for an ingress on this machine, which uses tunnels instead",
		"error", err)
	return other
}

// serveSockets answers for as long as the ingress keeps the channel.
func (sp *socketPasser) serveSockets(w http.ResponseWriter, r *http.Request) {
	channel, err := wire.AcceptSockets(w, r)
	if err != nil {
		sp.log.Warn("no channel for sockets", "error", err)
		return
	}
	defer func() { _ = channel.Close() }()
	cut := func() { sp.held.cut(func(h *heldSocket) bool { return h.channel == channel }) }
	defer cut() // what was dialed meanwhile
	var answering sync.WaitGroup
	defer answering.Wait()
	defer cut()
	slots := make(chan struct{}, maxSocketDials)
	for {
		q, err := channel.Next()
		if err != nil {
			return // the ingress ended, or its access did
		}
		slots <- struct{}{}
		answering.Go(func() {
			defer func() { <-slots }()
			if err := sp.answerRequest(r.Context(), channel, q); err != nil {
				sp.log.Debug("a socket was not passed", "target", q.Target, "error", err)
			}
		})
	}
}

// answerRequest passes one socket, or says why not.
func (sp *socketPasser) answerRequest(
	ctx context.Context, channel *wire.SocketServer, q wire.SocketRequest,
) error {
	target, err := wire.ParseTarget(q.Target)
	if err != nil {
		return q.Refuse(http.StatusBadRequest, err.Error(), nil)
	}
	service, refusal := sp.dials.dialTarget(ctx, target)
	if refusal != nil {
		return q.Refuse(refusal.status, refusal.reason, refusal.listens)
	}
	h, err := holdSocket(service, target.Deployment, channel)
	if err == nil {
		err = sp.held.add(h)
	}
	if err != nil {
		return errors.Join(err, q.Refuse(http.StatusNotImplemented, err.Error(), nil))
	}
	// It is held, so whoever ends the deployment from here on cuts it.
	if _, refusal := sp.dials.declaredStep(target); refusal != nil {
		sp.held.cut(func(other *heldSocket) bool { return other == h })
		return q.Refuse(refusal.status, refusal.reason, nil)
	}
	if err := q.Pass(h.raw); err != nil {
		sp.held.cut(func(other *heldSocket) bool { return other == h })
		return err
	}
	return nil
}

// cutRemoved ends connections to deployments that are no longer on this node, until ctx ends. Most
// have ended by then, with their services.
func (sp *socketPasser) cutRemoved(ctx context.Context) error {
	if sp == nil {
		return nil
	}
	defer sp.held.close()
	for {
		changed := sp.published.nextSignal()
		for _, id := range sp.held.deployments() {
			if v, ok := sp.viewOf(id); !ok || v.state.Phase == wire.PhaseRemoved {
				sp.held.cut(func(h *heldSocket) bool { return h.deployment == id })
			}
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil
		}
	}
}

// holdSocket prepares a connection to a service for being passed. The ingress gets no more than
// that connection: see forbidReconnect. The result replaces the connection.
func holdSocket(
	service net.Conn, deployment string, channel *wire.SocketServer,
) (*heldSocket, error) {
	defer func() { _ = service.Close() }()
	tcp, ok := service.(*net.TCPConn)
	if !ok {
		return nil, errors.New("this connection is not a socket that can be passed")
	}
	setKeepAlive(tcp)
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, err
	}
	var own int
	var failed error
	err = raw.Control(func(fd uintptr) {
		if failed = forbidReconnect(int(fd)); failed == nil {
			own, failed = duplicate(int(fd))
		}
	})
	if err = errors.Join(err, failed); err != nil {
		return nil, fmt.Errorf("prepare the socket: %w", err)
	}
	return &heldSocket{fd: own, raw: descriptor(own), deployment: deployment, channel: channel}, nil
}

// descriptor is a file descriptor that is not in the runtime's poller: there, each packet of a
// visitor would wake the agent.
type descriptor int

var _ syscall.RawConn = descriptor(0)

// Control implements syscall.RawConn.
func (d descriptor) Control(do func(fd uintptr)) error {
	do(uintptr(d))
	return nil
}

// Read implements syscall.RawConn.
func (descriptor) Read(func(fd uintptr) bool) error { return os.ErrInvalid }

// Write implements syscall.RawConn.
func (descriptor) Write(func(fd uintptr) bool) error { return os.ErrInvalid }

// tunnelRefusal is why a target is not connected, as HTTP says it.
type tunnelRefusal struct {
	status  int
	reason  string
	listens wire.ListenAddrs
}

// declaredStep finds the step of a target that a goal declares.
func (ds *deploymentServer) declaredStep(target wire.Target) (pipeline.Step, *tunnelRefusal) {
	v, ok := ds.viewOf(target.Deployment)
	if !ok || v.goal == nil || v.goal.Want != wire.WantPresent {
		return pipeline.Step{}, &tunnelRefusal{status: http.StatusNotFound,
			reason: "no such deployment on this node"}
	}
	step, ok := v.goal.Pipeline.Step(pipeline.StepKey(target.Service))
	if !ok || !declaresPort(step, target.Port) {
		return step, &tunnelRefusal{status: http.StatusNotFound,
			reason: "the deployment declares no such port"}
	}
	return step, nil
}

// dialTarget connects to a port that a goal declares, and to nothing else.
func (ds *deploymentServer) dialTarget(
	ctx context.Context, target wire.Target,
) (net.Conn, *tunnelRefusal) {
	step, refusal := ds.declaredStep(target)
	if refusal != nil {
		return nil, refusal
	}
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	service, err := ds.runtime.Dial(ctx, target.Deployment, step.Key, target.Port)
	if err == nil {
		return service, nil
	}
	refusal = &tunnelRefusal{status: http.StatusBadGateway,
		reason: "the service does not answer: " + err.Error()}
	if loopback, ok := errors.AsType[*LoopbackError](err); ok {
		refusal.listens = loopback.Addresses
	}
	return nil, refusal
}
