package ingress_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// browser is a visitor that keeps cookies, wherever the names of hosts lead.
type browser struct {
	t *testing.T
	*http.Client
}

func (b *bed) browser() browser {
	b.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		b.t.Fatal(err)
	}
	c := newClient(b.t)
	c.Jar = jar
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", b.addr)
	}
	c.Transport.(*http.Transport).DialContext = dial
	return browser{b.t, c}
}

// open returns what a host shows.
func (v browser) open(host string) string {
	v.t.Helper()
	res, err := v.Get("http://" + host + "/")
	if err != nil {
		v.t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		v.t.Fatalf("%s answered %d: %v", host, res.StatusCode, err)
	}
	return string(body)
}

// twoBuilds are the older and the newer build of a service, before the newer one has the host. Both
// show their name and the cookies that they get, and the older one sets one of its own.
func twoBuilds(b *bed) (older, newer ingress.Route) {
	show := func(name string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "app", Value: name, Domain: "cart.env." + domain})
			_, _ = fmt.Fprint(w, name, " ", r.Header.Get("Cookie"))
		}
	}
	older, newer = b.up("cart", "web", show("older")), b.up("next--cart", "web", show("newer"))
	older.KnownAs, newer.KnownAs = "cart", "cart"
	return older, newer
}

// switched are the same routes after the newer build took the host of the older one.
func switched(older, newer ingress.Route, until time.Time) []ingress.Route {
	host := older.Host
	older.Deployment, older.Host = "was--cart", strings.Replace(host, "cart", "was--cart", 1)
	newer.Deployment, newer.Host = "cart", host
	newer.Formers = []ingress.Former{{DeploymentID: older.DeploymentID, Host: older.Host,
		Until: until}}
	return []ingress.Route{older, newer}
}

// Who was in the middle of something when a newer build took the host stays on the older one; who
// comes new, or left for a while, gets the newer one. The application never sees how.
func TestStay_VisitorsStayUntilTheyLeave(t *testing.T) {
	var now atomic.Int64
	began := time.Now()
	now.Store(began.UnixNano())
	b := newBed(t, func(c *ingress.Config) {
		c.Now = func() time.Time { return time.Unix(0, now.Load()) }
	})
	older, newer := twoBuilds(b)
	b.set(older, newer)
	host := older.Host
	early := b.browser()
	if got := early.open(host); got != "older " {
		t.Fatalf("before the switch: %q", got)
	}
	b.set(switched(older, newer, began.Add(15*time.Minute))...)
	// promise: W-01
	if got := early.open(host); got != "older app=older" {
		t.Errorf("who was there gets %q", got)
	}
	if got := b.browser().open(host); got != "newer " {
		t.Errorf("who comes new gets %q", got)
	}
	if _, got := b.get(host); got != "newer " {
		t.Errorf("a program gets %q", got)
	}
	if got := b.browser().open("web.was--cart.env." + domain); got != "older " {
		t.Errorf("the other name of the older one leads to %q", got)
	}
	// A visitor who goes on is remembered; the time is up for all after a quarter of an hour.
	for range 14 {
		now.Add(int64(time.Minute))
		if got := early.open(host); got != "older app=older" {
			t.Fatalf("who goes on gets %q", got)
		}
	}
	now.Add(int64(time.Minute + time.Second))
	if got := early.open(host); got != "newer app=older" {
		t.Errorf("after 15 minutes: %q", got)
	}
}

