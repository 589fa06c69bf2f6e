package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/internal/wait"
)

// subnetTries is how many subnets are tried if another program takes the chosen one at the
// same moment.
const subnetTries = 8

// Reloading the machine's firewall, or starting another engine, removes for a moment the
// chains that the engine puts its rules into. firewallTries is how often a creation that
// failed so is tried, firewallPause the time between tries.
const (
	firewallTries = 4
	firewallPause = 500 * time.Millisecond
)

// networks makes and removes networks, each with a subnet of its own.
type networks struct {
	*engine
	// mu keeps two calls from picking the same subnet.
	mu sync.Mutex
}

// ensureNetwork makes the deployment's network, or finds it.
func (ns *networks) ensureNetwork(ctx context.Context, deployment string) error {
	found := func(all []network.Summary) bool { return ns.ownNetwork(all, deployment) }
	err := ns.makeNetwork(ctx, ns.names.networkName(deployment),
		ns.names.objectLabels(agent.KindNetwork, deployment, "", "", ""), found)
	if err != nil {
		return fmt.Errorf("network of deployment %s: %w", deployment, err)
	}
	return nil
}

// makeNetwork creates a network with the first free subnet of the range, unless the network
// exists.
func (ns *networks) makeNetwork(ctx context.Context, name string, labels map[string]string,
	found func([]network.Summary) bool) error {
	ns.mu.Lock()
	defer ns.mu.Unlock()
	var taken []netip.Prefix
	for range subnetTries {
		all, err := ns.listNetworks(ctx, nil)
		if err != nil {
			return err
		}
		if found(all) {
			return nil
		}
		used, err := ns.usedSubnets(all)
		if err != nil {
			return err
		}
		taken = append(taken, used...)
		subnet, ok := freeSubnet(ns.config.SubnetRange, ns.config.SubnetBits, taken)
		if !ok {
			return fmt.Errorf("no free subnet is left in %s (%d of /%d): "+
				"remove deployments, or give the agent a larger range",
				ns.config.SubnetRange, countSubnets(ns.config.SubnetRange, ns.config.SubnetBits),
				ns.config.SubnetBits)
		}
		err = ns.createNetwork(ctx, name, labels, subnet)
		if err == nil || !strings.Contains(err.Error(), "overlaps") {
			return err
		}
		// The engine knows a pool that its list does not show.
		taken = append(taken, subnet)
	}
	return fmt.Errorf("%d free subnets were refused in a row", subnetTries)
}

func (ns *networks) createNetwork(
	ctx context.Context, name string, labels map[string]string, s netip.Prefix,
) error {
	for try := time.Duration(1); ; try++ {
		err := ns.tryNetwork(ctx, name, labels, s)
		if err == nil || try == firewallTries || !strings.Contains(err.Error(), "iptables failed") {
			return err
		}
		if err := wait.Sleep(ctx, try*firewallPause); err != nil {
			return err
		}
	}
}

func (ns *networks) tryNetwork(
	ctx context.Context, name string, labels map[string]string, s netip.Prefix,
) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	no := false
	made, err := ns.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
		Driver:     "bridge",
		EnableIPv6: &no,
		IPAM: &network.IPAM{Config: []network.IPAMConfig{
			{Subnet: s, Gateway: s.Addr().Next()},
		}},
		Labels: labels,
	})
	if err != nil {
		return fmt.Errorf("create network %s: %w", s, wrapMutationErr(err))
	}
	if o := objectFromLabels(labels); o.Kind == agent.KindNetwork {
		o.ID = made.ID
		ns.noteObject(o)
	}
	return nil
}

func (ns *networks) listNetworks(
	ctx context.Context, f client.Filters,
) ([]network.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := ns.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", wrapUnavailable(err))
	}
	return r.Items, nil
}

func (ns *networks) ownNetwork(all []network.Summary, deployment string) bool {
	return slices.ContainsFunc(all, func(n network.Summary) bool {
		return n.Labels[labelInstall] == ns.names.install &&
			n.Labels[labelDeployment] == deployment
	})
}

// ourSubnets are those of this installation's networks, and of its probes.
func (ns *networks) ourSubnets(all []network.Summary) map[netip.Prefix]bool {
	ours := map[netip.Prefix]bool{}
	for _, n := range all {
		if n.Labels[labelInstall] != ns.names.install &&
			!strings.HasPrefix(n.Labels[labelProbe], ns.names.install) {
			continue
		}
		for _, c := range n.IPAM.Config {
			ours[c.Subnet] = true
		}
	}
	return ours
}

// usedSubnets are those of every network of the engine and every route of the
// host. An agent in a container cannot see the host's routes.
func (ns *networks) usedSubnets(all []network.Summary) ([]netip.Prefix, error) {
	var used []netip.Prefix
	for _, n := range all {
		for _, c := range n.IPAM.Config {
			if c.Subnet.IsValid() {
				used = append(used, c.Subnet)
			}
		}
	}
	f, err := os.Open("/proc/net/route")
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	defer func() { _ = f.Close() }()
	routes, err := hostRoutes(f)
	if err != nil {
		return nil, fmt.Errorf("read the host's routes: %w", err)
	}
	return append(used, routes...), nil
}

// removeNetwork disconnects all endpoints first: after a crash the engine may keep
// endpoints of containers that no longer exist.
func (ns *networks) removeNetwork(ctx context.Context, id string) error {
	ctx, cancel := context.WithTimeout(ctx, mutationTimeout)
	defer cancel()
	_, err := ns.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || isNotFound(err) {
		return nil
	}
	r, inspectErr := ns.api.NetworkInspect(ctx, id, client.NetworkInspectOptions{})
	if inspectErr != nil {
		if isNotFound(inspectErr) {
			return nil
		}
		return wrapMutationErr(err)
	}
	ns.disconnectAll(ctx, id, r.Network.Containers)
	_, err = ns.api.NetworkRemove(ctx, id, client.NetworkRemoveOptions{})
	if err == nil || isNotFound(err) {
		return nil
	}
	return wrapMutationErr(err)
}

func (ns *networks) disconnectAll(
	ctx context.Context, id string, endpoints map[string]network.EndpointResource,
) {
	for container, endpoint := range endpoints {
		// A dangling endpoint is known by its name only.
		for _, name := range []string{container, endpoint.Name} {
			_, err := ns.api.NetworkDisconnect(ctx, id,
				client.NetworkDisconnectOptions{Container: name, Force: true})
			if err == nil {
				break
			}
			ns.log.Warn("disconnect from network", "network", id, "endpoint", name, "error", err)
		}
	}
}
