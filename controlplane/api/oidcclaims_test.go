package api_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/internal/servertest"
)

// signInAs signs the person in through the provider and returns the status and
// text of the last page, and what the API says about the person.
func (s *single) signInAs(t *testing.T, u servertest.Person) (status int, page, me string) {
	t.Helper()
	s.provider.Queue(u)
	c := s.browser(t, "")
	status, page, _ = s.visit(t, c, s.server.URL+"/oidc/start")
	_, me, _ = s.visit(t, c, s.server.URL+"/api/v1/me")
	return status, page, me
}

// One string is one group: its words are no groups.
func TestOIDC_GroupClaimForms(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		claim, separator string
		token            map[string]any
		admin            bool
		status           int
	}{
		"a string with spaces": {"groups", "", map[string]any{"groups": "Site ops"}, false, 200},
		"a string with commas": {"groups", "", map[string]any{"groups": "site,ops"}, false, 200},
		"one name":             {"groups", "", map[string]any{"groups": "ops"}, true, 200},
		"a list":               {"groups", "", map[string]any{"groups": []any{"x y", "ops"}}, true, 200},
		"a list's words":       {"groups", "", map[string]any{"groups": []any{"Site ops"}}, false, 200},
		"a separator":          {"groups", ",", map[string]any{"groups": "Site x, ops"}, true, 200},
		"a list's separator":   {"groups", ",", map[string]any{"groups": []any{"x,ops"}}, false, 200},
		"nested": {"realm_access.roles", "",
			map[string]any{"realm_access": map[string]any{"roles": []any{"ops"}}}, true, 200},
		"dots in the name": {"https://x.example/groups", "",
			map[string]any{"https://x.example/groups": []any{"ops"}}, true, 200},
		"a number": {"groups", "", map[string]any{"groups": []any{"ops", 5}}, false, 401},
		"an object": {"groups", "",
			map[string]any{"groups": map[string]any{"ops": true}}, false, 401},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withProvider(t, func(o *accounts.OIDCConfig) {
				o.Claim, o.Separator = c.claim, c.separator
			})
			c.token["preferred_username"] = "ada"
			status, page, me := s.signInAs(t, servertest.Person{Subject: "sub-1", Token: c.token})
			if status != c.status || strings.Contains(me, `"role":"admin"`) != c.admin {
				t.Errorf("status %d, want %d; admin must be %v: %s", status, c.status, c.admin, me)
			}
			if status == http.StatusUnauthorized && !strings.Contains(page, "oidc.claim") {
				t.Errorf("the refusal does not name the setting: %s", page)
			}
		})
	}
}

// Several providers send email_verified as a string, and claims only at the
// userinfo endpoint, whose answer counts for the same subject alone.
func TestOIDC_ClaimsFromElsewhere(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		token, userinfo map[string]any
		is              string
	}{
		"verified as a string": {map[string]any{"email": "known@example.org",
			"email_verified": "true", "groups": []any{"ops"}}, nil, "mail admin"},
		"not verified as a string": {map[string]any{"email": "known@example.org",
			"email_verified": "false", "groups": []any{}}, nil, "known user"},
		"at userinfo": {nil, map[string]any{"sub": "sub-1", "email": "known@example.org",
			"email_verified": true, "groups": []any{"ops"}}, "mail admin"},
		"verified at userinfo": {map[string]any{"email": "known@example.org"}, map[string]any{
			"sub": "sub-1", "email": "known@example.org", "email_verified": "true",
			"groups": "ops"}, "mail admin"},
		// PostgreSQL takes no NUL; without it, the address would be another one's.
		"NUL in each claim": {map[string]any{"name": "A\x00da", "preferred_username": "a\x00da",
			"email": "known@example.org\x00", "email_verified": true, "groups": []any{"o\x00ps"}},
			nil, "user user"},
		"of another subject": {nil, map[string]any{"sub": "sub-2", "email": "known@example.org",
			"email_verified": true, "groups": []any{"ops"}}, "user user"},
		"another address verified": {map[string]any{"email": "known@example.org"}, map[string]any{
			"sub": "sub-1", "email": "other@example.org", "email_verified": true,
			"groups": []any{}}, "known user"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := withProvider(t)
			s.expectSaved(s.accounts.PutUser(t.Context(), system, accounts.UserPut{Name: "mail",
				Active: true, Role: controlplane.RoleUser, Address: "known@example.org",
				Password: controlplane.NewPlain(password)}))
			_, page, me := s.signInAs(t, servertest.Person{
				Subject: "sub-1", Token: c.token, Userinfo: c.userinfo})
			user, role, _ := strings.Cut(c.is, " ")
			if !strings.Contains(me, `"name":"`+user+`"`) ||
				!strings.Contains(me, `"role":"`+role+`"`) {
				t.Errorf("want %s: %s %s", c.is, me, page)
			}
		})
	}
}

