package main

import (
	"errors"
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

// traefikConfig has a router for each of its two doors, and the log of errors only.
const traefikConfig = `global: {checkNewVersion: false, sendAnonymousUsage: false}
log: {level: ERROR}
entryPoints:
  plain: {address: "%[1]s"}
  secure: {address: "%[2]s"}
providers: {file: {filename: "%[3]s"}}
`

const traefikRoutes = `http:
  routers:
    plain: {rule: "PathPrefix(` + "`/`" + `)", entryPoints: [plain], service: target}
    secure: {rule: "PathPrefix(` + "`/`" + `)", entryPoints: [secure], service: target, tls: {}}
  services:
    target:
      loadBalancer: {servers: [{url: "http://%[1]s"}], serversTransport: kept}
  serversTransports:
    kept: {maxIdleConnsPerHost: 128}
tls:
  stores: {default: {defaultCertificate: {certFile: "%[2]s", keyFile: "%[3]s"}}}
`

// peerCommand writes a peer's configuration and returns the command that starts it.
func peerCommand(l *lab, c contestant, target string, p pair) ([]string, error) {
	path := filepath.Join(l.dir, c.key+".conf")
	switch c.key {
	case "nginx":
		text := fmt.Sprintf(nginxConfig, l.dir, c.address, c.secure, target, p.chain, p.key)
		return []string{inPath("nginx"), "-c", path, "-e", "stderr"}, writeText(path, text)
	case "haproxy":
		text := fmt.Sprintf(haproxyConfig, c.address, c.secure, target, p.both)
		return []string{inPath("haproxy"), "-db", "-f", path}, writeText(path, text)
	case "caddy":
		text := fmt.Sprintf(caddyConfig, portOf(c.address), portOf(c.secure), target, p.chain, p.key)
		return []string{peerBinary(l.root, "caddy"), "run", "--adapter", "caddyfile", "--config", path},
			writeText(path, text)
	case "traefik":
		routes := filepath.Join(l.dir, "traefik-routes.yaml")
		err := writeText(routes, fmt.Sprintf(traefikRoutes, target, p.chain, p.key))
		path += ".yaml"
		return []string{peerBinary(l.root, "traefik"), "--configFile=" + path}, errors.Join(err,
			writeText(path, fmt.Sprintf(traefikConfig, c.address, c.secure, routes)))
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
	c.server, err = startServer(dir, c.key, nil, self, plainProxyCommand, target, c.address)
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

// hasPeer says whether a proxy can be started. Those that peers.sh builds may be missing.
func hasPeer(root, key string) bool {
	if key != "caddy" && key != "traefik" {
		return true
	}
	_, err := os.Stat(peerBinary(root, key))
	return err == nil
}

// peerBinary is where peers.sh has put a program.
func peerBinary(root, name string) string { return filepath.Join(root, ".cache", "bin", name) }
