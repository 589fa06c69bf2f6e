package api_test

import (
	"context"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/postgres"
)

// signIn makes a session, through the door, as a browser would.
func (w *world) signIn(user, secret string) answer {
	w.t.Helper()
	return w.send("POST", "/api/v1/sessions", http.Header{
		"Content-Type": {"application/json"}, "Origin": {"http://nullops.test"},
	}, strings.NewReader(`{"user":"`+user+`","password":"`+secret+`"}`))
}

func useHTTPS(c *api.Config) { c.URL = &url.URL{Scheme: "https", Host: "nullops.test"} }

// The right password signs in, the wrong one does not, and neither does a name
// that nobody has: both are answered alike.
func TestSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	good := w.signIn("root", password)
	// promise: N-005
	if good.status != http.StatusCreated || good.field("name") != "root" {
		t.Errorf("right password: %d %s", good.status, good.body)
	}
	bad, unknown := w.signIn("root", "wrong password here"), w.signIn("ghost", password)
	// promise: N-005
	if bad.status != http.StatusUnauthorized || bad.field("code") != "sign_in_refused" {
		t.Errorf("wrong password: %d %s", bad.status, bad.body)
	}
	if unknown.status != bad.status || unknown.field("detail") != bad.field("detail") {
		t.Errorf("unknown name is told apart: %s, %s", unknown.body, bad.body)
	}
	var stored string
	w.expectSaved(nil, w.store.Read(t.Context(), func(tx *postgres.Tx) error {
		u, err := tx.Users().ByName(t.Context(), "root")
		stored = u.PasswordHash
		return err
	}))
	// promise: N-005
	if !strings.HasPrefix(stored, "$argon2id$") || containsValue(stored, password) {
		t.Errorf("the password is stored as %q", stored)
	}
	if len(bad.cookies) != 0 {
		t.Errorf("a refused sign-in sets cookies: %v", bad.cookies)
	}
}

// The cookie cannot be read by scripts, is not sent across sites, belongs to
// this host alone, and with https never travels without.
func TestSignIn_Cookie(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*api.Config){
		"nullops_session":        func(*api.Config) {},
		"__Host-nullops_session": useHTTPS,
	} {
		w := newWorld(t, change)
		w.people()
		a := w.send("POST", "/api/v1/sessions", http.Header{"Content-Type": {"application/json"}},
			strings.NewReader(`{"user":"root","password":"`+password+`"}`))
		if len(a.cookies) != 1 {
			t.Fatalf("%s: %d cookies: %s", name, len(a.cookies), a.body)
		}
		c := a.cookies[0]
		secure := strings.HasPrefix(name, "__Host-")
		if c.Name != name || !c.HttpOnly || c.Secure != secure || c.Path != "/" || c.Domain != "" ||
			c.SameSite != http.SameSiteLaxMode || len(c.Value) < 43 {
			t.Errorf("%s: cookie is %s", name, c.Raw)
		}
		if hsts := a.header.Get("Strict-Transport-Security"); (hsts != "") != secure {
			t.Errorf("%s: Strict-Transport-Security is %q", name, hsts)
		}
	}
}

// With https, browsers never use plain HTTP again, for no host below ours either. Below a domain
// that somebody owns as a whole are servers that are not ours.
func TestHeaders_StrictTransport(t *testing.T) {
	t.Parallel()
	for host, want := range map[string]string{
		"nullops.example.org": "max-age=31536000; includeSubDomains",
		"example.org":         "max-age=31536000",
	} {
		w := newWorld(t, func(c *api.Config) { c.URL = &url.URL{Scheme: "https", Host: host} })
		for _, path := range []string{"/", "/api/v1/me", "/nowhere", "/healthz"} {
			got := w.call("GET", path, "", nil).header.Get("Strict-Transport-Security")
			if got != want {
				t.Errorf("%s%s: %q", host, path, got)
			}
		}
	}
}

