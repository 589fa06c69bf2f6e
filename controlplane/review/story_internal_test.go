package review

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/catalog"
	"github.com/nullops/nullops/controlplane/lifecycle"
	"github.com/nullops/nullops/controlplane/postgres"
	"github.com/nullops/nullops/controlplane/postgres/pgtest"
	"github.com/nullops/nullops/pipeline"
)

// story is a world with a node and a code host. The test is the node, and each look happens when
// the test calls it.
type story struct {
	*world
	node controlplane.NodeID
	host *stateHost
	rule controlplane.ReviewRule
	seq  int64
}

// stateHost shows one state of its pull requests, and stores what it is told.
type stateHost struct {
	*httptest.Server
	mu sync.Mutex
	// shown is the state that it shows, and files what a pull request changes; what is posted is
	// answered with status.
	shown string
	files string
	// rights are what users may do, by their names.
	rights map[string]string
	// refused is part of the paths that its token may not write to; empty for none.
	refused string
	// fail is the status that a request fails with, zero for none; header goes with it.
	fail   func(*http.Request) int
	header http.Header
	status int
	told   []string
	// asked counts all requests.
	asked int
}

func newStateHost(t *testing.T) *stateHost {
	t.Helper()
	h := &stateHost{status: http.StatusCreated}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		defer h.mu.Unlock()
		h.asked++
		if h.fail != nil {
			if status := h.fail(r); status != 0 {
				maps.Copy(w.Header(), h.header)
				w.WriteHeader(status)
				return
			}
		}
		if strings.HasSuffix(r.URL.Path, "/files") {
			_, _ = io.WriteString(w, h.files)
			return
		}
		if _, user, ok := strings.Cut(r.URL.Path, "/collaborators/"); ok {
			user = strings.TrimSuffix(user, "/permission")
			if h.rights[user] == "" {
				w.WriteHeader(http.StatusNotFound)
			}
			_, _ = fmt.Fprintf(w, `{"permission":%q}`, h.rights[user])
			return
		}
		if r.Method == http.MethodGet {
			_, _ = io.WriteString(w, h.shown)
			return
		}
		if h.refused != "" && strings.Contains(r.URL.Path, h.refused) {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		h.told = append(h.told, r.Method+" "+r.URL.Path+" "+string(body))
		w.WriteHeader(h.status)
		_, _ = io.WriteString(w, `{"id":4711}`)
	}))
	t.Cleanup(h.Close)
	return h
}

// show sets the state, head and second that the host shows.
func (h *stateHost) show(state, sha string, second int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	at := time.Date(2026, 1, 2, 10, 0, second, 0, time.UTC).Format(time.RFC3339)
	h.shown = fmt.Sprintf(`{"state":%q,"updated_at":%q,"head":{"ref":"feature/cart","sha":%q}}`,
		state, at, sha)
}

// showFiles sets what the host says that a pull request changes.
func (h *stateHost) showFiles(names ...string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	files := []changedFile{}
	for _, n := range names {
		files = append(files, changedFile{Name: n})
	}
	text, _ := json.Marshal(files) // strings always become JSON
	h.files = string(text)
}

// takeMessages returns what the host was told since the last call.
func (h *stateHost) takeMessages() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	told := strings.Join(h.told, "\n")
	h.told = nil
	return told
}

func newStory(t *testing.T) *story {
	t.Helper()
	t.Parallel()
	s := &story{world: newWorld(t), host: newStateHost(t)}
	log := slog.New(slog.DiscardHandler)
	s.Lifecycle = lifecycle.New(lifecycle.Config{Store: s.Store, Catalog: s.Catalog, Keys: s.Keys,
		IngressURL: &url.URL{Scheme: "http", Host: "localhost:8000"}, Log: log})
	s.putService()
	s.addNode()
	s.rule = s.putRule("hub", controlplane.ReviewGitHub, func(p *RulePut) {
		token := controlplane.NewPlain(ruleToken)
		p.Token, p.Rule.APIURL = &token, s.host.URL
		p.Rule.Updates = controlplane.UpdateReplace
	})
	return s
}

func (s *story) putService() {
	s.t.Helper()
	ctx := s.t.Context()
	_, err := s.Catalog.PutRegistry(ctx, system, catalog.RegistryPut{Name: "local",
		Host: "localhost:5000", Insecure: true})
	s.failOnError(err)
	_, err = s.Catalog.PutService(ctx, system, catalog.ServicePut{Name: "api", Registry: "local",
		Image: "shop/api", TagMode: pipeline.Selectable})
	s.failOnError(err)
	_, err = s.Catalog.SavePipeline(ctx, system, "shop", newPipeline(), "first")
	s.failOnError(err)
}

// newPipeline has the service api.
func newPipeline() pipeline.Pipeline {
	return pipeline.Pipeline{Format: 1, Steps: []pipeline.Step{{Key: "api",
		Service: &pipeline.ServiceStep{Name: "api",
			Resources: pipeline.Resources{CPU: 0.1, MemoryMiB: 64},
			Ports:     []pipeline.Port{{Name: "http", Port: 8080, Expose: true}},
			Ready:     &pipeline.Readiness{TCP: &pipeline.TCPProbe{Port: 8080}}}}}}
}

