package review

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/access"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/keyring/keyringtest"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/controlplane/registry"
	"github.com/nullops/nullops/pipeline"
)

const ruleToken = "canary-rule-token-77e0"

var system = access.System("test")

// images is a registry in memory: the digests of repository:tag, or an error.
type images map[string]any

func (i images) Inspect(
	_ context.Context, s registry.Source, reference string,
) (facts controlplane.ImageFacts, err error) {
	switch v := i[s.Repository+":"+reference].(type) {
	case string:
		return controlplane.ImageFacts{Digest: v}, nil
	case error:
		return facts, v
	}
	return facts, &controlplane.Error{Kind: controlplane.Invalid, Code: "tag_unknown",
		Message: "there is no tag " + reference}
}

// ListTags lists what is stored of the repository.
func (i images) ListTags(_ context.Context, s registry.Source) (t registry.TagList, err error) {
	for name := range i {
		if tag, ok := strings.CutPrefix(name, s.Repository+":"); ok {
			t.Tags = append(t.Tags, tag)
		}
	}
	return t, nil
}

func (images) Resolve(context.Context, registry.Source, string) (string, error) { return "", nil }
func (images) Attach(context.Context, registry.Source, string, registry.Artifact) error {
	return nil
}
func (images) Ping(context.Context, registry.Source) error { return nil }
func (images) DescribeTags(
	context.Context, registry.Source, []string, time.Duration,
) map[string]registry.Image {
	return nil
}

func (images) DescribeImage(
	context.Context, registry.Source, string,
) (c registry.ImageConfig, err error) {
	return c, nil
}

// world is Reviews on a database of its own, with the project shop and the
// environment qa. Nothing runs but what the test calls.
type world struct {
	*Reviews
	t      *testing.T
	url    string
	images images
	n      int
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, url: pgtest.URL(t, os.DirFS("../../migrations")), images: images{}}
	store := pgtest.Open(t, w.url)
	keys := keyringtest.New(t, store)
	c := catalog.New(catalog.Config{Store: store, Keys: keys, Images: w.images,
		Log: slog.New(slog.DiscardHandler)})
	w.Reviews = New(Config{Store: store, Catalog: c, Keys: keys,
		Off: controlplane.OffLimits{Loopback: true},
		URL: "http://nullops.test", Log: slog.New(slog.DiscardHandler), Ask: time.Second})
	t.Cleanup(w.client.CloseIdleConnections)
	_, err := c.PutEnvironment(t.Context(), system, catalog.EnvironmentPut{Name: "qa",
		Domain: "localhost"})
	w.failOnError(err)
	_, err = c.PutProject(t.Context(), system, catalog.ProjectPut{Name: "shop",
		Resources: pipeline.Resources{CPU: 2, MemoryMiB: 1024}})
	w.failOnError(err)
	return w
}

func (w *world) failOnError(err error) {
	w.t.Helper()
	if err != nil {
		w.t.Fatal(err)
	}
}

// putServices gives the project three services: two with selectable tags, one without.
func (w *world) putServices() {
	w.t.Helper()
	ctx := w.t.Context()
	_, err := w.Catalog.PutRegistry(ctx, system, catalog.RegistryPut{Name: "local",
		Host: "localhost:5000", Insecure: true})
	w.failOnError(err)
	var p pipeline.Pipeline
	p.Format = 1
	for name, mode := range map[string]pipeline.TagMode{"api": pipeline.Selectable,
		"web": pipeline.Selectable, "db": pipeline.Pinned} {
		_, err := w.Catalog.PutService(ctx, system, catalog.ServicePut{Name: name, Registry: "local",
			Image: "shop/" + name, TagMode: mode, Tag: "1.0"})
		w.failOnError(err)
		p.Steps = append(p.Steps, pipeline.Step{Key: pipeline.StepKey(name),
			Service: &pipeline.ServiceStep{Name: name, Resources: pipeline.Resources{CPU: 0.1,
				MemoryMiB: 64}, Ports: []pipeline.Port{{Name: "http", Port: 8080}}}})
	}
	_, err = w.Catalog.SavePipeline(ctx, system, "shop", p, "first")
	w.failOnError(err)
}

// putRule stores a rule whose secret is ruleSecret.
func (w *world) putRule(name string, source controlplane.ReviewSource,
	change ...func(*RulePut)) controlplane.ReviewRule {
	w.t.Helper()
	key := controlplane.NewPlain(ruleSecret)
	p := RulePut{Secret: &key, Rule: controlplane.ReviewRule{Name: name, Source: source,
		Project: "shop", Environment: "qa", Tag: "pr-{number}", Wait: time.Hour, Active: true}}
	for _, f := range change {
		f(&p)
	}
	saved, err := w.PutRule(w.t.Context(), system, p)
	w.failOnError(err)
	return saved.Rule
}

// deliverEvent delivers a signed event under an id of its own.
func (w *world) deliverEvent(rule controlplane.ReviewRule, body string) string {
	w.t.Helper()
	w.n++
	h := signHeaders(rule.Source, ruleSecret, body, time.Now())
	id := fmt.Sprintf("delivery-%d", w.n)
	for _, name := range []string{"X-GitHub-Delivery", "X-Gitea-Delivery", "X-Gitlab-Event-UUID",
		"X-Request-UUID"} {
		h.Set(name, id)
	}
	said, err := w.Receive(w.t.Context(), system, rule.Name, h, []byte(body))
	w.failOnError(err)
	return said
}

func (w *world) listReviews(rule controlplane.ReviewRule) []controlplane.Review {
	w.t.Helper()
	_, all, err := w.GetRule(w.t.Context(), system, rule.Name)
	w.failOnError(err)
	return all
}

func (w *world) claim() (all []controlplane.Review) {
	w.t.Helper()
	w.failOnError(w.Store.InTx(w.t.Context(), func(tx *postgres.Tx) (err error) {
		all, err = tx.Reviews().Claim(w.t.Context(), holdFor, 100)
		return err
	}))
	return all
}

// fakeHost keeps what it was asked, and answers as the test says.
type fakeHost struct {
	*httptest.Server
	mu    sync.Mutex
	calls []string
	keys  []string
}

func newFakeHost(t *testing.T, status int, answer string) *fakeHost {
	t.Helper()
	h := &fakeHost{}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.calls = append(h.calls, strings.TrimSpace(r.Method+" "+r.URL.EscapedPath()+" "+string(body)))
		h.keys = append(h.keys, r.Header.Get("Authorization")+r.Header.Get("Private-Token"))
		w.Header().Set("Location", "/elsewhere")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(h.Close)
	return h
}

func (h *fakeHost) listRequests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.calls
}
