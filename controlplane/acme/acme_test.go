package acme_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/acme"
	"github.com/nullops/nullops/controlplane/acme/acmetest"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
)

// world is a catalogue, an ingress in front of it, a name server and Pebble.
type world struct {
	*catalog.Catalog
	*certificates.Certificates
	url   string
	store *postgres.Store
	admin access.Actor
	names *acmetest.NameServer
	*acmetest.Authority
	edge string // host:port of the ingress
	// patience is how long an authority may take for its directory.
	patience time.Duration
	uiHost   string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{url: pgtest.URL(t, migrations.FS), names: acmetest.NewNameServer(t)}
	w.store = pgtest.Open(t, w.url)
	keys := keyringtest.New(t, w.store)
	w.Catalog = catalog.New(catalog.Config{Store: w.store, Keys: keys,
		Log: slog.New(slog.DiscardHandler)})
	w.Certificates = certificates.New(certificates.Config{Store: w.store, Keys: keys})
	w.admin = access.User(controlplane.User{ID: controlplane.NewID[controlplane.UserID](),
		Name: "ada", Role: controlplane.RoleAdmin}, nil)
	w.serve(t)
	w.Authority = acmetest.NewAuthority(t, w.names, w.port(t))
	return w
}

// serve starts an ingress that lets in members only and sends all others to
// HTTPS: neither may come before an authority's question.
func (w *world) serve(t *testing.T) {
	t.Helper()
	proxy, err := ingress.New(ingress.Config{
		Dial: func(context.Context, ingress.Route) (net.Conn, error) {
			return nil, net.ErrClosed
		},
		Home:   "https://acme.test",
		Secure: func(host string) string { return "https://" + host },
		Challenge: func(ctx context.Context, host, token string) (string, bool, error) {
			return w.ACMEAnswer(ctx, access.System("ingress"), host, token)
		}})
	must(t, err)
	t.Cleanup(proxy.Close)
	proxy.SetTable(ingress.NewTable(1, nil).WithZones([]ingress.Zone{{Suffix: "qa.acme.test",
		Environment: "qa", Gate: ingress.GateMembers, RedirectHTTPS: true},
		{Suffix: "a6.acme.test", Environment: "a6"}}))
	s := httptest.NewServer(proxy)
	t.Cleanup(s.Close)
	w.edge = s.Listener.Addr().String()
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// environment makes one with a deployment "shop" that has the services' hosts.
func (w *world) environment(t *testing.T, name string, hosts ...string) {
	t.Helper()
	_, err := w.PutEnvironment(t.Context(), w.admin, catalog.EnvironmentPut{Name: name,
		Domain: "acme.test"})
	must(t, err)
	if len(hosts) == 0 {
		return
	}
	pgtest.Exec(t, w.url, `INSERT INTO projects (id, name) VALUES ($1, 'p')
		ON CONFLICT DO NOTHING`, string(controlplane.NewID[controlplane.ProjectID]()))
	id := string(controlplane.NewID[controlplane.DeploymentID]())
	pgtest.Exec(t, w.url, `INSERT INTO deployments (id, name, project_id, environment_id, node_name,
		created_by, cpu, memory_mib, status) SELECT $1, 'shop', p.id, e.id, 'n1', 'ada', 0, 0, 'failed'
		FROM projects p, environments e WHERE p.name = 'p' AND e.name = $2`, id, name)
	w.hosts(t, id, hosts)
}

func (w *world) hosts(t *testing.T, deployment string, hosts []string) {
	t.Helper()
	pgtest.Exec(t, w.url, `INSERT INTO deployment_hosts (host, deployment_id, step, port_name,
		port, main) SELECT h, $1, 'web', 'http', 80, false FROM unnest($2::text[]) h`, deployment,
		hosts)
}

// run orders until the test ends or stop is called; now is its clock.
func (w *world) run(t *testing.T, now func() time.Time) (stop func()) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	listener := postgres.NewListener(w.store, log)
	orders := acme.New(acme.Config{Store: w.store, Certificates: w.Certificates, Log: log, Now: now,
		Patience: w.patience, UIHost: w.uiHost,
		Off: controlplane.OffLimits{Loopback: true},
		Subscribe: func(key string, topics ...controlplane.Topic) (<-chan struct{}, func()) {
			s := listener.Subscribe(key, topics...)
			return s.Wake, s.Close
		}})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { _ = listener.Run(ctx) }()
	go func() {
		defer close(ended)
		_ = orders.Run(ctx)
	}()
	stop = func() { cancel(); <-ended }
	t.Cleanup(stop)
	return stop
}

