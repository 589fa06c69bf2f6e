package wire_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/agent/wire/wiretest"
)

// standbyPlane is a control plane that agents dial.
type standbyPlane struct {
	guard   *tokenGuard
	web     *httptest.Server
	waiting chan *wire.Carrier
	refused chan error
}

// tokenGuard accepts agents that hold one token.
type tokenGuard struct {
	token wire.Token
	no    error
}

func (g *tokenGuard) StandbyKeys(_ context.Context, c wire.StandbyClaim) ([]wire.Key, error) {
	if c.Kid != g.token.Kid || c.Role != wire.StandbyAgent {
		return nil, wire.ErrUnknownKid
	}
	return []wire.Key{g.token.Key()}, nil
}

func (g *tokenGuard) AdmitStandby(context.Context, wire.StandbyClaim) error { return g.no }

func newStandbyPlane(t *testing.T, guard *tokenGuard) *standbyPlane {
	t.Helper()
	p := &standbyPlane{guard: guard, waiting: make(chan *wire.Carrier, 64),
		refused: make(chan error, 64)}
	p.web = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != wire.PathStandby {
			http.NotFound(w, r)
			return
		}
		c, _, err := wire.AcceptStandby(w, r, p.guard)
		if err != nil {
			p.refused <- err
			return
		}
		p.waiting <- c
	}))
	t.Cleanup(p.web.Close)
	return p
}

func (p *standbyPlane) trust() *tls.Config {
	roots := x509.NewCertPool()
	roots.AddCert(p.web.Certificate())
	return &tls.Config{RootCAs: roots}
}

// connect is a DialConfig's Connect: it takes a connection that the agent left.
func (p *standbyPlane) connect(ctx context.Context, _, _ string) (net.Conn, error) {
	for {
		select {
		case c := <-p.waiting:
			if c.Err() == nil {
				return c, nil
			}
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

// startAgent starts a scripted agent that dials the control plane at base.
func (p *standbyPlane) startAgent(
	t *testing.T, base string, client *http.Client,
) *wiretest.Agent {
	t.Helper()
	at, err := url.Parse(base)
	if err != nil {
		t.Fatal(err)
	}
	var agent *wiretest.Agent
	made := make(chan struct{})
	agent = wiretest.NewAgent(t, wiretest.AgentConfig{Handler: http.HandlerFunc(serveTunnels),
		Listener: wire.NewStandbyListener(wire.StandbyConfig{URL: at, Client: client,
			Credential: func() (string, wire.Key, error) {
				<-made
				return agent.Token.Kid, agent.Token.Key(), nil
			}})})
	p.guard.token = agent.Token
	close(made)
	return agent
}

func (p *standbyPlane) dialConfig(agent *wiretest.Agent) wire.DialConfig {
	c := agent.DialConfig()
	c.Connect = p.connect
	return c
}

// checkStandbyLink opens a session, and more tunnels than the agent keeps connections ready.
func (p *standbyPlane) checkStandbyLink(t *testing.T, agent *wiretest.Agent) {
	t.Helper()
	conn, err := wire.Dial(t.Context(), p.dialConfig(agent))
	if err != nil {
		t.Fatal(err)
	}
	session, err := wire.OpenSession(t.Context(), conn)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = session.Close(wire.CodeGone, "the test is over") }()
	theirs := <-agent.Sessions
	if err := theirs.Send(t.Context(), wire.Vitals{}); err != nil {
		t.Fatal(err)
	}
	if got, err := session.Receive(t.Context()); err != nil {
		t.Fatalf("got %v, %v", got, err)
	}
	// Each is to be there within the time of a proof, with the race detector on a busy machine too.
	text := strings.Repeat("0123456789", 50_000)
	var tunnels sync.WaitGroup
	for range 4 {
		tunnels.Go(func() {
			if got, err := p.echo(t.Context(), agent, text); err != nil || got != "ready:"+text {
				t.Errorf("got %d bytes, %v", len(got), err)
			}
		})
	}
	tunnels.Wait()
}

// echo sends text through a tunnel and returns what comes back.
func (p *standbyPlane) echo(
	ctx context.Context, agent *wiretest.Agent, text string,
) (string, error) {
	conn, err := wire.Dial(ctx, p.dialConfig(agent))
	if err != nil {
		return "", err
	}
	tunnel, err := wire.OpenTunnel(ctx, conn,
		wire.Target{Deployment: "d-1", Service: "echo", Port: 80})
	if err != nil {
		return "", err
	}
	defer tunnel.Close()
	go func() {
		_, _ = io.WriteString(tunnel, text)
		_ = tunnel.(interface{ CloseWrite() error }).CloseWrite()
	}()
	got, err := io.ReadAll(tunnel)
	return string(got), err
}

// tapProxy records all that passes, both ways.
type tapProxy struct {
	mu   sync.Mutex
	seen bytes.Buffer
}

func (p *tapProxy) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.seen.Write(b)
}

func (p *tapProxy) captured() []byte {
	p.mu.Lock()
	defer p.mu.Unlock()
	return bytes.Clone(p.seen.Bytes())
}

// startConnectProxy serves CONNECT for one person, and counts.
func startConnectProxy(t *testing.T, tap io.Writer) (at *url.URL, count func() int) {
	t.Helper()
	var mu sync.Mutex
	served := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		want := "Basic " + base64.StdEncoding.EncodeToString([]byte("site:proxy-password"))
		if r.Method != http.MethodConnect || r.Header.Get("Proxy-Authorization") != want {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		back, err := net.Dial("tcp", r.Host)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		front, rest, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		mu.Lock()
		served++
		mu.Unlock()
		_, _ = io.WriteString(front, "HTTP/1.1 200 OK\r\n\r\n")
		go func() {
			_, _ = io.Copy(io.MultiWriter(front, tap), back)
			_ = front.Close()
		}()
		_, _ = io.Copy(io.MultiWriter(back, tap), rest)
		_ = back.Close()
	}))
	t.Cleanup(web.Close)
	at, err := url.Parse(web.URL)
	if err != nil {
		t.Fatal(err)
	}
	at.User = url.UserPassword("site", "proxy-password")
	return at, func() int {
		mu.Lock()
		defer mu.Unlock()
		return served
	}
}

