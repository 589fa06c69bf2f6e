package main

import (
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
)

// plainProxyCommand makes this binary the peer: bench plain-proxy TARGET LISTEN [SECURE CHAIN KEY].
const plainProxyCommand = "plain-proxy"

// plainProxy is the shortest program with httputil.ReverseProxy in it that can be
// compared. It keeps idle connections: with net/http's default of two to a host
// it opens one for nearly every request, and is ten times slower here.
func plainProxy(target, listen string, secure ...string) error {
	proxy := httputil.NewSingleHostReverseProxy(&url.URL{Scheme: "http", Host: target})
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.MaxIdleConns, transport.MaxIdleConnsPerHost = 128, 128
	proxy.Transport = transport
	log := slog.New(slog.NewTextHandler(os.Stderr, nil))
	log.Info("proxy", "from", listen, "to", target)
	if len(secure) == 3 {
		go func() {
			log.Error("proxy over TLS",
				"error", http.ListenAndServeTLS(secure[0], secure[1], secure[2], proxy))
		}()
	}
	return http.ListenAndServe(listen, proxy)
}