// until waits for an environment's certificates to be as they should.
func (w *world) until(
	t *testing.T, environment string, fine func([]controlplane.ACMECertificate) bool,
) []controlplane.ACMECertificate {
	t.Helper()
	var all []controlplane.ACMECertificate
	for end := time.Now().Add(2 * time.Minute); time.Now().Before(end); {
		var err error
		_, all, _, err = w.ACME(t.Context(), w.admin, environment)
		must(t, err)
		if fine(all) {
			return all
		}
		time.Sleep(50 * time.Millisecond)
	}
	for _, c := range all {
		t.Errorf("%s: %s, %d failures: %s", c.Subject, c.State(time.Now()), c.Failures, c.Error)
	}
	t.FailNow()
	return nil
}

func haveStates(want string, n int) func([]controlplane.ACMECertificate) bool {
	return func(all []controlplane.ACMECertificate) bool {
		for _, c := range all {
			if c.State(time.Now()) != want {
				return false
			}
		}
		return len(all) == n
	}
}

// handshake makes a handshake with an ingress that serves what there is, as a
// browser that trusts the authority.
func (w *world) handshake(t *testing.T, host string) {
	t.Helper()
	served, err := w.OpenCertificates(t.Context(), access.System("ingress"))
	must(t, err)
	var given []tls.Certificate
	for _, c := range served {
		pair, err := ingress.ParseKeyPair(c.Chain, c.Key.Reveal())
		must(t, err)
		given = append(given, pair)
	}
	var certificates ingress.Certificates
	certificates.Set(given, nil)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.TLS = certificates.TLS()
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	s.StartTLS()
	defer s.Close()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(w.Root))
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(),
		&tls.Config{ServerName: host, RootCAs: roots})
	if err != nil {
		t.Errorf("%s is not trusted: %v", host, err)
		return
	}
	_ = conn.Close()
}

// A deployment's hosts get a certificate that browsers trust; it is ordered
// again after two thirds of its life, and nothing of the order stays.
func TestOrders_HTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	hosts := []string{"shop.qa.acme.test", "web.shop.qa.acme.test", "web--shop--qa.acme.test"}
	w.environment(t, "qa", hosts...)
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeHTTP,
		Directory: w.Directory, Email: "ops@acme.test", Roots: w.TLS}}
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.slow(t, put)
	stop := w.run(t, nil)
	first := w.until(t, "qa", haveStates("valid", 1))[0]
	if first.Subject != hosts[0] || len(first.Names) != 3 || len(first.Hosts) != 3 {
		t.Errorf("ordered as %s for %v, given for %v", first.Subject, first.Names, first.Hosts)
	}
	for _, h := range hosts {
		w.handshake(t, h)
	}
	for _, table := range []string{"acme_challenges", "acme_certificates WHERE position(" +
		"'PRIVATE' in encode(key, 'escape')) > 0", "acme_accounts WHERE position(" +
		"'PRIVATE' in encode(key, 'escape')) > 0"} {
		if n := pgtest.QueryValue[int](t, w.url, "SELECT count(*)::int FROM "+table); n != 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	w.requestUnknownToken(t, hosts[0])
	w.comesBack(t, put, first)
	stop()
	life := first.NotAfter.Sub(first.NotBefore)
	if wait := first.NextTry.Sub(first.NotBefore); wait < life*6/10 || wait > life*7/10 {
		t.Errorf("of %s it is ordered again after %s", life, wait)
	}
	w.run(t, func() time.Time { return first.NextTry.Add(time.Minute) })
	w.until(t, "qa", func(all []controlplane.ACMECertificate) bool {
		return len(all) == 1 && all[0].Fingerprint != first.Fingerprint
	})
	w.handshake(t, hosts[0])
	if n := pgtest.QueryValue[int](t, w.url, "SELECT count(*)::int FROM acme_accounts"); n != 1 {
		t.Errorf("%d accounts after two orders", n)
	}
}