// startReverseProxy passes WebSockets to the control plane below a path, and sees what is inside
// its own TLS.
func startReverseProxy(t *testing.T, to *standbyPlane, tap io.Writer) *httptest.Server {
	t.Helper()
	back, err := url.Parse(to.web.URL)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(back)
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/below/here")
		},
		Transport: tappedTransport{to.web.Client().Transport, tap},
	}
	web := httptest.NewTLSServer(proxy)
	t.Cleanup(web.Close)
	return web
}

// tappedTransport records the bytes of upgraded connections.
type tappedTransport struct {
	http.RoundTripper
	tap io.Writer
}

func (t tappedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := t.RoundTripper.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body = tappedBody{answer.Body.(io.ReadWriteCloser), t.tap}
	}
	return answer, err
}

type tappedBody struct {
	io.ReadWriteCloser
	tap io.Writer
}

func (b tappedBody) Read(p []byte) (int, error) {
	n, err := b.ReadWriteCloser.Read(p)
	_, _ = b.tap.Write(p[:n])
	return n, err
}

func (b tappedBody) Write(p []byte) (int, error) {
	_, _ = b.tap.Write(p)
	return b.ReadWriteCloser.Write(p)
}

// An agent that nobody can dial works over connections that it dials itself, whatever is between,
// and what is between learns no secret.
func TestStandby_CarriesSessionsAndTunnels(t *testing.T) {
	for _, way := range []string{"directly", "CONNECT proxy", "reverse proxy"} {
		t.Run(way, func(t *testing.T) {
			plane := newStandbyPlane(t, &tokenGuard{})
			var tap tapProxy
			base, proxied := plane.web.URL, func() int { return 1 }
			client := wire.NewCarrierClient(nil, plane.trust())
			switch way {
			case "CONNECT proxy":
				var at *url.URL
				at, proxied = startConnectProxy(t, &tap)
				client = wire.NewCarrierClient(http.ProxyURL(at), plane.trust())
			case "reverse proxy":
				front := startReverseProxy(t, plane, &tap)
				base = front.URL + "/below/here"
				roots := x509.NewCertPool()
				roots.AddCert(front.Certificate())
				client = wire.NewCarrierClient(nil, &tls.Config{RootCAs: roots})
			}
			agent := plane.startAgent(t, "wss"+strings.TrimPrefix(base, "https"), client)
			plane.checkStandbyLink(t, agent)
			if proxied() == 0 || way != "directly" && len(tap.captured()) < 1_000_000 {
				t.Errorf("the proxy passed %d bytes", len(tap.captured()))
			}
			if leaks := findLeaks(tap.captured(), tokenSecrets(t, agent.Token)); len(leaks) > 0 {
				t.Errorf("the proxy saw %v", leaks)
			}
		})
	}
}

