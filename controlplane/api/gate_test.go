package api_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"html"
	"log/slog"
	"math/big"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/lifecycle"
)

// pair is a certificate that signed itself, as an upload.
func pair(host string, life time.Duration) object {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		panic(err) // there is no randomness
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{host},
		NotBefore: time.Now().Add(-2 * time.Hour), NotAfter: time.Now().Add(life)}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		panic(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		panic(err)
	}
	return object{
		"chain": string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw})),
		"key":   string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
	}
}

const gateHost = "api.first.qa.localhost"

// browse is a page load by a signed-in person.
func (w *world) browse(path string, cookie *http.Cookie) answer {
	w.t.Helper()
	header := http.Header{"Accept": {"text/html"}}
	if cookie != nil {
		header.Set("Cookie", cookie.Name+"="+cookie.Value)
	}
	return w.send("GET", path, header, nil)
}

// signIn returns the cookie of a new session.
func (w *world) cookieOf(user string) *http.Cookie {
	w.t.Helper()
	a := w.call("POST", "/api/v1/sessions", "", object{"user": user, "password": password})
	if len(a.cookies) != 1 {
		w.t.Fatalf("sign in as %s: %d %s", user, a.status, a.body)
	}
	return a.cookies[0]
}

var hiddenPass = regexp.MustCompile(`name="pass" value="([^"]+)"`)

// A person who may see the deployment is handed over; the pass holds for as long as their session
// and their right to see it do. Everybody else learns nothing.
func TestGate_HandOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	g := gate.New(w.store, nil)
	to := "/gate?" + url.Values{"host": {gateHost}, "to": {"/x?y=1"}}.Encode()
	a := w.browse(to, nil)
	if next := a.header.Get("Location"); a.status != 303 ||
		next != "/sign-in?next="+url.QueryEscape(to) {
		t.Fatalf("a stranger: %d %s", a.status, next)
	}
	unseen, ghost := w.browse(to, w.cookieOf("stranger")), "api.frist.qa.localhost"
	nothing := w.browse("/gate?host="+ghost, w.cookieOf("stranger"))
	if unseen.status != 404 || strings.ReplaceAll(string(unseen.body), gateHost, "") !=
		strings.ReplaceAll(string(nothing.body), ghost, "") {
		t.Errorf("what they may not see: %d %s", unseen.status, unseen.body)
	}
	cookie := w.cookieOf("reader")
	near := w.browse("/gate?host="+ghost, cookie)
	if near.status != 404 || !strings.Contains(string(near.body), gateHost) {
		t.Errorf("near matches: %d %s", near.status, near.body)
	}
	a = w.browse(to, cookie)
	code := hiddenPass.FindStringSubmatch(html.UnescapeString(string(a.body)))
	if a.status != 200 || code == nil || !strings.Contains(string(a.body),
		`action="http://`+gateHost+`:8000/.nullops/pass"`) ||
		!strings.Contains(a.header.Get("Content-Security-Policy"), "form-action http://"+gateHost) {
		t.Fatalf("%d %s %s", a.status, a.header, a.body)
	}
	if _, _, ok, _ := g.Redeem(t.Context(), system, "web.other.qa.localhost",
		controlplane.NewPlain(code[1])); ok {
		t.Error("a code works on another host")
	}
	pass, _, ok, err := g.Redeem(t.Context(), system, gateHost, controlplane.NewPlain(code[1]))
	if err != nil || !ok {
		t.Fatal(ok, err)
	}
	if _, _, ok, _ = g.Redeem(t.Context(), system, gateHost, controlplane.NewPlain(code[1])); ok {
		t.Error("a code works twice")
	}
	if held := w.held(g, pass); len(held) != 1 || held[0].Deployment != d.ID || held[0].Full {
		t.Errorf("the pass of a reader: %+v", held)
	}
	if a = w.send("DELETE", "/api/v1/sessions/current", http.Header{
		"Cookie": {cookie.Name + "=" + cookie.Value}, "Origin": {"http://nullops.test"},
	}, nil); a.status != 204 {
		t.Fatalf("sign out: %d %s", a.status, a.body)
	}
	if held := w.held(g, pass); len(held) != 0 {
		t.Error("the pass outlives its session")
	}
}

func (w *world) held(g *gate.Gate, pass controlplane.Plain) []gate.ValidPass {
	w.t.Helper()
	held, err := g.Check(w.t.Context(), system, []controlplane.Plain{pass})
	if err != nil {
		w.t.Fatal(err)
	}
	return held
}

