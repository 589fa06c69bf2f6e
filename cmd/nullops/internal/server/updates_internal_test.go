package server

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/controlplane/review"
	"github.com/nullops/nullops/ingress"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/migrations"
	"github.com/nullops/nullops/pipeline"
)

const (
	updateSecret = "a-secret-of-the-update-test"
	updateHost   = "web.shop-12.qa.localhost"
)

// movingImage is a registry that has one image, whose tag the test moves.
type movingImage struct {
	catalog.Images
	build *atomic.Int64
}

func (m movingImage) Inspect(
	context.Context, registry.Source, string,
) (controlplane.ImageFacts, error) {
	return controlplane.ImageFacts{Digest: fmt.Sprintf("sha256:%07x%057x", m.build.Load(), 0)}, nil
}

func (m movingImage) ListTags(context.Context, registry.Source) (registry.TagList, error) {
	return registry.TagList{}, nil
}

func (m movingImage) DescribeTags(context.Context, registry.Source, []string, time.Duration,
) map[string]registry.Image {
	return nil
}

// updateWorld is a control plane and an ingress on a database of their own. The test is the node,
// the code host and the registry, and each deployment is a server of the test.
type updateWorld struct {
	t         *testing.T
	url       string
	store     *postgres.Store
	lifecycle *lifecycle.Lifecycle
	catalog   *catalog.Catalog
	reviews   *review.Reviews
	proxy     *ingress.Proxy
	door      *httptest.Server
	node      controlplane.NodeID
	conn      *pgx.Conn
	wake      chan struct{}
	build     atomic.Int64
	seq       int64

	mu   sync.Mutex
	apps map[string]*httptest.Server
	// sessions is the applications' database: how often each session was used.
	sessions map[string]int
}

func newUpdateWorld(t *testing.T) *updateWorld {
	t.Helper()
	w := &updateWorld{t: t, url: pgtest.URL(t, migrations.FS), apps: map[string]*httptest.Server{},
		sessions: map[string]int{}, wake: make(chan struct{}, 1)}
	log := slog.New(slog.DiscardHandler)
	w.store = pgtest.Open(t, w.url)
	var err error
	w.conn, err = pgx.Connect(t.Context(), w.url)
	w.must(nil, err)
	t.Cleanup(func() { _ = w.conn.Close(context.WithoutCancel(t.Context())) })
	keys := keyringtest.New(t, w.store)
	c := catalog.New(catalog.Config{Store: w.store, Keys: keys, Log: log,
		Images: movingImage{build: &w.build}})
	w.lifecycle = lifecycle.New(lifecycle.Config{Store: w.store, Catalog: c, Keys: keys,
		IngressURL: &url.URL{Scheme: "http", Host: "localhost:8000"}, Log: log})
	w.reviews = review.New(review.Config{Store: w.store, Catalog: c, Keys: keys,
		Lifecycle: w.lifecycle, URL: "http://nullops.test", Log: log, Ask: time.Second})
	w.catalog = c
	w.define(c)
	w.addNode()
	w.serve(log)
	return w
}

func (w *updateWorld) must(_ any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *updateWorld) define(c *catalog.Catalog) {
	ctx := w.t.Context()
	w.must(c.PutEnvironment(ctx, ingressTask, catalog.EnvironmentPut{Name: "qa", Domain: "localhost"}))
	w.must(c.PutProject(ctx, ingressTask, catalog.ProjectPut{Name: "shop",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}}))
	w.must(c.PutRegistry(ctx, ingressTask, catalog.RegistryPut{Name: "local", Host: "localhost:5000",
		Insecure: true}))
	w.must(c.PutService(ctx, ingressTask, catalog.ServicePut{Name: "web", Registry: "local",
		Image: "shop/web", TagMode: pipeline.Selectable}))
	w.must(c.SavePipeline(ctx, ingressTask, "shop", pipeline.Pipeline{Format: 1,
		Steps: []pipeline.Step{{Key: "web", Service: &pipeline.ServiceStep{Name: "web",
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}}}}, "first"))
	key := controlplane.NewPlain(updateSecret)
	w.must(w.reviews.PutRule(ctx, ingressTask, review.RulePut{Secret: &key,
		Rule: controlplane.ReviewRule{Name: "shop", Source: controlplane.ReviewGitHub, Project: "shop",
			Environment: "qa", Tag: "pr-{number}", Wait: time.Hour, Active: true}}))
}

