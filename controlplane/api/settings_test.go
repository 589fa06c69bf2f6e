package api_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
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
