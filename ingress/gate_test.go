package ingress_test

import (
	"context"
	"crypto/sha256"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/nullops/nullops/ingress"
)

// passbook is a gatekeeper made of knobs.
type passbook struct {
	mu    sync.Mutex
	holds map[[sha256.Size]byte]ingress.PassScope
	codes map[string]string // host and code → secret
	fail  error
	asked int
}

func newPassbook() *passbook {
	return &passbook{holds: map[[sha256.Size]byte]ingress.PassScope{}, codes: map[string]string{}}
}

func (p *passbook) give(secret string, passage ingress.PassScope) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if passage.Until.IsZero() {
		passage.Until = time.Now().Add(time.Hour)
	}
	p.holds[sha256.Sum256([]byte(secret))] = passage
}

func (p *passbook) withdraw(secret string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.holds, sha256.Sum256([]byte(secret)))
}

func (p *passbook) PassScopes(_ context.Context, hashes [][sha256.Size]byte) (
	map[[sha256.Size]byte]ingress.PassScope, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked++
	out := map[[sha256.Size]byte]ingress.PassScope{}
	for _, h := range hashes {
		if passage, ok := p.holds[h]; ok {
			out[h] = passage
		}
	}
	return out, p.fail
}

func (p *passbook) RedeemCode(
	_ context.Context,
	host, brought string,
) (string, time.Time, bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	secret, ok := p.codes[host+" "+brought]
	delete(p.codes, host+" "+brought)
	return secret, time.Now().Add(time.Hour), ok, p.fail
}

func (p *passbook) RecordUse(string) {}

const zoneID = "zone-1"

// newGatedBed returns a bed with one deployment in an environment with a gate.
func newGatedBed(t *testing.T, gate ingress.Gate, h http.HandlerFunc) (*bed, ingress.Route,
	*passbook) {
	t.Helper()
	book := newPassbook()
	b := newBed(t, func(c *ingress.Config) { c.Gate, c.Home = book, "http://ui.example" })
	r := b.up("cart", "web", h)
	b.zone(gate, r)
	return b, r, book
}

func (b *bed) zone(gate ingress.Gate, routes ...ingress.Route) {
	b.t.Helper()
	_, suffix, _ := strings.Cut(strings.TrimPrefix(routes[0].Host, routes[0].Service+"."), ".")
	t := ingress.NewTable(b.proxy.Table().Version()+1, routes).WithZones([]ingress.Zone{
		{Suffix: suffix, Environment: "env", EnvironmentID: zoneID, Gate: gate}})
	b.proxy.SetTable(t)
}

func (b *bed) send(method, host, path string, header ...string) (*http.Response, string) {
	b.t.Helper()
	return b.form(method, host, path, nil, header...)
}

func (b *bed) form(method, host, path string, form url.Values, header ...string) (
	*http.Response, string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, "http://"+b.addr+path,
		strings.NewReader(form.Encode()))
	if err != nil {
		b.t.Fatal(err)
	}
	r.Host = host
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	res, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(body)
}

// Without a pass, the response for a host with a service and for an unused host differs in nothing
// but the host itself.
func TestGate_UnknownLooksLikeGated(t *testing.T) {
	b, r, _ := newGatedBed(t, ingress.GateMembers, sayText("secret"))
	ghost := strings.Replace(r.Host, r.Deployment, "ghst", 1)
	flat := "web--ghst--" + strings.TrimPrefix(r.Host, "web.cart.")
	for _, header := range [][]string{
		{"Accept", "text/html"}, {"Accept", "application/json"}, {"Accept", "*/*"},
		{"Cookie", "nullops_pass=nogv_made-up"}, {"Nullops-Pass", "made-up"},
		{"Upgrade", "websocket", "Connection", "Upgrade"},
		{"Sec-Fetch-Mode", "cors", "Accept", "text/html"},
	} {
		for _, path := range []string{"/", "/deep?x=1", "/.nullops/guest", "/.nullops/other"} {
			for _, method := range []string{"GET", "POST", "OPTIONS"} {
				want, wantBody := b.send(method, r.Host, path, header...)
				for _, host := range []string{ghost, flat} {
					got, body := b.send(method, host, path, header...)
					if fingerprintPage(got, body, host) != fingerprintPage(want, wantBody, r.Host) {
						t.Errorf("%s %s %v: %s\nand %s", method, path, header,
							fingerprintPage(got, body, host), fingerprintPage(want, wantBody, r.Host))
					}
				}
				if strings.Contains(wantBody, "secret") {
					t.Fatalf("%s %s reached the service", method, path)
				}
			}
		}
	}
}

