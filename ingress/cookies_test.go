package ingress_test

import (
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/ingress"
)

// A deployment may share cookies among its own services, and with nobody
// else's (T28).
//
// threat: T28
func TestProxy_NarrowsCookieDomains(t *testing.T) {
	b := newBed(t)
	const own = "cart.env." + domain
	var cookie string
	r := b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Add("Set-Cookie", cookie)
		w.Header().Add("Set-Cookie", "plain=1; Path=/")
	})
	flat := r
	flat.Host = "web--cart--env." + domain
	b.set(r, flat)
	for _, c := range []struct{ sent, dotted, flat string }{
		{"a=1; Domain=" + own + "; Path=/", "a=1; Domain=" + own + "; Path=/", "a=1; Path=/"},
		{"a=1; domain=." + own, "a=1; domain=." + own, "a=1"},
		{"a=1; DOMAIN= " + strings.ToUpper(own), "a=1; DOMAIN= " + strings.ToUpper(own), "a=1"},
		{"a=1; Domain=" + r.Host, "a=1; Domain=" + r.Host, "a=1"},
		{"a=1; Domain=env." + domain + "; Secure", "a=1; Secure", "a=1; Secure"},
		{"a=1; Secure; Domain=." + domain, "a=1; Secure", "a=1; Secure"},
		{"a=1;Domain=lab.example;HttpOnly", "a=1;HttpOnly", "a=1;HttpOnly"},
		{"a=1; Domain=" + own + "; Domain=" + domain, "a=1; Domain=" + own, "a=1"},
		{"a=1; Domain", "a=1", "a=1"},
		{"a=1; Domain=search.env." + domain, "a=1", "a=1"},
		{"a=1; Domain=\"" + domain + "\"", "a=1", "a=1"},
		{"a=1; Domain=" + domain + ".", "a=1", "a=1"},
		{"a=domain=" + domain, "a=domain=" + domain, "a=domain=" + domain},
	} {
		cookie = c.sent
		for host, want := range map[string]string{r.Host: c.dotted, flat.Host: c.flat} {
			res, _ := b.get(host)
			got := res.Header["Set-Cookie"]
			if len(got) != 2 || got[0] != want || got[1] != "plain=1; Path=/" {
				t.Errorf("%s sets %q: %q, want %q", host, c.sent, got, want)
			}
		}
	}
}

func inEnvironment(gate ingress.Gate, routes ...ingress.Route) *ingress.Table {
	return ingress.NewTable(1, routes).WithZones([]ingress.Zone{
		{Suffix: "env." + domain, Environment: "env", Gate: gate}})
}

// Too many cookies would lock a browser out of a host; the page lets it in
// again (T29).
//
// threat: T29
func TestProxy_CookieBombIsDefused(t *testing.T) {
	b := newBed(t)
	asked := false
	r := b.up("cart", "web", func(http.ResponseWriter, *http.Request) { asked = true })
	b.proxy.SetTable(inEnvironment(ingress.GateOpen, r))
	var bomb []string
	for _, name := range []string{"a", "b", "c"} {
		bomb = append(bomb, name+"="+strings.Repeat("x", 30<<10))
	}
	res, body := b.ask(http.MethodGet, r.Host, "/", http.Header{"Cookie": {strings.Join(bomb, "; ")}})
	if res.StatusCode != http.StatusRequestHeaderFieldsTooLarge || asked ||
		!strings.Contains(body, "too many cookies") {
		t.Fatalf("%d, service asked: %v, %s", res.StatusCode, asked, body)
	}
	all := strings.Join(res.Header["Set-Cookie"], "\n") + "\n"
	// Both would reach cookies that are not of this environment.
	if res.Header["Clear-Site-Data"] != nil || strings.Contains(all, "Domain="+domain) {
		t.Errorf("header = %v", res.Header)
	}
	for _, name := range []string{"a", "b", "c"} {
		for _, domain := range []string{"", "; Domain=" + r.Host, "; Domain=cart.env." + domain,
			"; Domain=env." + domain} {
			if want := name + "=; Path=/; Max-Age=0" + domain + "\n"; !strings.Contains(all, want) {
				t.Errorf("%q is not expired: %s", want, all)
			}
		}
	}
}

