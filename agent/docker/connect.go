package docker

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
)

// contactTimeout is how long a starting agent waits for an engine that may be down. Until then,
// running services cannot be reached.
const contactTimeout = 3 * time.Second

type dialer = func(ctx context.Context, network, address string) (net.Conn, error)

// engine is what every part needs of the container engine: its clients, how it sees this machine,
// the names of our objects, and the book of what we made on it.
type engine struct {
	api *client.Client
	// following is the client for logs that are followed; see coalescingConn.
	following *client.Client
	config    Config
	names     nameScheme
	// host is nil until the engine has answered for the first time, see learnHost.
	host     atomic.Pointer[hostPaths]
	learning chan struct{} // holds a value while somebody asks
	// book has the ids of our containers.
	book *containerBook
	log  *slog.Logger
}

// makeClients makes the clients of the engine. They connect when they are used.
func (e *engine) makeClients() error {
	where, err := client.ParseHostURL(e.config.Host)
	if err != nil {
		return fmt.Errorf("docker host %q: %w", e.config.Host, err)
	}
	// Containers must not be made with folders as only we see them: nothing is
	// sent to the engine before it has reported how it sees them.
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if err := e.learnHost(ctx); err != nil {
			return nil, err
		}
		if where.Scheme == "unix" {
			network, address = where.Scheme, where.Host
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	e.api, err = client.New(client.WithHost(e.config.Host),
		client.WithUserAgent("nullops-agent"), client.WithDialContext(dial))
	if err != nil {
		return fmt.Errorf("docker host %q: %w", e.config.Host, err)
	}
	if e.following, err = newFollowing(e.config.Host, dial); err != nil {
		return errors.Join(fmt.Errorf("docker host %q: %w", e.config.Host, err), e.api.Close())
	}
	return nil
}

// contactEngine learns how the engine sees this machine. If the engine may be down and does not
// answer soon, that happens with the first request that it answers.
func (e *engine) contactEngine(ctx context.Context) error {
	if !e.config.EngineMayBeDown {
		return e.learnHost(ctx)
	}
	soon, cancel := context.WithTimeout(ctx, contactTimeout)
	defer cancel()
	err := e.learnHost(soon)
	if ctx.Err() == nil && errors.Is(err, agent.ErrUnavailable) {
		e.log.WarnContext(ctx, "the Docker Engine does not answer: running services stay reachable, "+
			"and nothing is started or removed until it does", "error", err)
		return nil
	}
	return err
}

// hostPaths is what learnHost found out. Before that, nothing counts as the
// machine's own.
func (e *engine) hostPaths() hostPaths {
	if h := e.host.Load(); h != nil {
		return *h
	}
	return hostPaths{ownNetwork: true, ownProcesses: true}
}

// learnHost asks the engine once how it sees our folders, and whether we run in
// a container of its own.
func (e *engine) learnHost(ctx context.Context) error {
	if e.host.Load() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, queryTimeout)
	defer cancel()
	select {
	case e.learning <- struct{}{}:
		defer func() { <-e.learning }()
	case <-ctx.Done():
		return wrapUnavailable(context.Cause(ctx))
	}
	if e.host.Load() != nil {
		return nil
	}
	api, err := client.New(client.WithHost(e.config.Host), client.WithUserAgent("nullops-agent"))
	if err != nil {
		return fmt.Errorf("docker host %q: %w", e.config.Host, err)
	}
	defer func() { _ = api.Close() }()
	if _, err := api.Ping(ctx, client.PingOptions{}); err != nil {
		return fmt.Errorf("ask docker at %s: %w", e.config.Host, wrapUnavailable(err))
	}
	host, err := e.findHostPaths(ctx, api)
	if err != nil {
		return err
	}
	if err := host.detectHost(ctx, api); err != nil {
		return err
	}
	e.host.Store(&host)
	return nil
}

// runDir is below RunDir, since several installations may share that one.
func (e *engine) runDir() string {
	root := e.hostPaths().run
	if root == "" {
		root = e.config.RunDir
	}
	return filepath.Join(root, e.names.short)
}
