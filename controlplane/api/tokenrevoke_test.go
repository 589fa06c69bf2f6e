package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/api"
)

// An attacker who created a token with a stolen password must lose it when the password changes,
// whichever way it changes. Tokens of service users stay.
func TestTokens_EndWithThePassword(t *testing.T) {
	t.Parallel()
	const next = "a brand new password"
	for name, change := range map[string]func(w *world, root, own string) answer{
		"own change": func(w *world, _, own string) answer {
			return w.call("PUT", "/api/v1/me/password", own,
				object{"current": password, "password": next})
		},
		"reset link": func(w *world, root, _ string) answer {
			link := linkSecret(w.t, w.call("POST", "/api/v1/users/full/reset", root, nil))
			return w.call("POST", "/api/v1/password-resets", "",
				object{"link": link, "password": next})
		},
		"set by an admin": func(w *world, root, _ string) answer {
			return w.call("PUT", "/api/v1/users/full", root,
				object{"role": "user", "active": true, "password": next})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.people()
			root := w.token("root")
			make := func(name string) string {
				return w.call("POST", "/api/v1/tokens", "", object{"user": "full",
					"password": password, "name": name}).field("token")
			}
			own, other := make("laptop"), make("stolen")
			robot := w.call("POST", "/api/v1/users/robot/tokens", root,
				object{"name": "ci", "scope": "full"}).field("token")
			link := linkSecret(t, w.call("POST", "/api/v1/users/full/reset", root, nil))
			status := func(token string) int { return w.call("GET", "/api/v1/me", token, nil).status }
			if status(own) != http.StatusOK || status(other) != http.StatusOK {
				t.Fatal("a new token opens nothing")
			}
			if a := change(w, root, own); a.status >= 300 {
				t.Fatalf("change the password: %d %s", a.status, a.body)
			}
			if status(own) != http.StatusUnauthorized || status(other) != http.StatusUnauthorized {
				t.Errorf("tokens after the change: %d and %d, want 401", status(own), status(other))
			}
			if status(robot) != http.StatusOK {
				t.Errorf("the token of a service user answers %d", status(robot))
			}
			if a := w.call("POST", "/api/v1/password-resets", "",
				object{"link": link, "password": password}); a.status != http.StatusForbidden {
				t.Errorf("a reset link from before the change answers %d", a.status)
			}
			if n := w.countRevoked(root); n < 2 {
				t.Errorf("%d audit entries for revoked tokens, want 2 or more", n)
			}
		})
	}
}

// countRevoked counts the audit entries of tokens that ended with a password.
func (w *world) countRevoked(root string) (n int) {
	w.t.Helper()
	list := decodeAnswer[api.AuditList](w.t, w.call("GET", "/api/v1/audit", root, nil))
	for _, e := range list.Items {
		if e.Action == "delete token" && strings.HasSuffix(e.Object, " user full") &&
			e.Result == api.AuditResult(controlplane.AuditOK) {
			n++
		}
	}
	return n
}