func fingerprintPage(res *http.Response, body, host string) string {
	var b strings.Builder
	h := res.Header.Clone()
	h.Del("Date")
	_ = h.Write(&b)
	return res.Status + "\n" + strings.ReplaceAll(b.String()+body, host, "HOST")
}

// A person is sent to sign in, comes back with a code that works once and here
// alone, and gets a cookie that the service never sees.
func TestGate_HandOver(t *testing.T) {
	var mu sync.Mutex
	var seen http.Header
	b, r, book := newGatedBed(t, ingress.GateMembers, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		seen = r.Header.Clone()
		mu.Unlock()
		w.Header().Add("Set-Cookie", "nullops_pass=stolen")
		w.Header().Add("Set-Cookie", " =nullops_pass=sent without a name")
		w.Header().Add("Set-Cookie", "own=1")
		_, _ = io.WriteString(w, "inside")
	})
	out := b.raw("GET /a%2Fb|c HTTP/1.1\r\nHost: " + r.Host +
		"\r\nAccept: text/html\r\nConnection: close\r\n\r\n")
	if !strings.Contains(out, "&to=%2Fa%252Fb%7Cc\r\n") {
		t.Errorf("the sign-in forgets the target: %q", out)
	}
	res, _ := b.send("GET", r.Host, "/page?a=1", "Accept", "text/html")
	to, err := url.Parse(res.Header.Get("Location"))
	if err != nil || res.StatusCode != 303 || to.Host != "ui.example" || to.Path != "/gate" ||
		to.Query().Get("host") != r.Host || to.Query().Get("to") != "/page?a=1" {
		t.Fatalf("%d to %v", res.StatusCode, to)
	}
	book.codes[r.Host+" nogc_once"] = "nogv_cookie"
	book.give("nogv_cookie", ingress.PassScope{ID: "p", Deployment: r.DeploymentID})
	code := url.Values{"pass": {"nogc_once"}, "to": {"/page?a=1"}}
	res, _ = b.form("POST", r.Host, "/.nullops/pass", code)
	cookies := res.Cookies()
	if res.StatusCode != 303 || res.Header.Get("Location") != "/page?a=1" || len(cookies) != 1 ||
		!cookies[0].HttpOnly || cookies[0].Domain != "" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	if res, _ = b.form("POST", r.Host, "/.nullops/pass", code); res.StatusCode != 401 {
		t.Errorf("the code a second time: %d", res.StatusCode)
	}
	res, body := b.send("GET", r.Host, "/page", "Cookie", "a=b; nullops_pass=nogv_cookie; c=d",
		"Authorization", "Bearer theirs", "Nullops-Pass", "x")
	if res.StatusCode != 200 || body != "inside" {
		t.Fatalf("%d %q", res.StatusCode, body)
	}
	mu.Lock()
	defer mu.Unlock()
	if seen.Get("Cookie") != "a=b; c=d" || seen.Get("Nullops-Pass") != "" ||
		seen.Get("Authorization") != "Bearer theirs" {
		t.Errorf("the service saw %v", seen)
	}
	if got := res.Header["Set-Cookie"]; len(got) != 1 || got[0] != "own=1" {
		t.Errorf("it could set %v", got)
	}
}

// A hand-over can lead nowhere but to a path of the same host.
func TestGate_NoOpenRedirect(t *testing.T) {
	b, r, book := newGatedBed(t, ingress.GateMembers, sayText("x"))
	for _, to := range []string{"//evil.example/", "https://evil.example/", `/\evil.example`, "evil",
		"", "/a\r\nSet-Cookie: x=y", "/\tx"} {
		book.codes[r.Host+" nogc_1"] = "nogv_1"
		res, _ := b.form("POST", r.Host, "/.nullops/pass",
			url.Values{"pass": {"nogc_1"}, "to": {to}})
		if res.StatusCode != 303 || res.Header.Get("Location") != "/" {
			t.Errorf("%q leads to %q", to, res.Header.Get("Location"))
		}
	}
}

