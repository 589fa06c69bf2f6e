package api_test

import (
	"bufio"
	"encoding/json"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/notify"
)

// The settings name the provider and the mail server and never their secrets, and a test of each
// says what came of it.
func TestSettings_ShowAndTestWithoutSecrets(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.NotFoundHandler())
	defer provider.Close()
	server := mailServer(t)
	w := newWorldWith(t, func(w *world) {
		w.mail = notify.MailConfig{Server: server.Addr().String(), From: "NullOps <ops@example.org>",
			Password: controlplane.NewPlain("mail-secret")}
	}, func(c *api.Config) {
		c.OIDC = accounts.NewProvider(accounts.OIDCConfig{Name: "Corp", Issuer: provider.URL,
			Client: "nullops", Secret: controlplane.NewPlain("oidc-secret"),
			Teams: map[string]string{"devs": "storefront"}})
		c.RemovedDays = 30
	})
	w.people()
	root := w.token("root")
	var got api.InstallationSettings
	text := w.expect(http.StatusOK, "GET", "/settings", root, nil, &got).body
	if got.SignOn == nil || got.SignOn.Client != "nullops" || len(got.SignOn.Teams) != 1 ||
		got.Mail == nil || got.Mail.From != "NullOps <ops@example.org>" || got.RemovedDays != 30 {
		t.Errorf("%s", text)
	}
	for _, secret := range []string{"mail-secret", "oidc-secret"} {
		if strings.Contains(string(text), secret) {
			t.Errorf("the settings show %s", secret)
		}
	}
	var tested api.SettingsTest
	w.expect(http.StatusOK, "POST", "/settings/sign-on/test", root, nil, &tested)
	if tested.Ok || tested.Problem == nil || !strings.Contains(*tested.Problem, "404") {
		t.Errorf("a provider without a description: %+v", tested)
	}
	a := w.call("POST", "/api/v1/settings/mail/test", root, nil)
	if a.field("code") != "no_address" {
		t.Errorf("a mail to nobody: %d %s", a.status, a.body)
	}
	w.expect(http.StatusOK, "PUT", "/users/root", root,
		object{"role": "admin", "address": "root@example.org"}, nil)
	tested = api.SettingsTest{}
	w.expect(http.StatusOK, "POST", "/settings/mail/test", root, nil, &tested)
	if !tested.Ok || tested.To == nil || *tested.To != "root@example.org" {
		t.Errorf("a mail to oneself: %+v", tested)
	}
	if mail := server.next(t); !strings.Contains(mail, "To: <root@example.org>") {
		t.Errorf("the server got %s", mail)
	}
}

// What is not configured cannot be tested, and says what to set.
func TestSettings_NothingConfigured(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	var got api.InstallationSettings
	w.expect(http.StatusOK, "GET", "/settings", root, nil, &got)
	if got.SignOn != nil || got.Mail != nil {
		t.Errorf("%+v", got)
	}
	for path, code := range map[string]string{"sign-on": "no_provider", "mail": "no_mail_server"} {
		a := w.expect(http.StatusConflict, "POST", "/settings/"+path+"/test", root, nil, nil)
		if a.field("code") != code {
			t.Errorf("%s: %s", path, a.body)
		}
	}
}

