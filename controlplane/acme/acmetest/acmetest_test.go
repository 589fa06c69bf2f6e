package acmetest_test

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nullops/nullops/controlplane/acme/acmetest"
)

// The authority names addresses of the front with TLS, through which clients reach it, and
// is busy when the test says so.
func TestAuthority_IsBehindTLS(t *testing.T) {
	t.Parallel()
	a := acmetest.NewAuthority(t, acmetest.NewNameServer(t), 1)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(a.TLS))
	client := &http.Client{Transport: &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}}}
	base, _, _ := strings.Cut(strings.TrimPrefix(a.Directory, "https://"), "/")
	if status, text := call(t, client, http.MethodGet, a.Directory, "", ""); status != 200 ||
		!strings.Contains(text, `"https://`+base+"/") {
		t.Errorf("directory: %d %s", status, text)
	}
	a.Busy.Store(true)
	if status, _ := call(t, client, http.MethodGet, a.Directory, "", ""); status != 503 {
		t.Errorf("busy: %d", status)
	}
}

func TestNameServer_TakesRecordsWithThePassword(t *testing.T) {
	t.Parallel()
	names := acmetest.NewNameServer(t)
	hook := httptest.NewServer(http.HandlerFunc(names.Webhook))
	t.Cleanup(hook.Close)
	for _, c := range []struct {
		password, path string
		status, texts  int
	}{
		{"wrong", "/present", http.StatusForbidden, 0},
		{acmetest.HookPassword, "/present", http.StatusOK, 1},
		{acmetest.HookPassword, "/cleanup", http.StatusOK, 0},
	} {
		status, _ := call(t, http.DefaultClient, http.MethodPost, hook.URL+c.path, c.password,
			`{"fqdn":"_acme-challenge.acme.test.","value":"x"}`)
		if texts, _, _ := names.CountLeftovers(); status != c.status || texts != c.texts {
			t.Errorf("%s with %q: %d, %d records", c.path, c.password, status, texts)
		}
	}
}

func call(t *testing.T, c *http.Client, method, url, password, body string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.SetBasicAuth("nullops", password)
	answer, err := c.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer.StatusCode, string(text)
}
