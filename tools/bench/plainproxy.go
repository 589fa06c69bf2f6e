package main

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

// plainProxyCommand makes this binary the peer: bench plain-proxy LISTEN TARGET.
const plainProxyCommand = "plain-proxy"

// plainProxy is the shortest program with httputil.ReverseProxy in it that can be
// compared. It keeps idle connections: with net/http's default of two to a host
// it opens one for nearly every request, and is ten times slower here.
func plainProxy(listen, target string) error {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 128, 128
	proxy.Transport = transport
	slog.New(slog.NewTextHandler(os.Stderr, nil)).Info("proxy", "from", listen, "to", target)
	return http.ListenAndServe(listen, proxy)
}
