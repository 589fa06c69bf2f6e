package docker

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"

	"github.com/moby/moby/api/types/network"
	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// subnetTries bounds how often a subnet that somebody else took in between is
// replaced by the next one.
const subnetTries = 8

// ensureNetwork makes the deployment's network, or finds it.
func (d *Docker) ensureNetwork(ctx context.Context, deployment string) error {
	d.networks.Lock()
	defer d.networks.Unlock()
	var taken []netip.Prefix
	for range subnetTries {
		all, err := d.listNetworks(ctx, nil)
		if err != nil {
			return err
		}
		if d.ownNetwork(all, deployment) {
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
				d.config.SubnetRange, subnets(d.config.SubnetRange, d.config.SubnetBits),
				d.config.SubnetBits)
		}
		err = d.createNetwork(ctx, deployment, subnet)
		if err == nil || !strings.Contains(err.Error(), "overlaps") {
			return err
		}
		// The engine knows a pool that its list does not show.
		taken = append(taken, subnet)
	}
	return fmt.Errorf("network of deployment %s: %d free subnets were refused in a row",
		deployment, subnetTries)
}

func (d *Docker) createNetwork(ctx context.Context, deployment string, s netip.Prefix) error {
	ctx, cancel := context.WithTimeout(ctx, actTime)
	defer cancel()
	no := false
	_, err := d.api.NetworkCreate(ctx, d.names.network(deployment), client.NetworkCreateOptions{
		Driver:     "bridge",
		EnableIPv6: &no,
		IPAM: &network.IPAM{Config: []network.IPAMConfig{
			{Subnet: s, Gateway: s.Addr().Next()},
		}},
		Labels: d.names.labels(agent.KindNetwork, deployment, "", "", ""),
	})
	if err != nil {
		return fmt.Errorf("create network %s for deployment %s: %w", s, deployment, acted(err))
	}
	return nil
}

func (d *Docker) listNetworks(
	ctx context.Context, f client.Filters,
) ([]network.Summary, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	r, err := d.api.NetworkList(ctx, client.NetworkListOptions{Filters: f})
	if err != nil {
		return nil, fmt.Errorf("list networks: %w", unavailable(err))
	}
	return r.Items, nil
}

func (d *Docker) ownNetwork(all []network.Summary, deployment string) bool {
	return slices.ContainsFunc(all, func(n network.Summary) bool {
		return n.Labels[labelInstall] == d.names.install &&
			n.Labels[labelDeployment] == deployment
	})
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