// The cookies that are expired for a host do not reveal whether it has a service. A flat host's
// parent is the domain of all environments, whose cookies stay.
func TestProxy_CookieBombOfSiblings(t *testing.T) {
	b := newBed(t)
	flat, gated := b.up("cart", "web", sayText("x")), b.up("shop", "web", sayText("x"))
	flat.Host = "web--cart--env." + domain
	b.proxy.SetTable(inEnvironment(ingress.GateMembers, flat, gated))
	for host, domains := range map[string][]string{
		flat.Host:                       {flat.Host},
		gated.Host:                      {gated.Host, "env." + domain},
		"web.ghost.env." + domain:       {"web.ghost.env." + domain, "env." + domain},
		"web.ghost.elsewhere." + domain: {"web.ghost.elsewhere." + domain},
	} {
		res, _ := b.ask(http.MethodGet, host, "/",
			http.Header{"Cookie": {"a=" + strings.Repeat("x", 90<<10)}})
		want := []string{"a=; Path=/; Max-Age=0"}
		for _, d := range domains {
			want = append(want, want[0]+"; Domain="+d)
		}
		if got := res.Header["Set-Cookie"]; !slices.Equal(got, want) ||
			res.Header["Clear-Site-Data"] != nil {
			t.Errorf("%s: %v", host, res.Header)
		}
	}
}

func TestProxy_TellsVisitsOnceAMinute(t *testing.T) {
	var mu sync.Mutex
	now := fixedTime()
	told := map[string]int{}
	b := newBed(t, func(c *ingress.Config) {
		c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		c.OnVisit = func(id string) { mu.Lock(); defer mu.Unlock(); told[id]++ }
	})
	web, api := b.up("cart", "web", sayText("web")), b.up("cart", "api", sayText("api"))
	waits := newRoute("waits", "web")
	waits.State = ingress.StateApplying
	other := b.up("other", "web", sayText("other"))
	b.set(web, api, waits, other)
	visit := func(want int) {
		t.Helper()
		var all sync.WaitGroup
		for range 10 {
			all.Go(func() { b.get(web.Host) })
			all.Go(func() { b.get(api.Host) })
			all.Go(func() { b.get(waits.Host) })
		}
		all.Wait()
		mu.Lock()
		defer mu.Unlock()
		if told["id-cart"] != want || told["id-waits"] != 0 || told["id-other"] != 0 {
			t.Errorf("told %v, want %d of id-cart alone", told, want)
		}
	}
	later := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); now = now.Add(d) }
	visit(1)
	later(59 * time.Second)
	b.set(web, api, waits, other) // a swap forgets nothing
	visit(1)
	later(time.Second)
	visit(2)
}

func TestProxy_TellsAnswers(t *testing.T) {
	var mu sync.Mutex
	told := map[int]int{}
	served, named := 0, map[string]int{}
	b := newBed(t, func(c *ingress.Config) {
		c.OnAnswer = func(environment string, status int) {
			mu.Lock()
			defer mu.Unlock()
			told[status]++
			named[environment]++
		}
		c.OnServed = func(environment string, took time.Duration) {
			mu.Lock()
			defer mu.Unlock()
			if served++; environment == "" || took < 0 {
				t.Errorf("a request to %q took %s", environment, took)
			}
		}
	})
	r := b.up("cart", "web", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) })
	b.set(r, newRoute("dead", "web"))
	b.get(r.Host)
	b.get(r.Host)
	b.get("no." + domain)
	b.get("web.dead.env." + domain)
	mu.Lock()
	defer mu.Unlock()
	if told[418] != 2 || told[404] != 1 || told[502] != 1 || len(told) != 3 {
		t.Errorf("told %v", told)
	}
	if named[""] != 1 || served != 3 {
		t.Errorf("%d requests were served, answers by environment are %v", served, named)
	}
}
