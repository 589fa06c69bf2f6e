package docker

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// contactTimeout is how long a starting agent waits for an engine that may be down. Until then,
// running services cannot be reached.
const contactTimeout = 3 * time.Second

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// makeClients makes the clients of the engine. They connect when they are used.
func (d *Docker) makeClients() error {
	where, err := client.ParseHostURL(d.config.Host)
	if err != nil {
		return fmt.Errorf("docker host %q: %w", d.config.Host, err)
	}
	// Containers must not be made with folders as only we see them: nothing is
	// asked of the engine before it has said how it sees them.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := d.learnHost(ctx); err != nil {
			return nil, err
		}
		if where.Scheme == "unix" {
			network, address = where.Scheme, where.Host
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	d.api, err = client.New(client.WithHost(d.config.Host),
		client.WithUserAgent("nullops-agent"), client.WithDialContext(dial))
	if err != nil {
		return fmt.Errorf("docker host %q: %w", d.config.Host, err)
	}
	if d.following, err = newFollowing(d.config.Host, dial); err != nil {
		return errors.Join(fmt.Errorf("docker host %q: %w", d.config.Host, err), d.api.Close())
	}
	return nil
}

// contactEngine learns how the engine sees this machine. If the engine may be down and does not
// answer soon, that happens with the first request that it answers.
func (d *Docker) contactEngine(ctx context.Context) error {
	if !d.config.EngineMayBeDown {
		return d.learnHost(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, contactTimeout)
	defer cancel()
	err := d.learnHost(soon)
	if ctx.Err() == nil && errors.Is(err, agent.ErrUnavailable) {
		d.log.WarnContext(ctx, "the Docker Engine does not answer: running services stay reachable, "+
			"and nothing is started or removed until it does", "error", err)
		return nil
	}
	return err
}

// hostPaths is what learnHost found out. Before that, nothing counts as the
// machine's own.
func (d *Docker) hostPaths() hostPaths {
	if h := d.host.Load(); h != nil {
		return *h
	}
	return hostPaths{ownNetwork: true, ownProcesses: true}
}

// learnHost asks the engine once how it sees our folders, and whether we run in
// a container of its own.
func (d *Docker) learnHost(ctx context.Context) error {
	if d.host.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	select {
	case d.learning <- struct{}{}:
		defer func() { <-d.learning }()
	case <-ctx.Done():
		return wrapUnavailable(context.Cause(ctx))
	}
	if d.host.Load() != nil {
		return nil
	}
	api, err := client.New(client.WithHost(d.config.Host), client.WithUserAgent("nullops-agent"))
	if err != nil {
		return fmt.Errorf("docker host %q: %w", d.config.Host, err)
	}
	defer func() { _ = api.Close() }()
	if _, err := api.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("ask docker at %s: %w", d.config.Host, wrapUnavailable(err))
	}
	host, err := d.findHostPaths(ctx, api)
	if err != nil {
		return err
	}
	if err := host.detectHost(ctx, api); err != nil {
		return err
	}
	d.host.Store(&host)
	return nil
}