// A provider that does not say the groups takes nothing away; one that says
// there are none does. Both are in the audit.
func TestOIDC_MissingGroupsKeepRoles(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	root := s.token("root")
	enter := func(address string, more map[string]any) string {
		t.Helper()
		token := map[string]any{"preferred_username": "ada", "email": address,
			"email_verified": true}
		maps.Copy(token, more)
		_, _, me := s.signInAs(t, servertest.Person{Subject: "sub-1", Token: token})
		return me
	}
	enter("ada@example.org", map[string]any{"groups": []any{"ops", "devs"}})
	for name, more := range map[string]map[string]any{
		"no claim": {}, "null": {"groups": nil},
		"overage": {"_claim_names": map[string]any{"groups": "src1"},
			"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://x.example"}}},
	} {
		if me := enter("ada@example.org", more); !strings.Contains(me, `"role":"admin"`) ||
			!strings.Contains(me, `"teams":["team-full"]`) {
			t.Errorf("%s: %s", name, me)
		}
	}
	if n := s.countAudit(root, "keep teams and role", "user ada", "groups_missing"); n != 3 {
		t.Errorf("%d audit entries of kept roles, want 3", n)
	}
	me := enter("ada.new@example.org", map[string]any{"groups": []any{}})
	if !strings.Contains(me, `"role":"user"`) || !strings.Contains(me, `"teams":[]`) {
		t.Errorf("with an empty list: %s", me)
	}
	a := s.call("GET", "/api/v1/users/ada", root, nil)
	if !strings.Contains(string(a.body), "ada.new@example.org") {
		t.Errorf("the new address was not taken over: %s", a.body)
	}
	if n := s.countAudit(root, "change address", "user ada", "single sign-on"); n != 1 {
		t.Errorf("%d audit entries of the changed address, want 1", n)
	}
}

// What groups change about a person has audit entries, once per change.
func TestOIDC_GroupChangesAreAudited(t *testing.T) {
	t.Parallel()
	s := withProvider(t)
	root := s.token("root")
	for _, groups := range [][]any{{"ops", "devs"}, {"ops", "devs"}, {"qa-people"}} {
		s.signInAs(t, servertest.Person{Subject: "sub-1", Token: map[string]any{
			"preferred_username": "ada", "groups": groups}})
	}
	const why = "single sign-on groups"
	for _, c := range [][3]string{
		{"join team", "user ada team team-full", why},
		{"leave team", "user ada team team-full", why},
		{"join team", "user ada team team-reader", why},
		{"change role", "user ada", why + ": user to admin"},
		{"change role", "user ada", why + ": admin to user"},
	} {
		if n := s.countAudit(root, c[0], c[1], c[2]); n != 1 {
			t.Errorf("%d audit entries %v, want 1", n, c)
		}
	}
	list := decodeAnswer[api.AuditList](t, s.call("GET", "/api/v1/audit", root, nil))
	for _, e := range list.Items {
		if e.Action == "change role" && (e.Actor != "ada" || e.From == nil || e.At.IsZero()) {
			t.Errorf("the entry does not say who, when and from where: %+v", e)
		}
	}
}

// countAudit counts the audit entries that say exactly this.
func (s *single) countAudit(root, action, object, detail string) (n int) {
	s.t.Helper()
	for _, e := range decodeAnswer[api.AuditList](s.t, s.call("GET", "/api/v1/audit", root,
		nil)).Items {
		if e.Action == action && e.Object == object && e.Detail != nil && *e.Detail == detail {
			n++
		}
	}
	return n
}
