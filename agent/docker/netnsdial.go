package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/nullops/nullops/pipeline"
)

// lookAgainAfter is how long a service that could not be reached from within its network namespace
// is left to the relay: visitors of a service that refuses them must not keep the engine busy.
const lookAgainAfter = 2 * time.Second

// errNoNamespace means that a service's network namespace cannot be entered, so that the relay has
// to connect.
var errNoNamespace = errors.New("the service's network namespace cannot be entered")

// netnsDialer connects to services from within their own network namespaces. What such a connection
// carries crosses neither the relay's link nor the deployment's bridge, nor their packet filters.
// The agent has to be root and to see the engine's processes; any other connects through relays.
type netnsDialer struct {
	*containers
	processes cgroupReader

	mu    sync.Mutex
	known map[netnsKey]*netnsEntry
}

type netnsKey struct {
	deployment string
	service    pipeline.StepKey
}

// netnsEntry is what is known of a service. Its mutex is held while the engine is asked, so that
// all who need the answer wait for the same one.
type netnsEntry struct {
	mu     sync.Mutex
	looked time.Time
	target netnsTarget
}

// netnsTarget is a service's first process and the service's address in the deployment's network.
// Without a container, the service cannot be reached in this way.
type netnsTarget struct {
	container string
	pid       int
	address   netip.Addr
}

// dialInside connects to a service's port. After any error, the relay can be asked, which says why
// the service does not answer.
func (nd *netnsDialer) dialInside(
	ctx context.Context, deployment string, service pipeline.StepKey, port int,
) (net.Conn, error) {
	entry := nd.entryOf(netnsKey{deployment, service})
	for {
		target, looked, err := nd.findTarget(ctx, entry, deployment, service)
		if err != nil {
			return nil, err
		}
		conn, err := nd.dialTarget(ctx, target, port)
		if err == nil {
			return conn, nil
		}
		// The service may have been started again since, in another namespace.
		if again := entry.forget(target); !again || time.Since(looked) < lookAgainAfter {
			return nil, err
		}
	}
}

func (nd *netnsDialer) entryOf(key netnsKey) *netnsEntry {
	nd.mu.Lock()
	defer nd.mu.Unlock()
	entry := nd.known[key]
	if entry == nil {
		nd.dropEndedLocked()
		entry = &netnsEntry{}
		nd.known[key] = entry
	}
	return entry
}

// dropEndedLocked forgets services that have ended.
func (nd *netnsDialer) dropEndedLocked() {
	for key, entry := range nd.known {
		if !entry.mu.TryLock() {
			continue // it is in use
		}
		target := entry.target
		entry.mu.Unlock()
		if !nd.processes.isInContainer(target.container, target.pid) {
			delete(nd.known, key)
		}
	}
}

// findTarget returns what is known of a service, or asks the engine, every lookAgainAfter at most.
func (nd *netnsDialer) findTarget(
	ctx context.Context, entry *netnsEntry, deployment string, service pipeline.StepKey,
) (netnsTarget, time.Time, error) {
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.target.container == "" {
		if time.Since(entry.looked) < lookAgainAfter {
			return netnsTarget{}, entry.looked, errNoNamespace
		}
		entry.looked = time.Now()
		entry.target = nd.askTarget(ctx, deployment, service)
	}
	if entry.target.container == "" {
		return netnsTarget{}, entry.looked, errNoNamespace
	}
	return entry.target, entry.looked, nil
}

// forget has the engine asked again. It reports false if that was done already.
func (e *netnsEntry) forget(target netnsTarget) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.target != target {
		return e.target.container != ""
	}
	e.target = netnsTarget{}
	return true
}

// askTarget asks the engine for a service's process and address.
func (nd *netnsDialer) askTarget(
	ctx context.Context, deployment string, service pipeline.StepKey,
) netnsTarget {
	c, err := nd.findService(ctx, deployment, service)
	if err != nil || c.State == nil || !c.State.Running || c.NetworkSettings == nil ||
		!nd.processes.isInContainer(c.ID, c.State.Pid) {
		return netnsTarget{}
	}
	e := c.NetworkSettings.Networks[nd.names.networkName(deployment)]
	if e == nil || !e.IPAddress.Is4() {
		return netnsTarget{}
	}
	return netnsTarget{container: c.ID, pid: c.State.Pid, address: e.IPAddress}
}

// dialTarget connects within the namespace of a service's first process.
func (nd *netnsDialer) dialTarget(
	ctx context.Context, target netnsTarget, port int,
) (net.Conn, error) {
	namespace, err := os.Open(
		filepath.Join(nd.processes.proc, strconv.Itoa(target.pid), "ns", "net"))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoNamespace, err)
	}
	defer func() { _ = namespace.Close() }()
	// Asked after the namespace was opened: another process may have the number by now.
	if !nd.processes.isInContainer(target.container, target.pid) {
		return nil, fmt.Errorf("%w: the service has ended", errNoNamespace)
	}
	return dialInNamespace(ctx, namespace, netip.AddrPortFrom(target.address, uint16(port)))
}

// dialInNamespace connects from within a network namespace. The connection stays in it, whoever
// uses it later.
func dialInNamespace(
	ctx context.Context, namespace *os.File, to netip.AddrPort,
) (conn net.Conn, err error) {
	own, err := os.Open("/proc/self/ns/net")
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoNamespace, err)
	}
	defer func() { _ = own.Close() }()
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		if err = unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
			runtime.UnlockOSThread()
			err = fmt.Errorf("%w: %w", errNoNamespace, err)
			return
		}
		// An address that needs no resolver: the socket is made by this thread.
		conn, err = new(net.Dialer).DialContext(ctx, "tcp4", to.String())
		// A thread that cannot return is not unlocked, and so ends with its goroutine.
		if unix.Setns(int(own.Fd()), unix.CLONE_NEWNET) == nil {
			runtime.UnlockOSThread()
		}
	}()
	<-done
	return conn, err
}
