package notify

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres"
)

func newPlain(s string) *controlplane.Plain {
	p := controlplane.NewPlain(s)
	return &p
}

// The signing key belongs to one receiver: another address gets another key, the same
// one keeps it, and what is hidden is never shown again.
func TestPutWebhook_KeyBelongsToTheAddress(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	keyNow := func() string {
		t.Helper()
		hook, err := w.GetWebhook(t.Context(), root, "ci")
		if err != nil {
			t.Fatal(err)
		}
		_, key, err := w.openSecrets(t.Context(), hook.ID)
		if err != nil {
			t.Fatal(err)
		}
		return key.Reveal()
	}
	given := "a key of sixteen"
	for i, c := range []struct {
		url, secret    *controlplane.Plain
		made, changed  bool
		sameKey, isKey bool
	}{
		{url: newPlain("https://a.example/" + secret), made: true, changed: true},
		{url: newPlain("https://a.example/" + secret), sameKey: true},
		{sameKey: true},
		{secret: newPlain(given), changed: true, isKey: true},
		{secret: newPlain(given), sameKey: true, isKey: true},
		{url: newPlain("https://a.example/other"), made: true, changed: true},
		{url: newPlain("https://b.example/"), secret: newPlain(given), changed: true, isKey: true},
	} {
		before := ""
		if i > 0 {
			before = keyNow()
		}
		saved, err := w.PutWebhook(t.Context(), root, WebhookPut{Name: "ci", URL: c.url,
			Kind: controlplane.WebhookJSON, Secret: c.secret, Active: true,
			Events: []string{"deployment.failed"}})
		if err != nil || saved.Created != (i == 0) || saved.Changed != c.changed ||
			saved.Made.IsEmpty() == c.made {
			t.Errorf("put %d: %+v %v", i, saved, err)
		}
		key := keyNow()
		if (key == before) != c.sameKey || c.isKey != (key == given) ||
			c.made && key != saved.Made.Reveal() {
			t.Errorf("put %d: the key was %q and is %q", i, before, key)
		}
		if strings.Contains(saved.Webhook.Host, secret) {
			t.Errorf("put %d shows %s", i, saved.Webhook.Host)
		}
	}
	hook, _ := w.GetWebhook(t.Context(), root, "ci")
	if err := w.DeleteWebhook(t.Context(), root, "ci"); err != nil {
		t.Fatal(err)
	}
	runInTx(t, w.Store, func(tx *postgres.Tx) error {
		sealed, err := tx.OutwardSecrets().Get(t.Context(), addressOf(hook.ID))
		if sealed != nil {
			t.Error("the address outlives the webhook")
		}
		return err
	})
}

func TestPutWebhook_RefusesWhatCannotWork(t *testing.T) {
	t.Parallel()
	good := WebhookPut{Name: "ci", Kind: controlplane.WebhookJSON, URL: newPlain("https://a.example/"),
		Events: []string{"deployment.failed"}}
	for code, change := range map[string]func(*WebhookPut){
		"url_missing":      func(p *WebhookPut) { p.URL = nil },
		"secret_short":     func(p *WebhookPut) { p.Secret = newPlain("fifteen letters") },
		"events_missing":   func(p *WebhookPut) { p.Events = nil },
		"event_unknown":    func(p *WebhookPut) { p.Events = []string{"deployment.failed", "x"} },
		"template_invalid": func(p *WebhookPut) { p.Template = "{secret}" },
		"":                 func(*WebhookPut) {},
	} {
		p := good
		if change(&p); controlplane.CodeOf(p.check(true)) != code {
			t.Errorf("%q: %v", code, p.check(true))
		}
	}
	for _, address := range []string{"", "a.example/x", "ftp://a.example/" + secret,
		"https:///" + secret,
		"https://user:" + secret + "@a.example", "https://a.example/\x7f" + secret,
		"https://a.example/" + strings.Repeat("x", 2000)} {
		_, err := checkURL(address)
		if controlplane.CodeOf(err) != "url_invalid" || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", address, err)
		}
	}
	if host, err := checkURL("http://a.example:8080/" + secret); host != "http://a.example:8080" {
		t.Errorf("it shows %q %v", host, err)
	}
}

func TestWebhooks_AreForAdminsOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hook("ci", "http://127.0.0.1:1/")
	member := access.User(controlplane.User{ID: idPrefix + "02", Name: "full",
		Role: controlplane.RoleUser, Active: true}, nil)
	put := WebhookPut{Name: "ci", Kind: controlplane.WebhookJSON,
		URL:    newPlain("https://evil.example/"),
		Events: []string{"deployment.failed"}, Active: true}
	_, err1 := w.PutWebhook(t.Context(), member, put)
	_, err2 := w.GetWebhook(t.Context(), member, "ci")
	_, _, err3 := w.ListWebhooks(t.Context(), member, controlplane.Page{})
	_, _, err4 := w.ListDeliveries(t.Context(), member, "ci", controlplane.Page{})
	_, err5 := w.SendTestMessage(t.Context(), member, "ci")
	_, err6 := w.Redeliver(t.Context(), member, "ci", idPrefix+"99")
	err7 := w.DeleteWebhook(t.Context(), member, "ci")
	for i, err := range []error{err1, err2, err3, err4, err5, err6, err7} {
		if controlplane.KindOf(err) != controlplane.Forbidden {
			t.Errorf("a member may do number %d: %v", i+1, err)
		}
	}
	hook, err := w.GetWebhook(t.Context(), root, "ci")
	if err != nil || hook.Host != "http://127.0.0.1:1" || len(w.listDeliveries("ci")) != 0 {
		t.Errorf("%+v %v", hook, err)
	}
}