// An id planted before signing in is not the session afterwards, and signing
// out ends the session on our side too.
//
// threat: T12
func TestSession_Fixation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	planted := strings.Repeat("A", 43)
	in := w.send("POST", "/api/v1/sessions", http.Header{
		"Content-Type": {"application/json"}, "Origin": {"http://nullops.test"},
		"Cookie": {"nullops_session=" + planted},
	}, strings.NewReader(`{"user":"root","password":"`+password+`"}`))
	if in.status != http.StatusCreated || in.cookies[0].Value == planted {
		t.Fatalf("sign-in with a planted cookie: %d, %v", in.status, in.cookies)
	}
	me := func(value string) int {
		return w.send("GET", "/api/v1/me", http.Header{"Cookie": {"nullops_session=" + value}},
			nil).status
	}
	if got := me(planted); got != http.StatusUnauthorized {
		t.Errorf("the planted id opens: %d", got)
	}
	own := in.cookies[0].Value
	if got := me(own); got != http.StatusOK {
		t.Errorf("the new id does not open: %d", got)
	}
	// A sibling host can add a cookie of the same name: then nobody is signed in.
	if got := me(own + "; nullops_session=" + planted); got != http.StatusUnauthorized {
		t.Errorf("two cookies: %d", got)
	}
	out := w.send("DELETE", "/api/v1/sessions/current", http.Header{
		"Cookie": {"nullops_session=" + own}, "Origin": {"http://nullops.test"}}, nil)
	if out.status != http.StatusNoContent || out.cookies[0].MaxAge >= 0 {
		t.Errorf("sign out: %d %v", out.status, out.cookies)
	}
	if got := me(own); got != http.StatusUnauthorized {
		t.Errorf("the id opens after signing out: %d", got)
	}
}

// What another site's page makes a browser send is refused, on every operation
// that changes something; what our own page sends is not.
//
// threat: T13
func TestCrossSite(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	cookie := w.signIn("root", password).cookies[0]
	foreign := map[string]http.Header{
		"cross-site":        {"Sec-Fetch-Site": {"cross-site"}, "Origin": {"https://evil.test"}},
		"same-site sibling": {"Sec-Fetch-Site": {"same-site"}, "Origin": {"http://a.nullops.test"}},
		"old browser":       {"Origin": {"http://evil.test"}},
		"suffix":            {"Origin": {"http://nullops.test.evil.test"}},
		"capitals":          {"Origin": {"http://NULLOPS.test"}},
		"other port":        {"Origin": {"http://nullops.test:81"}},
		"null":              {"Origin": {"null"}},
		"nothing":           {},
	}
	all := readOperations(t)
	for _, id := range operationNames(all) {
		o := all[id]
		for name, header := range foreign {
			if o.method == "GET" && name == "nothing" {
				continue
			}
			h := header.Clone()
			h.Set("Cookie", cookie.Name+"="+cookie.Value)
			h.Set("Host", "nullops.test")
			h.Set("Content-Type", "application/json")
			a := w.send(o.method, fillPath(o.visit.path, d), h, strings.NewReader("{}"))
			if a.status != http.StatusForbidden || a.field("code") != "cross_origin" {
				t.Errorf("%s, %s: %d %s", id, name, a.status, a.body)
			}
		}
	}
	for name, header := range map[string]http.Header{
		"own page":    {"Sec-Fetch-Site": {"same-origin"}, "Origin": {"http://nullops.test"}},
		"old browser": {"Origin": {"http://nullops.test"}},
		"typed in":    {"Sec-Fetch-Site": {"none"}},
	} {
		header.Set("Cookie", cookie.Name+"="+cookie.Value)
		header.Set("Host", "nullops.test")
		header.Set("Content-Type", "application/json")
		a := w.send("PUT", "/api/v1/teams/new", header, strings.NewReader("{}"))
		if a.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, a.status, a.body)
		}
	}
}

