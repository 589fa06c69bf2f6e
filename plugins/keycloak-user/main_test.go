package main_test

import (
	"strings"
	"testing"

	"github.com/nullops/nullops/plugins/keycloak/keycloaktest"
	"github.com/nullops/nullops/plugins/stdio"
	"github.com/nullops/nullops/plugins/stdio/stdiotest"
)

func TestSamples(t *testing.T) {
	f := keycloaktest.New(t)
	f.Starting = 1
	stdiotest.Samples(t, stdiotest.Build(t), "", map[string]string{"URL": f.URL})
	if len(f.Users) != 0 {
		t.Errorf("delete left %v", f.Users)
	}
}

// The output is the password that Keycloak got, and no log line holds it.
func TestCreate_GeneratesThePasswordThatKeycloakGets(t *testing.T) {
	f := keycloaktest.New(t)
	got := stdiotest.Run(t.Context(), t, stdiotest.Build(t), []byte(`{"action":"create",
		"parameters":{"url":"`+f.URL+`","realm":"shop","username":"Tester"},
		"secrets":{"adminPassword":"`+keycloaktest.AdminPassword+`"}}`))
	resp, err := stdio.ParseResponse(got.Stdout)
	if err != nil || !resp.Success {
		t.Fatalf("%v\n%s", err, got.Stderr)
	}
	password, _ := resp.Outputs["password"].(string)
	if len(password) < 20 || f.Passwords["id-tester"] != password {
		t.Errorf("Keycloak got %q, the output is %q", f.Passwords["id-tester"], password)
	}
	for _, secret := range []string{password, keycloaktest.AdminPassword} {
		if strings.Contains(string(got.Stderr), secret) {
			t.Errorf("the log holds a password:\n%s", got.Stderr)
		}
	}
}

func TestCheck_FindsAUserThatIsGone(t *testing.T) {
	f := keycloaktest.New(t)
	stdiotest.Check(t, stdiotest.Build(t), stdio.Request{
		Parameters: map[string]any{"url": f.URL, "realm": "shop", "username": "Tester"},
		Secrets:    map[string]string{"adminPassword": keycloaktest.AdminPassword},
	}, func() {
		f.Lock()
		defer f.Unlock()
		clear(f.Users)
	})
}