// Which pass opens what: one deployment, a whole environment, guests only where
// the gate lets guests in, and nothing of another place.
func TestGate_WhoPasses(t *testing.T) {
	b, r, book := newGatedBed(t, ingress.GateGuests, sayText("in"))
	strict := b.up("strict", "web", sayText("in"))
	strict.Gate = ingress.GateMembers
	b.zone(ingress.GateGuests, r, strict)
	book.give("member", ingress.PassScope{Deployment: r.DeploymentID})
	book.give("guest", ingress.PassScope{Deployment: r.DeploymentID, Guest: true})
	book.give("strict guest", ingress.PassScope{Deployment: strict.DeploymentID, Guest: true})
	book.give("robot", ingress.PassScope{Environment: zoneID})
	book.give("robot elsewhere", ingress.PassScope{Environment: "zone-2"})
	book.give(
		"over",
		ingress.PassScope{Deployment: r.DeploymentID, Until: time.Now().Add(-time.Second)},
	)
	for secret, want := range map[string][2]int{
		"member": {200, 401}, "guest": {200, 401}, "strict guest": {401, 401}, "robot": {200, 200},
		"robot elsewhere": {401, 401}, "unknown": {401, 401}, "over": {401, 401},
	} {
		for i, host := range []string{r.Host, strict.Host} {
			// promise: G-03
			if res, _ := b.send("GET", host, "/", "Nullops-Pass", secret); res.StatusCode != want[i] {
				t.Errorf("%s at %s: %d, want %d", secret, host, res.StatusCode, want[i])
			}
		}
	}
	ghost := strings.Replace(r.Host, "cart", "ghst", 1)
	if res, _ := b.send("GET", ghost, "/", "Nullops-Pass", "robot"); res.StatusCode != 404 {
		t.Errorf("a robot is told %d of nothing", res.StatusCode)
	}
}

// A gate that cannot ask is shut.
func TestGate_ClosedWithoutAnswer(t *testing.T) {
	b, r, book := newGatedBed(t, ingress.GateMembers, sayText("in"))
	book.fail = context.DeadlineExceeded
	if res, _ := b.send("GET", r.Host, "/", "Nullops-Pass", "x"); res.StatusCode != 503 {
		t.Errorf("%d", res.StatusCode)
	}
}

// An open WebSocket ends when its pass is withdrawn, when the gate comes to
// want more than it has, and only then.
func TestGate_WebSocketEndsWithItsPass(t *testing.T) {
	echo := func(w http.ResponseWriter, r *http.Request) {
		c, err := websocket.Accept(w, r, nil)
		if err != nil {
			return
		}
		defer c.CloseNow()
		for {
			kind, data, err := c.Read(r.Context())
			if err != nil || c.Write(r.Context(), kind, data) != nil {
				return
			}
		}
	}
	b, r, book := newGatedBed(t, ingress.GateGuests, echo)
	book.give("stays", ingress.PassScope{Deployment: r.DeploymentID})
	book.give("goes", ingress.PassScope{Deployment: r.DeploymentID})
	book.give("guest", ingress.PassScope{Deployment: r.DeploymentID, Guest: true})
	stays, goes, guest := b.socket(r, "stays"), b.socket(r, "goes"), b.socket(r, "guest")
	book.withdraw("goes")
	if err := b.proxy.RecheckPasses(t.Context()); err != nil {
		t.Fatal(err)
	}
	goes.over("withdrawn")
	stays.alive("its pass holds")
	guest.alive("its pass holds")
	b.zone(ingress.GateMembers, r)
	guest.over("members only")
	stays.alive("it is a member's")
	b.zone(ingress.GateOpen, r)
	anybody := b.socket(r, "")
	b.zone(ingress.GateMembers, r)
	anybody.over("it never had a pass")
	stays.alive("nothing changed for it")
}

type socket struct {
	t *testing.T
	c *websocket.Conn
}

func (b *bed) socket(r ingress.Route, secret string) socket {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	header := http.Header{}
	if secret != "" {
		header.Set("Nullops-Pass", secret)
	}
	c, _, err := websocket.Dial(ctx, "ws://"+b.addr+"/", &websocket.DialOptions{Host: r.Host,
		HTTPHeader: header})
	if err != nil {
		b.t.Fatal(err)
	}
	b.t.Cleanup(func() { _ = c.CloseNow() })
	s := socket{b.t, c}
	s.alive("just opened")
	return s
}

func (s socket) alive(why string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if err := s.c.Write(ctx, websocket.MessageText, []byte("hi")); err != nil {
		s.t.Fatalf("%s: %v", why, err)
	}
	if _, _, err := s.c.Read(ctx); err != nil {
		s.t.Fatalf("%s: %v", why, err)
	}
}

func (s socket) over(why string) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Minute)
	defer cancel()
	if _, _, err := s.c.Read(ctx); err == nil || ctx.Err() != nil {
		s.t.Errorf("%s, but it is open: %v", why, err)
	}
}

