package ingress_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// aboutCart is what the tests' deployment runs, with text of people who mean harm.
func aboutCart(_ context.Context, r ingress.Route) (ingress.About, error) {
	if r.Deployment != "cart" {
		return ingress.About{}, errors.New("the database is away")
	}
	built, ends := time.Now().Add(-3*time.Hour), time.Now().Add(5*time.Hour+time.Minute)
	return ingress.About{Deployment: "cart", Project: "shop", Environment: "env", CreatedBy: "ada",
		CreatedAt: time.Now().Add(-50 * time.Minute), ExpiresAt: &ends, PipelineVersion: 4, Run: 2,
		Why: &ingress.AboutReview{Title: "<script>alert(1)</script>", Number: 12,
			Link: "javascript:alert(1)", Branch: "feature/cart", Commit: "51d0e7bc"},
		Verdict: &ingress.AboutVerdict{Outcome: "remarks", By: "<b>lena</b>"},
		Services: []ingress.AboutService{
			{Service: "web", Image: "registry.test/shop/web", Tag: "feature-cart-51d0e7b",
				Digest: "sha256:abcdef", Branch: "feature/cart", Commit: "51d0e7bc",
				BuiltAt: &built, Newer: "feature-cart-99aa00b"},
			{Service: "db", Image: "registry.test/postgres", Tag: "16", Digest: "sha256:123456"},
		}}, nil
}

// Each host says what it runs, to people and to programs, and asks no service for it.
func TestAbout_SaysWhatRuns(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) { c.About, c.Home = aboutCart, "http://ui.example" })
	r := b.up("cart", "web", func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("the service was asked for %s", r.URL)
	})
	r.Permalink, r.Build = "http://ui.example/d/1", ""
	b.zone(ingress.GateOpen, r)
	res, page := b.send("GET", r.Host, "/.nullops/", "Referer", "http://"+r.Host+"/basket?x=1")
	// promise: W-04
	for _, want := range []string{"cart", "shop in env, made by ada 50 minutes ago", "pull request 12",
		"feature/cart", "51d0e7bc", "3 hours ago", "A newer build of this branch exists",
		"feature-cart-99aa00b", "sha256:123456", "version 4, run 2", "in 5 h", "web, this host",
		"passed with remarks, by &lt;b&gt;lena",
		"http://ui.example/d/1/capsule?address=", "basket%3Fx%3D1", "Extend"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	for _, bad := range []string{"<script", "javascript:"} {
		if strings.Contains(page, bad) {
			t.Errorf("the page has %q: %s", bad, page)
		}
	}
	policy := res.Header.Get("Content-Security-Policy")
	if res.StatusCode != 200 || res.Header.Get("Cache-Control") != "no-store" ||
		!strings.HasPrefix(policy, "default-src 'none'") || strings.Contains(policy, "script-src") {
		t.Errorf("%d, %v", res.StatusCode, res.Header)
	}
	res, text := b.send("GET", r.Host, "/.nullops/build")
	var about ingress.About
	// promise: W-04
	if err := json.Unmarshal([]byte(text), &about); err != nil || len(about.Services) != 2 ||
		!about.Services[0].Here || about.Services[1].Here || about.State != "ready" ||
		about.Page != r.Permalink || res.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%v: %s", err, text)
	}
	if res, text = b.send("HEAD", r.Host, "/.nullops/build"); res.StatusCode != 200 || text != "" {
		t.Errorf("HEAD: %d %q", res.StatusCode, text)
	}
	for _, ask := range []string{"POST /.nullops/", "GET /.nullops/builds", "GET /.nullops/x"} {
		method, path, _ := strings.Cut(ask, " ")
		if res, _ = b.send(method, r.Host, path); res.StatusCode != 404 {
			t.Errorf("%s: %d", ask, res.StatusCode)
		}
	}
}

// What runs is shown to those who may open the host, and a host that is not there looks like one
// that asks for a pass.
func TestAbout_IsBehindTheGate(t *testing.T) {
	book := newPassbook()
	b := newBed(t, func(c *ingress.Config) { c.Gate, c.About = book, aboutCart })
	r := b.up("cart", "web", sayText("secret"))
	b.zone(ingress.GateMembers, r)
	ghost := strings.Replace(r.Host, r.Deployment, "ghst", 1)
	for _, path := range []string{"/.nullops/", "/.nullops/build"} {
		want, wantBody := b.send("GET", ghost, path, "Accept", "*/*")
		got, body := b.send("GET", r.Host, path, "Accept", "*/*")
		// promise: W-04
		if got.StatusCode != 401 ||
			fingerprintPage(got, body, r.Host) != fingerprintPage(want, wantBody, ghost) {
			t.Errorf("%s without a pass: %d %s, of a host that is not there: %d %s", path,
				got.StatusCode, body, want.StatusCode, wantBody)
		}
	}
	book.give("nogv_robot", ingress.PassScope{ID: "1", Environment: zoneID, Full: true})
	res, body := b.send("GET", r.Host, "/.nullops/build", "Nullops-Pass", "nogv_robot")
	if res.StatusCode != 200 || !strings.Contains(body, `"created_by": "ada"`) {
		t.Errorf("with a pass: %d %s", res.StatusCode, body)
	}
}