// A pass ends when its person's team loses the deployment.
func TestGate_TeamCheck(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	w.deploy("first")
	g := gate.New(w.store, nil)
	a := w.browse("/gate?host="+gateHost, w.cookieOf("full"))
	code := hiddenPass.FindStringSubmatch(string(a.body))
	if code == nil {
		t.Fatalf("%d %s", a.status, a.body)
	}
	pass, _, _, err := g.Redeem(t.Context(), system, gateHost, controlplane.NewPlain(code[1]))
	if held := w.held(g, pass); err != nil || len(held) != 1 || !held[0].Full {
		t.Fatalf("%+v %v", held, err)
	}
	root := w.token("root")
	if a := w.call("DELETE", "/api/v1/teams/team-full", root, nil); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if held := w.held(g, pass); len(held) != 0 {
		t.Error("the pass outlives the grant")
	}
}

// A deployment's gate follows its environment or is stricter; guests and robots
// have secrets that are shown once, end, and can be withdrawn.
func TestGate_RulesAndLinks(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	g := gate.New(w.store, nil)
	root, full := w.token("root"), w.token("full")
	at := "/api/v1/deployments/" + string(d.ID)
	put := func(token, path, mode string) answer {
		body := object{"gate": mode}
		if strings.Contains(path, "environments") {
			body["redirect_https"] = true
		}
		return w.call("PUT", path, token, body)
	}
	if a := put(root, "/api/v1/environments/qa/gate", "guests"); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := w.call("GET", at+"/gate", full, nil); a.field("effective") != "guests" ||
		a.field("gate") != "open" {
		t.Errorf("%s", a.body)
	}
	if a := put(full, at+"/gate", "members"); a.field("effective") != "members" {
		t.Errorf("%s", a.body)
	}
	put(root, "/api/v1/environments/qa/gate", "members")
	if a := put(full, at+"/gate", "guests"); a.status != 409 || a.field("code") != "gate_more_open" {
		t.Errorf("more open than the environment: %d %s", a.status, a.body)
	}
	a := w.call("POST", at+"/passes", full, object{"label": "ACME", "hours": 2})
	link, err := url.Parse(a.field("url"))
	if err != nil || a.status != 201 || link.Path != "/.nullops/guest" || link.RawQuery != "" {
		t.Fatalf("%d %s", a.status, a.body)
	}
	guest := controlplane.NewPlain(link.Fragment)
	if held := w.held(g, guest); len(held) != 1 || held[0].Kind != controlplane.PassGuest {
		t.Errorf("guest: %+v", held)
	}
	if pass, _, ok, err := g.Redeem(t.Context(), system, gateHost, guest); !ok || err != nil ||
		pass.Reveal() != link.Fragment {
		t.Errorf("a guest is not let in: %v", err)
	}
	listed := w.call("GET", at+"/passes", full, nil)
	if strings.Contains(string(listed.body), link.Fragment) {
		t.Error("the list shows the secret")
	}
	later := gate.New(w.store, func() time.Time { return time.Now().Add(3 * time.Hour) })
	if held := w.held(later, guest); len(held) != 0 {
		t.Error("a guest link does not end")
	}
	var all struct{ Items []struct{ ID string } }
	if err := json.Unmarshal(listed.body, &all); err != nil || len(all.Items) != 1 {
		t.Fatalf("%v %s", err, listed.body)
	}
	if a = w.call("DELETE", at+"/passes/"+all.Items[0].ID, full, nil); a.status != 204 {
		t.Errorf("withdraw: %d %s", a.status, a.body)
	}
	if held := w.held(g, guest); len(held) != 0 {
		t.Error("a withdrawn link opens")
	}
	a = w.call("POST", "/api/v1/environments/qa/robots", root, object{"label": "ci", "hours": 1})
	if held := w.held(g, controlplane.NewPlain(a.field("token"))); len(held) != 1 ||
		held[0].Deployment != "" {
		t.Errorf("robot: %d %s %+v", a.status, a.body, held)
	}
}

// What browsers would refuse is refused at the upload, in words that hold nothing
// of the key; what is stored is listed with its end.
func TestCertificates(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	put := func(name string, body object) answer {
		return w.call("PUT", "/api/v1/certificates/"+name, root, body)
	}
	good, other := pair("*.qa.localhost", time.Hour), pair("*.qa.localhost", time.Hour)
	for code, body := range map[string]object{
		"certificate_key":        {"chain": good["chain"], "key": other["key"]},
		"certificate_unreadable": {"chain": "hello", "key": good["key"]},
		"certificate_expired":    pair("a.localhost", -time.Hour),
		"certificate_order": {"chain": good["chain"].(string) + other["chain"].(string),
			"key": good["key"]},
	} {
		if a := put("x", body); a.status < 400 || a.status > 422 || a.field("code") != code {
			t.Errorf("%s: %d %s", code, a.status, a.body)
		}
	}
	if a := put("qa", good); a.status != 200 || strings.Contains(string(a.body), "PRIVATE") {
		t.Fatalf("%d %s", a.status, a.body)
	}
	a := w.call("GET", "/api/v1/certificates", root, nil)
	if !strings.Contains(string(a.body), "*.qa.localhost") ||
		!strings.Contains(string(a.body), "not_after") {
		t.Errorf("%s", a.body)
	}
	if holds(w.seen.String()+w.log.String(), good["key"].(string)[30:90]) {
		t.Error("the key is in an answer or in the log")
	}
	opened, err := w.certificates.OpenCertificates(t.Context(), system)
	if err != nil || len(opened) != 1 || opened[0].Key.Reveal() != good["key"] {
		t.Errorf("opened: %d %v", len(opened), err)
	}
}

