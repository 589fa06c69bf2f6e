package servertest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
)

// OIDC is an OpenID provider: discovery, keys, codes, PKCE and ID tokens.
type OIDC struct {
	Issuer, ClientID, ClientSecret string

	process *Process
}

// Person is whom the provider signs in, with exactly these claims: Token in the ID token,
// Userinfo at the endpoint.
type Person struct {
	Subject  string
	Token    map[string]any
	Userinfo map[string]any
}

// NewOIDC starts a provider. change may alter each request's form before the provider
// sees it.
func NewOIDC(t testing.TB, change func(path string, form url.Values)) *OIDC {
	t.Helper()
	var ready struct{ Address, IssuerPath, ClientID, ClientSecret string }
	var proxy *httputil.ReverseProxy
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		change(r.URL.Path, r.Form)
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(front.Close)
	process := Start(t, "oidc", map[string]string{
		"Address": strings.TrimPrefix(front.URL, "http://")}, &ready)
	target := &url.URL{Scheme: "http", Host: ready.Address}
	proxy = &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(target)
		sendForm(r.Out, r.In.Form)
	}}
	return &OIDC{Issuer: front.URL + ready.IssuerPath, ClientID: ready.ClientID,
		ClientSecret: ready.ClientSecret, process: process}
}

// sendForm writes a form to where a request of its method has it.
func sendForm(r *http.Request, form url.Values) {
	if r.Method != http.MethodPost {
		r.URL.RawQuery = form.Encode()
		return
	}
	body := form.Encode()
	r.URL.RawQuery = ""
	r.Body, r.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
}

// Queue makes the next person who signs in this one.
func (o *OIDC) Queue(person Person) {
	o.process.t.Helper()
	o.process.Call("/queue", person, nil)
}
