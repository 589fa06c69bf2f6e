package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
)

const userPassword = "correct horse battery staple"

// member makes a user with a team of their own that has these grants.
func (p *product) member(t *testing.T, name string, grants ...object) *person {
	t.Helper()
	p.admin.put(t, "/users/"+name, object{"role": "user", "password": userPassword}, nil)
	p.admin.put(t, "/teams/team-"+name, object{"members": []string{name},
		"grants": append([]object{}, grants...)}, nil)
	return p.signIn(t, name, userPassword)
}

// accessLevels asks the same as someone without a team, a reader and someone with full access.
func accessLevels(t *testing.T, w *world) {
	p := w.product()
	p.define(t, "mine", webStep("web"))
	d := p.admin.deployReady(t, "mine", "mine", nil)
	stranger := p.member(t, "stranger")
	reader := p.member(t, "reader", object{"project": "mine", "level": "read"})
	full := p.member(t, "full", object{"project": "mine", "level": "full"})

	var none apiclient.DeploymentList
	stranger.get(t, "/deployments", &none)
	var projects apiclient.ProjectList
	stranger.get(t, "/projects", &projects)
	// promise: N-007
	if len(none.Items) != 0 || len(projects.Items) != 0 {
		t.Errorf("a stranger sees %v and %v", none.Items, projects.Items)
	}
	for _, path := range []string{"", "/runs/1", "/runs", "/runs/1/steps/web/log", "/events",
		"/services/web/logs"} {
		stranger.expectProblem(t, http.StatusNotFound, http.MethodGet, "/deployments/"+d.Id+path, nil)
	}
	stranger.expectProblem(t, http.StatusNotFound, http.MethodDelete, "/deployments/"+d.Id, nil)

	if seen := reader.deployment(t, d.Id); seen.Level != apiclient.LevelRead {
		t.Errorf("a reader has level %s", seen.Level)
	}
	reader.run(t, d)
	reader.follow(t, "/deployments/"+d.Id+"/services/web/logs", "").
		awaitData(t, "line", "listening") // promise: N-283
	reader.expectProblem(t, http.StatusForbidden, http.MethodDelete, "/deployments/"+d.Id, nil)
	reader.expectProblem(t, http.StatusForbidden, http.MethodPost, "/deployments/"+d.Id+"/retry", nil)
	creation := object{"name": "theirs", "project": "mine", "environment": "qa"}
	reader.expectProblem(t, http.StatusForbidden, http.MethodPost, "/deployments", creation)

	var made apiclient.Deployment
	full.want(t, http.StatusCreated, http.MethodPost, "/deployments", creation, &made)
	full.await(t, made.Id, apiclient.DeploymentStatusReady)
	full.remove(t, made.Id)
	adminsOnly(t, full)
	signInOnly(t, p)
	p.admin.remove(t, d.Id)
}

// adminsOnly tries what only admins may do.
func adminsOnly(t *testing.T, who *person) {
	t.Helper()
	for path, body := range map[string]object{
		"/environments/theirs":     {"domain": "localhost"},
		"/projects/theirs":         {"resources": object{}},
		"/projects/mine/pipeline":  pipelineOf(webStep("web")),
		"/projects/mine/secrets/A": {"value": "a secret value"},
		"/teams/theirs":            {},
		"/users/theirs":            {"role": "admin", "password": userPassword},
		"/registries/theirs":       {"host": "127.0.0.1:1"},
		"/services/shop-web":       {"registry": "local", "image": "a", "tag_mode": "selectable"},
		"/plugins/hostile": {"registry": "local", "image": "a", "tag": "1",
			"component": object{}},
	} {
		// promise: N-006
		who.expectProblem(t, http.StatusForbidden, http.MethodPut, path, body)
	}
	who.expectProblem(t, http.StatusForbidden, http.MethodGet, "/nodes", nil)
	who.expectProblem(t, http.StatusForbidden, http.MethodPost, "/nodes",
		object{"name": "theirs", "environment": "qa", "address": "127.0.0.1:1"})
}

// signInOnly tries to come in without the right password.
func signInOnly(t *testing.T, p *product) {
	t.Helper()
	nobody := &person{p: p, name: "nobody"}
	// promise: N-005
	wrong := nobody.expectProblem(t, http.StatusUnauthorized, http.MethodPost, "/tokens",
		object{"user": "full", "password": "not the password", "name": "x"})
	unknown := nobody.expectProblem(t, http.StatusUnauthorized, http.MethodPost, "/tokens",
		object{"user": "no-such-user", "password": "not the password", "name": "x"})
	if wrong.Title != unknown.Title || textOf(wrong.Detail) != textOf(unknown.Detail) {
		t.Errorf("the answers tell who exists: %+v and %+v", wrong, unknown)
	}
	nobody.expectProblem(t, http.StatusUnauthorized, http.MethodGet, "/deployments", nil)
	nobody.token = "nops_" + strings.Repeat("x", 43)
	nobody.expectProblem(t, http.StatusUnauthorized, http.MethodGet, "/deployments", nil)
	// promise: N-004, N-005
	if dump := string(p.dump(t)); strings.Contains(dump, userPassword) ||
		!strings.Contains(dump, "stranger") {
		t.Error("a password is in the database, or the dump is not of it")
	}
}
