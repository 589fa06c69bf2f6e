package registry

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// registryGuard is the way to one registry for one question. Every request and every
// redirect passes it, and every connection passes its address check.
type registryGuard struct {
	host     string
	insecure bool
	local    bool
	inner    *http.Transport
	// called may be nil, see Config.Called.
	called func(ctx context.Context, status int, took time.Duration)

	mu     sync.Mutex
	status int
	wait   time.Duration
	// refused is why the guard itself refused a request; the library's errors hide it.
	refused error
}

func newGuard(r controlplane.Registry, host string, own func(netip.AddrPort) bool) *registryGuard {
	g := &registryGuard{host: host, insecure: r.Insecure, local: isLoopback(r.Host)}
	dialer := &net.Dialer{
		Timeout: 5 * time.Second,
		// After the name was resolved, before a byte is sent: a name that
		// changes its mind between check and use gains nothing.
		ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
			return g.checkAddress(address, controlplane.OffLimits{Own: own, Loopback: g.local})
		},
	}
	g.inner = &http.Transport{
		DialContext: dialer.DialContext, TLSHandshakeTimeout: 5 * time.Second,
		MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: false, MaxConnsPerHost: 4,
		ForceAttemptHTTP2: true, TLSClientConfig: tlsConfig(r),
	}
	return g
}

func (g *registryGuard) close() { g.inner.CloseIdleConnections() }

func (g *registryGuard) checkAddress(address string, off controlplane.OffLimits) error {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return g.recordRefusal(&badAddress{err: fmt.Errorf("address %q: %w", address, err)})
	}
	ip := ap.Addr().Unmap()
	if err := off.Check(ap); err != nil {
		return g.recordRefusal(&badAddress{err: fmt.Errorf(
			"it leads to %s, which is not a place for a registry: %w", ip, err)})
	}
	if g.local && !ip.IsLoopback() {
		return g.recordRefusal(&badAddress{
			err: fmt.Errorf("a registry on loopback leads away to %s", ip)})
	}
	return nil
}

func (g *registryGuard) recordRefusal(why error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.refused = why
	return why
}

// RoundTrip checks a request, sends it, and bounds what comes back.
func (g *registryGuard) RoundTrip(r *http.Request) (*http.Response, error) {
	r = g.upgradeToTLS(r)
	if err := g.checkRequest(r); err != nil {
		return nil, g.recordRefusal(err)
	}
	resp, err := g.sendCounted(r)
	if err != nil {
		return nil, err
	}
	g.recordStatus(resp)
	if resp.ContentLength > maxBody {
		_ = resp.Body.Close()
		return nil, g.recordRefusal(errTooLarge)
	}
	resp.Body = &limitedBody{ReadCloser: resp.Body, left: maxBody, guard: g}
	return resp, nil
}

func (g *registryGuard) sendCounted(r *http.Request) (*http.Response, error) {
	began := time.Now()
	resp, err := g.inner.RoundTrip(r)
	if g.called != nil {
		status := 0
		if err == nil {
			status = resp.StatusCode
		}
		g.called(r.Context(), status, time.Since(began))
	}
	return resp, err
}

// upgradeToTLS asks over TLS where the library takes plain HTTP for granted, as it
// does for loopback and private addresses.
func (g *registryGuard) upgradeToTLS(r *http.Request) *http.Request {
	if g.insecure || r.URL.Scheme != "http" || r.Response != nil ||
		!strings.EqualFold(r.URL.Host, g.host) {
		return r
	}
	r = r.Clone(r.Context())
	r.URL.Scheme = "https"
	return r
}

func (g *registryGuard) checkRequest(r *http.Request) error {
	if r.URL.Scheme == "http" && !(g.insecure && isLoopback(r.URL.Host)) {
		return errPlain
	}
	// Credentials in the URL of a redirect would be sent as a header.
	if r.URL.User != nil {
		return errUserInfo
	}
	ours := strings.EqualFold(r.URL.Host, g.host)
	if r.Header.Get("Authorization") != "" && !ours && !isSameDomain(g.host, r.URL.Host) {
		return &foreignToken{host: r.URL.Host}
	}
	if !ours && r.Response == nil && strings.HasPrefix(r.URL.Path, "/v2/") {
		return &offSite{to: r.URL.Scheme + "://" + r.URL.Host}
	}
	return nil
}

func (g *registryGuard) recordStatus(resp *http.Response) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.status = resp.StatusCode
	if resp.StatusCode == http.StatusTooManyRequests {
		g.wait = retryAfter(resp.Header.Get("Retry-After"))
	}
}

// limitedBody fails on a body that is too large instead of truncating it: half a list must
// not look like a whole one.
type limitedBody struct {
	io.ReadCloser
	left  int64
	guard *registryGuard
}

func (l *limitedBody) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, l.guard.recordRefusal(errTooLarge)
	}
	if int64(len(p)) > l.left {
		p = p[:l.left]
	}
	n, err := l.ReadCloser.Read(p)
	l.left -= int64(n)
	return n, err
}
