package dockertest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/moby/moby/client"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"
)

const (
	// apartWithin is how long a connection may take on this machine: one that is
	// let through takes a millisecond.
	apartWithin = time.Second
	// reachWithin bounds the connection to oneself, which has to come about.
	reachWithin = 30 * time.Second
	// apartAtOnce is how many networks are tried from side by side.
	apartAtOnce = 16
)

// Tenant is a deployment of one service as its neighbours would look for it.
type Tenant struct {
	pid     int            // of its service, whose network is entered
	service netip.AddrPort // where the service listens
	relay   netip.AddrPort // where nobody listens: a refusal is an answer too
}

// Tenants are the deployments of an installation on this machine's engine, by id. Each must have
// one service, which listens on the port, and a relay.
func Tenants(ctx context.Context, host, install string, port uint16) (map[string]Tenant, error) {
	api, err := client.New(client.WithHost(host))
	if err != nil {
		return nil, err
	}
	defer func() { _ = api.Close() }()
	found, err := api.ContainerList(ctx, client.ContainerListOptions{Filters: client.Filters{}.
		Add("label", "nullops.deployment").Add("label", "nullops.install="+install)})
	if err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	all := map[string]Tenant{}
	for _, c := range found.Items {
		id := c.Labels["nullops.deployment"]
		t := all[id]
		if err := t.recordContainer(ctx, api, c.ID, port); err != nil {
			return nil, fmt.Errorf("deployment %s: %w", id, err)
		}
		all[id] = t
	}
	for id, t := range all {
		if !t.service.IsValid() || !t.relay.IsValid() {
			return nil, fmt.Errorf("deployment %s has no service or no relay", id)
		}
	}
	return all, nil
}

// recordContainer takes from one container what a neighbour could know of it.
func (t *Tenant) recordContainer(
	ctx context.Context,
	api *client.Client,
	id string,
	port uint16,
) error {
	c, err := api.ContainerInspect(ctx, id, client.ContainerInspectOptions{})
	if err != nil {
		return fmt.Errorf("inspect a container: %w", err)
	}
	var at netip.AddrPort
	for _, network := range c.Container.NetworkSettings.Networks {
		at = netip.AddrPortFrom(network.IPAddress, port)
	}
	switch kind := c.Container.Config.Labels["nullops.kind"]; {
	case kind == "service" && !t.service.IsValid():
		t.pid, t.service = c.Container.State.Pid, at
	case kind == "relay" && !t.relay.IsValid():
		t.relay = at
	default:
		return fmt.Errorf("it has one %s too many", kind)
	}
	return nil
}

// Apart tries from inside every deployment to reach the service and the relay of every other one,
// and counts the pairs that are kept apart. Its own have to answer: where nothing can be reached at
// all, nothing is shown.
func Apart(ctx context.Context, all map[string]Tenant) (pairs int, err error) {
	var to []netip.AddrPort
	own := map[string]int{}
	for id, t := range all {
		own[id] = len(to)
		to = append(to, t.service, t.relay)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(apartAtOnce)
	for id, t := range all {
		group.Go(func() error {
			if err := context.Cause(ctx); err != nil {
				return err
			}
			return t.keptApart(to, own[id])
		})
	}
	return len(all) * (len(all) - 1), group.Wait()
}

// keptApart tries all addresses from inside one network; the two from own on
// are its own.
func (t Tenant) keptApart(to []netip.AddrPort, own int) error {
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

// reachFrom says which addresses a process's network can connect to.
func reachFrom(pid int, to []netip.AddrPort, own int) (reached []bool, err error) {
	err = InNetwork(fmt.Sprintf("/proc/%d/ns/net", pid), func() (err error) {
		reached, err = tryHere(to, own)
		return err
	})
	return reached, err
}

func tryHere(to []netip.AddrPort, own int) ([]bool, error) {
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
	if err := waitSettled(waits, own); err != nil {
		return nil, err
	}
	reached := make([]bool, len(to))
	for i, w := range waits {
		reached[i] = w.Fd >= 0 && w.Revents != 0 && hasAnswered(int(w.Fd))
	}
	return reached, nil
}

// waitSettled waits until everybody had time to answer, and one's own two did.
func waitSettled(waits []unix.PollFd, own int) error {
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

// hasAnswered reports whether the peer responded at all, even with a refusal.
func hasAnswered(socket int) bool {
	code, err := unix.GetsockoptInt(socket, unix.SOL_SOCKET, unix.SO_ERROR)
	return err == nil && (code == 0 || unix.Errno(code) == unix.ECONNREFUSED)
}
