package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// crowdPort is where each service of the crowd listens.
	crowdPort = 8080
	// apartWithin is how long a connection may take on this machine: one that is
	// let through takes a millisecond.
	apartWithin = time.Second
)

// tenant is a service's container: its process and its address.
type tenant struct {
	pid int
	at  netip.AddrPort
}

// apart tries from inside every deployment to reach the service of every other
// one, and counts the pairs that are kept apart. Its own service has to answer:
// where nothing can be reached at all, nothing is shown.
func (l *lab) apart(ctx context.Context, install string) (pairs int, err error) {
	all, err := l.tenants(ctx, install)
	if err != nil {
		return 0, err
	}
	others := make([]netip.AddrPort, len(all))
	for i, t := range all {
		others[i] = t.at
	}
	for i, t := range all {
		reached, err := reachFrom(t.pid, others)
		if err != nil {
			return 0, fmt.Errorf("try from inside %s: %w", t.at, err)
		}
		if !reached[i] {
			return 0, fmt.Errorf("%s does not reach itself", t.at)
		}
		for j := range reached {
			if j != i && reached[j] {
				return 0, fmt.Errorf("%s reaches %s of another deployment", t.at, others[j])
			}
		}
		pairs += len(others) - 1
		if err := context.Cause(ctx); err != nil {
			return 0, err
		}
	}
	return pairs, nil
}

func (l *lab) tenants(ctx context.Context, install string) ([]tenant, error) {
	ids, err := l.dockerSays(ctx, "ps", "--quiet", "--filter", "label=nullops.kind=service",
		"--filter", "label=nullops.install="+install)
	if err != nil {
		return nil, err
	}
	told, err := l.dockerSays(ctx, append([]string{"inspect", "--format",
		"{{.State.Pid}} {{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"},
		strings.Fields(ids)...)...)
	if err != nil {
		return nil, err
	}
	words := strings.Fields(told)
	if len(words) != 2*crowd {
		return nil, fmt.Errorf("%d services for %d deployments", len(words)/2, crowd)
	}
	all := make([]tenant, crowd)
	for i := range all {
		pid, err := strconv.Atoi(words[2*i])
		if err != nil {
			return nil, fmt.Errorf("a service's process is %q: %w", words[2*i], err)
		}
		at, err := netip.ParseAddr(words[2*i+1])
		if err != nil {
			return nil, fmt.Errorf("a service's address is %q: %w", words[2*i+1], err)
		}
		all[i] = tenant{pid, netip.AddrPortFrom(at, crowdPort)}
	}
	return all, nil
}

// reachFrom says which addresses a process's network can connect to. The thread
// that enters the network is never used again.
func reachFrom(pid int, to []netip.AddrPort) (reached []bool, err error) {
	done := make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread()
		reached, err = tryFrom(pid, to)
	}()
	<-done
	return reached, err
}

func tryFrom(pid int, to []netip.AddrPort) ([]bool, error) {
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
	time.Sleep(apartWithin)
	if _, err := unix.Poll(waits, 0); err != nil {
		return nil, fmt.Errorf("look at the connections: %w", err)
	}
	reached := make([]bool, len(to))
	for i, w := range waits {
		reached[i] = w.Fd >= 0 && w.Revents != 0 && answered(int(w.Fd))
	}
	return reached, nil
}

// answered reports whether the far end said anything, be it no.
func answered(socket int) bool {
	code, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ERROR)
	return err == nil && (code == 0 || unix.Errno(code) == unix.ECONNREFUSED)
}
