package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/catalog"
)

// addLimitedPerson adds the environment staging with a node, and a person with full access
// to that environment and nothing else.
func (w *world) addLimitedPerson() (token string) {
	w.t.Helper()
	ctx := w.t.Context()
	w.expectSaved(w.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "staging",
		Domain: "staging.example"}))
	w.onlineIn("node-2", "staging", "127.0.0.1:5001")
	w.expectSaved(w.accounts.PutUser(ctx, system, accounts.UserPut{Name: "stager", Active: true,
		Role: controlplane.RoleUser, Password: controlplane.NewPlain(password)}))
	w.expectSaved(w.accounts.PutTeam(ctx, system, accounts.TeamPut{Name: "stagers",
		Members: []string{"stager"}, Grants: []controlplane.TeamGrant{{Environment: "staging",
			Level: controlplane.LevelFull}}}))
	return w.token("stager")
}

// limit sets the environments of the shop as an admin does.
func (w *world) limit(environments ...string) answer {
	w.t.Helper()
	body := object{"resources": object{"cpu": 2, "memory_mib": 1024}}
	if len(environments) > 0 {
		body["environments"] = environments
	}
	return w.call("PUT", "/api/v1/projects/shop", w.token("root"), body)
}

// Full access to an environment opens the projects that may be deployed there, and
// no others: not in lists, not by name, not by creating a deployment.
func TestProject_LimitedToEnvironments(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	stager := w.addLimitedPerson()
	create := func(token string) answer {
		return w.call("POST", "/api/v1/deployments", token, object{"name": "one",
			"project": "shop", "environment": "staging", "versions": object{"api": "1.0"}})
	}
	see := func() (byName int, listed bool) {
		a := w.call("GET", "/api/v1/projects/shop", stager, nil)
		all := w.call("GET", "/api/v1/projects", stager, nil)
		return a.status, strings.Contains(string(all.body), `"shop"`)
	}
	if status, listed := see(); status != http.StatusOK || !listed {
		t.Fatalf("without a limit: %d, listed %v", status, listed)
	}
	if a := w.limit("nowhere"); a.status != http.StatusUnprocessableEntity &&
		a.status != http.StatusBadRequest {
		t.Errorf("an unknown environment: %d %s", a.status, a.body)
	}
	if a := w.limit("qa"); a.status != http.StatusOK {
		t.Fatalf("limit: %d %s", a.status, a.body)
	}
	if status, listed := see(); status != http.StatusNotFound || listed {
		t.Errorf("limited to qa, staging shows it: %d, listed %v", status, listed)
	}
	if a := create(stager); a.status != http.StatusNotFound {
		t.Errorf("creating it in staging: %d %s", a.status, a.body)
	}
	// Full access to the project itself tells why.
	for _, who := range []string{"full", "root"} {
		a := create(w.token(who))
		if a.status != http.StatusConflict || a.field("code") != "environment_not_allowed" {
			t.Errorf("%s creates it in staging: %d %s", who, a.status, a.body)
		}
	}
	if a := w.limit(); a.status != http.StatusOK {
		t.Fatalf("lift the limit: %d %s", a.status, a.body)
	}
	if a := create(stager); a.status != http.StatusCreated {
		t.Fatalf("without a limit: %d %s", a.status, a.body)
	}
	a := w.limit("qa")
	if a.status != http.StatusConflict ||
		!strings.Contains(string(a.body), "one in environment staging") {
		t.Errorf("a limit while it runs elsewhere: %d %s", a.status, a.body)
	}
	if a := w.limit("qa", "staging"); a.status != http.StatusOK {
		t.Fatalf("both: %d %s", a.status, a.body)
	}
	if a := w.call("DELETE", "/api/v1/environments/qa", w.token("root"), nil); a.status !=
		http.StatusConflict || !strings.Contains(string(a.body), "limited to it") {
		t.Errorf("deleting an environment of a limit: %d %s", a.status, a.body)
	}
}

// "Why may I" says that full access to an environment reaches secrets.
func TestExplain_SaysWhatAnEnvironmentOpens(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	stager := w.addLimitedPerson()
	a := w.call("GET", "/api/v1/me/access?object=environment/staging", stager, nil)
	if a.status != http.StatusOK || !strings.Contains(string(a.body), "secrets of every project") {
		t.Errorf("why: %d %s", a.status, a.body)
	}
}