// Only JSON is taken: a form on a foreign page can send other media types.
func TestBody_MediaType(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	token := w.token("root")
	for _, media := range []string{"", "text/plain", "application/x-www-form-urlencoded",
		"multipart/form-data; boundary=x", "application/json-patch+json"} {
		h := http.Header{"Authorization": {"Bearer " + token}}
		if media != "" {
			h.Set("Content-Type", media)
		}
		a := w.send("PUT", "/api/v1/teams/new", h, strings.NewReader("{}"))
		if a.status != http.StatusUnsupportedMediaType || a.field("code") != "media_type" {
			t.Errorf("%q: %d %s", media, a.status, a.body)
		}
	}
}

// Every body of the contract refuses fields it does not know, by name, at
// every depth, and changes nothing.
//
// threat: T18
func TestBody_UnknownFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	token := w.token("root")
	all := readOperations(t)
	for _, id := range operationNames(all) {
		body, ok := all[id].visit.body.(object)
		if !ok {
			continue
		}
		wrong := object{"surprise": 1}
		maps.Copy(wrong, body)
		a := w.call(all[id].method, fillPath(all[id].visit.path, d), token, wrong)
		// promise: N-117
		if a.status != http.StatusBadRequest || a.field("field") != "surprise" ||
			a.field("code") != "unknown_field" || a.field("remedy") == "" {
			t.Errorf("%s: %d %s", id, a.status, a.body)
		}
	}
	deep := w.call("PUT", "/api/v1/projects/shop/pipeline", token, `{"pipeline":{"steps":[
		{"key":"api","service":{"name":"api","resources":{"cpu":1,"privileged":true}}}]}}`)
	if deep.field("field") != "pipeline.steps.0.service.resources.privileged" {
		t.Errorf("deep: %d %s", deep.status, deep.body)
	}
	w.expectUnchanged(d)
}

// wordsOfSchemas are names of fields, patterns and what the validator calls things.
var wordsOfSchemas = regexp.MustCompile(`[a-z]_[a-z]|\^|regular expression|property|minimum`)

