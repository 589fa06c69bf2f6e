package ingress_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nullops/nullops/ingress"
)

func TestCanonical(t *testing.T) {
	const host = "web.cart.qa.example"
	for in, want := range map[string]string{
		host: host, host + ".": host, host + ":80": host, host + ".:65535": host,
		strings.ToUpper(host): host, "localhost": "localhost", "10.0.0.1:1": "10.0.0.1",
		"xn--bcher-kva.example": "xn--bcher-kva.example", "a--b--c.example": "a--b--c.example",
		strings.Repeat("a", 63) + ".example": strings.Repeat("a", 63) + ".example",
	} {
		if got, ok := ingress.Canonical(in); !ok || got != want {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
	for _, in := range []string{
		"", ".", "..", ":80", ".:80", host + "..", "." + host, "web..qa", host + ":", host + ":0",
		host + ":65536", host + ":100000", host + ":8o", host + ":80:80", host + ":+80", host + ": 80",
		"user@" + host, "user:pw@" + host, "[::1]", "[::1]:80", "::1", "web_1.qa.example",
		"_web.qa.example", "-web.qa.example", "web-.qa.example", "bücher.example", "web.qa.example ",
		" " + host, "web .qa", host + "/", host + "?", host + "#", host + "\x00", "web%2eqa.example",
		host + "\t", host + ",other.example", "*.qa.example", strings.Repeat("a", 64) + ".example",
		strings.Repeat("abcdefg.", 32) + "example", "ｗｅｂ.cart.qa.example", "web。cart.qa.example",
		"\u212a.example", "\u017f.example",
	} {
		if got, ok := ingress.Canonical(in); ok {
			t.Errorf("%q: %q, want it refused", in, got)
		}
	}
}

// FuzzCanonical holds the canonical form to what routing relies on: it is
// plain, it is final, and reading it again changes nothing.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"web.cart.qa.example", "WEB.QA.:80", "[::1]:80", "a@b", "a_b", "", ".", "xn--a.b", "a:b:c",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		host, ok := ingress.Canonical(in)
		if !ok {
			if host != "" {
				t.Fatalf("%q refused with %q", in, host)
			}
			return
		}
		again, ok := ingress.Canonical(host)
		if !ok || again != host {
			t.Fatalf("%q → %q → %q %v", in, host, again, ok)
		}
		if strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-.") != "" || host == "" {
			t.Fatalf("%q → %q", in, host)
		}
		rest := strings.TrimPrefix(strings.ToLower(in), host)
		if strings.Trim(rest, ".:0123456789") != "" || len(rest) > len(".:65535") {
			t.Fatalf("%q → %q leaves %q", in, host, rest)
		}
	})
}

// spellHost writes a host in one of the ways clients do, and sometimes in one that
// none should. It says whether it is still that host.
func spellHost(t *rapid.T, host string) (string, bool) {
	b := []byte(host)
	for i := range b {
		if 'a' <= b[i] && b[i] <= 'z' && rapid.Bool().Draw(t, "upper") {
			b[i] -= 'a' - 'A'
		}
	}
	out := string(b)
	if rapid.Bool().Draw(t, "dot") {
		out += "."
	}
	if rapid.Bool().Draw(t, "port") {
		out += fmt.Sprintf(":%d", rapid.IntRange(1, 65535).Draw(t, "number"))
	}
	bad := []string{"", "", "", "%s..", "%s@", "a@%s", "[%s]", "_%s", "%s:1:1", " %s", "%s\x00", ".%s"}
	if f := rapid.SampledFrom(bad).Draw(t, "bad"); f != "" {
		return fmt.Sprintf(f, out), false
	}
	return out, true
}

func makeRoutes(n int) []ingress.Route {
	out := make([]ingress.Route, 0, n)
	for i := range n {
		r := newRoute(fmt.Sprintf("d%d", i/2), "web")
		if i%2 == 1 {
			r.Host = "web--" + r.Deployment + "--env." + domain
		}
		out = append(out, r)
	}
	return out
}

// All spellings of a host lead to its own route or to none, never to another,
// however many routes there are (T32).
//
// threat: T32
func TestTable_EverySpellingIsTheSameRouteOrUnknown(t *testing.T) {
	for _, n := range []int{1, 100, 101, 10_000} {
		all := makeRoutes(n)
		table := ingress.NewTable(7, all)
		if table.Len() != n || len(table.RejectedRoutes()) != 0 {
			t.Fatalf("%d routes: %d in the table, rejected %v", n, table.Len(), table.RejectedRoutes())
		}
		t.Run(fmt.Sprint(n), rapid.MakeCheck(func(t *rapid.T) {
			want := rapid.SampledFrom(all).Draw(t, "route")
			host, same := spellHost(t, want.Host)
			got, ok := table.Match(host)
			if ok && got.Host != want.Host {
				t.Fatalf("%q leads to %q, not %q", host, got.Host, want.Host)
			}
			if ok != same {
				t.Fatalf("%q: found %v; a spelling of %q: %v", host, ok, want.Host, same)
			}
			if got, ok := table.Match("x" + want.Host); ok {
				t.Fatalf("a stranger leads to %q", got.Host)
			}
		}))
	}
}

