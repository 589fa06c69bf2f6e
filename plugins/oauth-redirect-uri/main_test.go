package main_test

import (
	"fmt"
	"reflect"
	"testing"

	"github.com/nullops/nullops/plugins/keycloak/keycloaktest"
	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

// clientBefore returns a client as it was registered, with a field the plugin knows
// nothing about.
func clientBefore() map[string]any {
	return map[string]any{
		"id": "id-web", "clientId": "web", "publicClient": true,
		"redirectUris": []any{"http://localhost/*"}, "webOrigins": []any{"+"},
	}
}

func newServer(t *testing.T) *keycloaktest.Server {
	t.Helper()
	k := keycloaktest.New(t)
	k.Clients["id-web"] = clientBefore()
	return k
}

func TestSamples(t *testing.T) {
	k := newServer(t)
	k.Starting = 1
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{"URL": k.URL})
	if !reflect.DeepEqual(k.Clients["id-web"], clientBefore()) {
		t.Errorf("delete left %v", k.Clients["id-web"])
	}
}

// Keycloak replaces a client as a whole: a change that someone else overwrote is made again, and
// theirs is kept.
func TestCreate_SurvivesAnotherAdmin(t *testing.T) {
	k := newServer(t)
	overwritten := 0
	k.AfterPut = func() {
		if overwritten++; overwritten <= 2 {
			k.Clients["id-web"] = clientBefore()
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

// Runs of many deployments that come together all have their say, and leave the
// client to the next.
func TestCreate_ManyAtOnce(t *testing.T) {
	k := newServer(t)
	binary := stdiotest.Build(t)
	const many = 12
	t.Run("runs", func(t *testing.T) {
		for i := range many {
			t.Run("", func(t *testing.T) {
				t.Parallel()
				got := stdiotest.Run(t.Context(), t, binary, fmt.Appendf(nil, `{"action":"create",
					"parameters":{"url":%q,"realm":"shop","client_id":"web",
					"redirect_uri":"http://web.pr-%d.qa.test/*"},
					"secrets":{"adminPassword":%q}}`, k.URL, i, keycloaktest.AdminPassword))
				resp, err := stdio.ParseResponse(got.Stdout)
				if err != nil || !resp.Success {
					t.Errorf("%v %s\n%s", err, got.Stdout, got.Stderr)
				}
			})
		}
	})
	if uris := k.Clients["id-web"]["redirectUris"].([]any); len(uris) != many+1 {
		t.Errorf("of %d redirect URIs there are %v", many+1, uris)
	}
	if len(k.Roles) > 0 {
		t.Errorf("the client is still held: %v", k.Roles)
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
		k.Clients["id-web"] = clientBefore()
	})
}
