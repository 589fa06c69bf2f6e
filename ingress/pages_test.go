package ingress_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

func fixedTime() time.Time { return time.Date(2026, 11, 21, 15, 0, 12, 0, time.UTC) }

func pageBed(t *testing.T) *bed {
	return newBed(t, func(c *ingress.Config) {
		c.Now = fixedTime
		c.Home = "https://nullops.lab.example/"
	})
}

// Each state of a deployment has a page with its own words and status.
func TestPages_EveryState(t *testing.T) {
	b := pageBed(t)
	cases := []struct {
		state         ingress.State
		status, retry int
		kind, title   string
		refresh       bool
		word          string
	}{
		{ingress.StateQueued, 503, 5, "starting", "web waits for its turn", true, "Queued"},
		{ingress.StateApplying, 503, 5, "starting", "web is starting", true, "Applying"},
		{ingress.StateUndoing, 503, 0, "undoing", "being undone", false, "Undoing"},
		{ingress.StateFailed, 503, 0, "failed",
			"This deployment failed, so web is not running", false, "Failed"},
		{ingress.StateOffline, 503, 15, "offline",
			"The machine under web is out of reach", true, "Offline"},
		{ingress.StateRemoving, 410, 0, "removing", "is being removed", false, "Removing"},
		{ingress.StateStuck, 410, 0, "removing", "its removal is stuck", false, "Stuck"},
		{ingress.StateCanceled, 410, 0, "canceled", "was canceled", false, "Canceled"},
		{ingress.StateRemoved, 410, 0, "removed", "was removed", false, "Removed"},
		{ingress.StateForgotten, 410, 0, "removed", "was removed", false, "Forgotten"},
	}
	for _, c := range cases {
		r := newRoute("cart", "web")
		r.State, r.Detail = c.state, "http-check got 503 from web 12 times"
		r.Permalink = "https://nullops.lab.example/d/1"
		b.set(r)
		res, body := b.get(r.Host)
		for name, want := range map[string]string{"Vary": "Accept", "Cache-Control": "no-store",
			"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer"} {
			if got := res.Header.Get(name); got != want {
				t.Errorf("%s: %s is %q", c.state, name, got)
			}
		}
		if res.StatusCode != c.status || res.Header.Get("Nullops-Page") != c.kind {
			t.Errorf("%s: %d %s", c.state, res.StatusCode, res.Header.Get("Nullops-Page"))
		}
		if want := strconv.Itoa(c.retry); c.retry > 0 && res.Header.Get("Retry-After") != want ||
			c.retry == 0 && res.Header.Get("Retry-After") != "" {
			t.Errorf("%s: Retry-After = %q", c.state, res.Header.Get("Retry-After"))
		}
		if strings.Contains(body, "<script>") != c.refresh ||
			strings.Contains(body, ">Look again</a></noscript>") != c.refresh {
			t.Errorf("%s: looks by itself: %v", c.state, !c.refresh)
		}
		for _, want := range []string{
			c.title, r.Detail, r.Host, r.Permalink, "14:02 UTC, 58 minutes ago",
			fmt.Sprintf("HTTP %d", c.status), "<dt>State</dt><dd>" + c.word + "</dd>",
			"request " + res.Header.Get("X-Request-Id"),
		} {
			if !strings.Contains(body, want) {
				t.Errorf("%s: the page does not say %q", c.state, want)
			}
		}
		hasLog := c.state != ingress.StateQueued && c.state != ingress.StateOffline
		if strings.Contains(body, `href="`+r.Permalink+`/logs">Read its log</a>`) != hasLog {
			t.Errorf("%s: leads to its log: %v", c.state, !hasLog)
		}
		checkPage(t, string(c.state), res, body)
	}
}