// The UI's host gets a certificate from the environment in whose domain it is, before there is any
// deployment.
func TestOrders_UI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.uiHost = "acme.test"
	w.environment(t, "qa")
	must(t, w.PutACME(t.Context(), w.admin, "qa", certificates.ACMEPut{ACME: controlplane.ACME{
		Challenge: controlplane.ChallengeHTTP, Directory: w.Directory, Roots: w.TLS}}))
	w.run(t, nil)
	if c := w.until(t, "qa", haveStates("valid", 1))[0]; c.Subject != "acme.test" {
		t.Errorf("it is for %s", c.Subject)
	}
	w.handshake(t, "acme.test")
}

// slow makes an environment whose name server answers nobody, and whose turn
// comes first: no other environment has to wait for it.
func (w *world) slow(t *testing.T, put certificates.ACMEPut) {
	t.Helper()
	w.environment(t, "a")
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		if r.URL.Path == "/present" {
			<-r.Context().Done()
		}
	}))
	t.Cleanup(hook.Close)
	secret := controlplane.NewPlain(acmetest.HookPassword)
	put.Challenge, put.DNS = controlplane.ChallengeDNS, controlplane.NameServerWebhook
	put.DNSServer, put.DNSUser, put.Secret = hook.URL, "nullops", &secret
	must(t, w.PutACME(t.Context(), w.admin, "a", put))
}

// comesBack removes the deployment's hosts and adds them again: their certificates are still valid
// and served, and no second one is ordered.
func (w *world) comesBack(
	t *testing.T, put certificates.ACMEPut, first controlplane.ACMECertificate,
) {
	t.Helper()
	deployment := pgtest.QueryValue[string](t, w.url, `SELECT min(deployment_id::text)
		FROM deployment_hosts WHERE host = $1`, first.Subject)
	for _, back := range []bool{false, true} {
		if back {
			w.hosts(t, deployment, first.Names)
		} else {
			pgtest.Exec(t, w.url, "DELETE FROM deployment_hosts WHERE deployment_id = $1", deployment)
		}
		must(t, w.PutACME(t.Context(), w.admin, "qa", put)) // the same: it wakes, no more
		c := w.until(t, "qa", func(all []controlplane.ACMECertificate) bool {
			return len(all) == 1 && all[0].Wanted == back
		})[0]
		if c.Fingerprint != first.Fingerprint || !c.NextTry.Equal(first.NextTry) {
			t.Errorf("wanted %v: ordered again at %s, was to be at %s", back, c.NextTry,
				first.NextTry)
		}
	}
}

// requestUnknownToken asks for a token of nobody: it is no challenge, and goes the way of
// every other request.
func (w *world) requestUnknownToken(t *testing.T, host string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet,
		"http://"+w.edge+"/.well-known/acme-challenge/"+strings.Repeat("x", 43), nil)
	must(t, err)
	r.Host = host
	answer, err := http.DefaultTransport.RoundTrip(r)
	must(t, err)
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusPermanentRedirect {
		t.Errorf("a token nobody ordered: %d", answer.StatusCode)
	}
}

