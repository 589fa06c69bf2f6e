package api_test

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/pipeline"
)

// free are operations that delete what nothing refers to, or a part of its owner: no reference can
// break.
var free = map[string]bool{"deleteSession": true, "endLogLevel": true, "deleteCurrentSession": true,
	"deleteInvitation": true, "deleteToken": true, "deleteUserToken": true, "deleteDraft": true,
	"deleteTemplate": true, "deleteRule": true, "deleteWebhook": true, "deleteRobot": true,
	"deleteGuest": true, "deleteMail": true, "clearMails": true,
	"deleteDeployment": true, "releaseDeployment": true,
	"undrainNode": true, "forgetNodeSSH": true, "revokeNodeToken": true,
	// Hosts fall back to another certificate; orders end with the environment.
	"deleteCertificate": true, "deleteCertificateAuthority": true,
	"deleteCertificateOrders": true,
	// Notices, comments and budgets belong to nothing but themselves, and second factors to people.
	"closeAccessRequest": true, "deleteComment": true, "deleteBudget": true,
	"endAlertSilence": true, "deleteFactor": true, "resetUserFactors": true,
	// What a source defined outlives it.
	"deleteSource": true,
	// What waits to be confirmed is nobody's yet.
	"denyDeviceLogin": true,
	// The nodes that it enrolled have tokens of their own.
	"revokeProvisioningToken": true}

// usersOfShop returns who keeps the objects of world.shop from being deleted.
func usersOfShop() map[string][]string {
	return map[string][]string{
		"/registries/local": {"deployment first", "plugin seed", "service api"},
		"/services/api":     {"project shop"},
		"/plugins/seed":     {"project shop"},
		"/environments/qa": {"deployment first", "node node-1", "node one", "node two",
			"rule rule", "webhook hook"},
		"/node-templates/gpu":              {"node one", "node two"},
		"/projects/shop":                   {"deployment first", "rule rule", "webhook hook"},
		"/projects/shop/secrets/API_TOKEN": {"step api", "step seed"},
		"/nodes/node-1":                    {"deployment first"},
		"/teams/team-full":                 {"step ask of project shop"},
		"/users/reader":                    {"step ask of project shop"},
	}
}

// Deleting an object in use is refused, names all users of it, and changes nothing. Every operation
// that deletes is either here or deletes what nothing can refer to.
func TestDelete_InUse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	p := shopPipeline()
	p.Steps = append(p.Steps, pipeline.Step{Key: "ask", Approval: &pipeline.ApprovalStep{
		Prompt: "Go on?", Teams: []string{"team-full"}, Users: []string{"reader"}}})
	w.expectSaved(w.catalog.SavePipeline(t.Context(), system, "shop", p, "asks"))
	d := w.deploy("first")
	w.makeRule("rule", "github", "")
	w.makeWebhook("hook", "http://127.0.0.1:9/x", object{"project": "shop", "environment": "qa"})
	root, left := w.token("root"), usersOfShop()
	w.expect(http.StatusOK, "POST", "/documents", root,
		object{"documents": newTemplated(object{})}, nil)
	all := readOperations(t)
	for path, want := range left {
		a := w.call("DELETE", "/api/v1"+path, root, nil)
		var said struct{ Users []string }
		_ = json.Unmarshal(a.body, &said)
		slices.Sort(said.Users)
		if a.status != http.StatusConflict || a.field("code") != "in_use" ||
			!slices.Equal(said.Users, want) {
			t.Errorf("delete %s: %d %s, want the users %q", path, a.status, a.body, want)
		}
		if strings.Contains(path, "/secrets/") {
			path = "/projects/shop/secrets"
		}
		if b := w.call("GET", "/api/v1"+path, root, nil); b.status != http.StatusOK {
			t.Errorf("%s is gone: %d", path, b.status)
		}
	}
	for _, id := range operationNames(all) {
		if o := all[id]; o.method == http.MethodDelete && !free[id] && !isCovered(left, o.path) {
			t.Errorf("%s is neither tried in use nor said to be free", id)
		}
	}
	w.deleteUsers(d.Name, root)
}

func isCovered(tried map[string][]string, path string) bool {
	kind := strings.Split(strings.TrimPrefix(path, "/api/v1/"), "/")
	for t := range tried {
		parts := strings.Split(strings.TrimPrefix(t, "/"), "/")
		if len(parts) == len(kind) && parts[0] == kind[0] &&
			(len(kind) < 3 || parts[2] == kind[2]) {
			return true
		}
	}
	return false
}

// deleteUsers deletes the users, and then what they used.
func (w *world) deleteUsers(deployment, root string) {
	w.t.Helper()
	p := shopPipeline()
	w.expectSaved(w.catalog.SavePipeline(w.t.Context(), system, "shop", p, "asks nobody"))
	w.expectSaved(w.catalog.PutProject(w.t.Context(), system, catalog.ProjectPut{Name: "empty",
		Resources: pipeline.Resources{CPU: 1, MemoryMiB: 64}}))
	for _, path := range []string{"/teams/team-full", "/users/reader", "/rules/rule",
		"/webhooks/hook", "/projects/empty"} {
		if a := w.call("DELETE", "/api/v1"+path, root, nil); a.status != http.StatusNoContent {
			w.t.Errorf("delete %s: %d %s", path, a.status, a.body)
		}
	}
	a := w.call("DELETE", "/api/v1/projects/shop", root, nil)
	if strings.Contains(string(a.body), "rule") || !strings.Contains(string(a.body), deployment) {
		w.t.Errorf("who uses the project now: %s", a.body)
	}
}