// checkPage holds a page to what each one promises, whatever it says.
func checkPage(t *testing.T, name string, res *http.Response, body string) {
	t.Helper()
	h := res.Header
	if h.Get("Content-Type") != "text/html; charset=utf-8" || h.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: header = %v", name, h)
	}
	style := regexp.MustCompile(`(?s)<style>(.*?)</style>`).FindStringSubmatch(body)
	if style == nil {
		t.Fatalf("%s: no style", name)
	}
	hash := hashOf(style[1])
	csp := h.Get("Content-Security-Policy")
	if !strings.Contains(csp, "style-src "+hash) || !strings.HasPrefix(csp, "default-src 'none'") ||
		strings.Contains(csp, "unsafe") {
		t.Errorf("%s: policy %q does not fit the style (%s)", name, csp, hash)
	}
	body, script := withoutScript(t, body)
	if script != "" != strings.Contains(csp, "script-src") || script != "" &&
		!strings.Contains(csp, "script-src "+hashOf(script)+"; connect-src 'self'") {
		t.Errorf("%s: policy %q does not fit the script %q", name, csp, script)
	}
	if regexp.MustCompile(`(?i)<[^>]+\s(style|on\w+|http-equiv)=|<script|<form|ZgotmplZ`).
		MatchString(body) {
		t.Errorf("%s: style attribute, refresh, foreign script, form or unsafe value in %s", name, body)
	}
}

// withoutScript takes the one script off a page that looks by itself, at its end.
func withoutScript(t *testing.T, body string) (rest, script string) {
	t.Helper()
	if len(body) > 14<<10 {
		t.Errorf("%d bytes, want at most 14 KiB", len(body))
	}
	found := regexp.MustCompile(`(?s)\n<script>(.*?)</script>\n</body>`).FindStringSubmatch(body)
	if found == nil {
		return body, ""
	}
	return strings.Replace(body, found[0], "", 1), found[1]
}

// hashOf names a text in a Content-Security-Policy.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// A page that looks by itself is the same one as long as only its details
// differ, and another one with its state.
func TestPages_TellTheirState(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web")
	state := func(s ingress.State, detail string) (string, string) {
		r.State, r.Detail = s, detail
		b.set(r)
		res, body := b.get(r.Host)
		return res.Header.Get("Nullops-State"), body
	}
	first, body := state(ingress.StateApplying, "pulling, 10 %")
	if first == "" || !strings.Contains(body, `data-state="`+first+`" data-retry="5"`) {
		t.Fatalf("state %q is not that of the page: %s", first, body)
	}
	if next, _ := state(ingress.StateApplying, "pulling, 20 %"); next != first {
		t.Errorf("another detail makes another page: %s, then %s", first, next)
	}
	for _, other := range []ingress.State{ingress.StateQueued, ingress.StateOffline,
		ingress.StateFailed} {
		if next, _ := state(other, "pulling, 20 %"); next == first {
			t.Errorf("%s is told by nothing", other)
		}
	}
}

// What was posted is not posted again by itself: a person may look again.
func TestPages_AnswerToAFormWaits(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web")
	r.State = ingress.StateApplying
	b.set(r)
	res, body := b.ask(http.MethodPost, r.Host, "/", nil)
	checkPage(t, "posted", res, body)
	if strings.Contains(body, "<script") || !strings.Contains(body, ">Load again</a>") ||
		res.Header.Get("Retry-After") != "5" {
		t.Errorf("%v %s", res.Header, body)
	}
}

