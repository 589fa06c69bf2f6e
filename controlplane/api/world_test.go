package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/accounts"
	"github.com/nullops/nullops/controlplane/alerts"
	"github.com/nullops/nullops/controlplane/api"
	"github.com/nullops/nullops/controlplane/audit"
	"github.com/nullops/nullops/controlplane/backup"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/certificates"
	"github.com/nullops/nullops/controlplane/diagnose"
	"github.com/nullops/nullops/controlplane/gate"
	"github.com/nullops/nullops/controlplane/keyring"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/logbook"
	"github.com/nullops/nullops/controlplane/mails"
	"github.com/nullops/nullops/controlplane/nodes"
	"github.com/nullops/nullops/controlplane/notify"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/reach"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/controlplane/sources"
	"github.com/nullops/nullops/controlplane/usage"
	"github.com/nullops/nullops/internal/logs"
	"github.com/nullops/nullops/internal/script"
	"github.com/nullops/nullops/pipeline"
)

// Values that no response may contain.
const (
	password       = "correct horse battery staple"
	registrySecret = "canary-registry-7c1f0a55"
	projectSecret  = "canary-project-93be02d4"
)

// images is a registry in memory.
type images struct{}

func (images) ListTags(_ context.Context, s registry.Source) (registry.TagList, error) {
	if s.Repository == "branchy/api" {
		return registry.TagList{Tags: []string{"v9.0", "main",
			"feature-cart-51d0e7b", "feature-cart-old"},
			ReadAt: time.Now()}, nil
	}
	return registry.TagList{Tags: []string{"1.0", "1.1", "v2"}, ReadAt: time.Now()}, nil
}

func (images) Resolve(_ context.Context, s registry.Source, tag string) (string, error) {
	if tag == "moving" {
		tag = rand.Text()
	}
	_, late := missing.Load(tag)
	if _, here := missing.Load(s.Repository + ":" + tag); late || here {
		return "", &controlplane.Error{Kind: controlplane.Invalid, Code: "tag_unknown",
			Message: "there is no tag " + tag}
	}
	sum := sha256.Sum256([]byte(tag))
	return "sha256:" + hex.EncodeToString(sum[:]), nil
}

// failByName fails for images whose names say so.
func failByName(repository, reference string) error {
	refused := func(kind controlplane.Kind, code, message string) error {
		return &controlplane.Error{Kind: kind, Code: code, Message: message, Remedy: "Mend it."}
	}
	byDigest := strings.HasPrefix(reference, "sha256:")
	switch {
	case strings.HasPrefix(repository, "denied/"):
		return refused(controlplane.Unavailable, "registry_denied", "it does not let us read")
	case strings.HasPrefix(repository, "down/"):
		return refused(controlplane.Unavailable, "registry_down", "it cannot be reached")
	case strings.HasPrefix(repository, "lost/") && byDigest:
		return refused(controlplane.Invalid, "image_gone", "it no longer has the image")
	case reference == "gone":
		return refused(controlplane.Invalid, "tag_unknown", "it has no tag gone")
	}
	return nil
}

func (i images) Inspect(
	ctx context.Context, s registry.Source, reference string,
) (facts controlplane.ImageFacts, err error) {
	if err := failByName(s.Repository, reference); err != nil {
		return facts, err
	}
	if facts.Digest = reference; !strings.HasPrefix(reference, "sha256:") {
		facts.Digest, err = i.Resolve(ctx, s, reference)
	}
	if reference == "for-arm" {
		facts.Arches = []string{"arm64"}
	}
	return facts, err
}

func (images) Ping(context.Context, registry.Source) error { return nil }
func (images) Attach(context.Context, registry.Source, string, registry.Artifact) error {
	return nil
}

func (images) DescribeTags(
	context.Context, registry.Source, []string, time.Duration,
) map[string]registry.Image {
	return nil
}

