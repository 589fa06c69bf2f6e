package ingress

import (
	"bytes"
	"crypto/tls"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
)

// A detail is followed by another sentence, so it ends with one full stop.
func TestEndSentence(t *testing.T) {
	for detail, want := range map[string]string{"": "", "a": "a. ", "a.": "a. ", "a…": "a… "} {
		if got := endSentence(detail); got != want {
			t.Errorf("%q becomes %q", detail, got)
		}
	}
}

// What is not forwarded is told apart, for people and for programs.
func TestRefusalPage_SaysWhy(t *testing.T) {
	for status, want := range map[int][2]string{
		http.StatusRequestHeaderFieldsTooLarge: {"headers-too-large", "cookies"},
		http.StatusRequestTimeout:              {"request-timeout", "did not come whole"},
		http.StatusMethodNotAllowed:            {"method-not-allowed", "method is not passed on"},
		http.StatusBadRequest:                  {"bad-request", "cannot be passed on"},
	} {
		p := (&pages{}).refusalPage(status)
		if p.Kind != want[0] || !strings.Contains(p.Title, want[1]) || p.Lead == "" ||
			p.Status != status || p.Again != (want[0] == "headers-too-large") {
			t.Errorf("%d: %+v", status, p)
		}
	}
}

// The log says how many certificates there are.
func TestCertificates_Count(t *testing.T) {
	c := &Certificates{}
	if got := c.Count(); got != "none" {
		t.Errorf("without any it says %q", got)
	}
	c.current.Store(&certificates{named: map[string]*tls.Certificate{"a": nil, "b": nil}})
	if got := c.Count(); got != "2 names, authority false" {
		t.Errorf("it says %q", got)
	}
}

// Every letter, digit and dash of a host is one, and what is beside them in ASCII is not.
func TestCheckLabels_KnowsItsLetters(t *testing.T) {
	for host, want := range map[string][2]bool{
		"azAZ09": {false, true}, "az-09": {true, true}, "A": {false, true}, "Z": {false, true},
		"a`": {}, "a{": {}, "a@": {}, "a[": {}, "a/": {}, "a:": {}, "": {}, "-a": {}, "a-": {},
		strings.Repeat("a", maxLabel): {true, true}, strings.Repeat("a", maxLabel+1): {},
		strings.Repeat("a.", maxHost/2) + "a": {true, true}, strings.Repeat("aa.", 84) + "aa": {},
	} {
		if lower, ok := checkLabels(host); [2]bool{lower, ok} != want {
			t.Errorf("%q: lower %v, valid %v", host, lower, ok)
		}
	}
}

// The last port is one, and so is the first.
func TestRoute_TakesEveryPort(t *testing.T) {
	for port, valid := range map[int]bool{0: false, 1: true, 65535: true, 65536: false} {
		r := Route{State: StateReady, DeploymentID: "d", Port: port, Target: "t"}
		if err := r.validate(); (err == nil) != valid {
			t.Errorf("port %d: %v", port, err)
		}
	}
	for length, valid := range map[int]bool{0: false, 1: true, 512: true, 513: false} {
		r := Route{State: StateReady, DeploymentID: "d", Port: 1, Target: strings.Repeat("t", length)}
		if err := r.validate(); (err == nil) != valid {
			t.Errorf("a target of %d bytes: %v", length, err)
		}
	}
}

// A flood of connections is told once, not once for each.
func TestLimits_TellOfAFloodOnce(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	l := NewLimits(4, slog.New(slog.NewTextHandler(&log, nil)))
	from := netip.MustParsePrefix("192.0.2.1/32")
	taken := 0
	for range 10 {
		if l.tryAcquire(from) {
			taken++
		}
	}
	if taken != 3 || strings.Count(log.String(), "turned away") != 1 ||
		!strings.Contains(log.String(), "open=3") || !strings.Contains(log.String(), "open_from=3") {
		t.Errorf("%d were taken, and it logged\n%s", taken, log.String())
	}
}

// A page load is told from a request of a script or program by what browsers send.
func TestIsNavigation(t *testing.T) {
	for name, c := range map[string]struct {
		method string
		header [2]string
		want   bool
	}{
		"a page":          {"GET", [2]string{"Accept", "text/html,*/*"}, true},
		"its head":        {"HEAD", [2]string{"Accept", "text/html"}, true},
		"a form":          {"POST", [2]string{"Accept", "text/html"}, false},
		"a script's":      {"GET", [2]string{"Accept", "application/json"}, false},
		"a new browser's": {"GET", [2]string{"Sec-Fetch-Mode", "navigate"}, true},
		"fetch":           {"GET", [2]string{"Sec-Fetch-Mode", "cors"}, false},
		"nothing said":    {"GET", [2]string{"X", "y"}, false},
	} {
		r := httptest.NewRequest(c.method, "/", nil)
		r.Header.Set(c.header[0], c.header[1])
		if isNavigation(r) != c.want {
			t.Errorf("%s: %v", name, !c.want)
		}
	}
	r := httptest.NewRequest(http.MethodGet, "/", nil)
	r.Header.Set("Accept", "text/html")
	r.Header.Set("Connection", "Upgrade")
	r.Header.Set("Upgrade", "websocket")
	if isNavigation(r) {
		t.Error("a WebSocket is a page")
	}
}

// A route's host is kept as requests are looked up: lower case, without port or dot at its end.
func TestNewTable_KeepsCanonicalHosts(t *testing.T) {
	table := NewTable(1, []Route{{Host: "WEB.Cart.Example.", State: StateApplying}})
	r, ok := table.Match("web.cart.example")
	if !ok || r.Host != "web.cart.example" {
		t.Errorf("%+v, %v", r, ok)
	}
}

// What is not used any more is forgotten after a minute, so that the map does not grow.
func TestVisitReports_ForgetWhatIsUnused(t *testing.T) {
	var told []string
	v := visitReports{tell: func(id string) { told = append(told, id) }}
	now := time.Unix(1e9, 0)
	for _, id := range []string{"used", "gone", "young"} {
		v.recordVisit(id, v.stampOf(id), now)
	}
	v.stampOf("young").at.Store(now.Add(time.Second).UnixNano())
	v.recordVisit("used", v.stampOf("used"), now.Add(visitEvery-1))
	v.forgetUnused(map[string]bool{"used": true}, now.Add(visitEvery))
	var left []string
	v.last.Range(func(id, _ any) bool { left = append(left, id.(string)); return true })
	slices.Sort(left)
	if !slices.Equal(left, []string{"used", "young"}) || len(told) != 3 {
		t.Errorf("%v are left, told were %v", left, told)
	}
	v.recordVisit("used", v.stampOf("used"), now.Add(visitEvery))
	if len(told) != 4 {
		t.Errorf("a visit a minute later is not told: %v", told)
	}
}

// Our pass is taken out of a request, and everything else stays as it is.
func TestStripPass_LeavesTheRest(t *testing.T) {
	for cookie, want := range map[string]string{
		"a=b": "a=b", "a=b; nullops_pass=x": "a=b", "__Host-nullops_pass=x;a=b": "a=b",
		"a=nullops_pass": "a=nullops_pass", "nullops_pass=x": "",
	} {
		h := http.Header{"Cookie": {cookie}, "Accept": {"x"}}
		h.Set(passHeader, "nogr_x")
		stripPass(h)
		_, has := h["Cookie"]
		if h.Get("Cookie") != want || has != (want != "") || h.Get(passHeader) != "" || len(h) > 2 {
			t.Errorf("%q becomes %v", cookie, h)
		}
	}
}
