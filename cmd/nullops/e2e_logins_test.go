package main_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/keycloak/keycloaktest"
)

// loginsLeaveNothing makes twenty deployments at once, each of which makes its
// own address known to one client of a Keycloak, which replaces the client as a
// whole each time; and removes them. Each one's address is there while it lives,
// and what was there before is all that is there afterwards.
func loginsLeaveNothing(t *testing.T, w *world) {
	testpart.Rotate(t)
	const many = 20
	const long = 12 * time.Minute
	p := w.product()
	p.node("alpha")
	k := keycloaktest.NewOn(t, machineAddress(t))
	k.Clients["id-web"] = map[string]any{"id": "id-web", "clientId": "web",
		"redirectUris": []any{"http://theirs/*"}, "webOrigins": []any{"+"}}
	p.admin.put(t, "/projects/login", object{"resources": object{"memory_mib": 64}}, nil)
	p.admin.put(t, "/projects/login/secrets/KEYCLOAK",
		object{"value": keycloaktest.AdminPassword}, nil)
	p.registerPlugin(t, "oauth-redirect-uri")
	p.savePipeline(t, "login", pluginStep("oauth-redirect-uri", "", object{"url": k.URL,
		"realm": "shop", "client_id": "web",
		"redirect_uri": "http://web.${{ deployment.name }}.qa.localhost/*"},
		map[string]string{"adminPassword": "${{ secrets.KEYCLOAK }}"}))
	ids := make([]string, many)
	want := []string{"http://theirs/*"}
	for i := range ids {
		name := fmt.Sprintf("pr-%d", i+1)
		ids[i] = p.admin.deploy(t, "login", name, nil).Id
		want = append(want, "http://web."+name+".qa.localhost/*")
	}
	all := func(status apiclient.DeploymentStatus) {
		t.Helper()
		within(t, long, fmt.Sprintf("all %d are %s", many, status), func() string {
			for _, id := range ids {
				d := p.admin.deployment(t, id)
				if d.Status == apiclient.DeploymentStatusFailed ||
					d.Status == apiclient.DeploymentStatusStuck {
					t.Fatal(p.admin.describe(t, d))
				}
				if d.Status != status {
					return d.Name + " is " + string(d.Status)
				}
			}
			return ""
		})
	}
	all(apiclient.DeploymentStatusReady)
	sameURIs(t, "while they live", k, want)
	for _, id := range ids {
		p.admin.want(t, http.StatusAccepted, http.MethodDelete, "/deployments/"+id, nil, nil)
	}
	all(apiclient.DeploymentStatusRemoved)
	sameURIs(t, "after they went", k, want[:1]) // promise: I-08
}

func sameURIs(t *testing.T, when string, k *keycloaktest.Server, want []string) {
	t.Helper()
	k.Lock()
	defer k.Unlock()
	var got []string
	for _, uri := range k.Clients["id-web"]["redirectUris"].([]any) {
		got = append(got, uri.(string))
	}
	slices.Sort(got)
	want = slices.Sorted(slices.Values(want))
	if !slices.Equal(got, want) {
		t.Errorf("redirect URIs %s: %q, want %q", when, got, want)
	}
}
