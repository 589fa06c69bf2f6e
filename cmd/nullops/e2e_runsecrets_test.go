package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// rotation is a project whose secrets change while deployments of two versions
// run.
type rotation struct {
	p               *product
	n               *node
	one, two, three apiclient.Deployment
}

const (
	rotatedSecret = "the-first-admin-password"
	nextSecret    = "the-next-password"
	legacySecret  = "only-the-older-version-uses-it"
)

// runSecrets changes a secret while three deployments of two versions run, and
// restarts the agent: each keeps the values that it was made with, to the end.
func runSecrets(t *testing.T, w *world) {
	testpart.Rotate(t)
	r := rotation{p: startProduct(t, w)}
	r.p.applyShop(t)
	r.n = r.p.enrol(t, "keeper", "qa")
	r.deploy(t)
	r.p.admin.put(t, "/projects/rotated/secrets/ADMIN", object{"value": nextSecret}, nil)
	const legacy = "/projects/rotated/secrets/LEGACY"
	a := r.p.admin.ask(t, http.MethodDelete, legacy, nil)
	if a.status != http.StatusConflict || !strings.Contains(a.body, `"deployment one"`) ||
		!strings.Contains(a.body, `"deployment two"`) || strings.Contains(a.body, "three") {
		t.Errorf("deleting what an older version uses: %s", a)
	}
	r.n.agent.kill()
	r.n.start(t)
	r.n.await(t, apiclient.NodeStatusOnline)
	for d, token := range map[*apiclient.Deployment]string{&r.one: legacySecret,
		&r.two: legacySecret, &r.three: rotatedSecret} {
		r.comesBack(t, *d, token)
		r.staysHidden(t, *d, token)
	}
	for _, d := range []apiclient.Deployment{r.one, r.two, r.three} {
		r.p.admin.remove(t, d.Id)
		r.n.nothingLeft(t, d.Id)
	}
	r.p.admin.want(t, http.StatusNoContent, http.MethodDelete, legacy, nil, nil)
}

func (r *rotation) deploy(t *testing.T) {
	t.Helper()
	admin := r.p.admin
	admin.put(t, "/projects/rotated", object{"resources": object{"cpu": 2, "memory_mib": 512}}, nil)
	admin.put(t, "/projects/rotated/secrets/ADMIN", object{"value": rotatedSecret}, nil)
	admin.put(t, "/projects/rotated/secrets/LEGACY", object{"value": legacySecret}, nil)
	r.p.savePipeline(t, "rotated", databaseStep(), pluginStep("postgres-database", "db", object{
		"database": "shop", "host": "${{ services.db.host }}", "port": "${{ services.db.port }}",
		"connect_seconds": 5}, map[string]string{"adminPassword": "${{ secrets.ADMIN }}"}),
		withEnv(webStep("web", "postgres-database"), "shop-api", object{
			"DATABASE_URL": "${{ steps.postgres-database.outputs.connectionString }}",
			"API_TOKEN":    "${{ secrets.LEGACY }}", "TOKEN": "${{ secrets.LEGACY }}"}))
	r.one = admin.deployReady(t, "rotated", "one", nil)
	r.two = admin.deployReady(t, "rotated", "two", nil)
	r.p.savePipeline(t, "rotated", withEnv(webStep("web"), "shop-api", object{
		"DATABASE_URL": "postgres://nobody:1/none", "API_TOKEN": "${{ secrets.ADMIN }}",
		"TOKEN": "${{ secrets.ADMIN }}"}))
	r.three = admin.deployReady(t, "rotated", "three", nil)
}

func databaseStep() object {
	return object{"key": "db", "needs": []string{}, "service": object{
		"name":      "postgres",
		"env":       object{"POSTGRES_PASSWORD": "${{ secrets.ADMIN }}"},
		"ports":     []object{{"name": "sql", "port": 5432}},
		"volumes":   []object{{"name": "data", "path": "/var/lib/postgresql/data"}},
		"resources": object{"cpu": 0.5, "memory_mib": 256},
		"ready":     object{"tcp": object{"port": 5432}, "retries": 120}}}
}

func withEnv(step object, service string, env object) object {
	s := step["service"].(object)
	s["name"], s["env"] = service, env
	return step
}

// comesBack kills a service: it starts again, with the value it had before.
func (r *rotation) comesBack(t *testing.T, d apiclient.Deployment, token string) {
	t.Helper()
	r.n.crash(t, d.Id)
	if got := r.n.inside(t, d.Id).env["TOKEN"]; got != token {
		t.Errorf("%s came back with %q instead of %q", d.Name, got, token)
	}
}

// staysHidden has the service log the value that it was made with.
func (r *rotation) staysHidden(t *testing.T, d apiclient.Deployment, token string) {
	t.Helper()
	url := serviceURL(t, d, "web")
	// Not by its health, which wants tables that nobody made.
	eventually(t, d.Name+" answers", func() string {
		if a := r.p.visit(t, url+"/whoami"); a.status != http.StatusOK {
			return a.String()
		}
		return ""
	})
	r.p.visit(t, url+"/said-"+token)
	r.p.visit(t, url+"/all-said")
	capsule := func() string {
		return r.p.admin.ask(t, http.MethodGet, "/deployments/"+d.Id+"/capsule", nil).body
	}
	log := func() string { return r.p.command(t, 0, "logs", d.Name, "--env", "qa") }
	for what, read := range map[string]func() string{"capsule": capsule, "log": log} {
		var shown string
		eventually(t, "the "+what+" has what the service said", func() string {
			shown = read()
			return missingPart(shown, "all-said")
		})
		for _, secret := range []string{rotatedSecret, nextSecret, legacySecret} {
			if strings.Contains(shown, secret) {
				t.Errorf("the %s of %s shows a secret:\n%s", what, d.Name, shown)
			}
		}
		if !strings.Contains(shown, "said-[secret]") {
			t.Errorf("the %s of %s lacks what the service said:\n%s", what, d.Name, shown)
		}
	}
}