// The pin holds inside: a wrong certificate gets nothing but the question for its proof.
func TestStandby_KeepsThePin(t *testing.T) {
	plane := newStandbyPlane(t, &tokenGuard{})
	agent := plane.startAgent(t, plane.web.URL, wire.NewCarrierClient(nil, plane.trust()))
	config := plane.dialConfig(agent)
	config.Thumbprint = wiretest.NewIdentity(t).Thumbprint()
	_, err := wire.Dial(t.Context(), config)
	untrusted, ok := errors.AsType[*wire.UntrustedError](err)
	if !ok || untrusted.Got != agent.Identity.Thumbprint() || !untrusted.ProofValid {
		t.Errorf("got %v", err)
	}
}

func TestStandby_RefusesStrangers(t *testing.T) {
	token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
	other := wire.NewToken(wiretest.NewIdentity(t).SPKI())
	full := &wire.RefusedError{Code: wire.CodeRefused, Reason: "this node is dialed by others"}
	for name, try := range map[string]struct {
		kid  string
		key  wire.Key
		role wire.StandbyRole
		no   error
		says string
	}{
		"unknown token":   {other.Kid, other.Key(), wire.StandbyAgent, nil, "token refused"},
		"wrong key":       {token.Kid, other.Key(), wire.StandbyAgent, nil, "token refused"},
		"no key":          {token.Kid, wire.Key{}, wire.StandbyAgent, nil, "token refused"},
		"other role":      {token.Kid, token.Key(), wire.StandbyRelay, nil, "token refused"},
		"unknown role":    {token.Kid, token.Key(), "admin", nil, "token refused"},
		"the guard's own": {token.Kid, token.Key(), wire.StandbyAgent, full, full.Reason},
	} {
		t.Run(name, func(t *testing.T) {
			plane := newStandbyPlane(t, &tokenGuard{token: token, no: try.no})
			_, err := wire.DialStandby(t.Context(), wire.StandbyDial{
				URL: plane.web.URL + wire.PathStandby, Client: plane.web.Client(), Kid: try.kid,
				Key: try.key, Role: try.role})
			refused, ok := errors.AsType[*wire.RefusedError](err)
			if !ok || refused.Code != wire.CodeRefused || !strings.Contains(refused.Reason, try.says) {
				t.Errorf("got %v", err)
			}
			<-plane.refused
		})
	}
}

// A stranger at the control plane's address learns who asks, and nothing that helps it to be that.
func TestStandby_ShowsAStrangerNoSecret(t *testing.T) {
	token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
	heard := make(chan []byte, 1)
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ws, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer ws.CloseNow()
		challenge := fmt.Sprintf(`{"nonce":%q}`, base64.StdEncoding.EncodeToString(make([]byte, 32)))
		err = ws.Write(r.Context(), websocket.MessageBinary,
			append([]byte{0, 0, 0, byte(len(challenge))}, challenge...))
		if err != nil {
			t.Error(err)
		}
		_, response, _ := ws.Read(r.Context())
		heard <- response
	}))
	defer web.Close()
	_, err := wire.DialStandby(t.Context(), wire.StandbyDial{URL: web.URL, Client: web.Client(),
		Role: wire.StandbyAgent, Kid: token.Kid, Key: token.Key()})
	response := <-heard
	if err == nil || !bytes.Contains(response, []byte(token.Kid)) {
		t.Errorf("%v after %q", err, response)
	}
	if leaks := findLeaks(response, tokenSecrets(t, token)); len(leaks) > 0 {
		t.Errorf("it shows %v", leaks)
	}
}

// What a proxy recorded of one connection opens no other: the challenge differs.
func TestStandby_RefusesAReplay(t *testing.T) {
	token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
	plane := newStandbyPlane(t, &tokenGuard{token: token})
	// The replayer answers each challenge with what answered the first.
	dial := wire.StandbyDial{URL: plane.web.URL + wire.PathStandby, Kid: token.Kid,
		Client: &http.Client{Transport: &replayer{plane.web.Client().Transport, nil}},
		Key:    token.Key(), Role: wire.StandbyAgent}
	first, err := wire.DialStandby(t.Context(), dial)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := wire.DialStandby(t.Context(), dial)
	if err == nil {
		_ = second.Close()
	}
	if refused, ok := errors.AsType[*wire.RefusedError](err); !ok ||
		refused.Code != wire.CodeRefused {
		t.Errorf("the replay was answered with %v", err)
	}
}

// replayer sends what the first connection sent on all later ones.
type replayer struct {
	http.RoundTripper
	first []byte
}