// Wildcards come over the name server. A wrong key is said so, with the time of
// the next try; the right one is tried at once.
func TestOrders_NameServer(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	w.environment(t, "qa", "web.shop.qa.acme.test")
	wrong, right := controlplane.NewPlain("d3Jvbmc="), controlplane.NewPlain(acmetest.Key)
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeDNS,
		Directory: w.Directory, Roots: w.TLS, DNS: controlplane.NameServerUpdate,
		DNSServer: w.names.Addr, DNSUser: acmetest.KeyName}, Secret: &wrong}
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.run(t, nil)
	for _, c := range w.until(t, "qa", haveStates("failing", 3)) {
		if !strings.Contains(c.Error, "_acme-challenge.") && !strings.Contains(c.Error, "zone") ||
			c.Failures != 1 || time.Until(c.NextTry) < 10*time.Minute {
			t.Errorf("%s: %d failures, next try %s: %s", c.Subject, c.Failures, c.NextTry, c.Error)
		}
		if strings.Contains(c.Error, wrong.Reveal()) {
			t.Errorf("the error shows the key: %s", c.Error)
		}
	}
	w.babbles(t, put)
	put.Secret = &right
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.until(t, "qa", haveStates("valid", 3))
	for _, h := range []string{"web--shop--qa.acme.test", "shop.qa.acme.test",
		"web.shop.qa.acme.test"} {
		w.handshake(t, h)
	}
	if texts, updates, refused := w.names.CountLeftovers(); texts != 0 || updates < 6 || refused < 3 {
		t.Errorf("%d records left, %d updates, %d refused", texts, updates, refused)
	}
}

// A program of the operator's tells the name server, in the form of lego's
// "httpreq". The password goes where it was given for, and nowhere else.
func TestOrders_Webhook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.environment(t, "qa")
	hook := httptest.NewServer(http.HandlerFunc(w.names.Webhook))
	t.Cleanup(hook.Close)
	secret := controlplane.NewPlain(acmetest.HookPassword)
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeDNS,
		Directory: w.Directory, Roots: w.TLS, DNS: controlplane.NameServerWebhook,
		DNSServer: hook.URL, DNSUser: "nullops"}, Secret: &secret}
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.run(t, nil)
	w.until(t, "qa", haveStates("valid", 2))
	w.handshake(t, "shop.qa.acme.test")
	if texts, _, _ := w.names.CountLeftovers(); texts != 0 {
		t.Errorf("%d records left", texts)
	}
	w.moves(t, put)
	put.Secret, put.DNSServer = nil, "http://192.0.2.1/elsewhere"
	if err := w.PutACME(t.Context(), w.admin, "qa", put); controlplane.CodeOf(err) !=
		"acme_dns_secret" {
		t.Errorf("another server with the old password: %v", err)
	}
	must(t, w.DeleteACME(t.Context(), w.admin, "qa"))
	w.until(t, "qa", func(all []controlplane.ACMECertificate) bool {
		return len(all) == 2 && !all[0].Wanted && !all[1].Wanted && all[0].Chain != ""
	})
}

// moves switches the environment to another authority, as after a try with a staging authority:
// everything is ordered again at once, and the old certificates serve until then.
func (w *world) moves(t *testing.T, put certificates.ACMEPut) {
	t.Helper()
	old := map[string]bool{}
	for _, c := range w.until(t, "qa", haveStates("valid", 2)) {
		old[c.Fingerprint] = true
	}
	late := w.Authority
	w.Authority = acmetest.NewAuthority(t, w.names, w.port(t))
	put.Directory, put.Roots = w.Directory, w.TLS
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	all := w.until(t, "qa", func(all []controlplane.ACMECertificate) bool {
		for _, c := range all {
			if c.Chain == "" {
				t.Fatalf("%s serves no more", c.Subject)
			}
		}
		return haveStates("valid", 2)(all) && !old[all[0].Fingerprint] && !old[all[1].Fingerprint]
	})
	w.handshake(t, "shop.qa.acme.test")
	key, err := certificates.NewACMEKey()
	must(t, err)
	order := certificates.ACMEOrder{
		ACME: controlplane.ACME{Directory: late.Directory, Roots: late.TLS}}
	must(t, w.StoreOrderedCertificate(t.Context(), access.System("certificates"), order, all[0], key))
	w.handshake(t, "shop.qa.acme.test")
}

