package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
		{"nginx", "nginx", 0},
	} {
		g.figures = append(g.figures,
			figure{name: "ingress_rps_" + p.key, unit: "requests/s", peer: p.name, better: "higher",
				goal: p.goal},
			figure{name: "ingress_p99_" + p.key, unit: "ms", peer: p.name, better: "lower"})
	}
	return g
}

// contestant is one proxy under load.
type contestant struct {
	key, address, host string
	server             *server
}

// prepareTraffic deploys one service, and starts every peer in front of the
// same container. Ours reaches it through ingress, tunnel and gate.
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
	peers, err := startPeers(l.dir, ip+":8080")
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
	ours := contestant{key: "ours", address: l.gate, host: "web.traffic.qa.localhost",
		server: l.ingress}
	for _, c := range append([]contestant{ours}, peers...) {
		if err := c.server.await(ctx, func(ctx context.Context) error {
			return answers(ctx, "http://"+c.address+body, c.host)
		}); err != nil {
			return nil, nil, errors.Join(err, undo(ctx))
		}
	}
	do := func(ctx context.Context, s *samples) error { return volley(ctx, s, ours, peers) }
	return do, undo, nil
}

// volley loads ours and then each peer. Every peer is compared with the same
// run of ours.
func volley(ctx context.Context, s *samples, ours contestant, peers []contestant) error {
	mine, err := load(ctx, ours)
	if err != nil {
		return err
	}
	for _, p := range peers {
		theirs, err := load(ctx, p)
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

func load(ctx context.Context, c contestant) (loaded, error) {
	argv := []string{"wrk", "--latency", "-t", threads, "-c", connections, "-d", loadFor}
	if c.host != "" {
		argv = append(argv, "-H", "Host: "+c.host)
	}
	out, err := command(ctx, nil, append(argv, "http://"+c.address+body)...)
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
	l.p99 = milliseconds(p99)
	return l, nil
}

// startPeers starts each peer as a process of its own, as the ingress is one.
func startPeers(dir, target string) ([]contestant, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	var peers []contestant
	for _, key := range []string{"go", "nginx"} {
		address, err := freeAddress()
		if err != nil {
			return peers, err
		}
		argv := []string{self, plainProxyCommand, address, target}
		if key == "nginx" {
			if argv, err = nginx(dir, address, target); err != nil {
				return peers, err
			}
		}
		s, err := startServer(dir, key, nil, argv...)
		if err != nil {
			return peers, err
		}
		peers = append(peers, contestant{key: key, address: address, server: s})
	}
	return peers, nil
}

// nginxConfig is tuned for this: one worker per core, connections to the
// container kept, no log.
const nginxConfig = `daemon off;
worker_processes auto;
pid %[1]s/nginx.pid;
error_log stderr warn;
events { worker_connections 1024; }
http {
  access_log off;
  keepalive_requests 1000000000;
  client_body_temp_path %[1]s/nginx-body;
  proxy_temp_path %[1]s/nginx-proxy;
  fastcgi_temp_path %[1]s/nginx-fastcgi;
  uwsgi_temp_path %[1]s/nginx-uwsgi;
  scgi_temp_path %[1]s/nginx-scgi;
  upstream target { server %[3]s; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen %[2]s;
    location / {
      proxy_pass http://target;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_set_header Host $host;
      proxy_set_header X-Forwarded-For $remote_addr;
      proxy_set_header X-Forwarded-Host $host;
      proxy_set_header X-Forwarded-Proto $scheme;
    }
  }
}
`

func nginx(dir, listen, target string) ([]string, error) {
	path := filepath.Join(dir, "nginx.conf")
	text := fmt.Sprintf(nginxConfig, dir, listen, target)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return nil, err
	}
	return []string{nginxBinary(), "-c", path, "-e", "stderr"}, nil
}

// nginxBinary is in a folder that only root has in PATH.
func nginxBinary() string {
	if path, err := exec.LookPath("nginx"); err == nil {
		return path
	}
	return "/usr/sbin/nginx"
}
