package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

const (
	// loadFor is one run at full speed; short, since the peers take turns.
	loadFor     = "3"
	connections = 64
	threads     = "2"
	// body is what one answer carries.
	body = "/bytes/1024"
	// perHundredThousand is the number of requests that costs are given for.
	perHundredThousand = 100_000
)

// peerGoals are the least that we want of a peer's requests a second, over HTTP/1.1 and HTTP/2; 0
// is no goal.
type peerGoals struct{ plain, h2 float64 }

// trafficPeers are the proxies that ours is compared with.
var trafficPeers = []struct {
	key, name     string
	local, tunnel peerGoals
}{
	{"go", "httputil.ReverseProxy", peerGoals{1.1, 0}, peerGoals{1.1, 0}},
	{"nginx", "nginx", peerGoals{0.8, 0.6}, peerGoals{0.5, 0}},
	{"caddy", "Caddy", peerGoals{2, 2}, peerGoals{1.5, 1.5}},
	{"haproxy", "HAProxy", peerGoals{}, peerGoals{}},
	{"traefik", "Traefik", peerGoals{}, peerGoals{}},
}

func trafficGroup() group {
	g := group{prepare: prepareTraffic}
	for _, p := range trafficPeers {
		for way, goals := range map[string]peerGoals{wayLocal: p.local, wayTunnel: p.tunnel} {
			g.figures = append(g.figures, proxyFigures(way, p.key, p.name, goals.plain)...)
			g.figures = append(g.figures, proxyFigures(way, p.key+"_h2", p.name, goals.h2)...)
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
	return []figure{p99,
		{name: rowName(way, "rps", key), unit: "requests/s", peer: name, better: "higher", goal: goal},
		{name: rowName(way, "cpu", key), unit: "CPU-s/100,000", peer: name, better: "lower"},
		{name: rowName(way, "mib", key), unit: "MiB", peer: name, better: "lower"}}
}

func rowName(way, what, key string) string { return "ingress_" + way + "_" + what + "_" + key }

// contestant is one proxy under load. Secure is where it speaks HTTP/2 over TLS.
type contestant struct {
	key, address, secure, host string
	server                     *server
	// helpers are processes that take part besides the server.
	helpers []int
}

// processes are all that work for a request; their children belong to them.
func (c contestant) processes() []int {
	return append([]int{c.server.cmd.Process.Pid}, c.helpers...)
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
	all, err := l.startContestants(ctx, d.Id)
	undo := func(ctx context.Context) error {
		var errs []error
		for _, c := range all {
			if c.key != wayLocal {
				errs = append(errs, c.server.stop())
			}
		}
		return errors.Join(append(errs, l.remove(ctx, d.Id))...)
	}
	if err != nil {
		return nil, nil, errors.Join(err, undo(ctx))
	}
	for _, c := range all {
		if err := awaitTraffic(ctx, c); err != nil {
			return nil, nil, errors.Join(err, undo(ctx))
		}
	}
	do := func(ctx context.Context, s *samples) error {
		// Another one begins in each round.
		first := s.turn % len(all)
		order := slices.Concat(all[first:], all[:first])
		if err := l.loadAll(ctx, s, order, false); err != nil {
			return err
		}
		return l.loadAll(ctx, s, order, true)
	}
	return do, undo, nil
}

// startContestants starts ours, both ways, and the peers.
func (l *lab) startContestants(ctx context.Context, deployment string) ([]contestant, error) {
	ip, err := l.inspect(ctx, deployment, "service", "web",
		"{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}")
	if err != nil {
		return nil, err
	}
	relay, err := l.relayPID(ctx, deployment)
	if err != nil {
		return nil, err
	}
	pair, err := l.trafficPair(ctx)
	if err != nil {
		return nil, err
	}
	tunnel, err := l.startTunnelIngress()
	if err != nil {
		return nil, err
	}
	all := []contestant{l.localIngress(), tunnel}
	for i := range all {
		all[i].helpers = []int{l.agent.cmd.Process.Pid, relay}
	}
	peers, err := startPeers(l, ip+":8080", pair)
	return append(all, peers...), err
}

// loadAll loads ours and the peers. Every peer is compared with the same runs of ours.
func (l *lab) loadAll(ctx context.Context, s *samples, all []contestant, h2 bool) error {
	found := map[string]loaded{}
	for _, c := range all {
		one, err := l.loadContestant(ctx, c, h2)
		if err != nil {
			return err
		}
		found[c.key] = one
	}
	suffix := ""
	if h2 {
		suffix = "_h2"
	}
	for _, way := range []string{wayLocal, wayTunnel} {
		for _, p := range trafficPeers {
			mine, theirs := found[way], found[p.key]
			if theirs.perSecond == 0 {
				continue // not built here
			}
			for _, row := range []struct {
				what       string
				ours, peer float64
			}{{"rps", mine.perSecond, theirs.perSecond}, {"p99", mine.p99, theirs.p99},
				{"cpu", mine.cpu, theirs.cpu}, {"mib", mine.mib, theirs.mib}} {
				name := rowName(way, row.what, p.key+suffix)
				s.addOurs(name, row.ours)
				s.addPeer(name, row.peer)
			}
		}
	}
	return nil
}

// loaded is what one proxy did under load. cpu is in seconds for 100,000 requests.
type loaded struct{ perSecond, p99, cpu, mib float64 }

// loadContestant finds out how many requests a proxy serves at most, what they cost it, and how
// long single ones take at a rate that is the same for all.
func (l *lab) loadContestant(ctx context.Context, c contestant, h2 bool) (f loaded, err error) {
	before := cpuSeconds(c.processes()...)
	var requests float64
	if h2 {
		f.perSecond, requests, err = loadH2(ctx, c)
	} else {
		f.perSecond, requests, err = loadPlain(ctx, c, loadFor)
	}
	if err != nil {
		return f, err
	}
	f.cpu = (cpuSeconds(c.processes()...) - before) * perHundredThousand / requests
	if f.mib, err = residentTree(c.processes()...); err != nil {
		return f, err
	}
	f.p99, err = measureOpenLoop(ctx, c, h2, l.openRate())
	return f, err
}

// loadPlain lets wrk ask over HTTP/1.1 for so many seconds.
func loadPlain(ctx context.Context, c contestant, seconds string) (
	perSecond, requests float64, err error) {
	argv := []string{"wrk", "-t", threads, "-c", strconv.Itoa(connections), "-d", seconds + "s"}
	if c.host != "" {
		argv = append(argv, "-H", "Host: "+c.host)
	}
	out, err := runCommand(ctx, nil, append(argv, "http://"+c.address+body)...)
	if err != nil {
		return 0, 0, err
	}
	// A proxy that answers errors quickly must not win.
	if strings.Contains(out, "Non-2xx") || strings.Contains(out, "Socket errors") {
		return 0, 0, fmt.Errorf("%s failed under load:\n%s", c.key, out)
	}
	perSecond, err = strconv.ParseFloat(firstMatch(out, `Requests/sec:\s+([\d.]+)`), 64)
	if err == nil {
		requests, err = strconv.ParseFloat(firstMatch(out, `(\d+) requests in`), 64)
	}
	if err != nil {
		err = fmt.Errorf("read wrk's answer: %w:\n%s", err, out)
	}
	return perSecond, requests, err
}

// startPeers starts each peer as a process of its own, as the ingress is one.
func startPeers(l *lab, target string, p pair) ([]contestant, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var peers []contestant
	for _, one := range trafficPeers {
		if !hasPeer(l.root, one.key) {
			fmt.Fprintf(os.Stderr, "bench: %s is not built, and its rows are left out\n", one.name)
			continue
		}
		c := contestant{key: one.key}
		for _, address := range []*string{&c.address, &c.secure} {
			if *address, err = freeAddress(); err != nil {
				return peers, err
			}
		}
		argv := []string{self, plainProxyCommand, target, c.address, c.secure, p.chain, p.key}
		if one.key != "go" {
			if argv, err = peerCommand(l, c, target, p); err != nil {
				return peers, err
			}
		}
		c.server, err = startServer(l.dir, one.key, []string{"HOME=" + l.dir}, argv...)
		if err != nil {
			return peers, err
		}
		peers = append(peers, c)
	}
	return peers, nil
}