// While the database is away the page says so, and services go on.
func TestAbout_DatabaseAway(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) { c.About = aboutCart })
	r := b.up("other", "web", sayText("fine"))
	b.zone(ingress.GateOpen, r)
	if res, body := b.send("GET", r.Host, "/.nullops/"); res.StatusCode != 503 ||
		!strings.Contains(body, "cannot be read at the moment") {
		t.Errorf("%d %s", res.StatusCode, body)
	}
	// What asks for JSON gets JSON, also if it names no type, as curl does.
	res, body := b.send("GET", r.Host, "/.nullops/build", "Accept", "*/*")
	if kind := res.Header.Get("Content-Type"); res.StatusCode != 503 ||
		kind != "application/problem+json" || !json.Valid([]byte(body)) {
		t.Errorf("JSON: %d %s %s", res.StatusCode, kind, body)
	}
	if _, body := b.send("GET", r.Host, "/"); body != "fine" {
		t.Errorf("the service says %q", body)
	}
}

// A service may have the prefix for itself, all but what the gate needs. Others keep it.
func TestAbout_AServiceMayOwnThePrefix(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) {
		c.About = aboutCart
		c.Unreserved = func(r ingress.Route) bool { return r.Service == "web" }
	})
	r := b.up("cart", "web", sayText("its own"))
	b.zone(ingress.GateOpen, r)
	for _, path := range []string{"/.nullops/", "/.nullops/build", "/.nullops/deep"} {
		if _, body := b.send("GET", r.Host, path); body != "its own" {
			t.Errorf("%s: %q", path, body)
		}
	}
	if _, body := b.send("GET", r.Host, "/.nullops/guest"); body == "its own" {
		t.Error("the gate's own page went to the service")
	}
}

// Each response says what was built, if an admin wants it, and follows the routes.
func TestAbout_BuildHeader(t *testing.T) {
	b := newBed(t, func(*ingress.Config) {})
	r := b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
		// A service does not say what it is: reports of tests rely on the header.
		w.Header().Add("Nullops-Build", "web=9.9.9@fffffff")
		_, _ = io.WriteString(w, "hello")
	})
	for _, build := range []string{"web=1.4.2@51d0e7b, db=16@aa00bb1", ""} {
		r.Build = build
		b.proxy.SetTable(ingress.NewTable(b.proxy.Table().Version()+1, []ingress.Route{r}))
		res, body := b.send("GET", r.Host, "/")
		got := res.Header.Values("Nullops-Build")
		if strings.Join(got, "|") != build || body != "hello" {
			t.Errorf("Nullops-Build is %q, want %q", got, build)
		}
	}
}

// Whoever meets a page instead of a service reads there which versions do not run; without the
// database, the page says the rest.
func TestStatusPage_SaysVersions(t *testing.T) {
	b := newBed(t, func(c *ingress.Config) { c.About = aboutCart })
	for _, state := range []ingress.State{ingress.StateApplying, ingress.StateFailed,
		ingress.StateRemoved} {
		r := newRoute("cart", "web")
		r.State = state
		b.set(r)
		_, page := b.get(r.Host)
		for _, want := range []string{"<h2>Versions</h2>", "<dt>web</dt><dd>", "(51d0e7b)"} {
			if !strings.Contains(page, want) {
				t.Errorf("%s: the page lacks %q", state, want)
			}
		}
		if _, text := b.send("GET", r.Host, "/", "Accept", "application/json"); !strings.Contains(text,
			`"versions":[{"service":"web","tag":`) {
			t.Errorf("%s: programs read %s", state, text)
		}
	}
	away := newRoute("other", "web")
	away.State = ingress.StateFailed
	b.set(away)
	if _, page := b.get(away.Host); strings.Contains(page, "<h2>Versions</h2>") ||
		!strings.Contains(page, "This deployment failed") {
		t.Errorf("without the database: %s", page)
	}
}
