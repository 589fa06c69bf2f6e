package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
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

// A service that could not be reached from within its network namespace is left to the relay for
// a while: visitors must not keep the engine busy.
const (
	// lookAgainAfter is for a service that does not run.
	lookAgainAfter = 2 * time.Second
	// tryAgainAfter is for an agent that may not enter namespaces, or does not see the engine's
	// processes. That seldom changes.
	tryAgainAfter = time.Minute
)

var (
	// errNoNamespace means that a service's network namespace cannot be entered.
	errNoNamespace = errors.New("the service's network namespace cannot be entered")
	// errMayNotEnter means that this agent can enter none.
	errMayNotEnter = errors.New("the agent may not enter network namespaces")
)

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
	target netnsTarget
	// looked is when the engine was asked last, again when it may be asked next.
	looked, again time.Time
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
		if err == nil || errors.Is(err, unix.ECONNREFUSED) {
			return conn, err
		}
		// The service may have been started again since, in another namespace.
		entry.forgetTarget(target, err)
		if time.Since(looked) < lookAgainAfter || errors.Is(err, errMayNotEnter) {
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

// dropEndedLocked forgets services that have ended, unless the engine must not be asked of them.
func (nd *netnsDialer) dropEndedLocked() {
	for key, entry := range nd.known {
		if !entry.mu.TryLock() {
			continue // it is in use
		}
		target, again := entry.target, entry.again
		entry.mu.Unlock()
		if time.Now().After(again) && !nd.processes.isInContainer(target.container, target.pid) {
			delete(nd.known, key)
		}
	}
}

// findTarget returns what is known of a service, or asks the engine.
func (nd *netnsDialer) findTarget(
	ctx context.Context, entry *netnsEntry, deployment string, service pipeline.StepKey,
) (netnsTarget, time.Time, error) {
	entry.mu.Lock()
	defer entry.mu.Unlock()
	if entry.target.container == "" {
		if time.Now().Before(entry.again) {
			return netnsTarget{}, entry.looked, errNoNamespace
		}
		var err error
		entry.target, err = nd.askTarget(ctx, deployment, service)
		entry.looked = time.Now()
		if err != nil {
			entry.again = entry.looked.Add(pauseAfter(err))
			return netnsTarget{}, entry.looked, err
		}
	}
	return entry.target, entry.looked, nil
}

// forgetTarget has the engine asked again, unless that was done meanwhile.
func (e *netnsEntry) forgetTarget(target netnsTarget, why error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.target == target {
		e.target, e.again = netnsTarget{}, e.looked.Add(pauseAfter(why))
	}
}

// pauseAfter is how long the engine is left alone after an error.
func pauseAfter(why error) time.Duration {
	if errors.Is(why, errMayNotEnter) {
		return tryAgainAfter
	}
	return lookAgainAfter
}

// askTarget asks the engine for a service's process and address.
func (nd *netnsDialer) askTarget(
	ctx context.Context, deployment string, service pipeline.StepKey,
) (netnsTarget, error) {
	c, err := nd.findService(ctx, deployment, service)
	if err != nil {
		return netnsTarget{}, err
	}
	if c.State == nil || !c.State.Running || c.NetworkSettings == nil || c.Config == nil ||
		objectFromLabels(c.Config.Labels).Step != service {
		return netnsTarget{}, errNoNamespace
	}
	e := c.NetworkSettings.Networks[nd.names.networkName(deployment)]
	if e == nil || !e.IPAddress.Is4() {
		return netnsTarget{}, errNoNamespace
	}
	if !nd.processes.isInContainer(c.ID, c.State.Pid) {
		return netnsTarget{}, errMayNotEnter
	}
	return netnsTarget{container: c.ID, pid: c.State.Pid, address: e.IPAddress}, nil
}

// dialTarget connects within the namespace of a service's first process.
func (nd *netnsDialer) dialTarget(
	ctx context.Context, target netnsTarget, port int,
) (net.Conn, error) {
	namespace, err := os.Open(
		filepath.Join(nd.processes.proc, strconv.Itoa(target.pid), "ns", "net"))
	if errors.Is(err, fs.ErrPermission) {
		return nil, fmt.Errorf("%w: %w", errMayNotEnter, err)
	}
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
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		// Of this thread: the process's own entry is that of its first thread, which may be away.
		own, failed := os.Open("/proc/thread-self/ns/net")
		if failed != nil {
			runtime.UnlockOSThread()
			err = fmt.Errorf("%w: %w", errNoNamespace, failed)
			return
		}
		defer func() { _ = own.Close() }()
		if failed := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); failed != nil {
			runtime.UnlockOSThread()
			err = fmt.Errorf("%w: %w", errMayNotEnter, failed)
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
