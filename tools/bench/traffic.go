package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

const (
	// loadFor is one run of wrk; short, since the peers take turns.
	loadFor     = "5s"
	connections = "64"
	threads     = "2"
	// body is what one answer carries.
	body = "/bytes/1024"
)

func trafficGroup() group {
	g := group{prepare: prepareTraffic}
	for _, p := range []struct {
		key, name string
		goal      float64
	}{
		{"go", "httputil.ReverseProxy", 1.1},
		{"nginx", "nginx", 0.6},
		{"caddy", "Caddy", 1.5},
		{"haproxy", "HAProxy", 0},
	} {
		g.figures = append(g.figures, proxyFigures(p.key, p.name, p.goal)...)
		if p.key != "go" {
			g.figures = append(g.figures, proxyFigures(p.key+"_h2", p.name, p.goal)...)
		}
	}
	return g
}

// proxyFigures are those of one peer; the goal for the 99th percentile is Caddy's.
func proxyFigures(key, name string, goal float64) []figure {
	p99 := figure{name: "ingress_p99_" + key, unit: "ms", peer: name, better: "lower"}
	if name == "Caddy" {
		p99.goal = 0.9
	}
	return []figure{{name: "ingress_rps_" + key, unit: "requests/s", peer: name, better: "higher",
		goal: goal}, p99}
}

// contestant is one proxy under load. Secure is where it speaks HTTP/2 over TLS.
type contestant struct {
	key, address, secure, host string
	server                     *server
}

// prepareTraffic deploys one service, and starts every peer in front of the
// same container. Ours reaches it through ingress, tunnel and relay.
func prepareTraffic(
	ctx context.Context, l *lab,
) (round, func(context.Context) error, error) {
	d, _, err := l.deploy(ctx, webProject, "traffic")
	if err != nil {
		return nil, nil, err
	}
	ip, err := l.inspect(ctx, d.Id, "service", "web",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
	if err != nil {
		return nil, nil, err
	}
	pair, err := l.trafficPair(ctx)
	if err != nil {
		return nil, nil, errors.Join(err, l.remove(ctx, d.Id))
	}
	peers, err := startPeers(ctx, l, ip+":8080", pair)
	undo := func(ctx context.Context) error {
		var errs []error
		for _, p := range peers {
			errs = append(errs, p.server.stop())
		}
		return errors.Join(append(errs, l.remove(ctx, d.Id))...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	ours := contestant{key: "ours", address: l.ingressAddr, secure: l.secure, host: trafficHost,
		server: l.ingress}
	for _, c := range append([]contestant{ours}, peers...) {
		if err := c.server.await(ctx, func(ctx context.Context) error {
			return checkAnswer(ctx, "http://"+c.address+body, c.host)
		}); err != nil {
			return nil, nil, errors.Join(err, undo(ctx))
		}
	}
	do := func(ctx context.Context, s *samples) error {
		if err := loadAll(ctx, s, ours, peers); err != nil {
			return err
		}
		return loadAllH2(ctx, l.dir, s, ours, peers)
	}
	return do, undo, nil
}

// loadAll loads ours and then each peer. Every peer is compared with the same
// run of ours.
func loadAll(ctx context.Context, s *samples, ours contestant, peers []contestant) error {
	mine, err := loadContestant(ctx, ours)
	if err != nil {
		return err
	}
	for _, p := range peers {
		theirs, err := loadContestant(ctx, p)
		if err != nil {
			return err
		}
		s.addOurs("ingress_rps_"+p.key, mine.perSecond)
		s.addPeer("ingress_rps_"+p.key, theirs.perSecond)
		s.addOurs("ingress_p99_"+p.key, mine.p99)
		s.addPeer("ingress_p99_"+p.key, theirs.p99)
	}
	return nil
}

// loaded is what wrk found.
type loaded struct {
	perSecond float64
	p99       float64 // ms
}

func loadContestant(ctx context.Context, c contestant) (loaded, error) {
	argv := []string{"wrk", "--latency", "-t", threads, "-c", connections, "-d", loadFor}
	if c.host != "" {
		argv = append(argv, "-H", "Host: "+c.host)
	}
	out, err := runCommand(ctx, nil, append(argv, "http://"+c.address+body)...)
	if err != nil {
		return loaded{}, err
	}
	// A proxy that answers errors quickly must not win.
	if strings.Contains(out, "Non-2xx") || strings.Contains(out, "Socket errors") {
		return loaded{}, fmt.Errorf("%s failed under load:\n%s", c.key, out)
	}
	var l loaded
	l.perSecond, err = strconv.ParseFloat(firstMatch(out, `Requests/sec:\s+([\d.]+)`), 64)
	if err != nil {
		return l, fmt.Errorf("read wrk's answer: %w:\n%s", err, out)
	}
	p99, err := time.ParseDuration(firstMatch(out, `^\s+99%\s+([\d.]+[mu]?s)`))
	if err != nil {
		return l, fmt.Errorf("read wrk's answer: %w:\n%s", err, out)
	}
	l.p99 = toMilliseconds(p99)
	return l, nil
}

// startPeers starts each peer as a process of its own, as the ingress is one.
func startPeers(ctx context.Context, l *lab, target string, p pair) ([]contestant, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var peers []contestant
	for _, key := range []string{"go", "nginx", "caddy", "haproxy"} {
		c := contestant{key: key}
		if c.address, err = freeAddress(); err != nil {
			return peers, err
		}
		argv := []string{self, plainProxyCommand, c.address, target}
		if key != "go" {
			if c.secure, err = freeAddress(); err != nil {
				return peers, err
			}
			if argv, err = peerCommand(ctx, l, c, target, p); err != nil {
				return peers, err
			}
		}
		if c.server, err = startServer(l.dir, key, []string{"HOME=" + l.dir}, argv...); err != nil {
			return peers, err
		}
		peers = append(peers, c)
	}
	return peers, nil
}
