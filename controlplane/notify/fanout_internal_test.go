package notify

import (
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// One event goes to each webhook whose filters it matches, once, and to no other.
func TestHandOut_SendsToTheWebhooksThatMatch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(project, environment string, active bool, events ...string) func(*WebhookPut) {
		return func(p *WebhookPut) {
			p.Project, p.Environment, p.Active, p.Events = project, environment, active, events
		}
	}
	hooks := map[string]struct {
		put  func(*WebhookPut)
		want []string
	}{
		"all":     {set("", "", true, controlplane.NoticeEvents()...), []string{"c", "f", "r", "l", "n"}},
		"failed":  {set("", "", true, "deployment.failed"), []string{"f", "l"}},
		"qa":      {set("", "qa", true, controlplane.NoticeEvents()...), []string{"f", "r", "n"}},
		"vault":   {set("shop", "vault", true, "deployment.failed"), []string{"l"}},
		"project": {set("shop", "", true, controlplane.NoticeEvents()...), []string{"f", "r", "l"}},
		"other":   {set("other", "", true, controlplane.NoticeEvents()...), nil},
		"itself":  {set("", "", true, "controlplane.failing"), []string{"c"}},
		"resting": {set("", "", false, controlplane.NoticeEvents()...), nil},
	}
	for name, h := range hooks {
		w.hook(name, "http://127.0.0.1:1/"+secret, h.put)
	}
	w.insertNotice("deployment.failed", first)
	w.insertNotice("deployment.ready", first)
	w.insertNotice("deployment.failed", locked)
	w.execSQL("INSERT INTO notices (event, node_id) VALUES ('node.offline', 'ID25')")
	w.execSQL(`INSERT INTO notices (event, data)
		VALUES ('controlplane.failing', '{"job": "expire", "reason": "no disk"}')`)
	if n, err := w.handOut(t.Context()); n != 5 || err != nil {
		t.Fatalf("%d notices taken: %v", n, err)
	}
	if n, err := w.handOut(t.Context()); n != 0 || err != nil {
		t.Errorf("%d notices taken again: %v", n, err)
	}
	for name, h := range hooks {
		var got []string
		for _, d := range w.listDeliveries(name) {
			short := map[string]string{"deployment.failed": "f", "deployment.ready": "r",
				"node.offline": "n", "controlplane.failing": "c"}[d.Event]
			if strings.Contains(d.Body, `"name":"locked"`) {
				short = "l"
			}
			got = append(got, short)
		}
		slices.Sort(got)
		slices.Sort(h.want)
		if !slices.Equal(got, h.want) {
			t.Errorf("webhook %s is sent %q, want %q", name, got, h.want)
		}
	}
}

// Mail goes to those who chose the event and may see the deployment now.
func TestHandOut_MailsOnlyWhoSeesTheDeployment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Mail.Server = "127.0.0.1:1" })
	for i, name := range []string{"root", "full", "reader", "stranger"} {
		id := controlplane.UserID(idPrefix + "0" + string(rune('1'+i)))
		actor := access.User(controlplane.User{ID: id, Name: name, Role: controlplane.RoleUser}, nil)
		err := w.SetChoices(t.Context(), actor, []controlplane.NotificationChoice{
			{Email: name + "@example.org", Events: []string{"deployment.failed"}},
			{Email: name + "2@example.org", Events: []string{"deployment.failed"}},
			{Email: name + "@example.org", Events: []string{"deployment.ready"}, Mine: true},
			{Email: name + "@example.org", Events: []string{"deployment.removed"}, Project: "other"},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	mailed := func(event string, id controlplane.DeploymentID) string {
		t.Helper()
		w.execSQL("DELETE FROM deliveries")
		w.insertNotice(event, id)
		if _, err := w.handOut(t.Context()); err != nil {
			t.Fatal(err)
		}
		return pgtest.QueryValue[string](t, w.url,
			"SELECT coalesce(string_agg(email, ' ' ORDER BY user_id), '') FROM deliveries")
	}
	for _, c := range []struct {
		event string
		id    controlplane.DeploymentID
		want  string
	}{
		{"deployment.failed", first, "root@example.org full@example.org reader@example.org"},
		{"deployment.failed", locked, "root@example.org"},
		{"deployment.ready", first, "full@example.org"},
		{"deployment.ready", locked, "root@example.org"},
		{"deployment.removed", first, ""}, {"deployment.created", first, ""},
	} {
		if got := mailed(c.event, c.id); got != c.want {
			t.Errorf("%s of %s is mailed to %q, want %q", c.event, c.id, got, c.want)
		}
	}
	w.execSQL("UPDATE users SET active = false WHERE name = 'reader'; DELETE FROM grants")
	if got := mailed("deployment.failed", first); got != "root@example.org" {
		t.Errorf("after the grants were taken away: %q", got)
	}
	w.Mail.Server = ""
	if got := mailed("deployment.failed", first); got != "" {
		t.Errorf("without a mail server: %q", got)
	}
}

// What the notice is about may be gone when it is handed out. The others are still sent.
func TestHandOut_DropsWhatNoWebhookWants(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.insertNotice("deployment.failed", first)
	if n, err := w.handOut(t.Context()); n != 1 || err != nil {
		t.Fatalf("%d, %v", n, err)
	}
	w.hook("ci", "http://127.0.0.1:1/")
	if n, err := w.handOut(t.Context()); n != 0 || err != nil || len(w.listDeliveries("ci")) != 0 {
		t.Errorf("a webhook is sent what happened before it was made: %d %v", n, err)
	}
}

func TestSetChoices_RefusesWhatCannotBeMailed(t *testing.T) {
	t.Parallel()
	n := &Notifier{}
	for _, email := range []string{"", "ada", "Ada <ada@example.org>", "ada@example.org\r\nBcc: x@y.z",
		"ada@example.org, eve@example.org", strings.Repeat("a", 250) + "@x.org", `"a b"@x.org`,
		"ada@example.org>"} {
		err := checkChoice("choices.0", controlplane.NotificationChoice{Email: email,
			Events: []string{"deployment.failed"}})
		if controlplane.CodeOf(err) != "email_invalid" {
			t.Errorf("address %q: %v", email, err)
		}
	}
	for _, events := range [][]string{nil, {}, {"deployment.exploded"}, {""}} {
		err := checkChoice("choices.0", controlplane.NotificationChoice{Email: "ada@example.org",
			Events: events})
		if controlplane.KindOf(err) != controlplane.Invalid {
			t.Errorf("events %q: %v", events, err)
		}
	}
	if _, _, err := n.ListChoices(t.Context(), access.Nobody()); err == nil {
		t.Error("nobody has choices")
	}
}