// Bad input is one clear answer that names the field, never the value.
func TestBody_Invalid(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	token := w.token("root")
	for _, c := range []struct {
		name, method, path, body, code, field string
		status                                int
	}{
		{"short password", "PUT", "/api/v1/users/new", `{"role":"user","password":"canary-pw"}`,
			"invalid", "password", 400},
		{"wrong type", "PUT", "/api/v1/projects/p/secrets/A", `{"value":["canary-pw"]}`,
			"invalid", "value", 400},
		{"wrong word", "PUT", "/api/v1/users/new", `{"role":"canary-pw"}`, "invalid", "role", 400},
		{"missing", "POST", "/api/v1/deployments", `{"name":"a","project":"b"}`,
			"missing", "environment", 400},
		{"no DNS label", "POST", "/api/v1/deployments",
			`{"name":"Not_A_Label","project":"b","environment":"c"}`, "invalid", "name", 400},
		{"name in the path", "PUT", "/api/v1/teams/Not_A_Label", `{}`, "invalid", "name", 400},
		{"limit", "GET", "/api/v1/teams?limit=1000", ``, "invalid", "limit", 400},
		{"no number", "GET", "/api/v1/teams?limit=canary-pw", ``, "invalid", "limit", 400},
		{"wrong status", "GET", "/api/v1/deployments?status=canary-pw", ``, "invalid", "status", 400},
		{"cursor", "GET", "/api/v1/deployments?cursor=x", ``, "cursor_invalid", "cursor", 400},
		{"no JSON", "PUT", "/api/v1/teams/new", `{"canary-pw"`, "body_invalid", "", 400},
		{"two documents", "PUT", "/api/v1/teams/new", `{} {}`, "body_invalid", "", 400},
		{"nothing", "PUT", "/api/v1/teams/new", ` `, "body_invalid", "", 400},
		{"a list", "PUT", "/api/v1/teams/new", `["canary-pw"]`, "invalid", "", 400},
		{"too large", "PUT", "/api/v1/teams/new",
			`{"description":"` + strings.Repeat("x", 1<<20) + `"}`, "body_too_large", "", 413},
		{"no id", "GET", "/api/v1/deployments/canary", ``, "not_found", "", 404},
		{"no path", "GET", "/api/v1/canary", ``, "no_such_path", "", 404},
		{"no clean path", "GET", "/api//v1/me", ``, "no_such_path", "", 404},
		{"no method", "PATCH", "/api/v1/teams/new", ``, "method_not_allowed", "", 405},
	} {
		var body any
		if c.body != "" {
			body = c.body
		}
		a := w.call(c.method, c.path, token, body)
		if a.status != c.status || a.field("code") != c.code || a.field("field") != c.field {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
		isProblem(t, c.name, a)
		if strings.Contains(string(a.body), "canary-pw") {
			t.Errorf("%s: the value is in the answer: %s", c.name, a.body)
		}
		said := a.field("detail") + " " + a.field("remedy")
		if wordsOfSchemas.MatchString(said) {
			t.Errorf("%s: that is for authors of schemas: %s", c.name, said)
		}
	}
	if strings.Contains(w.log.String(), "canary-pw") {
		t.Error("a refused value is in the log")
	}
}

// isProblem holds an answer to RFC 9457 and to our additions.
func isProblem(t *testing.T, name string, a answer) {
	t.Helper()
	if a.header.Get("Content-Type") != "application/problem+json" || a.field("type") == "" ||
		a.field("title") == "" || a.field("remedy") == "" || a.field("detail") == "" ||
		a.field("request_id") == "" || a.field("request_id") != a.header.Get("X-Request-Id") {
		t.Errorf("%s: this is no problem: %v %s", name, a.header, a.body)
	}
}

// A refused deletion names what uses the object.
func TestProblem_Users(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	a := w.call("DELETE", "/api/v1/registries/local", w.token("root"), nil)
	if a.status != http.StatusConflict || !strings.Contains(a.field("users"), "api") {
		t.Errorf("%d %s", a.status, a.body)
	}
	isProblem(t, "in use", a)
}

// Being out of room is a conflict that lists each node's reason.
func TestProblem_Placement(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root := w.token("root")
	w.call("POST", "/api/v1/nodes/node-1/disable", root, nil)
	a := w.call("POST", "/api/v1/deployments", root, object{"name": "x", "project": "shop",
		"environment": "qa", "versions": object{"api": "1.0"}})
	if a.status != http.StatusConflict || !strings.Contains(a.field("placement"), "node-1") {
		t.Errorf("%d %s", a.status, a.body)
	}
}

// A second sign-in attempt after many wrong ones gets the time after which to try again.
func TestSignIn_Guessing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	for range 200 {
		a := w.signIn("root", "wrong password here")
		if a.status == http.StatusTooManyRequests {
			if a.header.Get("Retry-After") == "" {
				t.Error("no Retry-After")
			}
			return
		}
	}
	t.Error("200 guesses were all looked at")
}

// Making a person inactive and taking them off a team counts from the next
// request on.
func TestAccess_ChangesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	token := w.token("reader")
	path := "/api/v1/deployments/" + string(d.ID)
	if a := w.call("GET", path, token, nil); a.status != http.StatusOK {
		t.Fatalf("reader: %d", a.status)
	}
	w.expectSaved(w.accounts.PutTeam(t.Context(), system, accounts.TeamPut{Name: "team-reader"}))
	// promise: N-011
	if a := w.call("GET", path, token, nil); a.status != http.StatusNotFound {
		t.Errorf("off the team: %d", a.status)
	}
	w.expectSaved(w.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "reader",
		Role: controlplane.RoleUser, DisplayName: "reader", Active: false}))
	if a := w.call("GET", "/api/v1/me", token, nil); a.status != http.StatusUnauthorized {
		t.Errorf("inactive: %d", a.status)
	}
}

