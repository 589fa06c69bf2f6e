package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
)

func (a AgentSettings) checkWebsocket() error {
	if a.Websocket == "" {
		return nil
	}
	if a.Connect != "" {
		return errors.New("setting agent.websocket: with agent.connect the agent listens nowhere; " +
			"leave one of them out")
	}
	return checkAddress("agent.websocket", a.Websocket)
}

// checkConnect refuses what an agent cannot dial. Values that may hold a password are not repeated.
func (a AgentSettings) checkConnect() error {
	if a.Connect == "" {
		return nil
	}
	u, err := url.Parse(a.Connect)
	if err != nil || u.Host == "" || u.Scheme != "ws" && u.Scheme != "wss" || u.User != nil ||
		u.RawQuery != "" || u.Fragment != "" {
		return errors.New("setting agent.connect: it is not the URL of a control plane; write it " +
			"like wss://nullops.example.org")
	}
	if a.Proxy == "" {
		return nil
	}
	at, err := url.Parse(a.Proxy)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		return errors.New("setting agent.proxy: it is not the URL of an HTTP proxy; write it like " +
			"http://proxy.example.org:3128")
	}
	if u.Scheme == "ws" {
		return errors.New("setting agent.proxy: a proxy passes only wss://; write agent.connect so")
	}
	return nil
}

// agentWay is how an agent is reached, for its log.
type agentWay struct{ does, address string }

// openWay listens, or prepares to dial the control plane.
func (a AgentSettings) openWay(c *agent.Config) (agentWay, error) {
	if a.Connect == "" {
		l, err := net.Listen("tcp", a.Listen)
		if err != nil {
			return agentWay{}, fmt.Errorf("setting agent.listen: %w", err)
		}
		c.Listener = l
		if a.Websocket != "" {
			w, err := net.Listen("tcp", a.Websocket)
			if err != nil {
				return agentWay{}, errors.Join(fmt.Errorf("setting agent.websocket: %w", err), l.Close())
			}
			c.Listener = wire.JoinListeners(l, wire.NewCarrierListener(w, c.Log))
		}
		return agentWay{"listening", l.Addr().String()}, nil
	}
	at, err := url.Parse(a.Connect)
	if err != nil {
		return agentWay{}, fmt.Errorf("setting agent.connect: %w", err)
	}
	config, err := a.controlTLS()
	if err != nil {
		return agentWay{}, err
	}
	proxy, err := a.findProxy()
	if err != nil {
		return agentWay{}, err
	}
	c.Dial = &wire.StandbyConfig{URL: at, Client: wire.NewCarrierClient(proxy, config), Log: c.Log}
	return agentWay{"connecting to the control plane", at.String()}, nil
}

// findProxy returns the proxy for each connection. What is wrong with one is said without its
// URL, which may hold a password.
func (a AgentSettings) findProxy() (func(*http.Request) (*url.URL, error), error) {
	if a.Proxy != "" {
		at, err := url.Parse(a.Proxy)
		if err != nil {
			return nil, errors.New("setting agent.proxy: it is not a URL")
		}
		return http.ProxyURL(at), nil
	}
	return func(r *http.Request) (*url.URL, error) {
		if r.URL.Scheme != "https" {
			return nil, nil // HTTP proxies pass no WebSockets without CONNECT
		}
		at, err := http.ProxyFromEnvironment(r)
		if err != nil {
			return nil, errors.New("the environment's HTTPS_PROXY is not a URL such as " +
				"http://proxy.example.org:3128")
		}
		return at, nil
	}, nil
}

// listenAddress returns nil for an agent that does not listen.
func listenAddress(l net.Listener) net.Addr {
	if l == nil {
		return nil
	}
	return l.Addr()
}

func closeListener(l net.Listener) error {
	if l == nil {
		return nil
	}
	return l.Close()
}
