package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
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

// ensureNetwork makes the deployment's network, or finds it.
func (d *Docker) ensureNetwork(ctx context.Context, deployment string) error {
	found := func(all []network.Summary) bool { return d.ownNetwork(all, deployment) }
	err := d.makeNetwork(ctx, d.names.networkName(deployment),
		d.names.objectLabels(agent.KindNetwork, deployment, "", "", ""), found)
	if err != nil {
		return fmt.Errorf("network of deployment %s: %w", deployment, err)
	}
	return nil
}

// makeNetwork creates a network with the first free subnet of the range, unless the network
// exists.
func (d *Docker) makeNetwork(ctx context.Context, name string, labels map[string]string,
	found func([]network.Summary) bool) error {
	d.networks.Lock()
	defer d.networks.Unlock()
	var taken []netip.Prefix
	for range subnetTries {
		all, err := d.listNetworks(ctx, nil)
		if err != nil {
			return err
		}
		if found(all) {
			return nil
		}
		used, err := d.usedSubnets(all)
		if err != nil {
			return err
		}
		taken = append(taken, used...)
		subnet, ok := freeSubnet(d.config.SubnetRange, d.config.SubnetBits, taken)
		if !ok {
			return fmt.Errorf("no free subnet is left in %s (%d of /%d): "+
				"remove deployments, or give the agent a larger range",
				d.config.SubnetRange, countSubnets(d.config.SubnetRange, d.config.SubnetBits),
				d.config.SubnetBits)
		}
		err = d.createNetwork(ctx, name, labels, subnet)
		if err == nil || !strings.Contains(err.Error(), "overlaps") {
			return err
		}
		// The engine knows a pool that its list does not show.
		taken = append(taken, subnet)
	}
	return fmt.Errorf("%d free subnets were refused in a row", subnetTries)
}

func (d *Docker) createNetwork(
	ctx context.Context, name string, labels map[string]string, s netip.Prefix,
) error {
	for try := time.Duration(1); ; try++ {
		err := d.tryNetwork(ctx, name, labels, s)
		if err == nil || try == firewallTries || !strings.Contains(err.Error(), "iptables failed") {
			return err
		}
		if err := wait.Sleep(ctx, try*firewallPause); err != nil {
			return err
		}
	}
}

func (d *Docker) tryNetwork(
	ctx context.Context, name string, labels map[string]string, s netip.Prefix,
) error {
	ctx, cancel := detachedContext(ctx)
	defer cancel()
	no := false
	made, err := d.api.NetworkCreate(ctx, name, client.NetworkCreateOptions{
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
		d.noteObject(o)
	}
	return nil
}

func (d *Docker) listNetworks(
	ctx context.Context, f client.Filters,
) ([]network.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	r, err := d.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", wrapUnavailable(err))
	}
	return r.Items, nil
}

func (d *Docker) ownNetwork(all []network.Summary, deployment string) bool {
	return slices.ContainsFunc(all, func(n network.Summary) bool {
		return n.Labels[labelInstall] == d.names.install &&
			n.Labels[labelDeployment] == deployment
	})
}

// ourSubnets are those of this installation's networks, and of its probes.
func (d *Docker) ourSubnets(all []network.Summary) map[netip.Prefix]bool {
	ours := map[netip.Prefix]bool{}
	for _, n := range all {
		if n.Labels[labelInstall] != d.names.install &&
			!strings.HasPrefix(n.Labels[labelProbe], d.names.install) {
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
func (d *Docker) usedSubnets(all []network.Summary) ([]netip.Prefix, error) {
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