// Every answer tells browsers to trust nothing but ourselves.
func TestHeaders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{"/", "/api/v1/me", "/nowhere", "/assets/app-1a.js", "/healthz"} {
		h := w.call("GET", path, "", nil).header
		policy := h.Get("Content-Security-Policy")
		if !strings.Contains(policy, "default-src 'self'") ||
			!strings.Contains(policy, "frame-ancestors 'none'") ||
			!strings.Contains(policy, "object-src 'none'") ||
			!strings.Contains(policy, "base-uri 'none'") || strings.Contains(policy, "unsafe") ||
			h.Get("Cross-Origin-Resource-Policy") != "same-origin" ||
			h.Get("X-Content-Type-Options") != "nosniff" || h.Get("Referrer-Policy") == "" ||
			h.Get("Cross-Origin-Opener-Policy") != "same-origin" || h.Get("X-Request-Id") == "" {
			t.Errorf("%s: %v", path, h)
		}
	}
}

// The pages are served beside the API: files as they are and for ever, all
// other places as the start page and never from a cache.
func TestPages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		path, body, media, cache string
		status                   int
	}{
		{"/", "<!doctype html>start", "text/html; charset=utf-8", "no-store", 200},
		{"/index.html", "<!doctype html>start", "text/html; charset=utf-8", "no-store", 200},
		{"/deployments/x", "<!doctype html>start", "text/html; charset=utf-8", "no-store", 200},
		{"/assets/", "<!doctype html>start", "text/html; charset=utf-8", "no-store", 200},
		{"/assets/app-1a.js", "export {}", "text/javascript; charset=utf-8",
			"public, max-age=31536000, immutable", 200},
		{"/assets/old.js", "404 page not found\n", "text/plain; charset=utf-8", "", 404},
	} {
		a := w.call("GET", c.path, "", nil)
		if a.status != c.status || string(a.body) != c.body ||
			a.header.Get("Content-Type") != c.media || a.header.Get("Cache-Control") != c.cache {
			t.Errorf("%s: %d %v %q", c.path, a.status, a.header, a.body)
		}
	}
}

// What was compressed when the interface was built is handed out so, to who takes it.
func TestPages_AreCompressed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct{ accept, body, coding string }{
		{"gzip, deflate, br", "packed", "gzip"},
		{"br;q=1.0, GZIP;q=0.5", "packed", "gzip"},
		{"gzip;q=0", "export {as: it, is}", ""},
		{"gzip; q=0.000, br", "export {as: it, is}", ""},
		{"identity", "export {as: it, is}", ""},
	} {
		a := w.send("GET", "/assets/app-2b.js", http.Header{"Accept-Encoding": {c.accept}}, nil)
		h := a.header
		if a.status != 200 || string(a.body) != c.body || h.Get("Content-Encoding") != c.coding ||
			h.Get("Vary") != "Accept-Encoding" ||
			h.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("%s: %d %v %q", c.accept, a.status, h, a.body)
		}
	}
}

// A probe hears that the process lives, and what it waits for.
func TestProbes(t *testing.T) {
	t.Parallel()
	var waiting []api.PendingDependency
	h := api.NewProbeHandler(func(context.Context) []api.PendingDependency { return waiting })
	ask := func(path string) (int, string) {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		return w.Code, w.Body.String()
	}
	if code, _ := ask("/readyz"); code != http.StatusOK {
		t.Errorf("ready: %d", code)
	}
	waiting = []api.PendingDependency{{For: "database", Reason: "it does not answer"}}
	if code, body := ask("/readyz"); code != http.StatusServiceUnavailable ||
		!strings.Contains(body, "database") {
		t.Errorf("waiting: %d %s", code, body)
	}
	if code, _ := ask("/healthz"); code != http.StatusOK {
		t.Errorf("alive: %d", code)
	}
}