// DescribeImage knows two repositories: an image that says all there is to say, and one
// that says nothing.
func (i images) DescribeImage(
	ctx context.Context, s registry.Source, tag string,
) (out registry.ImageConfig, err error) {
	if out.Digest, err = i.Resolve(ctx, s, tag); err != nil || s.Repository == "shop/silent" {
		return out, err
	}
	return registry.ImageConfig{Digest: out.Digest, User: "app",
		Ports:   []registry.ImagePort{{Port: 8080, Protocol: "tcp"}},
		Env:     []registry.ImageVariable{{Name: "LOG", Value: "info"}},
		Health:  []string{"curl", "-f", "localhost:8080"},
		Volumes: []string{"/data"}, Requires: []string{"TOKEN"}}, nil
}

// world is a control plane with its real HTTP API and a real database.
type world struct {
	t            *testing.T
	store        *postgres.Store
	accounts     *accounts.Accounts
	catalog      *catalog.Catalog
	sources      *sources.Sources
	nodes        *nodes.Nodes
	certificates *certificates.Certificates
	keys         *keyring.Keyring
	lifecycle    *lifecycle.Lifecycle
	logbook      *logbook.Logbook
	server       *httptest.Server
	log          *record
	inside       *fakeNode
	logs         *logs.Log
	agents       fakeAgents
	database     string
	node         controlplane.NodeID
	off          controlplane.OffLimits
	mail         notify.MailConfig
	rootToken    string
	seq          int64

	mu sync.Mutex
	// seen is every answer, for the search for what must not be in one.
	seen bytes.Buffer
}

// record keeps what was logged, for tests that look for what must not be there.
type record struct {
	mu  sync.Mutex
	all bytes.Buffer
}

func (r *record) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.Write(b)
}

func (r *record) String() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.String()
}

func newWorld(t *testing.T, change ...func(*api.Config)) *world {
	t.Helper()
	return newWorldWith(t, func(*world) {}, change...)
}

// newWorldWith lets a test say where webhooks may lead and where mail goes.
func newWorldWith(t *testing.T, first func(*world), change ...func(*api.Config)) *world {
	t.Helper()
	w := &world{t: t, log: &record{}, inside: &fakeNode{},
		database: pgtest.URL(t, os.DirFS("../../migrations"))}
	w.store = pgtest.Open(t, w.database)
	first(w)
	w.logs = logs.New(w.log, slog.LevelInfo, nil, func(to io.Writer) slog.Handler {
		return slog.NewJSONHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug})
	})
	log := w.logs.Logger()
	ingress := must(url.Parse("http://localhost:8000"))(t)
	w.keys = keyringtest.New(t, w.store)
	w.accounts = must(accounts.New(accounts.Config{Store: w.store, Log: log, Keys: w.keys,
		URL:   must(url.Parse("https://nullops.test"))(t),
		Mails: true, MemoryKiB: 8, Iterations: 1, Parallelism: 1}))(t)
	w.catalog = catalog.New(catalog.Config{Store: w.store, Keys: w.keys, Images: images{},
		Scripts: &script.Runner{}, Log: log})
	w.certificates = certificates.New(certificates.Config{Store: w.store, Keys: w.keys})
	w.nodes = nodes.New(nodes.Config{Store: w.store, Keys: w.keys,
		AllowLoopback: true, IssueToken: func() (nodes.IssuedToken, error) {
			kid := string(controlplane.NewID[controlplane.NodeID]())[26:]
			return nodes.IssuedToken{Token: controlplane.NewPlain("nopa1_" + kid), Kid: kid,
				Key: bytes.Repeat([]byte{7}, 32)}, nil
		}})
	w.lifecycle = lifecycle.New(lifecycle.Config{Store: w.store, Catalog: w.catalog, Keys: w.keys,
		IngressURL: ingress, Log: log, KeepRemoved: 24 * time.Hour})
	w.logbook = logbook.New(w.store)
	c := api.Config{
		Accounts: w.accounts, Catalog: w.catalog, Nodes: w.nodes,
		Certificates: w.certificates, Keys: w.keys, Lifecycle: w.lifecycle, Logbook: w.logbook,
		Audit:  audit.New(w.store, pgtest.AuditKey()),
		Notify: w.startNotifier(log), Reviews: w.reviewing(log),
		Sources:   w.newSources(log),
		Alerts:    alerts.New(alerts.Config{Store: w.store, Log: log}),
		Diagnosis: w.diagnosis(log),
		Backups:   &backup.Schedule{Source: backup.Source{Store: w.store}},
		Usage:     usage.New(w.store, slog.New(slog.DiscardHandler)), Gate: gate.New(w.store, nil),
		HostKey: func(context.Context, access.Actor, string, int) (string, string, error) {
			return "ssh-ed25519", "SHA256:" + strings.Repeat("a", 43), nil
		},
		Subscribe: w.listen(log), UI: fstest.MapFS{
			"index.html":          {Data: []byte("<!doctype html>start")},
			"assets/app-1a.js":    {Data: []byte("export {}")},
			"assets/app-2b.js":    {Data: []byte("export {as: it, is}")},
			"assets/app-2b.js.gz": {Data: []byte("packed")},
		},
		URL: must(url.Parse("http://nullops.test"))(t), IngressURL: ingress, Build: "test", Log: log,
	}
	c.Reach, c.Mails = reach.New(w.store, w.inside), mails.New(w.store, mailNode{})
	for _, f := range change {
		f(&c)
	}
	w.server = httptest.NewServer(must(api.New(c))(t))
	t.Cleanup(w.server.Close)
	return w
}

