package ingress

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"sync/atomic"
	"time"
)

const (
	// dialTimeout bounds how long a visitor looks at nothing before the page says that the service
	// does not answer. An agent says so within five seconds; only one that is being replaced is
	// waited for longer, see package fleet.
	dialTimeout = 25 * time.Second
	// answerTimeout is for applications that took a request and never answer. Long polls usually
	// end by themselves within two minutes.
	answerTimeout = 5 * time.Minute
	// idleConnTimeout is short of the 75 s of our own server: an application
	// gets rid of its visitors' connections soon after they left.
	idleConnTimeout = 60 * time.Second
	// idlePerTarget is how many idle connections are kept per service: enough for 64 clients at
	// once, and as many again so that a burst needs no new connections. With net/http's default
	// of 2, nearly every request opens a new tunnel.
	idlePerTarget = 128
	// logEvery bounds what a dead service under load writes to the log.
	logEvery = time.Second
)

var errUpgrade = errors.New("switched protocols, but not to a websocket that was asked for")

// upstreamKey identifies a connection pool. Two routes (a dotted and a flat host) may share
// one. A deployment created again has a new ID, and so never gets a connection of the
// former one.
type upstreamKey struct {
	deployment, target, node string
	port                     int
}

func keyOf(r *Route) upstreamKey {
	return upstreamKey{r.DeploymentID, r.Target, r.NodeID, r.Port}
}

// upstream is one target's pool of connections and the proxy that uses it.
type upstream struct {
	route     Route
	visit     *atomicTime
	present   *present
	owner     *Proxy
	idle      pool            // of requests that take the short way
	transport *http.Transport // of all others
	proxy     *httputil.ReverseProxy
	// calls is for gRPC, which is HTTP/2 from end to end.
	calls          *httputil.ReverseProxy
	callsTransport *http.Transport
	retired        atomic.Bool
	logged         atomic.Int64 // Unix nanoseconds of the last line about a failure
}

func (p *Proxy) newUpstream(route Route) *upstream {
	u := &upstream{route: route, owner: p, visit: p.visits.stampOf(route.DeploymentID),
		present: p.presence.visitorsAt(route.DeploymentID)}
	u.idle.dial = u.openTunnel
	// An upstream speaks HTTP/1.1, whatever the client spoke: one framing,
	// written by us. Only gRPC cannot.
	var one, two http.Protocols
	one.SetHTTP1(true)
	two.SetUnencryptedHTTP2(true)
	u.transport, u.callsTransport = u.newTransport(&one), u.newTransport(&two)
	u.proxy, u.calls = u.newProxy(retryTransport{u.transport}), u.newProxy(u.callsTransport)
	return u
}

func (u *upstream) newTransport(p *http.Protocols) *http.Transport {
	return &http.Transport{
		DialContext:           u.dialTracked,
		DisableCompression:    true, // bodies pass as they are
		MaxIdleConnsPerHost:   idlePerTarget,
		IdleConnTimeout:       idleConnTimeout,
		ResponseHeaderTimeout: u.owner.config.AnswerPatience,
		ExpectContinueTimeout: time.Second,

		MaxResponseHeaderBytes: maxHead,
		Protocols:              p,
	}
}

func (u *upstream) newProxy(t http.RoundTripper) *httputil.ReverseProxy {
	return &httputil.ReverseProxy{
		Rewrite:    rewriteRequest,
		Transport:  t,
		BufferPool: &u.owner.buffers,
		ModifyResponse: func(res *http.Response) error {
			res.Body = &trailingBody{res.Body, res}
			return u.filterAnswer(res)
		},
		ErrorHandler: u.answerFailure,
		ErrorLog:     slog.NewLogLogger(u.owner.config.Log.Handler(), slog.LevelDebug),
	}
}

// isGRPCCall finds gRPC: over HTTP/2, and saying so. gRPC-Web is no gRPC: it was made
// for HTTP/1.1, and many services speak it over nothing else.
func isGRPCCall(r *http.Request) bool {
	return r.ProtoMajor == 2 && r.Method == http.MethodPost &&
		isGRPC(r.Header.Get("Content-Type"))
}

func isGRPC(contentType string) bool {
	kind, _, _ := strings.Cut(contentType, ";")
	kind = strings.ToLower(strings.TrimSpace(kind))
	return kind == "application/grpc" || strings.HasPrefix(kind, "application/grpc+")
}

// retireIdle closes idle connections. Those in use are closed by the requests that use them
// (see serve), so that a request that was already on its way when the table changed still
// gets its response.
func (u *upstream) retireIdle() {
	u.retired.Store(true)
	u.idle.close()
	u.closeIdle()
}

func (u *upstream) closeIdle() {
	u.transport.CloseIdleConnections()
	u.callsTransport.CloseIdleConnections()
}

func (u *upstream) serve(w http.ResponseWriter, r *http.Request) {
	// Present but empty, it keeps net/http from guessing a type from the body
	// where the service sent none.
	w.Header()["Content-Type"] = nil
	if isPlain(r) {
		u.servePlain(w, r)
		return
	}
	if isGRPCCall(r) {
		serveFlushingCut(u.calls, w, r)
	} else {
		serveFlushingCut(u.proxy, w, r)
	}
	if u.retired.Load() {
		u.closeIdle()
	}
}

func (u *upstream) dialTracked(ctx context.Context, _, _ string) (net.Conn, error) {
	conn, err := u.openTunnel(ctx)
	if err != nil {
		return nil, err
	}
	return &targetConn{Conn: conn}, nil
}

