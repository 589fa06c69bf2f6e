package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

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
  upstream target { server %[4]s; keepalive 128; keepalive_requests 1000000000; }
  server {
    listen %[2]s;
    listen %[3]s ssl http2;
    ssl_certificate %[5]s;
    ssl_certificate_key %[6]s;
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

// caddyConfig keeps connections too; Caddy forwards the X-Forwarded headers by
// itself.
const caddyConfig = `{
  admin off
  auto_https off
  persist_config off
  log {
    level WARN
  }
}
(both) {
  bind 127.0.0.1
  reverse_proxy %[3]s {
    transport http {
      keepalive_idle_conns 128
      keepalive_idle_conns_per_host 128
    }
  }
}
http://:%[1]s {
  import both
}
https://:%[2]s {
  import both
  tls %[4]s %[5]s
}
`

// haproxyConfig has a thread per core, which is HAProxy's default.
const haproxyConfig = `global
  maxconn 4096
defaults
  mode http
  option forwardfor
  http-reuse always
  timeout connect 5s
  timeout client 60s
  timeout server 60s
frontend both
  bind %[1]s
  bind %[2]s ssl crt %[4]s alpn h2,http/1.1
  http-request set-header X-Forwarded-Host %%[req.hdr(Host)]
  http-request set-header X-Forwarded-Proto http if !{ ssl_fc }
  http-request set-header X-Forwarded-Proto https if { ssl_fc }
  default_backend target
backend target
  server web %[3]s
`

// peerCommand writes a peer's configuration and returns the command that starts it.
func peerCommand(
	ctx context.Context, l *lab, c contestant, target string, p pair,
) ([]string, error) {
	path := filepath.Join(l.dir, c.key+".conf")
	switch c.key {
	case "nginx":
		text := fmt.Sprintf(nginxConfig, l.dir, c.address, c.secure, target, p.chain, p.key)
		return []string{inPath("nginx"), "-c", path, "-e", "stderr"}, writeText(path, text)
	case "haproxy":
		text := fmt.Sprintf(haproxyConfig, c.address, c.secure, target, p.both)
		return []string{inPath("haproxy"), "-db", "-f", path}, writeText(path, text)
	case "caddy":
		binary, err := caddyBinary(ctx, l.root)
		if err != nil {
			return nil, err
		}
		text := fmt.Sprintf(caddyConfig, portOf(c.address), portOf(c.secure), target, p.chain, p.key)
		return []string{binary, "run", "--adapter", "caddyfile", "--config", path},
			writeText(path, text)
	default:
		return nil, fmt.Errorf("there is no peer %s", c.key)
	}
}

// startPlainProxy starts the shortest proxy there is.
func startPlainProxy(dir, target string) (contestant, error) {
	self, err := os.Executable()
	if err != nil {
		return contestant{}, err
	}
	c := contestant{key: "go"}
	if c.address, err = freeAddress(); err != nil {
		return c, err
	}
	c.server, err = startServer(dir, c.key, nil, self, plainProxyCommand, c.address, target)
	return c, err
}

func writeText(path, text string) error { return os.WriteFile(path, []byte(text), 0o600) }

// inPath finds servers, which are in a folder that only root has in PATH.
func inPath(name string) string {
	if path, err := exec.LookPath(name); err == nil {
		return path
	}
	return "/usr/sbin/" + name
}

// caddyBinary builds the Caddy that caddy/go.mod pins; Go's cache makes the
// second time quick.
func caddyBinary(ctx context.Context, root string) (string, error) {
	path := filepath.Join(root, ".cache", "bin", "caddy")
	_, err := runCommand(ctx, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOWORK=off"}, "go", "build", "-C",
		filepath.Join(root, "tools", "bench", "caddy"), "-trimpath", "-buildvcs=false",
		"-ldflags", "-s -w", "-o", path, "github.com/caddyserver/caddy/v2/cmd/caddy")
	if err != nil {
		return "", fmt.Errorf("build Caddy: %w", err)
	}
	return path, nil
}
