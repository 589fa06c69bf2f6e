package api_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/api"
)

// lastEntry is what the journal says of the last deed of a person.
func (w *world) lastEntry(actor string) api.AuditEntry {
	w.t.Helper()
	return w.newest(w.token("root"), actor).Items[0]
}

// Who has full access to a deployment sees the values that were generated for it,
// and nobody else does; a value that a person typed is shown to nobody. Each try
// is in the audit with who and which, and never with the value.
func TestRevealSecret(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	root, full := w.token("root"), w.token("full")
	const secret = "/projects/shop/secrets/API_TOKEN"
	w.expect(http.StatusOK, "PUT", secret, root, object{"generate": object{"length": 24}}, nil)
	d := w.deploy("first")
	path := "/deployments/" + string(d.ID) + "/secrets"
	reveal := func(status int, who, code string) string {
		t.Helper()
		a := w.call("POST", "/api/v1"+path+"/API_TOKEN/reveal", who, nil)
		if a.status != status || a.field("code") != code {
			t.Errorf("got %d %s, want %d %s", a.status, a.body, status, code)
		}
		if a.header.Get("Cache-Control") != "no-store" {
			t.Errorf("Cache-Control is %q", a.header.Get("Cache-Control"))
		}
		return a.field("value")
	}
	reveal(http.StatusNotFound, full, "secret_not_generated")
	made := w.fetchToken(d)
	var list api.DeploymentSecretList
	w.expect(http.StatusOK, "GET", path, w.token("reader"), nil, &list)
	if len(list.Items) != 1 || list.Items[0].Name != "API_TOKEN" || len(made) != 24 {
		t.Fatalf("generated: %q, listed: %+v", made, list)
	}
	if got := reveal(http.StatusOK, full, ""); got != made {
		t.Errorf("revealed %q, want %q", got, made)
	}
	entry := w.lastEntry("full")
	if entry.Action != "reveal secret" || entry.Object != "secret API_TOKEN of deployment first" ||
		entry.Result != api.AuditResultOk || strings.Contains(string(w.call("GET",
		"/api/v1/audit?actor=full", root, nil).body), made) {
		t.Errorf("the audit says %+v", entry)
	}
	reveal(http.StatusForbidden, w.token("reader"), "forbidden")
	if entry = w.lastEntry("reader"); entry.Result != api.AuditResultRefused ||
		entry.Action != "reveal secret" {
		t.Errorf("the audit says %+v", entry)
	}
	reveal(http.StatusNotFound, w.token("stranger"), "not_found")
	reads := w.call("POST", "/api/v1/tokens", "", object{"user": "root", "password": password,
		"name": "ci", "scope": "read", "expires_in_days": 1})
	reveal(http.StatusForbidden, reads.field("token"), "token_read_only")
	w.typedSince(d, root, secret)
	reveal(http.StatusNotFound, root, "secret_not_generated")
}

// typedSince retries a deployment with a value that a person has set.
func (w *world) typedSince(d controlplane.Deployment, root, secret string) {
	w.t.Helper()
	w.expect(http.StatusOK, "PUT", secret, root, object{"value": "typed-by-a-person"}, nil)
	for _, status := range []controlplane.DeploymentStatus{controlplane.Applying,
		controlplane.Undoing, controlplane.Failed} {
		w.reaches(d, status)
	}
	w.expect(http.StatusAccepted, "POST", "/deployments/"+string(d.ID)+"/retry", root, nil, nil)
	d, err := w.lifecycle.Get(w.t.Context(), system, d.ID)
	w.expectSaved(nil, err)
	if got := w.fetchToken(d); got != "typed-by-a-person" {
		w.t.Fatalf("the retry got %q", got)
	}
}

// Anyone who hangs up in the middle has perhaps seen the value: it is written down.
func TestRevealSecret_HangingUpIsAudited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.expect(http.StatusOK, "PUT", "/projects/shop/secrets/API_TOKEN", w.token("root"),
		object{"generate": object{"length": 24}}, nil)
	d := w.deploy("first")
	w.fetchToken(d)
	gone, hangUp := context.WithCancel(t.Context())
	hangUp()
	_, err := w.catalog.RevealSecret(gone, access.System("hasty"), d.ID, "API_TOKEN")
	w.expectSaved(nil, err)
	if entry := w.lastEntry("system:hasty"); entry.Result != api.AuditResultOk ||
		entry.Action != "reveal secret" {
		t.Errorf("the audit says %+v", entry)
	}
}
