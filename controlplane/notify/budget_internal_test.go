package notify

import (
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
)

// Before a budget removes deployments, those who created them find a notice, and so do admins who
// chose mail about budgets; others who chose it are told nothing.
func TestHandOut_TellsOfBudgets(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(c *Config) { c.Mail.Server = "127.0.0.1:1" })
	for i, name := range []string{"root", "full"} {
		actor := access.User(controlplane.User{Name: name, Role: controlplane.RoleUser,
			ID: controlplane.UserID(idPrefix + "0" + string(rune('1'+i)))}, nil)
		err := w.SetChoices(t.Context(), actor, []controlplane.NotificationChoice{
			{Email: name + "@example.org", Events: []string{"budget.removing"}}})
		if err != nil {
			t.Fatal(err)
		}
	}
	w.execSQL(`INSERT INTO usage_open (deployment_id, since, deployment, project_id, project,
		environment_id, environment, node, team, person, millicores, memory_mib, gpus)
		SELECT d.id, now(), d.name, d.project_id, 'shop', d.environment_id, 'qa', 'alpha', '', '',
		1, 1, 0 FROM deployments d ON CONFLICT (deployment_id) DO UPDATE SET project = 'shop'`)
	w.execSQL(`INSERT INTO notices (event, data) VALUES ('budget.removing', '{"budget": "b",
		"scope": "project", "subject": "shop", "reason": "It is used up."}'),
		('budget.reached', '{"budget": "b", "scope": "project", "subject": "shop"}')`)
	if n, err := w.handOut(t.Context()); n != 2 || err != nil {
		t.Fatalf("%d notices taken: %v", n, err)
	}
	told := pgtest.QueryValue[string](t, w.url, `SELECT string_agg(u.name || ': ' || n.subject ||
		' ' || n.body, ', ' ORDER BY u.name) FROM person_notices n JOIN users u ON u.id = n.user_id`)
	// promise: G-21
	if told != "full: first in qa will be removed soon It is used up., "+
		"root: locked in vault will be removed soon It is used up." {
		t.Errorf("the creators read %q", told)
	}
	mailed := pgtest.QueryValue[string](t, w.url, `SELECT string_agg(email, ' ') FROM deliveries`)
	if mailed != "root@example.org" {
		t.Errorf("mails go to %q", mailed)
	}
}