func (u *upstream) openTunnel(ctx context.Context) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	conn, err := u.owner.config.Dial(ctx, u.route)
	if err != nil {
		return nil, fmt.Errorf("open tunnel to %s: %w", u.route.Target, err)
	}
	return conn, nil
}

// filterAnswer validates and filters the response's headers before any of it is passed on.
func (u *upstream) filterAnswer(res *http.Response) error {
	if res.StatusCode < http.StatusContinue {
		return errStatus // net/http's server panics on it
	}
	if res.StatusCode == http.StatusSwitchingProtocols &&
		!(isWebSocket(res.Request.Header) && isWebSocket(res.Header)) {
		// Without this check the connection would become a raw pipe although the client did not ask
		// for one, and its later requests would end up in it.
		return errUpgrade
	}
	if len(res.Header["Set-Cookie"]) > 0 {
		narrowCookies(res.Header, u.routeOf(res.Request))
	}
	narrowHeaders(res.Header)
	narrowExtras(res.Trailer)
	u.owner.config.OnAnswer(u.route.Environment, res.StatusCode)
	if u.owner.config.Trace != nil {
		if a, ok := res.Request.Context().Value(tracedAnswer{}).(*tracedAnswer); ok {
			a.status = res.StatusCode
		}
	}
	return nil
}

// answerFailure answers in place of an application that did not respond.
func (u *upstream) answerFailure(w http.ResponseWriter, r *http.Request, err error) {
	if isStalled(w) {
		u.owner.refuseRequest(w, r, http.StatusRequestTimeout)
		return
	}
	if r.Context().Err() != nil {
		// The client has disconnected. Returning normally would make net/http send "200 OK" to a
		// client that has closed only its sending side.
		panic(http.ErrAbortHandler)
	}
	u.logFailure(err)
	page := u.owner.pages.unreachablePage(u.routeOf(r))
	if loopback, ok := errors.AsType[*LoopbackError](err); ok {
		page.Lead = "The deployment is ready, but nobody outside the service's container can connect " +
			"to it. It listens on " + loopback.Listens + " only; make it listen on 0.0.0.0."
	}
	u.owner.answerPage(w, r, page)
}

// routeOf is the route with the host that was asked for: a dotted and a flat
// host share their connections, and with them this upstream.
func (u *upstream) routeOf(r *http.Request) *Route {
	route := u.route
	route.Host, _ = Canonical(r.Host)
	return &route
}

func (u *upstream) logFailure(err error) {
	now := u.owner.config.Now().UnixNano()
	last := u.logged.Load()
	if now-last < int64(logEvery) || !u.logged.CompareAndSwap(last, now) {
		return
	}
	u.owner.config.Log.Info("service does not answer",
		"deployment_id", u.route.DeploymentID, "step", u.route.Service,
		"node_id", u.route.NodeID, "error", err)
}

// rewriteRequest makes the request that goes out of the one that came in.
func rewriteRequest(pr *httputil.ProxyRequest) {
	out := pr.Out
	out.URL.Scheme = "http"
	out.URL.Host = "service" // the transport has one target, whatever its name
	// The proxy does not read queries, so it passes them as they came.
	out.URL.RawQuery = pr.In.URL.RawQuery
	keepTarget(out.URL, pr.In)
	out.Host = pr.In.Host
	out.Trailer = nil // a client's trailers could carry what headers may not
	if out.ContentLength > 0 {
		out.Body = &exactBody{ReadCloser: out.Body, left: out.ContentLength}
	}
	if isGRPCCall(pr.In) {
		out.Body = &closingBody{out.Body, pr.In.Body}
	}
	for name := range out.Header {
		if isProxyOnlyHeader(name) {
			delete(out.Header, name)
		}
	}
	setForwarded(out.Header, pr.In)
	keepFromReplay(out.Header)
	respellHeaders(out.Header)
}

// closingBody closes the client's body together with the body of the request to
// the service. ReverseProxy itself does not; then a Read of a body that is still
// open never ends, and the HTTP/2 transport, which waits for that Read when the
// response is complete, holds the response's end and trailers back. Over HTTP/2
// the client's body can be closed during a Read.
type closingBody struct {
	io.ReadCloser
	client io.Closer
}

// Close implements io.Closer.
func (b *closingBody) Close() error {
	return errors.Join(b.client.Close(), b.ReadCloser.Close())
}

// exactBody ends a body of known length without another read. The transport reads once
// more, and by then net/http's server, which is already sending the response, may have
// closed the body; the transport would take that for a failure and cut the response.
type exactBody struct {
	io.ReadCloser
	left int64
}

func (e *exactBody) Read(p []byte) (int, error) {
	if e.left <= 0 {
		return 0, io.EOF
	}
	n, err := e.ReadCloser.Read(p[:min(int64(len(p)), e.left)])
	e.left -= int64(n)
	return n, err
}

func setForwarded(h http.Header, in *http.Request) {
	ip, proto := clientOrigin(in)
	h["X-Forwarded-For"] = []string{ip}
	h["X-Forwarded-Host"] = []string{in.Host}
	h["X-Forwarded-Proto"] = []string{proto}
}

// clientOrigin returns the client's address and the scheme of the request.
func clientOrigin(r *http.Request) (ip, proto string) {
	ip, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		ip = r.RemoteAddr
	}
	if r.TLS != nil {
		return ip, "https"
	}
	return ip, "http"
}