func (w *updateWorld) addNode() {
	ctx := w.t.Context()
	w.node = controlplane.NewID[controlplane.NodeID]()
	pgtest.Exec(w.t, w.url, `INSERT INTO nodes (id, name, environment_id, address) SELECT $1, 'node-1',
		id, 'node-1.example.org:5000' FROM environments`, string(w.node))
	w.must(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		err := tx.Nodes().SetInventory(ctx, w.node, "test", controlplane.Inventory{Hostname: "node-1",
			Arch: "amd64", CPU: 8, Memory: 16 << 30, Disk: 1 << 40})
		if err != nil {
			return err
		}
		if _, err := tx.NodeTrust().Trust(ctx, w.node,
			controlplane.Thumbprint(strings.Repeat("0", 64))); err != nil {
			return err
		}
		_, err = tx.Nodes().Move(ctx, w.node, controlplane.NodeOnline, "")
		return err
	}))
}

// serve starts what runs by itself: the reviews, the route table, and the door for visitors.
func (w *updateWorld) serve(log *slog.Logger) {
	var err error
	pass := newGatekeeperClient(gate.New(w.store, nil), w.lifecycle)
	about := &aboutSource{lifecycle: w.lifecycle}
	w.proxy, err = ingress.New(ingress.Config{Dial: w.dial, Gate: pass, About: about.read,
		OnPresence: pass.recordPresence})
	w.must(nil, err)
	listener := postgres.NewListener(w.store, log)
	source := &routeSource{lifecycle: w.lifecycle, gate: gate.New(w.store, nil), listener: listener,
		home: "http://nullops.test", builds: true, log: log}
	ctx, stop := context.WithCancel(w.t.Context())
	var all sync.WaitGroup
	all.Go(func() { _ = listener.Run(ctx) })
	all.Go(func() { pass.storeUses(ctx, log) })
	all.Go(func() { _ = source.Watch(ctx, w.proxy.SetTable) })
	all.Go(func() { _ = w.reviews.Run(ctx, w.wake) })
	w.door = httptest.NewServer(w.proxy)
	w.t.Cleanup(func() {
		w.door.Close()
		stop()
		all.Wait()
		for id := range w.apps {
			w.stopApp(id)
		}
	})
}

// dial reaches the application of a deployment, which is started when it is first asked.
func (w *updateWorld) dial(ctx context.Context, r ingress.Route) (net.Conn, error) {
	w.mu.Lock()
	app := w.apps[r.DeploymentID]
	if app == nil {
		app = httptest.NewServer(w.serveApp(r.DeploymentID))
		w.apps[r.DeploymentID] = app
	}
	w.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", app.Listener.Addr().String())
}

// serveApp answers who it is, and how often a session was used. Sessions are in the database, so
// each build knows those of the others.
func (w *updateWorld) serveApp(id string) http.HandlerFunc {
	return func(rw http.ResponseWriter, r *http.Request) {
		if long := longAnswers[r.URL.Path]; long != nil {
			long(rw, r, id)
			return
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		session := ""
		if c, err := r.Cookie("session"); err == nil {
			session = c.Value
		}
		if _, known := w.sessions[session]; !known {
			session = fmt.Sprint("session-", len(w.sessions)+1)
			http.SetCookie(rw, &http.Cookie{Name: "session", Value: session, Path: "/"})
		}
		w.sessions[session]++
		_, _ = fmt.Fprint(rw, id, " ", session)
	}
}

func (w *updateWorld) stopApp(id string) {
	w.mu.Lock()
	app := w.apps[id]
	delete(w.apps, id)
	w.mu.Unlock()
	if app != nil {
		app.Close()
	}
}

// visitor clicks until the context ends, and counts. Each failed request is told.
type visitor struct {
	*http.Client
	clicks int
	// builds are the deployments that answered, sessions those that the visitor had.
	builds, sessions map[string]int
	// robot is the token that is sent with requests of a program.
	robot string
}

func (w *updateWorld) newVisitor() *visitor {
	jar, err := cookiejar.New(nil)
	w.must(nil, err)
	door := w.door.Listener.Addr().String()
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "tcp", door)
	}
	transport := &http.Transport{DialContext: dial}
	w.t.Cleanup(transport.CloseIdleConnections)
	return &visitor{Client: &http.Client{Jar: jar, Transport: transport},
		builds: map[string]int{}, sessions: map[string]int{}}
}