// The browser forgets a visitor who does nothing for some minutes, and no host of another
// deployment gets to know where they were.
func TestStay_CookieIsBounded(t *testing.T) {
	b := newBed(t)
	older, newer := twoBuilds(b)
	b.set(older, newer)
	res, _ := b.get(older.Host)
	var ours *http.Cookie
	for _, c := range res.Cookies() {
		if c.Name == "nullops_stay" {
			ours = c
		}
	}
	if ours == nil || ours.MaxAge != 300 || !ours.HttpOnly || ours.SameSite != http.SameSiteLaxMode ||
		ours.Domain != "cart.env."+domain {
		t.Fatalf("the cookie is %+v", ours)
	}
	sent := http.Header{"Cookie": {"a=1; nullops_stay=" + ours.Value + "; b=2"}}
	res, got := b.ask(http.MethodGet, older.Host, "/", sent)
	if got != "older a=1; b=2" {
		t.Errorf("the application gets %q", got)
	}
	for _, c := range res.Cookies() {
		if c.Name == "nullops_stay" {
			t.Error("it is set again within a minute")
		}
	}
	if res, _ = b.get(newer.Host); strings.Contains(fmt.Sprint(res.Header), "nullops_stay") {
		t.Error("what is prepared remembers its visitors under its own name")
	}
	older.KnownAs = ""
	b.set(older)
	if res, _ = b.get(older.Host); strings.Contains(fmt.Sprint(res.Header), "nullops_stay") {
		t.Error("a deployment without updates remembers its visitors")
	}
	// What the browser says is not believed further than its own deployments.
	b.set(switched(older, newer, time.Now().Add(time.Hour))...)
	for _, value := range []string{"id-other.1", "id-next--cart.1", "x", "", "id-cart", "id-cart.x"} {
		_, got := b.ask(http.MethodGet, older.Host, "/",
			http.Header{"Cookie": {"nullops_stay=" + value}})
		if !strings.HasPrefix(got, "newer") {
			t.Errorf("%q leads to %q", value, got)
		}
	}
}

// Nobody stays on a deployment that does not answer any more.
func TestStay_EndsWithTheOlderDeployment(t *testing.T) {
	b := newBed(t)
	older, newer := twoBuilds(b)
	b.set(older, newer)
	early := b.browser()
	early.open(older.Host)
	routes := switched(older, newer, time.Now().Add(time.Hour))
	b.set(routes...)
	if got := early.open(older.Host); !strings.HasPrefix(got, "older") {
		t.Fatalf("after the switch: %q", got)
	}
	routes[0].State = ingress.StateRemoving
	b.set(routes...)
	if got := early.open(older.Host); !strings.HasPrefix(got, "newer") {
		t.Errorf("while the older one is removed: %q", got)
	}
	b.set(routes[1])
	if got := early.open(older.Host); !strings.HasPrefix(got, "newer") {
		t.Errorf("after it is gone: %q", got)
	}
}

// A pass for one build opens the other at the same host, for requests that run and for new ones,
// but no other deployment.
func TestStay_PassesGoOn(t *testing.T) {
	book := newPassbook()
	b := newBed(t, func(c *ingress.Config) { c.Gate, c.Home = book, "http://ui.example" })
	older, newer := twoBuilds(b)
	b.zone(ingress.GateGuests, older, newer)
	book.give("for-older", ingress.PassScope{ID: "1", Deployment: older.DeploymentID})
	book.give("for-other", ingress.PassScope{ID: "2", Deployment: "id-other"})
	pass := func(secret, more string) int {
		res, _ := b.send("GET", older.Host, "/", "Cookie", "nullops_pass="+secret+more)
		return res.StatusCode
	}
	if got := pass("for-older", ""); got != http.StatusOK {
		t.Fatalf("before the switch: %d", got)
	}
	b.zone(ingress.GateGuests, switched(older, newer, time.Now().Add(time.Hour))...)
	stays := "; nullops_stay=" + older.DeploymentID + ".1"
	for _, more := range []string{"", stays} {
		if got := pass("for-older", more); got != http.StatusOK {
			t.Errorf("with a pass for the older one and %q: %d", more, got)
		}
		if got := pass("for-other", more); got == http.StatusOK {
			t.Errorf("with a pass for another deployment and %q: %d", more, got)
		}
	}
	// The control plane moves the passes with the host.
	book.give("for-older", ingress.PassScope{ID: "1", Deployment: newer.DeploymentID})
	if err := b.proxy.RecheckPasses(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, more := range []string{"", stays} {
		if got := pass("for-older", more); got != http.StatusOK {
			t.Errorf("with a pass that was moved and %q: %d", more, got)
		}
	}
	if res, _ := b.send("GET", "web.was--cart.env."+domain, "/", "Cookie",
		"nullops_pass=for-older"); res.StatusCode == http.StatusOK {
		t.Error("a pass of the newer one opens the older one at its own name")
	}
}
