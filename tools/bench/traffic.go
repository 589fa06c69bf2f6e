package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
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

// peerGoals are the least that we want of a peer's requests a second, over HTTP/1.1 and HTTP/2; 0
// is no goal.
type peerGoals struct{ plain, h2 float64 }

func trafficGroup() group {
	g := group{prepare: prepareTraffic}
	for _, p := range []struct {
		key, name     string
		local, tunnel peerGoals
	}{
		{"go", "httputil.ReverseProxy", peerGoals{1.1, 0}, peerGoals{1.1, 0}},
		{"nginx", "nginx", peerGoals{0.8, 0.6}, peerGoals{0.5, 0}},
		{"caddy", "Caddy", peerGoals{2, 2}, peerGoals{1.5, 1.5}},
		{"haproxy", "HAProxy", peerGoals{}, peerGoals{}},
	} {
		for way, goals := range map[string]peerGoals{wayLocal: p.local, wayTunnel: p.tunnel} {
			g.figures = append(g.figures, proxyFigures(way, p.key, p.name, goals.plain)...)
			if p.key != "go" {
				g.figures = append(g.figures, proxyFigures(way, p.key+"_h2", p.name, goals.h2)...)
			}
		}
	}
	slices.SortStableFunc(g.figures, func(a, b figure) int { return strings.Compare(a.name, b.name) })
	return g
}

// proxyFigures are those of one peer; the goal for the 99th percentile is Caddy's.
func proxyFigures(way, key, name string, goal float64) []figure {
	p99 := figure{name: rowName(way, "p99", key), unit: "ms", peer: name, better: "lower"}
	if name == "Caddy" {
		p99.goal = 0.9
	}
	return []figure{{name: rowName(way, "rps", key), unit: "requests/s", peer: name,
		better: "higher", goal: goal}, p99}
}

func rowName(way, what, key string) string { return "ingress_" + way + "_" + what + "_" + key }

// contestant is one proxy under load. Secure is where it speaks HTTP/2 over TLS.
type contestant struct {
	key, address, secure, host string
	server                     *server
}

// prepareTraffic deploys one service, and starts every peer in front of the
// same container. Ours reaches it in two ways.
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
	tunnel, err := l.startTunnelIngress()
	if err != nil {
		return nil, nil, errors.Join(err, l.remove(ctx, d.Id))
	}
	peers, err := startPeers(ctx, l, ip+":8080", pair)
	undo := func(ctx context.Context) error {
		errs := []error{tunnel.server.stop()}
		for _, p := range peers {
			errs = append(errs, p.server.stop())
		}
		return errors.Join(append(errs, l.remove(ctx, d.Id))...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	ours := []contestant{l.localIngress(), tunnel}
	for _, c := range slices.Concat(ours, peers) {
		if err := awaitTraffic(ctx, c); err != nil {
			return nil, nil, errors.Join(err, undo(ctx))
		}
	}
	do := func(ctx context.Context, s *samples) error {
		err := loadAll(s, ours, peers, "", func(c contestant) (loaded, error) {
			return loadContestant(ctx, c)
		})
		if err != nil {
			return err
		}
		return loadAll(s, ours, withTLS(peers), "_h2", func(c contestant) (loaded, error) {
			return loadH2(ctx, l.dir, c)
		})
	}
	return do, undo, nil
}

// withTLS leaves out peers that do not speak HTTP/2.
func withTLS(peers []contestant) (some []contestant) {
	for _, p := range peers {
		if p.secure != "" {
			some = append(some, p)
		}
	}
	return some
}

// loadAll loads each way of ours and then each peer. Every peer is compared with the same runs of
// ours.
func loadAll(s *samples, ours, peers []contestant, suffix string,
	load func(contestant) (loaded, error)) error {
	found := map[string]loaded{}
	for _, c := range slices.Concat(ours, peers) {
		one, err := load(c)
		if err != nil {
			return err
		}
		found[c.key] = one
	}
	for _, way := range ours {
		for _, p := range peers {
			mine, theirs := found[way.key], found[p.key]
			rps, p99 := rowName(way.key, "rps", p.key+suffix), rowName(way.key, "p99", p.key+suffix)
			s.addOurs(rps, mine.perSecond)
			s.addPeer(rps, theirs.perSecond)
			s.addOurs(p99, mine.p99)
			s.addPeer(p99, theirs.p99)
		}
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