// poisonRoute spoils a route in one of the ways a store could.
func poisonRoute(r ingress.Route, how int) ingress.Route {
	switch how {
	case 0:
		r.Host = "web_1." + domain
	case 1:
		r.Host = ""
	case 2:
		r.Host = strings.Repeat("a", 64) + "." + domain
	case 3:
		r.State = "happy"
	case 4:
		r.Port = 0
	case 5:
		r.Target = "id/web/80\r\nHost: other"
	case 6:
		r.Target = strings.Repeat("x", 5000)
	case 7:
		r.DeploymentID = ""
	case 8:
		r.Host = "*." + domain
	case 9:
		r.Port = 70000
	default:
		r.Host = "web.cart.env." + domain + "\r\nX: y"
	}
	return r
}

const poisons = 11

// One bad route is left out and named; the others work (F59).
//
// fault: F59
func TestNewTable_BadRoutesHarmThemselvesAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := makeRoutes(20)
		bad := map[int]bool{}
		for range rapid.IntRange(1, 5).Draw(t, "bad") {
			i := rapid.IntRange(0, len(all)-1).Draw(t, "at")
			if !bad[i] {
				all[i] = poisonRoute(all[i], rapid.IntRange(0, poisons-1).Draw(t, "how"))
				bad[i] = true
			}
		}
		table := ingress.NewTable(1, all)
		if len(table.RejectedRoutes()) != len(bad) || table.Len() != len(all)-len(bad) {
			t.Fatalf("rejected %d and kept %d, want %d and %d", len(table.RejectedRoutes()), table.Len(),
				len(bad), len(all)-len(bad))
		}
		for i, r := range all {
			if got, ok := table.Match(r.Host); !bad[i] && (!ok || got.Target != r.Target) {
				t.Fatalf("%s is lost with the bad ones", r.Host)
			}
		}
		for _, r := range table.RejectedRoutes() {
			if r.Reason == nil || len(r.Reason.Error()) > 300 {
				t.Fatalf("reason = %v", r.Reason)
			}
		}
	})
}

func TestNewTable_SameHostTwice(t *testing.T) {
	at := func(id string, s ingress.State, hour int) ingress.Route {
		r := newRoute("cart", "web")
		r.DeploymentID, r.State = id, s
		r.Since = time.Date(2026, 11, 21, hour, 0, 0, 0, time.UTC)
		return r
	}
	for name, c := range map[string]struct {
		routes   []ingress.Route
		want     string
		rejected int
	}{
		"removed, then made anew": {
			[]ingress.Route{at("old", ingress.StateRemoved, 9), at("new", ingress.StateReady, 10)},
			"new", 0,
		},
		"made anew, the tombstone listed later": {
			[]ingress.Route{at("new", ingress.StateApplying, 10), at("old", ingress.StateRemoved, 9)},
			"new", 0,
		},
		"two tombstones: the later": {
			[]ingress.Route{at("b", ingress.StateCanceled, 11), at("a", ingress.StateRemoved, 9)},
			"b", 0,
		},
		"two living ones: the first": {
			[]ingress.Route{at("a", ingress.StateReady, 9), at("b", ingress.StateReady, 10)},
			"a", 1,
		},
	} {
		table := ingress.NewTable(1, c.routes)
		got, _ := table.Match(c.routes[0].Host)
		if got.DeploymentID != c.want || len(table.RejectedRoutes()) != c.rejected {
			t.Errorf("%s: %s, rejected %v", name, got.DeploymentID, table.RejectedRoutes())
		}
	}
}

func TestTable_RoutesMakeTheSameTable(t *testing.T) {
	a := ingress.NewTable(3, makeRoutes(50))
	b := ingress.NewTable(a.Version(), a.Routes())
	for _, r := range a.Routes() {
		if got, ok := b.Match(r.Host); !ok || !reflect.DeepEqual(got, r) {
			t.Fatalf("%s: %v %v", r.Host, got, ok)
		}
	}
}

func BenchmarkTable_Match(b *testing.B) {
	table := ingress.NewTable(1, makeRoutes(10_000))
	b.ReportAllocs()
	for b.Loop() {
		if _, ok := table.Match("web.d4999.env." + domain + ":8080"); !ok {
			b.Fatal("unknown")
		}
	}
}

func BenchmarkNewTable_10k(b *testing.B) {
	all := makeRoutes(10_000)
	b.ReportAllocs()
	for b.Loop() {
		ingress.NewTable(1, all)
	}
}