// babbles uses an authority whose messages are longer than a column takes, with a NUL and cut
// inside a character: the message is stored, as far as it fits.
func (w *world) babbles(t *testing.T, put certificates.ACMEPut) {
	t.Helper()
	s := httptest.NewTLSServer(http.HandlerFunc(func(r http.ResponseWriter, _ *http.Request) {
		r.Header().Set("Content-Type", "application/problem+json")
		r.WriteHeader(http.StatusForbidden)
		_, _ = io.WriteString(r, `{"type":"urn:ietf:params:acme:error:malformed","status":403,`+
			`"detail":"no\u0000 `+strings.Repeat("€", 1000)+`"}`)
	}))
	defer s.Close()
	put.Directory, put.Roots = s.URL, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE",
		Bytes: s.Certificate().Raw}))
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.until(t, "qa", func(all []controlplane.ACMECertificate) bool {
		for _, c := range all {
			if !strings.HasSuffix(c.Error, "€") || len(c.Error) < 1990 {
				return false
			}
		}
		return len(all) > 0
	})
}

// Forty first certificates of a registered domain within a week are enough, also
// when they are for other names under it: the next one waits, and no authority is
// asked.
func TestOrders_RateLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.environment(t, "qa", "web.shop.qa.acme.test")
	w.environment(t, "busy")
	pgtest.Exec(t, w.url, "UPDATE environments SET domain = 'eu.acme.test' WHERE name = 'busy'")
	pgtest.Exec(t, w.url, `INSERT INTO acme_certificates (id, environment_id, subject, names,
		wanted, first_at, next_try, chain, key) SELECT gen_random_uuid(), e.id, 's' || n, '{}',
		false, now() - interval '1 day', now(), $1, '\x00' FROM environments e,
		generate_series(1, 40) n WHERE e.name = 'busy'`, w.Root)
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeHTTP,
		Directory: "https://127.0.0.1:1/dir"}}
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.run(t, nil)
	c := w.until(t, "qa", haveStates("failing", 1))[0]
	if c.Failures != 0 || !strings.Contains(c.Error, "acme.test within a week") ||
		time.Until(c.NextTry) < 5*time.Hour {
		t.Errorf("%d failures, next try %s: %s", c.Failures, c.NextTry, c.Error)
	}
}

// An authority that makes accounts for its customers only is shown the key that it
// gave. Without it, or with another, it is said what is missing.
func TestOrders_CustomersOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.Authority = acmetest.NewCustomersAuthority(t, w.names, w.port(t))
	w.environment(t, "qa", "web.shop.qa.acme.test")
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeHTTP,
		Directory: w.Directory, Roots: w.TLS}}
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.run(t, nil)
	refused := func(says string) {
		t.Helper()
		c := w.until(t, "qa", haveStates("failing", 1))[0]
		if !strings.Contains(c.Error, says) {
			t.Errorf("it is said: %s", c.Error)
		}
	}
	refused("externalAccountBinding")
	for code, bad := range map[string]certificates.ACMEPut{
		"acme_eab_key":    {ACME: controlplane.ACME{EABKeyID: acmetest.Customer}},
		"acme_eab_key_id": {Binding: plainOf(acmetest.CustomerKey)},
	} {
		bad.Challenge, bad.Directory, bad.Roots = put.Challenge, put.Directory, put.Roots
		if err := w.PutACME(t.Context(), w.admin, "qa", bad); controlplane.CodeOf(err) != code {
			t.Errorf("instead of %s: %v", code, err)
		}
	}
	put.EABKeyID, put.Binding = acmetest.Customer, plainOf("no key")
	if err := w.PutACME(t.Context(), w.admin, "qa", put); controlplane.CodeOf(err) != "acme_eab_key" {
		t.Errorf("a key that is none: %v", err)
	}
	// As some authorities show it: the other alphabet, and filled up.
	put.Binding = plainOf(strings.NewReplacer("-", "+", "_", "/").Replace(acmetest.CustomerKey) + "=")
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	w.until(t, "qa", haveStates("valid", 1))
	put.Binding = nil // it stays
	must(t, w.PutACME(t.Context(), w.admin, "qa", put))
	for _, table := range []string{"acme_settings WHERE eab_key IS NULL OR " +
		"position('customer-key' in encode(eab_key, 'escape')) > 0 OR " +
		"position('Y3VzdG9t' in encode(eab_key, 'escape')) > 0",
		"acme_accounts WHERE eab_key_id <> '" + acmetest.Customer + "'"} {
		if n := pgtest.QueryValue[int](t, w.url, "SELECT count(*)::int FROM "+table); n != 0 {
			t.Errorf("%d rows of %s", n, table)
		}
	}
	put.EABKeyID = "customer-2"
	if err := w.PutACME(t.Context(), w.admin, "qa", put); controlplane.CodeOf(err) != "acme_eab_key" {
		t.Errorf("another id with the old key: %v", err)
	}
}

