package accounts

import (
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

// forger is an OpenID provider that answers a code with the ID token that a test made.
type forger struct {
	*httptest.Server
	key    *rsa.PrivateKey
	token  string
	issuer string
	// elsewhere receives the code if it is not empty.
	elsewhere string
}

func newForger(t *testing.T) *forger {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	f := &forger{key: key}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	f.issuer = f.URL
	return f
}

func (f *forger) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	answer := map[string]any{}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		answer = map[string]any{"issuer": f.issuer, "authorization_endpoint": f.URL + "/authorize",
			"token_endpoint": f.URL + "/token", "jwks_uri": f.URL + "/keys",
			"id_token_signing_alg_values_supported": []string{"none", "HS256", "RS256"}}
	case "/keys":
		answer["keys"] = []map[string]string{{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "k",
			"n": encode(f.key.N.Bytes()), "e": "AQAB"}}
	case "/token":
		if f.elsewhere != "" {
			http.Redirect(w, r, f.elsewhere, http.StatusTemporaryRedirect)
			return
		}
		answer = map[string]any{"access_token": "a", "token_type": "Bearer", "id_token": f.token}
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// sign makes a token of claims and returns it with its signature by the given algorithm.
func (f *forger) sign(t *testing.T, algorithm string, claims map[string]any) string {
	t.Helper()
	head, err := json.Marshal(map[string]string{"alg": algorithm, "kid": "k"})
	if err != nil {
		t.Fatal(err)
	}
	body, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	text := encode(head) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	var signature []byte
	switch algorithm {
	case "RS256":
		signature, err = rsa.SignPKCS1v15(nil, f.key, crypto.SHA256, sum[:])
	case "HS256":
		mac := hmac.New(sha256.New, []byte("client secret"))
		_, err = io.WriteString(mac, text)
		signature = mac.Sum(nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return text + "." + encode(signature)
}

// An ID token counts if the provider's own key signed it, with an asymmetric algorithm, for us,
// for now, and for the flow that asked. Every other one is refused.
func TestOIDC_OnlyTheProvidersTokenCounts(t *testing.T) {
	f := newForger(t)
	flow := SignInFlow{State: "state", Nonce: "nonce", Verifier: "verifier"}
	claims := func(change func(map[string]any)) map[string]any {
		c := map[string]any{"iss": f.URL, "aud": "nullops", "sub": "1", "nonce": flow.Nonce,
			"iat": time.Now().Unix(), "exp": time.Now().Add(time.Minute).Unix(),
			"email": "ada@example.org", "email_verified": true}
		if change != nil {
			change(c)
		}
		return c
	}
	set := func(name string, value any) map[string]any {
		return claims(func(c map[string]any) { c[name] = value })
	}
	now := time.Now().Unix()
	good := f.sign(t, "RS256", claims(nil))
	for name, c := range map[string]struct {
		token string
		good  bool
	}{
		"right":                {good, true},
		"no signature":         {f.sign(t, "none", claims(nil)), false},
		"the client's secret":  {f.sign(t, "HS256", claims(nil)), false},
		"cut":                  {good[:len(good)-10], false},
		"changed":              {strings.Replace(good, ".", ".A", 1), false},
		"another key":          {newForger(t).sign(t, "RS256", claims(nil)), false},
		"of another issuer":    {f.sign(t, "RS256", set("iss", "https://other.example")), false},
		"for another audience": {f.sign(t, "RS256", set("aud", "other")), false},
		"of another flow":      {f.sign(t, "RS256", set("nonce", "other")), false},
		"expired":              {f.sign(t, "RS256", set("exp", now-3600)), false},
		"not valid yet":        {f.sign(t, "RS256", set("nbf", now+3600)), false},
		"none":                 {"", false},
	} {
		f.token = c.token
		_, err := f.provider().exchangeCode(t.Context(), flow, "code")
		if (err == nil) != c.good || !c.good && controlplane.CodeOf(err) != "sign_in_refused" {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func (f *forger) provider() *Provider {
	return NewProvider(OIDCConfig{Issuer: f.URL, Client: "nullops",
		Secret: controlplane.NewPlain("client secret")})
}

// A provider's description must name the issuer that it was asked of, and neither code nor
// client secret follow a redirect to another host.
func TestOIDC_StaysAtTheProvider(t *testing.T) {
	f := newForger(t)
	received := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		received = true
	}))
	t.Cleanup(other.Close)
	f.elsewhere = other.URL + "/token"
	if _, err := f.provider().exchangeCode(t.Context(), SignInFlow{}, "code"); err == nil || received {
		t.Errorf("a redirect of the token's request: %v, received: %v", err, received)
	}
	// The scopes are those that are set, and what is public may be in the address only.
	to, _, err := f.provider().BeginSignIn(t.Context())
	if err != nil || !strings.Contains(to, "scope=openid&") || strings.Contains(to, "secret") {
		t.Errorf("the browser is sent to %s: %v", to, err)
	}
	f.issuer = "https://other.example"
	_, _, err = f.provider().BeginSignIn(t.Context())
	if controlplane.CodeOf(err) != "provider_unreachable" {
		t.Errorf("another issuer's description: %v", err)
	}
}
