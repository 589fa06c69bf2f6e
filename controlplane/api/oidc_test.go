package api_test

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/internal/servertest"
)

// single is a control plane with an OpenID provider beside it.
type single struct {
	*world
	provider *servertest.OIDC
	config   *accounts.Provider
	// meddle, a func(path string, form url.Values), changes what the provider sees.
	meddle atomic.Value
}

// withProvider runs a real provider: discovery, keys, codes, PKCE, ID tokens.
func withProvider(t *testing.T, change ...func(*accounts.OIDCConfig)) *single {
	t.Helper()
	s := &single{}
	s.meddle.Store(func(string, url.Values) {})
	s.provider = servertest.NewOIDC(t, func(path string, form url.Values) {
		s.meddle.Load().(func(string, url.Values))(path, form)
	})
	conf := accounts.OIDCConfig{Name: "Company", Issuer: s.provider.Issuer,
		Client: s.provider.ClientID, Secret: controlplane.NewPlain(s.provider.ClientSecret),
		Scopes: []string{"profile", "email", "groups"}, Claim: "groups", Admins: "ops",
		Teams: map[string]string{"qa-people": "team-reader", "devs": "team-full"}}
	for _, f := range change {
		f(&conf)
	}
	s.config = accounts.NewProvider(conf)
	s.world = newWorld(t, func(c *api.Config) { c.OIDC = s.config })
	s.config.Redirect = s.server.URL + "/oidc/callback"
	s.shop()
	return s
}

// browser walks through redirects with cookies, like a person would. Where it
// stops is the provider's answer when stop is part of the address.
func (s *single) browser(t *testing.T, stop string) *http.Client {
	t.Helper()
	jar := must(cookiejar.New(nil))(t)
	return &http.Client{Jar: jar, CheckRedirect: func(r *http.Request, _ []*http.Request) error {
		if stop != "" && strings.Contains(r.URL.Path, stop) {
			return http.ErrUseLastResponse
		}
		return nil
	}}
}

func (s *single) visit(t *testing.T, c *http.Client, url string) (status int, body, to string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	a, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	text := string(must(io.ReadAll(a.Body))(t))
	return a.StatusCode, text, a.Header.Get("Location")
}

// person signs in next; without groups the provider says that there are none.
func (s *single) person(subject, name string, groups ...string) {
	s.provider.Queue(servertest.Person{Subject: subject, Token: map[string]any{
		"preferred_username": name, "email": name + "@example.org", "email_verified": true,
		"groups": append([]string{}, groups...)}})
}

// Who comes from the provider gets an account, the teams of their groups, and
// loses those again; an account that was switched off stays shut.
func TestOIDC_GroupsAreTeams(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	enter := func(groups ...string) string {
		t.Helper()
		s.person("sub-1", "Ada.L", groups...)
		c := s.browser(t, "")
		status, body, _ := s.visit(t, c, s.server.URL+"/oidc/start")
		if status != http.StatusOK || body != "<!doctype html>start" {
			t.Fatalf("sign-in: %d %s", status, body)
		}
		_, me, _ := s.visit(t, c, s.server.URL+"/api/v1/me")
		return me
	}
	// promise: N-320
	if me := enter("qa-people", "else"); !strings.Contains(me, `"name":"ada-l"`) ||
		!strings.Contains(me, `"teams":["team-reader"]`) || !strings.Contains(me, `"role":"user"`) {
		t.Errorf("first time: %s", me)
	}
	if me := enter("devs", "ops"); !strings.Contains(me, `"teams":["team-full"]`) ||
		!strings.Contains(me, `"role":"admin"`) || !strings.Contains(me, `"name":"ada-l"`) {
		t.Errorf("with other groups: %s", me)
	}
	if me := enter(); !strings.Contains(me, `"teams":[]`) || !strings.Contains(me, `"role":"user"`) {
		t.Errorf("without groups: %s", me)
	}
	s.expectSaved(s.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "ada-l",
		Role: controlplane.RoleUser, Active: false}))
	s.person("sub-1", "Ada.L")
	status, body, _ := s.visit(t, s.browser(t, ""), s.server.URL+"/oidc/start")
	if status != http.StatusUnauthorized || !strings.Contains(body, "switched off") {
		t.Errorf("switched off: %d %s", status, body)
	}
}

