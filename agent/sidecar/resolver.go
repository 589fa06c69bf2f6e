package sidecar

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"sync"
	"time"
)

const (
	// lookupPort in a request asks for no connection, but that the name is looked up.
	lookupPort = 0
	// resolverTime is how long the resolver may take where an address is known
	// from before.
	resolverTime = time.Second
)

// serviceResolver finds services' addresses. A container's resolver is a part of the engine's
// process. While the engine is down, the last known address is still right, since only the engine
// could give the name to another container.
type serviceResolver struct {
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error)

	mu    sync.Mutex
	known map[string]netip.Addr
}

func newServiceResolver(
	lookup func(ctx context.Context, network, host string) ([]netip.Addr, error),
) *serviceResolver {
	return &serviceResolver{lookup: lookup, known: map[string]netip.Addr{}}
}

// lookupAddress asks the resolver each time: a service that was made again has another address.
func (n *serviceResolver) lookupAddress(ctx context.Context, service string) (netip.Addr, error) {
	n.mu.Lock()
	before, known := n.known[service]
	n.mu.Unlock()
	asked := ctx
	if known {
		var cancel context.CancelFunc
		asked, cancel = context.WithTimeout(ctx, resolverTime)
		defer cancel()
	}
	// The dot makes the name absolute: no search domain of the host can lead outside.
	found, err := n.lookup(asked, "ip", service+".")
	var dns *net.DNSError
	absent := errors.As(err, &dns) && dns.IsNotFound
	n.mu.Lock()
	defer n.mu.Unlock()
	switch {
	case err == nil && len(found) > 0:
		n.known[service] = found[0].Unmap()
		return n.known[service], nil
	case absent:
		delete(n.known, service)
	case known && ctx.Err() == nil:
		return before, nil
	}
	if err == nil {
		err = &net.DNSError{Err: "no address", Name: service, IsNotFound: true}
	}
	return netip.Addr{}, err
}

// answerLookup answers a request that wants no connection.
func (n *serviceResolver) answerLookup(ctx context.Context, service string) dialReply {
	err := errBadTarget
	if isLabel(service) {
		_, err = n.lookupAddress(ctx, service)
	}
	if err != nil {
		return dialReply{Code: codeOf(err), Message: err.Error()}
	}
	return dialReply{Code: codeResolved}
}