func plainOf(s string) *controlplane.Plain {
	p := controlplane.NewPlain(s)
	return &p
}

// port is where the ingress answers authorities.
func (w *world) port(t *testing.T) int {
	t.Helper()
	_, port, err := net.SplitHostPort(w.edge)
	must(t, err)
	number, err := strconv.Atoi(port)
	must(t, err)
	return number
}

// An authority that accepts connections and never answers delays only its own orders: neither the
// limit of concurrent orders nor the library's locks block others. In the end the order fails with
// that reason.
func TestOrders_SilentAuthority(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	w := newWorld(t)
	silent := &silence{Listener: listenLoopback(t)}
	go silent.run()
	put := certificates.ACMEPut{ACME: controlplane.ACME{Challenge: controlplane.ChallengeHTTP,
		Directory: "https://" + silent.Addr().String() + "/directory"}}
	// More than have their turn at once, and all of them first.
	all := []string{"a1", "a2", "a3", "a4", "a5", "a6"}
	for _, name := range all {
		w.environment(t, name, "web.shop."+name+".acme.test")
		must(t, w.PutACME(t.Context(), w.admin, name, put))
	}
	w.patience = time.Hour
	stop := w.run(t, nil)
	for end := time.Now().Add(time.Minute); silent.heard.Load() < 4; {
		if time.Now().After(end) {
			t.Fatalf("%d of 4 orders asked the silent authority", silent.heard.Load())
		}
		time.Sleep(20 * time.Millisecond)
	}
	w.environment(t, "qa", "web.shop.qa.acme.test")
	good := put
	good.Directory, good.Roots = w.Directory, w.TLS
	must(t, w.PutACME(t.Context(), w.admin, "qa", good))
	w.until(t, "qa", haveStates("valid", 1))
	must(t, w.PutACME(t.Context(), w.admin, all[5], good)) // it does not wait for a turn there
	w.until(t, all[5], haveStates("valid", 1))
	stop()
	w.patience = time.Second
	w.run(t, func() time.Time { return time.Now().Add(time.Hour) }) // when all claims are over
	for _, name := range all[:5] {
		c := w.until(t, name, haveStates("failing", 1))[0]
		if !strings.Contains(c.Error, put.Directory+" did not answer within 1s") {
			t.Errorf("%s: %s", name, c.Error)
		}
	}
}

func listenLoopback(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// silence accepts connections and never answers, until it is closed.
type silence struct {
	net.Listener
	heard atomic.Int32
}

func (s *silence) run() {
	var held []net.Conn
	for {
		conn, err := s.Accept()
		if err != nil {
			for _, c := range held {
				_ = c.Close()
			}
			return
		}
		held = append(held, conn)
		s.heard.Add(1)
	}
}
