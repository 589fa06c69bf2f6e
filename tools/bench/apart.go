package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// crowdPort is where each service of the crowd listens.
	crowdPort = 8080
	// apartWithin is how long a connection may take on this machine: one that is
	// let through takes a millisecond.
	apartWithin = time.Second
	// reachWithin bounds the connection to oneself, which has to come about.
	reachWithin = 30 * time.Second
	// apartAtOnce is how many networks are tried from side by side.
	apartAtOnce = 16
)

// tenant is a deployment as its neighbours would look for it.
type tenant struct {
	pid     int            // of its service, whose network is entered
	service netip.AddrPort // where the service listens
	gate    netip.AddrPort // where nobody listens: a refusal is an answer too
}

// apart tries from inside every deployment to reach the service and the gate of
// every other one, and counts the pairs that are kept apart. Its own have to
// answer: where nothing can be reached at all, nothing is shown.
func (l *lab) apart(ctx context.Context, install string) (pairs int, err error) {
	all, err := l.tenants(ctx, install)
	if err != nil {
		return 0, err
	}
	var to []netip.AddrPort
	for _, t := range all {
		to = append(to, t.service, t.gate)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(apartAtOnce)
	for i, t := range all {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return keptApart(t, to, 2*i)
		})
	}
	return len(all) * (len(all) - 1), group.Wait()
}

// keptApart tries all addresses from inside one network; the two from own on
// are its own.
func keptApart(t tenant, to []netip.AddrPort, own int) error {
	reached, err := reachFrom(t.pid, to, own)
	if err != nil {
		return fmt.Errorf("try from inside %s: %w", t.service, err)
	}
	for i := range reached {
		mine := i == own || i == own+1
		switch {
		case mine && !reached[i]:
			return fmt.Errorf("%s does not reach its own %s", t.service, to[i])
		case !mine && reached[i]:
			return fmt.Errorf("%s reaches %s of another deployment", t.service, to[i])
		}
	}
	return nil
}

// tenantFormat tells of one container what tenants needs.
const tenantFormat = `{{index .Config.Labels "nullops.deployment"}} ` +
	`{{index .Config.Labels "nullops.kind"}} {{.State.Pid}} ` +
	`{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}`

func (l *lab) tenants(ctx context.Context, install string) ([]tenant, error) {
	ids, err := l.dockerSays(ctx, "ps", "--quiet", "--filter", "label=nullops.deployment",
		"--filter", "label=nullops.install="+install)
	if err != nil {
		return nil, err
	}
	told, err := l.dockerSays(ctx, append([]string{"inspect", "--format", tenantFormat},
		strings.Fields(ids)...)...)
	if err != nil {
		return nil, err
	}
	all := map[string]tenant{}
	for line := range strings.Lines(told) {
		var id, kind, address string
		var pid int
		if _, err := fmt.Sscan(line, &id, &kind, &pid, &address); err != nil {
			return nil, fmt.Errorf("read a container from %q: %w", line, err)
		}
		at, err := netip.ParseAddr(address)
		if err != nil {
			return nil, fmt.Errorf("the address of a %s: %w", kind, err)
		}
		t := all[id]
		switch kind {
		case "service":
			t.pid, t.service = pid, netip.AddrPortFrom(at, crowdPort)
		case "gate":
			t.gate = netip.AddrPortFrom(at, crowdPort)
		default:
			return nil, fmt.Errorf("a deployment of the crowd has a %s", kind)
		}
		all[id] = t
	}
	whole := slices.DeleteFunc(slices.Collect(maps.Values(all)), func(t tenant) bool {
		return !t.service.IsValid() || !t.gate.IsValid()
	})
	if len(whole) != l.crowd || len(all) != l.crowd {
		return nil, fmt.Errorf("%d of %d deployments have a service and a gate", len(whole), l.crowd)
	}
	return whole, nil
}

// reachFrom says which addresses a process's network can connect to. The thread
// that enters the network is never used again.
func reachFrom(pid int, to []netip.AddrPort, own int) (reached []bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		reached, err = tryFrom(pid, to, own)
	}()
	<-done
	return reached, err
}

func tryFrom(pid int, to []netip.AddrPort, own int) ([]bool, error) {
	namespace, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
	if err != nil {
		return nil, err
	}
	defer namespace.Close()
	if err := unix.Setns(int(namespace.Fd()), unix.CLONE_NEWNET); err != nil {
		return nil, fmt.Errorf("enter the network: %w", err)
	}
	waits := make([]unix.PollFd, len(to))
	for i, address := range to {
		socket, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_NONBLOCK|
			unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return nil, fmt.Errorf("open a socket: %w", err)
		}
		defer func() { _ = unix.Close(socket) }()
		err = unix.Connect(socket, &unix.SockaddrInet4{Addr: address.Addr().As4(),
			Port: int(address.Port())})
		if err != nil && !errors.Is(err, unix.EINPROGRESS) {
			socket = -1 // No way there at all; poll leaves it out.
		}
		waits[i] = unix.PollFd{Fd: int32(socket), Events: unix.POLLOUT}
	}
	if err := settled(waits, own); err != nil {
		return nil, err
	}
	reached := make([]bool, len(to))
	for i, w := range waits {
		reached[i] = w.Fd >= 0 && w.Revents != 0 && answered(int(w.Fd))
	}
	return reached, nil
}

// settled waits until everybody had time to answer, and one's own two did.
func settled(waits []unix.PollFd, own int) error {
	for began := time.Now(); ; time.Sleep(apartWithin / 10) {
		if _, err := unix.Poll(waits, 0); err != nil && !errors.Is(err, unix.EINTR) {
			return fmt.Errorf("look at the connections: %w", err)
		}
		took, mine := time.Since(began), waits[own].Revents != 0 && waits[own+1].Revents != 0
		if took > reachWithin || took > apartWithin && mine {
			return nil
		}
	}
}

// answered reports whether the far end said anything, be it no.
func answered(socket int) bool {
	code, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ERROR)
	return err == nil && (code == 0 || unix.Errno(code) == unix.ECONNREFUSED)
}
