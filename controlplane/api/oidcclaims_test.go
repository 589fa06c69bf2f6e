package api_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"
	"github.com/oauth2-proxy/mockoidc"

	"github.com/nullops/nullops/controlplane/accounts"
)

// claimUser is a person about whom the provider says exactly these claims.
type claimUser struct {
	subject string
	// token is what the ID token says, userinfo what the endpoint answers.
	token, userinfo map[string]any
}

func (u claimUser) ID() string { return u.subject }

func (u claimUser) Userinfo([]string) ([]byte, error) { return json.Marshal(u.userinfo) }

func (u claimUser) Claims(_ []string, base *mockoidc.IDTokenClaims) (jwt.Claims, error) {
	text, err := json.Marshal(base)
	if err != nil {
		return nil, err
	}
	all := jwt.MapClaims{}
	err = json.Unmarshal(text, &all)
	maps.Copy(all, u.token)
	return all, err
}

// signInAs signs the person in through the provider and returns the status and
// text of the last page, and what the API says about the person.
func (s *single) signInAs(t *testing.T, u claimUser) (status int, page, me string) {
	t.Helper()
	s.provider.QueueUser(u)
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
			status, page, me := s.signInAs(t, claimUser{subject: "sub-1", token: c.token})
			if status != c.status || strings.Contains(me, `"role":"admin"`) != c.admin {
				t.Errorf("status %d, want %d; admin must be %v: %s", status, c.status, c.admin, me)
			}
			if status == http.StatusUnauthorized && !strings.Contains(page, "oidc.claim") {
				t.Errorf("the refusal does not name the setting: %s", page)
			}
		})
	}
}
