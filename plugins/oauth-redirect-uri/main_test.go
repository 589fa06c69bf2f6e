package main_test

import (
	"reflect"
	"testing"

	"github.com/nullops/nullops/plugins/keycloak/keycloaktest"
	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

// before is a client as it was registered, with a field the plugin knows
// nothing about.
func before() map[string]any {
	return map[string]any{
		"id": "id-web", "clientId": "web", "publicClient": true,
		"redirectUris": []any{"http://localhost/*"}, "webOrigins": []any{"+"},
	}
}

func newServer(t *testing.T) *keycloaktest.Server {
	t.Helper()
	k := keycloaktest.New(t)
	k.Clients["id-web"] = before()
	return k
}

func TestSamples(t *testing.T) {
	k := newServer(t)
	k.Starting = 1
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{"URL": k.URL})
	if !reflect.DeepEqual(k.Clients["id-web"], before()) {
		t.Errorf("delete left %v", k.Clients["id-web"])
	}
}

// Keycloak replaces a client as a whole: a change that somebody else overwrote
// is made again, and theirs is kept.
func TestCreate_SurvivesAnotherAdmin(t *testing.T) {
	k := newServer(t)
	overwritten := 0
	k.AfterPut = func() {
		if overwritten++; overwritten <= 2 {
			k.Clients["id-web"] = before()
			k.Clients["id-web"]["redirectUris"] = []any{"http://theirs/*"}
		}
	}
	got := stdiotest.Run(t.Context(), t, stdiotest.Build(t), []byte(`{"action":"create",
		"parameters":{"url":"`+k.URL+`","realm":"shop","client_id":"web",
		"redirect_uri":"http://web.pr-42.qa.test/*"},
		"secrets":{"adminPassword":"`+keycloaktest.AdminPassword+`"}}`))
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%v %s\n%s", err, got.Stdout, got.Stderr)
	}
	want := []any{"http://theirs/*", "http://web.pr-42.qa.test/*"}
	if uris := k.Clients["id-web"]["redirectUris"]; !reflect.DeepEqual(uris, want) {
		t.Errorf("redirect URIs are %v, want %v", uris, want)
	}
}

func TestCheck_FindsAnAddressThatIsGone(t *testing.T) {
	k := newServer(t)
	stdiotest.Check(t, stdiotest.Build(t), stdio.Request{
		Parameters: map[string]any{"url": k.URL, "realm": "shop", "client_id": "web",
			"redirect_uri": "http://web.pr-42.qa.test/*", "web_origin": "http://web.pr-42.qa.test"},
		Secrets: map[string]string{"adminPassword": keycloaktest.AdminPassword},
	}, func() {
		k.Lock()
		defer k.Unlock()
		k.Clients["id-web"] = before()
	})
}