// Who had to sign in comes to the page they wanted, and never to another site.
func TestOIDC_LeadsToWhatWasWanted(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	for next, leads := range map[string]string{
		"/gate?host=web.cart.qa.example&to=%2Fx": "/gate?host=web.cart.qa.example&to=%2Fx",
		"":                                       "/",
		"//evil.example":                         "/",
		"https://evil.example/":                  "/",
		`/\evil.example`:                         "/",
		"/\t/evil.example":                       "/",
		// Beside the rest they would be more than a browser keeps in a cookie.
		"/deployments?q=" + strings.Repeat("x", 1500):  "/",
		"/deployments?" + strings.Repeat("a=1&", 250):  "/",
		"/deployments?q=" + strings.Repeat("abc", 400): "/deployments?q=" + strings.Repeat("abc", 400),
	} {
		s.person("sub-1", "ada")
		c := s.browser(t, "/oidc/callback")
		_, _, back := s.visit(t, c, s.server.URL+"/oidc/start?"+url.Values{"next": {next}}.Encode())
		c.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
		if status, body, to := s.visit(t, c, back); status != http.StatusSeeOther || to != leads {
			t.Errorf("wanted %q: %d to %q, want %q: %s", next, status, to, leads, body)
		}
	}
}

// A known name is another person's, a verified address is not.
func TestOIDC_NobodyTakesAnotherAccount(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	s.expectSaved(s.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "mail", Active: true,
		Role: controlplane.RoleUser, Address: "Known@example.org",
		Password: controlplane.NewPlain(password)}))
	for _, c := range []struct{ subject, name, is string }{
		{"sub-root", "root", "root-2"}, {"sub-known", "known", "mail"},
		{"sub-other", "known", "known"},
	} {
		s.person(c.subject, c.name)
		b := s.browser(t, "")
		s.visit(t, b, s.server.URL+"/oidc/start")
		_, me, _ := s.visit(t, b, s.server.URL+"/api/v1/me")
		if !strings.Contains(me, `"name":"`+c.is+`"`) || strings.Contains(me, `"admin"`) {
			t.Errorf("%s as %s: %s", c.subject, c.name, me)
		}
	}
}

// An answer of the provider's counts in the browser that asked, once; whatever
// is wrong with it is said in words and lets nobody in.
func TestOIDC_ForgedAnswers(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	s.person("sub-1", "ada")
	victim := s.browser(t, "/oidc/callback")
	_, _, answer := s.visit(t, victim, s.server.URL+"/oidc/start")
	other := func(change func(url.Values)) string {
		u := must(url.Parse(answer))(t)
		q := u.Query()
		change(q)
		u.RawQuery = q.Encode()
		return u.String()
	}
	refused := func(why string, c *http.Client, to string) {
		t.Helper()
		status, body, _ := s.visit(t, c, to)
		if status != http.StatusUnauthorized || !strings.Contains(body, "You are not signed in") ||
			strings.Contains(body, "<script>") {
			t.Errorf("%s: %d %s", why, status, body)
		}
		if got, _, _ := s.visit(t, c, s.server.URL+"/api/v1/me"); got != http.StatusUnauthorized {
			t.Errorf("%s: somebody is signed in", why)
		}
	}
	refused("another browser", s.browser(t, ""), answer)
	again := func() *http.Client {
		b := s.browser(t, "/oidc/callback")
		s.visit(t, b, s.server.URL+"/oidc/start")
		return b
	}
	refused("another flow's answer", again(), answer)
	refused("no state", again(), other(func(q url.Values) { q.Del("state") }))
	refused("an error", again(), other(func(q url.Values) { q.Set("error", "<script>") }))
	refused("a made-up code", victim, other(func(q url.Values) { q.Set("code", "made-up") }))
	refused("a used flow", victim, answer)
}

// A code is worth nothing to who does not know what it was asked for with, and
// an ID token counts in the flow that asked for it: with a nonce of its own.
func TestOIDC_CodeAndTokenAreBoundToTheFlow(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		part, field, value string
	}{
		"another code verifier": {"/token", "code_verifier", strings.Repeat("x", 43)},
		"another nonce":         {"/authorize", "nonce", "of-another-flow"},
		"no nonce":              {"/authorize", "nonce", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := withProvider(t)
			methods := make(chan string, 1)
			s.meddle.Store(func(path string, v url.Values) {
				if strings.HasSuffix(path, "/authorize") && v.Get("code_challenge") != "" {
					methods <- v.Get("code_challenge_method")
				}
			})
			enter := func() int {
				s.person("sub-1", "ada")
				b := s.browser(t, "")
				s.visit(t, b, s.server.URL+"/oidc/start")
				status, _, _ := s.visit(t, b, s.server.URL+"/api/v1/me")
				return status
			}
			if status := enter(); status != http.StatusOK || len(methods) != 1 || <-methods != "S256" {
				t.Fatalf("left alone: %d, or without a challenge", status)
			}
			s.meddle.Store(func(path string, v url.Values) {
				if strings.HasSuffix(path, c.part) && v.Has(c.field) {
					v.Set(c.field, c.value)
				}
			})
			if status := enter(); status != http.StatusUnauthorized {
				t.Errorf("somebody came in: %d", status)
			}
		})
	}
}
