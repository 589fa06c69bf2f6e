package notify

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// An alert goes by mail to those who chose it and may see its cause, and to webhooks within their
// filter; the message says what is wrong and what to do.
func TestHandOut_TellsOfAlerts(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Mail.Server = "127.0.0.1:1" })
	w.hook("all", "http://127.0.0.1:1/"+secret, func(p *WebhookPut) {
		p.Events = []string{"alert.started"}
	})
	w.hook("vault", "http://127.0.0.1:1/"+secret, func(p *WebhookPut) {
		p.Events, p.Environment = []string{"alert.started"}, "vault"
	})
	w.execSQL("INSERT INTO grants (team_id, environment_id, level) VALUES ('ID40', 'ID10', 'full')")
	for i, name := range []string{"root", "full", "reader", "stranger"} {
		id := controlplane.UserID(idPrefix + "0" + string(rune('1'+i)))
		actor := access.User(controlplane.User{ID: id, Name: name, Role: controlplane.RoleUser}, nil)
		err := w.SetChoices(t.Context(), actor, []controlplane.NotificationChoice{
			{Email: name + "@example.org", Events: []string{"alert.started"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct{ about, data, mailed, hooked string }{
		{"deployment_id", "'ID30'", "root full reader", "all"},
		{"deployment_id", "'ID31'", "root", "all vault"},
		{"node_id", "'ID25'", "root", "all"},
		{"node_id", "NULL", "root", "all"}, // it was deleted; its environment is there
	} {
		w.execSQL("DELETE FROM deliveries")
		w.execSQL(`INSERT INTO notices (event, ` + c.about + `, data) VALUES ('alert.started', ` +
			c.data + `, '{"condition": "node.disk", "severity": "critical", "summary": "It is full.",
			"remedy": "Make room.", "link": "http://nullops.test/nodes/alpha",
			"environment_id": "` + idPrefix + `10"}')`)
		if n, err := w.handOut(t.Context()); n != 1 || err != nil {
			t.Fatalf("%d notices taken: %v", n, err)
		}
		got := pgtest.QueryValue[string](t, w.url, `SELECT coalesce(string_agg(
			split_part(email, '@', 1), ' ' ORDER BY user_id), '') FROM deliveries
			WHERE user_id IS NOT NULL AND subject = 'critical: It is full.'
			AND body LIKE '%Make room. http://nullops.test/nodes/alpha%'`)
		hooked := pgtest.QueryValue[string](t, w.url, `SELECT coalesce(string_agg(w.name, ' '
			ORDER BY w.name), '') FROM deliveries d JOIN webhooks w ON w.id = d.webhook_id
			WHERE d.body LIKE '%"summary":"It is full."%'`)
		if got != c.mailed || hooked != c.hooked {
			t.Errorf("an alert about %s %s is mailed to %q and sent to %q", c.about, c.data, got, hooked)
		}
	}
	ended := message{Event: "alert.ended", Alert: &alert{Summary: "It is full."}}
	if got := ended.mailSubject() + ended.fillTemplate(""); !strings.HasPrefix(got,
		"Over: It is full.Over: It is full.") {
		t.Errorf("at its end it reads %q", got)
	}
}
