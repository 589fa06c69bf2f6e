package servertest_test

import (
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nullops/nullops/internal/servertest"
)

// An unsigned request is refused, so that a plugin which does not sign fails its tests.
func TestS3_RefusesWhatIsNotSigned(t *testing.T) {
	t.Parallel()
	s := servertest.NewS3(t, "127.0.0.1")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+"/shop", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusForbidden || len(s.Buckets()) != 0 {
		t.Errorf("%s, buckets %v", answer.Status, s.Buckets())
	}
}

// The provider says that it is at the address at which the test reaches it, and a test
// sees and changes what is sent to it.
func TestOIDC_IsWhereItSays(t *testing.T) {
	t.Parallel()
	var seen atomic.Value
	o := servertest.NewOIDC(t, func(path string, form url.Values) {
		form.Set("client_id", "changed")
		seen.Store(path)
	})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		o.Issuer+"/.well-known/openid-configuration", nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	var said struct {
		Issuer    string
		Token     string   `json:"token_endpoint"`
		Challenge []string `json:"code_challenge_methods_supported"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&said); err != nil {
		t.Fatal(err)
	}
	if said.Issuer != o.Issuer || !strings.HasPrefix(said.Token, o.Issuer) ||
		!slices.Contains(said.Challenge, "S256") || seen.Load() == nil {
		t.Errorf("issuer %s, answer %+v, seen %v", o.Issuer, said, seen.Load())
	}
}