// The page of a guest link reads the token after the # and posts it; no other script runs.
func TestGate_GuestPage(t *testing.T) {
	b, r, _ := newGatedBed(t, ingress.GateGuests, sayText("in"))
	res, body := b.send("GET", r.Host, "/.nullops/guest")
	policy := res.Header.Get("Content-Security-Policy")
	if res.StatusCode != 200 || !strings.Contains(body, `action="/.nullops/pass"`) ||
		!strings.Contains(policy, "script-src 'sha256-") ||
		!strings.Contains(policy, "form-action 'self'") {
		t.Errorf("%d %s %s", res.StatusCode, policy, body)
	}
	for name, want := range map[string]string{"Content-Type": "text/html; charset=utf-8",
		"Content-Length": strconv.Itoa(len(body)), "X-Content-Type-Options": "nosniff",
		"Referrer-Policy": "no-referrer", "Cache-Control": "no-store"} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s is %q", name, got)
		}
	}
}

// A host of no environment has our own paths as well; one that is no name has nothing.
func TestGate_OwnPathsOutsideEnvironments(t *testing.T) {
	b, _, _ := newGatedBed(t, ingress.GateMembers, sayText("in"))
	for host, want := range map[string]bool{"elsewhere.example": true, "not_a_name": false} {
		res, body := b.send("GET", host, "/.nullops/guest")
		shown := strings.Contains(body, `action="/.nullops/pass"`)
		if (res.StatusCode == 200 && shown) != want {
			t.Errorf("%s: %d %s", host, res.StatusCode, body)
		}
	}
}

// In an open environment nothing is asked for, but our own cookie is still kept
// from the service, and a page offers to look for names like this one.
func TestGate_Open(t *testing.T) {
	b, r, _ := newGatedBed(t, ingress.GateOpen, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Cookie"))
	})
	if _, body := b.send("GET", r.Host, "/", "Cookie", "__Host-nullops_pass=x; a=b"); body != "a=b" {
		t.Errorf("the service saw %q", body)
	}
	ghost := strings.Replace(r.Host, "cart", "ghst", 1)
	res, body := b.send("GET", ghost, "/")
	if res.StatusCode != 404 || !strings.Contains(body, "/.nullops/near") ||
		strings.Contains(body, "ghst") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	if res, _ := b.send("GET", ghost, "/.nullops/near"); !strings.HasPrefix(
		res.Header.Get("Location"), "http://ui.example/gate?host="+ghost) ||
		res.Header.Get("Referrer-Policy") != "no-referrer" ||
		res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", res.Header)
	}
}

// A page says what anyone who looks may do: someone with full access recreates, someone who may
// only see looks, and a stranger gets the gate's page.
func TestGate_PagesForViewers(t *testing.T) {
	b, r, book := newGatedBed(t, ingress.GateMembers, sayText("x"))
	book.give("full", ingress.PassScope{Deployment: r.DeploymentID, Full: true})
	book.give("reader", ingress.PassScope{Deployment: r.DeploymentID})
	r.Permalink = "http://ui.example/d/1"
	for state, want := range map[ingress.State][3]string{
		ingress.StateRemoved:  {"Recreate it", "Look at its run", "removed by ada"},
		ingress.StateFailed:   {"Retry it", "Look at its run", "This deployment failed"},
		ingress.StateApplying: {"Watch or cancel it", "Look at its run", "Start the database"},
	} {
		r.State, r.By = state, "ada"
		r.Steps = []ingress.Step{{Title: "Start the database", Status: "running"}}
		b.zone(ingress.GateMembers, r)
		_, full := b.send("GET", r.Host, "/", "Nullops-Pass", "full")
		_, reader := b.send("GET", r.Host, "/", "Nullops-Pass", "reader")
		_, stranger := b.send("GET", r.Host, "/")
		if !strings.Contains(full, want[0]) || !strings.Contains(reader, want[1]) ||
			!strings.Contains(full, want[2]) {
			t.Errorf("%s: %v not in\n%s\n%s", state, want, full, reader)
		}
		if strings.Contains(reader, want[0]) || strings.Contains(stranger, "ada") {
			t.Errorf("%s: the reader or a stranger is shown too much", state)
		}
	}
}

// Where the gate is open anybody reads the page of what was removed, so it does
// not name the person who did it.
func TestGate_OpenPagesNameNobody(t *testing.T) {
	b, r, _ := newGatedBed(t, ingress.GateOpen, sayText("x"))
	for _, state := range []ingress.State{ingress.StateRemoved, ingress.StateRemoving,
		ingress.StateCanceled} {
		r.State, r.By = state, "hopper"
		b.zone(ingress.GateOpen, r)
		for _, accept := range []string{"text/html", "application/json"} {
			_, page := b.send("GET", r.Host, "/", "Accept", accept)
			if page == "" || strings.Contains(page, "hopper") {
				t.Errorf("%s as %s names who did it: %s", state, accept, page)
			}
		}
	}
}
