package main

import (
	"context"
	"path/filepath"
)

// The ways from our ingress to a service on the same machine: its socket, passed by the agent, and
// a tunnel through the agent, as from another machine.
const (
	wayLocal  = "local"
	wayTunnel = "tunnel"
)

// sockets is where the agent and the ingress of the local way meet.
func (l *lab) sockets() string { return filepath.Join(l.dir, "sockets") }

// startIngress starts the ingress that gets sockets passed.
func (l *lab) startIngress(ctx context.Context) (err error) {
	l.ingress, err = startServer(l.dir, "ingress",
		append([]string{"NULLOPS_INGRESS_SOCKETS=" + l.sockets()}, l.settings...), l.binary, "ingress",
		"--metrics.listen="+l.metrics["ingress"])
	return err
}

// startTunnelIngress starts a second ingress, which opens tunnels.
func (l *lab) startTunnelIngress() (c contestant, err error) {
	c = contestant{key: wayTunnel, host: trafficHost}
	for _, address := range []*string{&c.address, &c.secure} {
		if *address, err = freeAddress(); err != nil {
			return c, err
		}
	}
	c.server, err = startServer(l.dir, "ingress-tunnel", l.settings, l.binary, "ingress",
		"--ingress.listen="+c.address, "--ingress.secure="+c.secure)
	return c, err
}

// localIngress is the ingress that gets sockets passed, under load.
func (l *lab) localIngress() contestant {
	return contestant{key: wayLocal, address: l.ingressAddr, secure: l.secure, host: trafficHost,
		server: l.ingress}
}

// awaitTraffic waits until a proxy leads to the service.
func awaitTraffic(ctx context.Context, c contestant) error {
	return c.server.await(ctx, func(ctx context.Context) error {
		return checkAnswer(ctx, "http://"+c.address+body, c.host)
	})
}
