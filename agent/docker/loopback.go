package docker

import (
	"context"
	"errors"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/container"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/sidecar"
	"github.com/nullops/nullops/pipeline"
)

const (
	// refusalFor is how long one look at a service's sockets answers for the next
	// refused connections: visitors must not keep the engine busy.
	refusalFor = 2 * time.Second
	// refusalWithin bounds that look.
	refusalWithin = 2 * time.Second
)

// loopbacks explains why a service refuses connections.
type loopbacks struct {
	*containers
	// refusals keeps visitors of a service that refuses them off the engine.
	refusals loopbackRefusals
}

// loopbackRefusals remembers which services were seen to listen on loopback only.
type loopbackRefusals struct {
	mu    sync.Mutex
	known map[refusalKey]refusal
}

type refusalKey struct {
	deployment string
	service    pipeline.StepKey
	port       int
}

type refusal struct {
	at   time.Time
	look func() []netip.AddrPort
}

// findAddresses looks once for all callers within refusalFor.
func (r *loopbackRefusals) findAddresses(
	key refusalKey, look func() []netip.AddrPort,
) []netip.AddrPort {
	now := time.Now()
	r.mu.Lock()
	known, ok := r.known[key]
	if !ok || now.Sub(known.at) > refusalFor {
		for k, old := range r.known {
			if now.Sub(old.at) > refusalFor {
				delete(r.known, k)
			}
		}
		known = refusal{at: now, look: sync.OnceValue(look)}
		r.known[key] = known
	}
	r.mu.Unlock()
	return known.look()
}

// explainRefusal says of a refused connection when the service listens on
// loopback addresses only. Any other error stays as it is.
func (lb *loopbacks) explainRefusal(
	ctx context.Context, deployment string, service pipeline.StepKey, err error,
) error {
	dial, ok := errors.AsType[*sidecar.DialError](err)
	if !ok || dial.Code != sidecar.CodeRefused {
		return err
	}
	key := refusalKey{deployment: deployment, service: service, port: dial.Port}
	all := lb.refusals.findAddresses(key, func() []netip.AddrPort {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), refusalWithin)
		defer cancel()
		return lb.findLoopbackOnly(ctx, key)
	})
	if len(all) == 0 {
		return err
	}
	return &agent.LoopbackError{Service: service, Port: dial.Port, Addresses: all}
}

// findLoopbackOnly returns nothing when the sockets cannot be seen: the plain refusal
// is true as well.
func (lb *loopbacks) findLoopbackOnly(ctx context.Context, key refusalKey) []netip.AddrPort {
	c, err := lb.findService(ctx, key.deployment, key.service)
	if err != nil || c.State == nil || !c.State.Running {
		return nil
	}
	g := cgroupReader{proc: "/proc"}
	if g.isInContainer(c.ID, c.State.Pid) {
		tables := filepath.Join(g.proc, strconv.Itoa(c.State.Pid), "net")
		if all, err := sidecar.FindLoopbackOnly(tables, key.port); err == nil {
			return all
		}
	}
	return lb.loopbackFromInside(ctx, c, key.port)
}

// loopbackFromInside asks the helper in the container. An agent that is in a
// container itself does not see the processes of others.
func (lb *loopbacks) loopbackFromInside(
	ctx context.Context, c container.InspectResponse, port int,
) (all []netip.AddrPort) {
	output, code, err := lb.runInService(ctx, c.ID,
		[]string{initTarget, "loopback", strconv.Itoa(port)})
	if err != nil || code != 0 {
		return nil
	}
	for line := range strings.FieldsSeq(output) {
		if at, err := netip.ParseAddrPort(line); err == nil {
			all = append(all, at)
		}
	}
	return all
}