// The page that explains trust offers exactly the root that signs.
func TestTrustPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	root := w.token("root")
	if a := w.browse("/trust", nil); a.status != 200 ||
		!strings.Contains(string(a.body), "nothing has to be trusted") {
		t.Errorf("without: %d %s", a.status, a.body)
	}
	if a := w.browse("/trust/root.crt", nil); a.status != 404 {
		t.Errorf("without: %d", a.status)
	}
	made := w.call("POST", "/api/v1/certificate-authority", root, nil)
	if again := w.call("POST", "/api/v1/certificate-authority", root, nil); made.status != 201 ||
		again.status != 409 {
		t.Fatalf("%d %s, again %d", made.status, made.body, again.status)
	}
	block, _ := pem.Decode(w.browse("/trust/root.crt", nil).body)
	if block == nil {
		t.Fatal("no certificate to download")
	}
	sum := sha256.Sum256(block.Bytes)
	fingerprint := hex.EncodeToString(sum[:])
	page := w.browse("/trust", nil)
	if made.field("fingerprint") != fingerprint || !strings.Contains(string(page.body), fingerprint) {
		t.Errorf("the page shows another root than the download")
	}
	served, ok, err := w.certificates.OpenAuthority(t.Context(), system)
	seen := string(page.body) + string(made.body)
	if err != nil || !ok || strings.Contains(seen, served.Key.Reveal()) {
		t.Errorf("opened %v %v, or the key is shown", ok, err)
	}
}

// No environment shares a domain with the UI, unless someone says so.
//
// threat: T30
func TestEnvironment_NotOfTheUIsDomain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.people()
	w.catalog = w.catalogFor(t, "nullops.corp.example", false)
	for domain, refused := range map[string]bool{"corp.example": true, "qa.corp.example": true,
		"nullops.corp.example": true, "corp-qa.example": false, "localhost": false} {
		if got := w.puts(domain) != nil; got != refused {
			t.Errorf("%s: refused %v, want %v", domain, got, refused)
		}
	}
	w.catalog = w.catalogFor(t, "nullops.corp.example", true)
	if err := w.puts("qa.corp.example"); err != nil {
		t.Errorf("with the setting: %v", err)
	}
	w.catalog = w.catalogFor(t, "nullops.corp.example", false)
	if err := w.catalog.CheckDomains(t.Context(), system); controlplane.CodeOf(err) != "domain_of_ui" {
		t.Errorf("at the start: %v", err)
	}
}

func (w *world) catalogFor(t *testing.T, ui string, shared bool) *catalog.Catalog {
	t.Helper()
	return catalog.New(catalog.Config{Store: w.store, Keys: keyringtest.New(t, w.store),
		UIHost: ui, Shared: shared, Log: slog.New(slog.DiscardHandler)})
}

func (w *world) puts(domain string) error {
	_, err := w.catalog.PutEnvironment(w.t.Context(), system,
		catalog.EnvironmentPut{Name: "qa", Domain: domain})
	return err
}

// The address of a deployment that is gone says so, and who removed it, until
// another deployment has it.
func TestGate_FormerHosts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.shop()
	d := w.deploy("first")
	full := w.token("full")
	if a := w.call("DELETE", "/api/v1/deployments/"+string(d.ID), full, nil); a.status >= 300 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	now, err := w.lifecycle.Get(t.Context(), system, d.ID)
	w.saved(now, err)
	w.report(now, lifecycle.Report{Status: controlplane.Removed})
	front, err := gate.New(w.store, nil).IngressConfig(t.Context(), system)
	if r := w.routeOf(gateHost); err != nil || r.Deployment != d.ID || !r.Status.IsGone() ||
		front.Removers[d.ID] != "full" {
		t.Errorf("%+v, removed by %q: %v", r, front.Removers[d.ID], err)
	}
	again := w.deploy("first")
	if r := w.routeOf(gateHost); r.Deployment != again.ID || r.Status.IsGone() {
		t.Errorf("the host of the next one: %+v", r)
	}
}

func (w *world) routeOf(host string) controlplane.Route {
	w.t.Helper()
	all, err := w.lifecycle.Routes(w.t.Context(), system)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range all {
		if r.Host == host {
			return r
		}
	}
	w.t.Fatalf("no route of %s among %d", host, len(all))
	return controlplane.Route{}
}