func (p *replayer) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := p.RoundTripper.RoundTrip(r)
	if err == nil && answer.StatusCode == http.StatusSwitchingProtocols {
		answer.Body = &replayedBody{answer.Body.(io.ReadWriteCloser), p}
	}
	return answer, err
}

type replayedBody struct {
	io.ReadWriteCloser
	from *replayer
}

func (b *replayedBody) Write(p []byte) (int, error) {
	if len(p) < 100 { // a close frame
		return b.ReadWriteCloser.Write(p)
	}
	if b.from.first == nil {
		b.from.first = bytes.Clone(p)
	}
	if _, err := b.ReadWriteCloser.Write(b.from.first); err != nil {
		return 0, err
	}
	return len(p), nil
}

// An agent dials again when the control plane is back, and replaces connections that ended.
func TestStandby_DialsAgain(t *testing.T) {
	plane := newStandbyPlane(t, &tokenGuard{})
	agent := plane.startAgent(t, plane.web.URL, wire.NewCarrierClient(nil, plane.trust()))
	for range 3 {
		_ = (<-plane.waiting).Close()
	}
	plane.checkStandbyLink(t, agent)
}

// A read that was ended by a deadline loses nothing, as net/http needs it.
func TestCarrier_HasDeadlines(t *testing.T) {
	token := wire.NewToken(wiretest.NewIdentity(t).SPKI())
	plane := newStandbyPlane(t, &tokenGuard{token: token})
	near, err := wire.DialStandby(t.Context(), wire.StandbyDial{
		URL: plane.web.URL + wire.PathStandby, Client: plane.web.Client(), Kid: token.Kid,
		Key: token.Key(), Role: wire.StandbyAgent})
	if err != nil {
		t.Fatal(err)
	}
	defer near.Close()
	far := <-plane.waiting
	timeout := make(chan error)
	go func() {
		_, err := near.Read(make([]byte, 1))
		timeout <- err
	}()
	_ = near.SetReadDeadline(time.Unix(1, 0))
	var no net.Error
	if err := <-timeout; !errors.As(err, &no) || !no.Timeout() {
		t.Fatalf("got %v", err)
	}
	_ = near.SetReadDeadline(time.Time{})
	if _, err := io.WriteString(far, "late"); err != nil {
		t.Fatal(err)
	}
	_ = far.Close()
	if got, err := io.ReadAll(near); string(got) != "late" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// An agent behind a reverse proxy is dialed through a WebSocket of the proxy, below a path, and at
// its own port as well.
func TestCarrierListener_IsReachedThroughAReverseProxy(t *testing.T) {
	web, port := listenLoopback(t), listenLoopback(t)
	agent := wiretest.NewAgent(t, wiretest.AgentConfig{Handler: http.HandlerFunc(serveTunnels),
		Listener: wire.JoinListeners(port,
			wire.NewCarrierListener(web, slog.New(slog.DiscardHandler)))})
	var tap tapProxy
	front := httptest.NewTLSServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(&url.URL{Scheme: "http", Host: web.Addr().String()})
		},
		Transport: tappedTransport{http.DefaultTransport, &tap}})
	t.Cleanup(front.Close)
	config := agent.DialConfig()
	tcp := config
	config.Address = "wss" + strings.TrimPrefix(front.URL, "https") + "/nodes/7"
	config.Connect = func(ctx context.Context, _, address string) (net.Conn, error) {
		return wire.DialCarrier(ctx, address, front.Client())
	}
	for name, c := range map[string]wire.DialConfig{"reverse proxy": config, "port": tcp} {
		conn, err := wire.Dial(t.Context(), c)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		session, err := wire.OpenSession(t.Context(), conn)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		_ = session.Close(wire.CodeGone, "the test is over")
	}
	if leaks := findLeaks(tap.captured(), tokenSecrets(t, agent.Token)); len(leaks) > 0 ||
		len(tap.captured()) == 0 {
		t.Errorf("the proxy saw %v in %d bytes", leaks, len(tap.captured()))
	}
	config.Thumbprint = wiretest.NewIdentity(t).Thumbprint()
	if _, err := wire.Dial(t.Context(), config); !errors.Is(err, wire.ErrUntrusted) {
		t.Errorf("a wrong pin: %v", err)
	}
	config.Connect = func(ctx context.Context, _, address string) (net.Conn, error) {
		return wire.DialCarrier(ctx, address+"?", &http.Client{Transport: &http.Transport{}})
	}
	if _, err := wire.Dial(t.Context(), config); err == nil {
		t.Error("a proxy with an unknown certificate was accepted")
	}
}