// addNode adds a node as if its agent had just connected.
func (s *story) addNode() {
	s.t.Helper()
	ctx := s.t.Context()
	s.node = controlplane.NewID[controlplane.NodeID]()
	s.execSQL(`INSERT INTO nodes (id, name, environment_id, address) SELECT '` + string(s.node) +
		`', 'node-1', id, 'node-1.example.org:5000' FROM environments`)
	s.failOnError(s.Store.InTx(ctx, func(tx *postgres.Tx) error {
		err := tx.Nodes().SetInventory(ctx, s.node, "test", controlplane.Inventory{Hostname: "node-1",
			Arch: "amd64", CPU: 8, Memory: 16 << 30, Disk: 1 << 40})
		if err != nil {
			return err
		}
		_, err = tx.NodeTrust().Trust(ctx, s.node, controlplane.Thumbprint(strings.Repeat("0", 64)))
		if err != nil {
			return err
		}
		_, err = tx.Nodes().Move(ctx, s.node, controlplane.NodeOnline, "")
		return err
	}))
}

// push puts an image with the tag of pull request 12 into the registry.
func (s *story) push(build string) {
	s.images["shop/api:pr-12"] = "sha256:" + strings.Repeat(build, 64)
}

func (s *story) execSQL(sql string) {
	s.t.Helper()
	pgtest.Exec(s.t, s.url, sql)
}

// look has everything that is unfinished looked at now, and returns the one review.
func (s *story) look() controlplane.Review {
	s.t.Helper()
	s.execSQL("UPDATE reviews SET due_at = now() - interval '1 second'")
	forget := time.Now().Add(time.Hour)
	s.failOnError(s.advanceDue(s.t.Context(), &forget))
	return s.review()
}

func (s *story) review() controlplane.Review {
	s.t.Helper()
	all := s.listReviews(s.rule)
	if len(all) != 1 {
		s.t.Fatalf("%d reviews", len(all))
	}
	return all[0]
}

// endTime lets the review's time be over.
func (s *story) endTime(ago string) {
	s.t.Helper()
	s.execSQL("UPDATE reviews SET give_up_at = now() - interval '" + ago + "'")
}

// report has the node report statuses of the review's deployment.
func (s *story) report(all ...controlplane.DeploymentStatus) {
	s.t.Helper()
	s.reportOf(s.review().DeploymentID, all...)
}

// reportOf has the node report statuses of one deployment.
func (s *story) reportOf(id controlplane.DeploymentID, all ...controlplane.DeploymentStatus) {
	s.t.Helper()
	for _, status := range all {
		d, err := s.Lifecycle.Get(s.t.Context(), system, id)
		s.failOnError(err)
		s.seq++
		report := lifecycle.Report{Node: s.node, Seq: s.seq, Deployment: d.ID,
			Generation: d.Generation, Run: d.RunID, At: time.Now(), Status: status}
		if status != controlplane.Applying && status != controlplane.Ready {
			report.Code, report.Message = "test", "as the test says"
		}
		s.failOnError(s.Lifecycle.Apply(s.t.Context(), system, report))
	}
}

// expect compares a review's state, how far it is, and its detail.
func (s *story) expect(x controlplane.Review, state controlplane.ReviewState, done bool,
	detail string) {
	s.t.Helper()
	if x.State != state || (x.Done == x.Generation) != done || !strings.Contains(x.Detail, detail) ||
		(x.Detail == "") != (detail == "") {
		s.t.Fatalf("state %s, done %d of %d, detail %q; want %s, %v, %q", x.State, x.Done,
			x.Generation, x.Detail, state, done, detail)
	}
}

// expectDue checks when the next look happens.
func (s *story) expectDue(x controlplane.Review, in time.Duration) {
	s.t.Helper()
	if left := time.Until(x.DueAt); left > in || left < in-10*time.Minute {
		s.t.Fatalf("the next look is in %s, want %s", left, in)
	}
}

// expectTold checks what the host was told since the last call: nothing, or the comment and the
// commit's status.
func (s *story) expectTold(comment, words, status string) {
	s.t.Helper()
	told := s.host.takeMessages()
	if comment == "" && told != "" || !strings.Contains(told, comment) ||
		!strings.Contains(told, words) || !strings.Contains(told, status) {
		s.t.Fatalf("the host was told %q; want %q, %q and %q", told, comment, words, status)
	}
}

// find returns the deployment of a name that is not gone.
func (s *story) find(name string) (d lifecycle.View, found bool) {
	s.t.Helper()
	all, err := s.Lifecycle.List(s.t.Context(), system, lifecycle.Filter{Name: name, Most: 1})
	s.failOnError(err)
	if len(all) == 0 {
		return d, false
	}
	return all[0], true
}

const (
	firstComment = "POST /repos/acme/shop/issues/12/comments"
	laterComment = "PATCH /repos/acme/shop/issues/comments/4711"
	isSuccess    = `"state":"success"`
	isFailure    = `"state":"failure"`
)

// readyReview opens pull request 12, and has its deployment become ready.
func (s *story) readyReview() {
	s.t.Helper()
	s.host.show("open", "a1", 1)
	s.deliverEvent(s.rule, hubEvent("opened", 12, "a1", 1))
	s.push("a")
	s.look()
	s.report(controlplane.Applying, controlplane.Ready)
	s.expect(s.look(), controlplane.ReviewReady, true, "")
	s.host.takeMessages()
}

// farAway keeps a look from forgetting old events.
func farAway() time.Time { return time.Now().Add(time.Hour) }
