package ingress_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/ingress"
)

// application is one as people test it: a WebSocket that echoes, a part with HTTP authentication,
// and a sign-in at another identity provider.
type application struct {
	t        *testing.T
	identity string // where the identity provider is
}

func (a application) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, c := range r.Cookies() {
		if strings.Contains(c.Name, "nullops") {
			a.t.Errorf("%s: the application sees the cookie %s", r.URL.Path, c.Name)
		}
	}
	if r.Header.Get("Nullops-Pass") != "" {
		a.t.Errorf("%s: the application sees the pass", r.URL.Path)
	}
	switch r.URL.Path {
	case "/ws":
		a.echo(w, r)
	case "/basic":
		if user, password, _ := r.BasicAuth(); user != "ada" || password != "s3cret" {
			w.Header().Set("WWW-Authenticate", `Basic realm="the shop"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		_, _ = w.Write([]byte("basic"))
	case "/bearer":
		_, _ = w.Write([]byte(r.Header.Get("Authorization")))
	case "/login":
		http.SetCookie(w, &http.Cookie{Name: "state", Value: "st-1", Path: "/", HttpOnly: true,
			SameSite: http.SameSiteLaxMode})
		http.Redirect(w, r, a.identity+"/authorize?state=st-1&redirect_uri=http://"+r.Host+
			"/callback", http.StatusFound)
	case "/callback":
		a.callback(w, r)
	case "/me":
		session, err := r.Cookie("session")
		if err == nil {
			_, _ = w.Write([]byte("signed in as " + session.Value))
		}
	}
}

func (application) echo(w http.ResponseWriter, r *http.Request) {
	c, err := websocket.Accept(w, r, nil)
	if err != nil {
		return
	}
	defer c.CloseNow()
	kind, data, err := c.Read(r.Context())
	if err == nil {
		_ = c.Write(r.Context(), kind, append([]byte("echo "), data...))
	}
}

func (application) callback(w http.ResponseWriter, r *http.Request) {
	state, err := r.Cookie("state")
	if err != nil || state.Value != r.FormValue("state") || r.FormValue("code") != "code-1" {
		http.Error(w, "the state is not mine", http.StatusBadRequest)
		return
	}
	http.SetCookie(w, &http.Cookie{Name: "session", Value: "ada", Path: "/", HttpOnly: true})
	http.Redirect(w, r, "/me", http.StatusSeeOther)
}

// Applications with their own sign-in work with the gate as without it, for a browser that was
// handed over.
func TestGate_Applications(t *testing.T) {
	t.Parallel()
	identity := httptest.NewServer(http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			if r.Header.Get("Cookie") != "" {
				t.Errorf("the identity provider is sent %q", r.Header.Get("Cookie"))
			}
			http.Redirect(w, r, r.FormValue("redirect_uri")+"?code=code-1&state="+
				r.FormValue("state"), http.StatusFound)
		}))
	t.Cleanup(identity.Close)
	b, r, book := newGatedBed(t, ingress.GateMembers,
		application{t: t, identity: identity.URL}.ServeHTTP)
	if res, _ := b.send("GET", r.Host, "/bearer", "Authorization", "Bearer x"); res.StatusCode != 401 {
		t.Fatalf("a stranger with a token of the application's: %d", res.StatusCode)
	}
	visitor := b.enter(r, book)
	// promise: I-07
	if got := visitor.ask("/login"); got != "200 signed in as ada" {
		t.Errorf("OAuth: %q", got)
	}
	if got := visitor.ask("/bearer", "Authorization", "Bearer their-own"); got !=
		"200 Bearer their-own" { // promise: I-07
		t.Errorf("a bearer token arrives as %q", got)
	}
	if got := visitor.ask("/basic"); !strings.HasPrefix(got, `401`) ||
		!strings.HasSuffix(got, `Basic realm="the shop"`) {
		t.Errorf("the application's own 401: %q", got)
	}
	if got := visitor.ask("/basic", "Authorization", "Basic YWRhOnMzY3JldA=="); got !=
		"200 basic" { // promise: I-07
		t.Errorf("a password: %q", got)
	}
	if got := visitor.echo(); got != "echo hi" { // promise: I-07
		t.Errorf("WebSocket: %q", got)
	}
	visitor.pages(r) // promise: I-07
}

// visitor is a browser: it keeps cookies by host and follows redirects.
type visitor struct {
	b    *bed
	http *http.Client
	host string
	book *passbook
}

// enter comes through the gate as people do, by a code that is traded for a
// cookie.
func (b *bed) enter(r ingress.Route, book *passbook) visitor {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		if strings.HasPrefix(address, r.Host+":") {
			address = b.addr // as its name server would say
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	transport := &http.Transport{DialContext: dial}
	b.t.Cleanup(transport.CloseIdleConnections)
	v := visitor{b: b, host: r.Host, book: book,
		http: &http.Client{Jar: jar, Transport: transport, Timeout: time.Minute}}
	book.codes[r.Host+" nogc_visitor"] = "nogv_visitor"
	book.give("nogv_visitor", ingress.PassScope{ID: "v", Deployment: r.DeploymentID})
	res, err := v.http.PostForm("http://"+r.Host+"/.nullops/pass",
		url.Values{"pass": {"nogc_visitor"}, "to": {"/me"}})
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != "/me" {
		b.t.Fatalf("the hand-over ends at %s with %d", res.Request.URL, res.StatusCode)
	}
	return v
}

// ask returns status and body after all redirects, and the challenge of a 401.
func (v visitor) ask(path string, header ...string) string {
	v.b.t.Helper()
	r, err := http.NewRequestWithContext(v.b.t.Context(), http.MethodGet, "http://"+v.host+path,
		nil)
	if err != nil {
		v.b.t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := v.http.Do(r)
	if err != nil {
		v.b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.b.t.Fatal(err)
	}
	return fmt.Sprintf("%d %s%s", res.StatusCode, body, res.Header.Get("WWW-Authenticate"))
}

func (v visitor) echo() string {
	v.b.t.Helper()
	ctx, cancel := context.WithTimeout(v.b.t.Context(), time.Minute)
	defer cancel()
	c, _, err := websocket.Dial(ctx, "ws://"+v.host+"/ws",
		&websocket.DialOptions{HTTPClient: v.http})
	if err != nil {
		v.b.t.Fatal(err)
	}
	defer c.CloseNow()
	if err := c.Write(ctx, websocket.MessageText, []byte("hi")); err != nil {
		v.b.t.Fatal(err)
	}
	_, data, err := c.Read(ctx)
	if err != nil {
		v.b.t.Fatal(err)
	}
	return string(data)
}

// pages asks for the same address in each state of its deployment, as the
// visitor and as a stranger, who learns nothing.
func (v visitor) pages(r ingress.Route) {
	v.b.t.Helper()
	for _, c := range []struct {
		state ingress.State
		says  []string
	}{
		{ingress.StateApplying, []string{"503 ", "web is starting", "Start the database"}},
		{ingress.StateFailed, []string{"503 ", "This deployment failed", "failed 12 times"}},
		{ingress.StateOffline, []string{"503 ", "The machine under web is out of reach",
			"60 minutes ago"}},
		{ingress.StateRemoved, []string{"410 ", "was removed", "the clean-up rule"}},
	} {
		r.State, r.By, r.Detail = c.state, "the clean-up rule", "the check failed 12 times"
		r.Since = time.Now().Add(-time.Hour)
		r.Steps = []ingress.Step{{Title: "Start the database", Status: "running"}}
		v.b.zone(ingress.GateMembers, r)
		page := v.ask("/me")
		for _, want := range c.says {
			if !strings.Contains(page, want) {
				v.b.t.Errorf("%s: the page does not say %q:\n%s", c.state, want, page)
			}
		}
		res, stranger := v.b.send("GET", r.Host, "/me", "Accept", "application/json")
		if res.StatusCode != http.StatusUnauthorized || strings.Contains(stranger, "12 times") ||
			strings.Contains(stranger, "clean-up") || strings.Contains(stranger, "database") {
			v.b.t.Errorf("%s: a stranger is told %d %s", c.state, res.StatusCode, stranger)
		}
	}
}