func (v *visitor) click() error {
	res, err := v.Get("http://" + updateHost + "/")
	if err != nil {
		return err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	build, session, ok := strings.Cut(string(body), " ")
	if res.StatusCode != http.StatusOK || !ok {
		return fmt.Errorf("click %d was answered %d: %.300s", v.clicks, res.StatusCode, body)
	}
	v.clicks++
	v.builds[build]++
	v.sessions[session]++
	return nil
}

// clickOn clicks until the returned function is called, which reports what failed.
func (v *visitor) clickOn(every time.Duration) (stop func() error) {
	ctx, cancel := context.WithCancel(context.Background())
	failed := make(chan error, 1)
	go func() {
		tick := time.NewTicker(every)
		defer tick.Stop()
		for ctx.Err() == nil {
			if err := v.click(); err != nil {
				failed <- err
				return
			}
			<-tick.C
		}
		failed <- nil
	}()
	return func() error { cancel(); return <-failed }
}

// push moves the tag and delivers the event of a code host.
func (w *updateWorld) push(action string, n int) {
	w.t.Helper()
	w.build.Store(int64(n))
	at := time.Date(2026, 1, 2, 10, 0, 0, 0, time.UTC).Add(time.Duration(n) * time.Minute)
	body := fmt.Sprintf(`{"action":%q,"number":12,"pull_request":{"number":12,"state":"open",
		"title":"Cart","html_url":"https://code.example/acme/shop/pulls/12","updated_at":%q,
		"head":{"ref":"feature/cart","sha":"c%d","repo":{"id":7,"full_name":"acme/shop"}},
		"base":{"ref":"main"}},"repository":{"id":7,"full_name":"acme/shop"}}`, action,
		at.Format(time.RFC3339), n)
	m := hmac.New(sha256.New, []byte(updateSecret))
	_, _ = io.WriteString(m, body)
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodPost, "/hooks/shop",
		strings.NewReader(body))
	r.Header.Set("X-GitHub-Event", "pull_request")
	r.Header.Set("X-GitHub-Delivery", fmt.Sprint("delivery-", n))
	r.Header.Set("X-Hub-Signature-256", fmt.Sprintf("sha256=%x", m.Sum(nil)))
	answer := httptest.NewRecorder()
	w.reviews.ServeHTTP(answer, r)
	if answer.Code != http.StatusAccepted || !strings.Contains(answer.Body.String(), "taken") {
		w.t.Fatalf("the event was answered %d %s", answer.Code, answer.Body)
	}
}

// until has the review looked at until something is so.
func (w *updateWorld) until(what string, so func(controlplane.Review) bool) controlplane.Review {
	w.t.Helper()
	for end := time.Now().Add(4 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		_, err := w.conn.Exec(w.t.Context(), "UPDATE reviews SET due_at = now() WHERE due_at > now()")
		w.must(nil, err)
		select {
		case w.wake <- struct{}{}:
		default:
		}
		_, all, err := w.reviews.GetRule(w.t.Context(), ingressTask, "shop")
		w.must(nil, err)
		if len(all) == 1 && so(all[0]) {
			return all[0]
		}
		if time.Now().After(end) {
			w.t.Fatalf("%s does not happen: %+v", what, all)
		}
	}
}

// report has the node report statuses of a deployment.
func (w *updateWorld) report(id controlplane.DeploymentID, all ...controlplane.DeploymentStatus) {
	w.t.Helper()
	for _, status := range all {
		d, err := w.lifecycle.Get(w.t.Context(), ingressTask, id)
		w.must(nil, err)
		w.seq++
		w.must(nil, w.lifecycle.Apply(w.t.Context(), ingressTask, lifecycle.Report{Node: w.node,
			Seq: w.seq, Deployment: id, Generation: d.Generation, Run: d.RunID, At: time.Now(),
			Status: status}))
	}
}