// diagnosis is what a control plane has, without agents.
func (w *world) diagnosis(log *slog.Logger) *diagnose.Diagnosis {
	return diagnose.New(diagnose.Config{Store: w.store, Process: "host/1/a/controlplane",
		Release: "test", Log: log, Components: logs.Components()["server"],
		AgentComponents: logs.Components()["agent"], Apply: w.logs.SetLevels, Agents: &w.agents,
		Files: func() []controlplane.DiagnosisFile {
			return []controlplane.DiagnosisFile{{Name: "log.txt", Data: w.logs.Recent()}}
		},
		Secrets: func(ctx context.Context) (map[string][]controlplane.Plain, error) {
			return w.keys.OpenAll(ctx, system)
		}})
}

func (w *world) listen(
	log *slog.Logger,
) func(string, ...controlplane.Topic) (<-chan struct{}, func()) {
	l := postgres.NewListener(w.store, log)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); _ = l.Run(ctx) }()
	w.t.Cleanup(func() { cancel(); <-done })
	return func(key string, topics ...controlplane.Topic) (<-chan struct{}, func()) {
		s := l.Subscribe(key, topics...)
		return s.Wake, s.Close
	}
}

func must[T any](v T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

var system = access.System("test")

// people makes an admin, a full member, a read-only member, and a stranger
// without any team. Their password is the same.
func (w *world) people() {
	w.t.Helper()
	ctx := w.t.Context()
	for name, role := range map[string]controlplane.Role{"root": controlplane.RoleAdmin,
		"full": controlplane.RoleUser, "reader": controlplane.RoleUser,
		"stranger": controlplane.RoleUser} {
		_, err := w.accounts.PutUser(ctx, system, accounts.UserPut{Name: name, Role: role,
			DisplayName: name, Active: true, Password: controlplane.NewPlain(password)})
		if err != nil {
			w.t.Fatal(err)
		}
	}
	w.expectSaved(w.accounts.PutUser(ctx, system, accounts.UserPut{Name: "robot", Active: true,
		Role: controlplane.RoleUser, Kind: controlplane.KindService}))
}

// shop defines everything a deployment needs, and teams that may see it.
func (w *world) shop() {
	w.t.Helper()
	w.people()
	ctx := w.t.Context()
	secretPassword := controlplane.NewPlain(registrySecret)
	w.expectSaved(w.catalog.PutRegistry(ctx, system, catalog.RegistryPut{Name: "local",
		Host: "localhost:5000", Insecure: true, Username: "puller", Password: &secretPassword}))
	w.expectSaved(w.catalog.PutService(ctx, system, catalog.ServicePut{Name: "api", Registry: "local",
		Image: "shop/api", TagMode: pipeline.Selectable}))
	w.expectSaved(w.catalog.PutPlugin(ctx, system, catalog.PluginPut{Name: "seed", Registry: "local",
		Image: "plugins/seed", Tag: "1.0", Component: pipeline.Component{
			Secrets: []pipeline.SecretInput{{Name: "token", Required: true}}}}))
	w.expectSaved(w.catalog.PutEnvironment(ctx, system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost"}))
	w.expectSaved(w.catalog.PutProject(ctx, system, catalog.ProjectPut{Name: "shop",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}}))
	value := controlplane.NewPlain(projectSecret)
	w.expectSaved(w.catalog.PutSecret(ctx, system, catalog.SecretPut{Project: "shop",
		Name: "API_TOKEN", Value: &value}))
	w.expectSaved(w.catalog.SavePipeline(ctx, system, "shop", shopPipeline(), "first"))
	for _, level := range []controlplane.Level{controlplane.LevelFull, controlplane.LevelRead} {
		name := map[controlplane.Level]string{"full": "full", "read": "reader"}[level]
		w.expectSaved(w.accounts.PutTeam(ctx, system, accounts.TeamPut{Name: "team-" + name,
			Members: []string{name},
			Grants:  []controlplane.TeamGrant{{Project: "shop", Level: level}}}))
	}
	w.online("node-1")
}

func shopPipeline() pipeline.Pipeline {
	return pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{
		{Key: "api", Service: &pipeline.ServiceStep{Name: "api",
			Env:       map[string]string{"API_TOKEN": "${{ secrets.API_TOKEN }}"},
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}},
		{Key: "seed", Needs: []pipeline.StepKey{"api"}, Plugin: &pipeline.PluginStep{Name: "seed",
			Secrets: map[string]string{"token": "${{ secrets.API_TOKEN }}"}}},
	}}
}

// expectSaved fails the test when a definition was refused.
func (w *world) expectSaved(_ any, err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// online adds a node with much room, as if its agent had just connected.
func (w *world) online(name string) {
	w.t.Helper()
	w.onlineIn(name, "qa", "127.0.0.1:5000")
}

func (w *world) onlineIn(name, environment, address string) {
	w.t.Helper()
	ctx := w.t.Context()
	e, err := w.nodes.AddNode(ctx, system, nodes.Put{Name: name, Environment: environment,
		Address: address})
	w.expectSaved(e, err)
	w.node = e.Node.ID
	w.expectSaved(nil, w.store.InTx(ctx, func(tx *postgres.Tx) error {
		if err := tx.Nodes().SetInventory(ctx, e.Node.ID, "test", controlplane.Inventory{
			Hostname: name, CPU: 64, Memory: 64 << 30, Disk: 1 << 40}); err != nil {
			return err
		}
		if err := tx.Nodes().SetVitals(ctx, e.Node.ID, controlplane.NodeVitals{At: time.Now(),
			DiskFree: 1 << 39}); err != nil {
			return err
		}
		print := controlplane.Thumbprint(fmt.Sprintf("%064x", []byte(name)))
		if _, err := tx.NodeTrust().Trust(ctx, e.Node.ID, print); err != nil {
			return err
		}
		_, err := tx.Nodes().Move(ctx, e.Node.ID, controlplane.NodeOnline, "")
		return err
	}))
}

// deploy makes a deployment of the shop.
func (w *world) deploy(name string) controlplane.Deployment {
	w.t.Helper()
	d, err := w.lifecycle.Create(w.t.Context(), system, lifecycle.Request{Name: name,
		Project: "shop", Environment: "qa",
		Versions: map[pipeline.StepKey]string{"api": "1.0"}})
	w.expectSaved(d, err)
	return d
}

// report says what a node would say.
func (w *world) report(d controlplane.Deployment, r lifecycle.Report) {
	w.t.Helper()
	w.seq++
	r.Node, r.Seq, r.Deployment, r.At = w.node, w.seq, d.ID, time.Now()
	r.Generation, r.Run = d.Generation, d.RunID
	w.expectSaved(nil, w.lifecycle.Apply(context.WithoutCancel(w.t.Context()), system, r))
}

// write adds a line to a step's log.
func (w *world) write(d controlplane.Deployment, step string, number int64, text string) {
	w.t.Helper()
	w.expectSaved(nil, w.logbook.Append(context.WithoutCancel(w.t.Context()), system, w.node,
		[]controlplane.LogLine{{Run: d.RunID, Step: pipeline.StepKey(step), Number: number,
			At: time.Now(), Text: text}}, []controlplane.DeploymentID{d.ID}))
}

// token makes an API token for a person, through the door.
func (w *world) token(user string) string {
	w.t.Helper()
	a := w.call("POST", "/api/v1/tokens", "",
		map[string]any{"user": user, "password": password, "name": "test"})
	if a.status != http.StatusCreated {
		w.t.Fatalf("token for %s: %d %s", user, a.status, a.body)
	}
	return a.field("token")
}

// answer is what came back.
type answer struct {
	t       *testing.T
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    []byte
}

func (a answer) field(name string) string {
	a.t.Helper()
	var v map[string]any
	if err := json.Unmarshal(a.body, &v); err != nil {
		a.t.Fatalf("answer is not an object: %v: %s", err, a.body)
	}
	if v[name] == nil {
		return ""
	}
	return fmt.Sprint(v[name])
}

// call asks with a bearer token, if not empty, and a JSON body, if not nil.
func (w *world) call(method, path, token string, body any) answer {
	w.t.Helper()
	header := http.Header{}
	if token != "" {
		header.Set("Authorization", "Bearer "+token)
	}
	var sent io.Reader
	if body != nil {
		b, ok := body.(string)
		file, isFile := body.(fileContent)
		if isFile {
			b = string(file)
		} else if !ok {
			encoded, err := json.Marshal(body)
			if err != nil {
				w.t.Fatal(err)
			}
			b = string(encoded)
		}
		sent = strings.NewReader(b)
		header.Set("Content-Type", "application/json")
		if isFile {
			header.Set("Content-Type", "application/octet-stream")
		}
	}
	return w.send(method, path, header, sent)
}

func (w *world) send(method, path string, header http.Header, body io.Reader) answer {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 2*time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, method, w.server.URL+path, body)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header = header
	if host := header.Get("Host"); host != "" {
		r.Host = host
	}
	got, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer got.Body.Close()
	a := answer{t: w.t, status: got.StatusCode, header: got.Header, cookies: got.Cookies()}
	if strings.HasPrefix(got.Header.Get("Content-Type"), "text/event-stream") {
		// A stream never ends by itself; what comes first will do.
		a.body = make([]byte, 4096)
		n, _ := io.ReadAtLeast(got.Body, a.body, 1)
		a.body = a.body[:n]
	} else if a.body, err = io.ReadAll(got.Body); err != nil {
		w.t.Fatal(err)
	}
	w.remember(a)
	return a
}

func (w *world) remember(a answer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_ = a.header.Write(&w.seen)
	w.seen.Write(a.body)
}

// containsValue reports whether the text holds the value, in any form it may take on
// its way.
func containsValue(text, value string) bool {
	forms := []string{value, url.QueryEscape(value), hex.EncodeToString([]byte(value)),
		base64.StdEncoding.EncodeToString([]byte(value))}
	for _, f := range forms {
		if strings.Contains(text, f) {
			return true
		}
	}
	return false
}