// An error page names its request, which the default log contains. Requests that pages make by
// themselves are not logged.
func TestPages_RequestsAreInTheLog(t *testing.T) {
	var log lines
	b := newBed(t, func(c *ingress.Config) { c.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	starting, gone := newRoute("cart", "web"), newRoute("cart", "api")
	starting.State, gone.State = ingress.StateApplying, ingress.StateRemoved
	b.set(starting, gone)
	said, _ := b.get(starting.Host)
	looked, _ := b.ask(http.MethodGet, starting.Host, "/", http.Header{"Nullops-Look": {"1"}})
	quietly, _ := b.get(gone.Host)
	log.wait(t, "request_id="+said.Header.Get("X-Request-Id")) // it is written behind the answer
	for res, want := range map[*http.Response]bool{said: true, looked: false, quietly: false} {
		id := res.Header.Get("X-Request-Id")
		if is := strings.Contains(log.String(), "request_id="+id); id == "" || is != want {
			t.Errorf("%d %q is in the log: %v, want %v", res.StatusCode, id, is, want)
		}
	}
}

// lines is a log that several write.
type lines struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (l *lines) Write(line []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.Write(line)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.String()
}

func (l *lines) wait(t *testing.T, want string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !strings.Contains(l.String(), want); {
		if time.Now().After(end) {
			t.Fatalf("the log has no %s: %s", want, l)
		}
		runtime.Gosched()
	}
}

// The colours of the pages are those of the UI, copied by hand: the pages load
// nothing.
func TestPages_ColoursAreTheUIs(t *testing.T) {
	tokens, err := os.ReadFile("../ui/src/styles/tokens.css")
	if err != nil {
		t.Fatal(err)
	}
	b := pageBed(t)
	_, body := b.get("no." + domain)
	light, dark, ok := strings.Cut(body, "@media (prefers-color-scheme:dark)")
	if !ok {
		t.Fatal("the page has one look only")
	}
	token := regexp.MustCompile(`--color-(?:st-)?([a-z0-9-]+): light-dark\((.*)\);`)
	found := 0
	for _, m := range token.FindAllStringSubmatch(string(tokens), -1) {
		a, z, _ := strings.Cut(m[2], "), ")
		for look, want := range map[string]string{light: a + ")", dark: z} {
			is := regexp.MustCompile(`--` + m[1] + `:(oklch\([^)]*\))`).FindStringSubmatch(look)
			if is == nil {
				continue
			}
			if found++; is[1] != shortColour(want) {
				t.Errorf("--%s is %s, in the UI %s", m[1], is[1], want)
			}
		}
	}
	if found < 2*20 {
		t.Errorf("only %d colours were compared", found)
	}
}

// shortColour writes a colour as a file does that counts its bytes.
func shortColour(colour string) string {
	for _, r := range [][2]string{{" / ", "/"}, {" 0.", " ."}, {"/0.", "/."}} {
		colour = strings.ReplaceAll(colour, r[0], r[1])
	}
	return colour
}

func TestPages_UnknownIsConstant(t *testing.T) {
	b := pageBed(t)
	b.set(b.up("cart", "web", sayText("cart web")))
	first, want := b.get("nobody.env." + domain)
	checkPage(t, "unknown", first, want)
	for _, host := range []string{
		"web.cartt.env." + domain, "a_b." + domain, "x" + strings.Repeat(".y", 90), "[::1]:80",
		"evil.example", "10.1.2.3",
	} {
		res, body := b.get(host)
		if res.StatusCode != 404 || body != want || res.Header.Get("Nullops-Page") != "unknown-host" {
			t.Errorf("%s: %d, body differs: %v", host, res.StatusCode, body != want)
		}
		if strings.Contains(body, host) {
			t.Errorf("%s: the page repeats the host", host)
		}
	}
}

func TestPages_ProblemForMachines(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web")
	r.State, r.Detail = ingress.StateFailed, `said "no" <b>`
	b.set(r)
	for accept, machine := range map[string]bool{
		"application/json": true, "application/problem+json": true, "application/vnd.x+json": true,
		"text/plain, application/json;q=0.9": true, "*/*": false, "": false,
		"text/html,application/xhtml+xml,application/json;q=0.1": false,
	} {
		res, body := b.ask(http.MethodGet, r.Host, "/api", http.Header{"Accept": {accept}})
		is := res.Header.Get("Content-Type") == "application/problem+json"
		if is != machine || res.StatusCode != 503 {
			t.Errorf("%q: %d %s", accept, res.StatusCode, res.Header.Get("Content-Type"))
		}
		if !is {
			continue
		}
		var p struct {
			Title, Detail, Code string
			Status              int
		}
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			t.Fatal(err)
		}
		if p.Status != 503 || p.Code != "failed" || !strings.Contains(p.Detail, r.Detail) ||
			p.Title == "" {
			t.Errorf("%q: %+v", accept, p)
		}
	}
	res, body := b.ask(http.MethodGet, "no."+domain, "/", http.Header{"Accept": {"application/json"}})
	if res.StatusCode != 404 || !strings.Contains(body, `"code":"unknown-host"`) {
		t.Errorf("unknown: %d %s", res.StatusCode, body)
	}
}

func TestPages_HeadHasNoBody(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web")
	r.State = ingress.StateApplying
	b.set(r)
	for host, status := range map[string]int{r.Host: 503, "no." + domain: 404} {
		full, page := b.get(host)
		res, body := b.ask(http.MethodHead, host, "/", nil)
		if res.StatusCode != status || body != "" || res.ContentLength != int64(len(page)) ||
			full.ContentLength != res.ContentLength {
			t.Errorf("%s: %d %q length %d", host, res.StatusCode, body, res.ContentLength)
		}
	}
}

// What a plugin, a name or a link says is text, never markup (T42).
func TestPages_Escape(t *testing.T) {
	b := pageBed(t)
	const evil = `"><script>alert(1)</script><a href='javascript:x' style="x" onclick=y>`
	r := newRoute("cart", "web")
	r.State, r.Detail = ingress.StateFailed, evil+"\x1b[31m\u202e\r\nSet-Cookie: a=b"
	r.Deployment, r.Project, r.Service = evil, evil, evil
	r.Permalink = "javascript:alert(1)"
	b.set(r)
	res, body := b.get(r.Host)
	checkPage(t, "evil", res, strings.ReplaceAll(body, "&#34;", ""))
	if strings.Contains(body, `"><script`) || strings.Contains(body, "href='javascript") ||
		strings.Contains(body, `href="javascript`) || strings.ContainsAny(body, "\x1b\u202e") {
		t.Errorf("markup passed: %s", body)
	}
	if res.Header.Get("Set-Cookie") != "" {
		t.Error("a header was injected")
	}
}

func TestPages_ServiceThatDoesNotAnswer(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web") // ready, yet nothing listens
	b.set(r)
	res, body := b.get(r.Host)
	if res.StatusCode != 502 || !strings.Contains(body, "web does not answer") {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	checkPage(t, "unreachable", res, body)
	b.at("cart", "web", b.up("cart", "web", sayText("back")).Target) // a nonsense address
	if res, _ := b.get(r.Host); res.StatusCode != 502 {
		t.Fatalf("%d, want 502", res.StatusCode)
	}
	b.set(b.up("cart", "web", sayText("back")))
	if res, body := b.get(r.Host); res.StatusCode != 200 || body != "back" {
		t.Fatalf("after its start: %d %s", res.StatusCode, body)
	}
}

// A service that listens on loopback only is explained, however the request reaches it, and to
// programs too.
func TestPages_ServiceThatListensOnLoopback(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) {
		c.Dial = func(context.Context, ingress.Route) (net.Conn, error) {
			return nil, &ingress.LoopbackError{Listens: "127.0.0.1:8080", Err: errors.New("refused")}
		}
	})
	r := newRoute("cart", "web")
	b.set(r)
	const want = "It listens on 127.0.0.1:8080 only; make it listen on 0.0.0.0."
	for name, header := range map[string]http.Header{
		"page": nil, "problem": {"Accept": {"application/json"}},
		"websocket": {"Connection": {"Upgrade"}, "Upgrade": {"websocket"},
			"Sec-Websocket-Version": {"13"}, "Sec-Websocket-Key": {"AAAAAAAAAAAAAAAAAAAAAA=="}},
	} {
		res, body := b.ask(http.MethodGet, r.Host, "/", header)
		if res.StatusCode != 502 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s", name, res.StatusCode, body)
		}
	}
}

// A state has the same words as in the UI, and a waiting visitor sees every step.
func TestPages_Words(t *testing.T) {
	b := pageBed(t)
	r := newRoute("cart", "web")
	r.State = ingress.StateApplying
	r.Steps = []ingress.Step{{Title: "api", Status: "done"}, {Title: "web", Status: "pending"}}
	b.set(r)
	_, body := b.get(r.Host)
	for _, want := range []string{"<span>Done</span>", "<span>Waiting</span>"} {
		if !strings.Contains(body, want) {
			t.Errorf("the page does not say %s", want)
		}
	}
}