// expireOldest lets the visitors' quarter of an hour and the half of one of all but the newest
// builds be over, and has the node remove them.
func (w *updateWorld) expireOldest(keep int) {
	w.t.Helper()
	_, err := w.conn.Exec(w.t.Context(), `UPDATE deployment_lives
		SET replaced_at = replaced_at - interval '31 minutes' WHERE deployment_id IN (
			SELECT l.deployment_id FROM deployment_lives l JOIN deployments d ON d.id = l.deployment_id
			WHERE l.replaced_at IS NOT NULL AND d.status = 'ready'
			ORDER BY l.replaced_at DESC OFFSET $1)`, keep)
	w.must(nil, err)
	w.must(w.lifecycle.Expire(w.t.Context(), ingressTask))
	rows, err := w.conn.Query(w.t.Context(),
		"SELECT id::text FROM deployments WHERE status = 'removing'")
	w.must(nil, err)
	ids, err := pgx.CollectRows(rows, pgx.RowTo[string])
	w.must(nil, err)
	for _, id := range ids {
		// What ends here has had no visitors for a quarter of an hour, which the test does not wait
		// for. So the ingress hears of it first.
		w.await("the ingress leads to what is removed", func() bool {
			for _, r := range w.proxy.Table().Routes() {
				if r.DeploymentID == id && r.State == ingress.StateReady {
					return false
				}
			}
			return true
		})
		w.report(controlplane.DeploymentID(id), controlplane.Removed)
		w.stopApp(id)
	}
}

func (w *updateWorld) await(what string, so func() bool) {
	w.t.Helper()
	for end := time.Now().Add(4 * time.Minute); !so(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			w.t.Fatal(what)
		}
	}
}

// A hundred updates of a pull request under visitors who go on clicking, one in a browser and one
// that keeps nothing but the session: no request fails, no session is lost, and who comes new gets
// the newest build. The same holds for those who stay on a build until it ends.
func TestUpdates_LoseNoRequestAndNoSession(t *testing.T) {
	testpart.Rotate(t)
	const updates = 100
	w := newUpdateWorld(t)
	w.push("opened", 1)
	x := w.until("a deployment", func(x controlplane.Review) bool { return x.DeploymentID != "" })
	w.report(x.DeploymentID, controlplane.Applying, controlplane.Ready)
	w.await("the first build does not answer", func() bool { return w.newVisitor().click() == nil })
	first := string(x.DeploymentID)

	stays, program := w.newVisitor(), w.newVisitor()
	program.Jar = sessionOnly{program.Jar}
	stop := []func() error{stays.clickOn(20 * time.Millisecond), program.clickOn(7 * time.Millisecond)}
	for n := 2; n <= updates+1; n++ {
		next := w.pushUpdate(n)
		fresh := w.newVisitor()
		if err := fresh.click(); err != nil || fresh.builds[string(next)] != 1 {
			t.Fatalf("after update %d who comes new gets %v: %v", n, fresh.builds, err)
		}
		if n > updates/2 {
			w.expireOldest(3)
		}
	}
	for i, v := range []*visitor{stays, program} {
		// promise: W-01
		if err := stop[i](); err != nil || len(v.sessions) != 1 {
			t.Errorf("visitor %d: %d clicks, sessions %v: %v", i, v.clicks, v.sessions, err)
		}
	}
	if stays.builds[first] == 0 || len(stays.builds) > 60 || len(program.builds) < updates/2 {
		t.Errorf("who stays was on %d builds, %d times on the first; the program on %d",
			len(stays.builds), stays.builds[first], len(program.builds))
	}
	t.Logf("%d updates under %d and %d clicks", updates, stays.clicks, program.clicks)
}

// sessionOnly keeps the application's cookie and none of ours.
type sessionOnly struct{ http.CookieJar }

func (s sessionOnly) SetCookies(u *url.URL, all []*http.Cookie) {
	for _, c := range all {
		if c.Name == "session" {
			s.CookieJar.SetCookies(u, []*http.Cookie{c})
		}
	}
}