// A test of sign-on names what is wrong at the provider, whichever part it is, and what to change.
func TestSettings_SignOnSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const redirect = "https://nullops.example.org/oidc/callback"
	document := func(issuer string, more object) object {
		d := object{"issuer": issuer, "authorization_endpoint": issuer + "/authorize",
			"token_endpoint": issuer + "/token", "jwks_uri": issuer + "/keys"}
		maps.Copy(d, more)
		return d
	}
	keys := object{"keys": []object{{"kty": "RSA", "use": "sig"}}}
	for name, c := range map[string]struct {
		more   object
		keys   any
		refuse int
		back   string
		says   string
	}{
		"good":           {keys: keys, back: redirect + "?error=login_required"},
		"shows its page": {keys: keys},
		"another issuer": {more: object{"issuer": "https://other.example.org"}, keys: keys,
			says: `It calls its issuer "https://other.example.org", and oidc.issuer is`},
		"no token endpoint": {more: object{"token_endpoint": ""}, keys: keys,
			says: "names no safe address as token_endpoint"},
		"no keys": {keys: object{"keys": []object{}}, says: "It has no key at"},
		"keys for secrets only": {keys: object{"keys": []object{{"kty": "RSA", "use": "enc"}}},
			says: "It has no key at"},
		"unreadable keys": {keys: "x", says: "Its keys at"},
		"unknown redirect": {keys: keys, refuse: http.StatusBadRequest,
			says: `It refuses client "nullops" with the redirect address ` + redirect +
				": it answers 400. Enter exactly this redirect address"},
		"broken page": {keys: keys, refuse: http.StatusBadGateway,
			says: "Its sign-on page answers 502."},
		"scope": {keys: keys, back: redirect + "?error=invalid_scope&error_description=No+groups.",
			says: "It refuses the sign-on: No groups. Check oidc.client and oidc.scopes"},
	} {
		var provider *httptest.Server
		provider = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/.well-known/openid-configuration":
				_ = json.NewEncoder(w).Encode(document(provider.URL, c.more))
			case "/keys":
				_ = json.NewEncoder(w).Encode(c.keys)
			case "/authorize":
				q := r.URL.Query()
				if q.Get("redirect_uri") != redirect || q.Get("prompt") != "none" ||
					q.Get("scope") != "openid groups" {
					t.Errorf("%s: asked with %v", name, q)
				}
				if c.back != "" {
					http.Redirect(w, r, c.back, http.StatusFound)
				} else if c.refuse != 0 {
					w.WriteHeader(c.refuse)
				}
			}
		}))
		w := newWorldWith(t, func(*world) {}, func(conf *api.Config) {
			conf.OIDC = accounts.NewProvider(accounts.OIDCConfig{Issuer: provider.URL,
				Client: "nullops", Redirect: redirect, Scopes: []string{"groups"}})
		})
		w.people()
		var tested api.SettingsTest
		w.expect(http.StatusOK, "POST", "/settings/sign-on/test", w.token("root"), nil, &tested)
		provider.Close()
		said := ""
		if tested.Problem != nil {
			said = *tested.Problem
		}
		if tested.Ok != (c.says == "") || !strings.Contains(said, c.says) ||
			said != "" && !strings.HasSuffix(said, ".") {
			t.Errorf("%s: %q, want %q", name, said, c.says)
		}
	}
}

// A test mail that does not leave says what the server answered, and what to change.
func TestSettings_MailSaysWhatTheServerAnswered(t *testing.T) {
	t.Parallel()
	closed := mailServer(t)
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	refusing := answeringServer(t, "220 mail", "250 mail", "550 5.7.1 Not from there")
	web := answeringServer(t, "HTTP/1.1 400 Bad Request")
	for server, want := range map[string]string{
		closed.Addr().String(): closed.Addr().String() + " cannot be reached: connection refused. " +
			"Check mail.server, and that the control plane may connect there.",
		refusing: "It refuses the sender: it answers 550, 5.7.1 Not from there. Check mail.from, and " +
			"whether it wants mail.username and mail.password.",
		web: web + " does not greet like a mail server",
	} {
		w := newWorldWith(t, func(w *world) {
			w.mail = notify.MailConfig{Server: server, From: "NullOps <ops@example.org>"}
		}, func(*api.Config) {})
		w.people()
		root := w.token("root")
		w.expect(http.StatusOK, "PUT", "/users/root", root,
			object{"role": "admin", "address": "root@example.org"}, nil)
		var tested api.SettingsTest
		w.expect(http.StatusOK, "POST", "/settings/mail/test", root, nil, &tested)
		if tested.Ok || tested.Problem == nil || !strings.HasPrefix(*tested.Problem, want) {
			t.Errorf("%+v says %q, want %q", tested, *tested.Problem, want)
		}
	}
}

// answeringServer answers each line that it is sent with the next of these, the first unasked.
func answeringServer(t *testing.T, lines ...string) (address string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		asked := bufio.NewScanner(c)
		for _, line := range lines {
			_, _ = io.WriteString(c, line+"\r\n")
			asked.Scan()
		}
	})
	t.Cleanup(func() { _ = l.Close(); running.Wait() })
	return l.Addr().String()
}
