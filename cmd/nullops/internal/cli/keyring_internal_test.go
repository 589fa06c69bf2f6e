package cli

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/zalando/go-keyring"
)

const keptToken = "nop_abc_SECRETOFATEST"

// keptLogin signs in, and returns what the command says and the file that it writes.
func keptLogin(t *testing.T, url string) (said, file string) {
	t.Helper()
	var out bytes.Buffer
	c := &cobra.Command{}
	c.SetContext(t.Context())
	c.SetOut(&out)
	if err := keepLogin(c, "", login{URL: url, Token: keptToken}, false); err != nil {
		t.Fatal(err)
	}
	path, err := loginPath()
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info, err)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), string(text)
}

func runLogout(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	c := logoutCommand()
	c.SetArgs(nil)
	c.SetOut(&out)
	c.SetErr(io.Discard)
	c.SilenceErrors, c.SilenceUsage = true, true
	err := c.ExecuteContext(t.Context())
	return out.String(), err
}

// The token is in the system's keyring, or else in a file that only its owner reads. What cannot be
// read is said in words that never hold the token, and signing out forgets it in any case.
func TestKeyring_KeepsTheToken(t *testing.T) {
	for _, name := range []string{"NULLOPS_CLI_URL", "NULLOPS_CLI_TOKEN", "NULLOPS_CLI_CONTEXT",
		"XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	revoked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+keptToken {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodDelete {
			revoked++
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_, _ = io.WriteString(w, `{"name": "lena", "items": [{"id": "one", "prefix": "abc"}]}`)
	}))
	t.Cleanup(server.Close)
	withBus := func(there bool) {
		address := ""
		if there {
			address = "unix:path=/nowhere"
		}
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
	}

	keyring.MockInit()
	withBus(true)
	said, file := keptLogin(t, server.URL)
	if l, err := loadLogin(); err != nil || l.Token != keptToken ||
		!strings.Contains(said, "in the system's keyring") || strings.Contains(file, keptToken) {
		t.Errorf("with a keyring: %s %s %v", said, file, err)
	}
	for reason, away := range map[string]func(){
		"no session bus": func() { withBus(false) },
		"it is locked":   func() { keyring.MockInitWithError(errors.New("it is locked")) },
	} {
		keyring.MockInit()
		withBus(true)
		keptLogin(t, server.URL)
		away()
		_, err := loadLogin()
		if err == nil || !strings.Contains(err.Error(), reason) ||
			!strings.Contains(err.Error(), "nullops login "+server.URL) ||
			strings.Contains(err.Error(), keptToken) {
			t.Errorf("%s: %v", reason, err)
		}
		_, err = runLogout(t)
		if err == nil || !strings.Contains(err.Error(), "delete it on the account page") ||
			strings.Contains(err.Error(), keptToken) {
			t.Errorf("signing out, %s: %v", reason, err)
		}
		if known, err := loadContexts(); err != nil || len(known.contextNames()) != 0 {
			t.Errorf("signing out, %s, leaves %v: %v", reason, known.contextNames(), err)
		}
	}
	for name, prepare := range map[string]func(){
		"without a bus": func() { withBus(false) },
		"with a keyring that takes nothing": func() {
			withBus(true)
			keyring.MockInitWithError(errors.New("it is locked"))
		},
	} {
		prepare()
		said, file = keptLogin(t, server.URL)
		if l, err := loadLogin(); err != nil || l.Token != keptToken ||
			!strings.Contains(said, "in a file that only you can read") ||
			strings.Contains(said, keptToken) || !strings.Contains(file, keptToken) {
			t.Errorf("%s: %s %v", name, said, err)
		}
		before := revoked
		if said, err := runLogout(t); err != nil || revoked != before+1 ||
			strings.Contains(said, keptToken) {
			t.Errorf("%s, signing out: %s %v, %d revoked", name, said, err, revoked-before)
		}
	}
}
