package api_test

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/catalog"
)

// The contract is served as it was written, and a page shows each operation and
// each form of it without asking another host for anything.
func TestReference(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	contract := w.send("GET", "/api/openapi.json", http.Header{}, nil)
	var spec struct {
		OpenAPI string                                `json:"openapi"`
		Paths   map[string]map[string]json.RawMessage `json:"paths"`
	}
	if err := json.Unmarshal(contract.body, &spec); err != nil || spec.OpenAPI != "3.1.0" {
		t.Fatalf("%d %v: %q", contract.status, err, spec.OpenAPI)
	}
	page := w.send("GET", "/api/docs", http.Header{}, nil)
	if page.status != http.StatusOK ||
		!strings.HasPrefix(page.header.Get("Content-Type"), "text/html") {
		t.Fatalf("%d %s", page.status, page.header)
	}
	text := string(page.body)
	for id, o := range readOperations(t) {
		if !strings.Contains(text, `<section id="`+id+`">`) {
			t.Errorf("the page does not show %s", id)
		}
		if len(spec.Paths) > 0 && !strings.Contains(string(contract.body), `"`+id+`"`) {
			t.Errorf("the contract lacks %s of %s", id, o.path)
		}
	}
	loads := regexp.MustCompile(`(?i)<script|style=|<style|src=|(?:href)="(?:https?:)?//`)
	if found := loads.FindString(text); found != "" {
		t.Errorf("the page holds %q, which the policy refuses", found)
	}
	if page.header.Get("Content-Security-Policy") == "" {
		t.Error("the page has no policy")
	}
	links := regexp.MustCompile(`href="#([^"]+)"`)
	for _, m := range links.FindAllStringSubmatch(text, -1) {
		if !strings.Contains(text, `id="`+m[1]+`"`) {
			t.Errorf("the link #%s leads nowhere", m[1])
		}
	}
	style := w.send("GET", "/api/docs.css", http.Header{}, nil)
	if !strings.HasPrefix(style.header.Get("Content-Type"), "text/css") {
		t.Errorf("style: %d %s", style.status, style.header.Get("Content-Type"))
	}
	if a := w.call("POST", "/api/docs", "", object{}); a.status != http.StatusNotFound {
		t.Errorf("a change of the page: %d", a.status)
	}
}

// A refusal names its code, its field, the remedy and the request, and one that
// may end by itself says when to try again.
func TestProblem_Form(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	token := w.token("root")
	bad := w.call("PUT", "/api/v1/environments/spare", token, object{"domain": "not a domain"})
	if bad.status != http.StatusBadRequest || bad.field("code") == "" ||
		bad.field("field") != "domain" ||
		bad.field("remedy") == "" || bad.field("request_id") != bad.header.Get("X-Request-Id") {
		t.Errorf("%d %s", bad.status, bad.body)
	}
	if bad.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("type %s", bad.header.Get("Content-Type"))
	}
	var last answer
	for range 40 {
		last = w.signIn("root", "a wrong password")
	}
	if last.status != http.StatusTooManyRequests || last.header.Get("Retry-After") == "" {
		t.Errorf("too many: %d, Retry-After %q", last.status, last.header.Get("Retry-After"))
	}
	down := newWorld(t, func(c *api.Config) { c.HostKey = nil })
	down.people()
	a := down.call("POST", "/api/v1/ssh-host-key", down.token("root"),
		object{"host": "127.0.0.1", "port": 2})
	if a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") == "" {
		t.Errorf("unavailable: %d %s, Retry-After %q", a.status, a.body,
			a.header.Get("Retry-After"))
	}
}

// A listener who wants one environment hears of no other.
func TestStreamEvents_Filters(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expectSaved(w.catalog.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "other",
		Domain: "other.localhost"}))
	token := w.token("root")
	here := w.open("/api/v1/events?environment=qa&project=shop", token, "")
	boss := accounts.UserPut{Name: "boss", Role: controlplane.RoleAdmin, DisplayName: "Boss",
		Active: true, Password: controlplane.NewPlain(password)}
	w.expectSaved(w.accounts.PutUser(t.Context(), system, boss))
	none := w.open("/api/v1/events?environment=other", w.token("boss"), "")
	here.until(isNamed("reset"))
	none.until(isNamed("reset"))
	d := w.deploy("first")
	if got := decodeEvent[api.Deployment](t,
		here.until(isNamed("deployment"))); got.Id != string(d.ID) {
		t.Errorf("heard of %s", got.Name)
	}
	// Anyone who ends the other stream proves that nothing came before its end.
	boss.Active = false
	w.expectSaved(w.accounts.PutUser(t.Context(), system, boss))
	for {
		e, ok := none.next()
		if !ok {
			break
		}
		if e.name == "deployment" {
			t.Errorf("the other environment's listener heard of %s", e.data)
		}
	}
}
