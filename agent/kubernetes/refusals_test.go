package kubernetes_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/pipeline"
)

// apiServer is what these tests need of an API server: who may do what, and one answer to
// everything else. It notes what would change the cluster.
type apiServer struct {
	t      *testing.T
	mu     sync.Mutex
	denied map[string]bool // "verb resource"
	// answer is asked for all but reviews; false is 404.
	answer  func(r *http.Request) (status int, body string, ok bool)
	changes []string
}

func (a *apiServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if strings.HasSuffix(r.URL.Path, "/selfsubjectaccessreviews") {
		a.review(w, r)
		return
	}
	if r.Method != http.MethodGet {
		a.mu.Lock()
		a.changes = append(a.changes, r.Method+" "+r.URL.Path)
		a.mu.Unlock()
	}
	if status, body, ok := a.answer(r); ok {
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
		return
	}
	w.WriteHeader(http.StatusNotFound)
	_, _ = w.Write([]byte(failure(404, "NotFound", "there is none")))
}

func (a *apiServer) review(w http.ResponseWriter, r *http.Request) {
	var review map[string]any
	if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
		a.t.Error(err)
	}
	spec := review["spec"].(map[string]any)["resourceAttributes"].(map[string]any)
	name, _ := spec["resource"].(string)
	if sub, ok := spec["subresource"].(string); ok {
		name += "/" + sub
	}
	verb, _ := spec["verb"].(string)
	review["status"] = map[string]any{"allowed": !a.denied[verb+" "+name]}
	w.WriteHeader(http.StatusCreated)
	_ = json.NewEncoder(w).Encode(review)
}

func failure(code int, reason, message string) string {
	text, _ := json.Marshal(map[string]any{"kind": "Status", "apiVersion": "v1",
		"status": "Failure", "code": code, "reason": reason, "message": message})
	return string(text)
}

func (a *apiServer) changed() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.changes
}

// open starts the server and connects a runtime to it.
func (a *apiServer) open() (*kubernetes.Kubernetes, error) {
	server := httptest.NewServer(a)
	a.t.Cleanup(server.Close)
	return openAt(a.t, server.URL)
}

func openAt(t *testing.T, url string) (*kubernetes.Kubernetes, error) {
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(file, []byte(kubeconfigFor(url)), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubernetes.New(t.Context(), kubernetes.Config{Kubeconfig: file, Install: "test",
		Helper: "registry.test/agent:1"})
}

func kubeconfigFor(url string) string {
	return `{"apiVersion": "v1", "kind": "Config", "current-context": "x",
		"clusters": [{"name": "c", "cluster": {"server": "` + url + `"}}],
		"users": [{"name": "u", "user": {"token": "secret"}}],
		"contexts": [{"name": "x", "context": {"cluster": "c", "user": "u"}}]}`
}

const someDeployment = "0190b0de-0000-7000-8000-000000000001"

// An account without rights gets one error that names each of them, and nothing is created.
func TestNew_NamesEveryMissingRight(t *testing.T) {
	t.Parallel()
	a := &apiServer{t: t, denied: map[string]bool{"create pods/exec": true,
		"delete namespaces": true},
		answer: func(*http.Request) (int, string, bool) { return 0, "", false }}
	_, err := a.open()
	if err == nil {
		t.Fatal("it starts without its rights")
	}
	// promise: K-07
	for _, want := range []string{"lacks 2 of its rights", "create pods/exec", "delete namespaces",
		"ClusterRole"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not say %q: %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "watch pods") || len(a.changed()) > 0 {
		t.Errorf("it says %q and did %v", err, a.changed())
	}
}

// An API server that does not answer keeps nobody from starting, but nothing is prepared, and the
// error is not taken for an answer.
func TestNew_StartsWithoutTheCluster(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	k, err := openAt(t, server.URL)
	if err != nil {
		t.Fatal(err)
	}
	if err := k.Prepare(t.Context(), someDeployment); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("preparing says %v", err)
	}
	if _, err := k.List(t.Context()); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("listing says %v", err)
	}
}

// A namespace with our name and without our labels is somebody else's: it is neither used nor
// changed, and not removed either.
func TestPrepare_RefusesForeignNamespace(t *testing.T) {
	t.Parallel()
	a := &apiServer{t: t}
	a.answer = func(r *http.Request) (int, string, bool) {
		switch {
		case r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/namespaces"):
			return 409, failure(409, "AlreadyExists", "it exists"), true
		case r.Method == http.MethodGet && strings.Contains(r.URL.Path, "/namespaces/nullops-") &&
			!strings.HasSuffix(r.URL.Path, "/pods"):
			return 200, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"foreign",
				"labels":{"nullops.install":"other"}}}`, true
		}
		return 0, "", false
	}
	k, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	err = k.Prepare(t.Context(), someDeployment)
	if err == nil || !strings.Contains(err.Error(), "is not ours") ||
		!strings.Contains(err.Error(), "agent.kubernetes.prefix") {
		t.Errorf("preparing says %v", err)
	}
	if left, err := k.RemoveDeployment(t.Context(), someDeployment); err != nil || len(left) > 0 {
		t.Errorf("removing says %v, %v", left, err)
	}
	for _, change := range a.changed() {
		if !strings.HasPrefix(change, "POST ") || !strings.HasSuffix(change, "/namespaces") {
			t.Errorf("it did %s", change)
		}
	}
}

// What decides nothing is "unavailable": an overloaded or starting API server, or its store. A
// refusal is an answer, in the cluster's words.
func TestErrors_TellAnswersFromSilence(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		code        int
		reason      string
		unavailable bool
	}{
		"overloaded": {429, "TooManyRequests", true},
		"starting":   {503, "ServiceUnavailable", true},
		"no store":   {500, "InternalError", true},
		"expired":    {410, "Expired", false},
		"forbidden":  {403, "Forbidden", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a := &apiServer{t: t, answer: func(r *http.Request) (int, string, bool) {
				return c.code, failure(c.code, c.reason, "the reason of "+name), true
			}}
			k, err := a.open()
			if err != nil {
				t.Fatal(err)
			}
			_, err = k.List(t.Context())
			if errors.Is(err, agent.ErrUnavailable) != c.unavailable ||
				!strings.Contains(err.Error(), "the reason of "+name) {
				t.Errorf("it says %v", err)
			}
		})
	}
}

// Names that Kubernetes does not take are refused before it is asked.
func TestNames_AreRefusedBeforeAnythingIsMade(t *testing.T) {
	t.Parallel()
	a := &apiServer{t: t, answer: func(*http.Request) (int, string, bool) { return 0, "", false }}
	k, err := a.open()
	if err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("a", 64)
	for says, err := range map[string]error{
		"agent.kubernetes.prefix": k.Prepare(t.Context(), long[:60]),
		"neither a UUID nor":      k.Prepare(t.Context(), long),
		"is not a DNS label": k.StartService(t.Context(), agent.ServiceSpec{
			Deployment: someDeployment, Step: pipeline.StepKey(long)}),
	} {
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("it does not say %q: %v", says, err)
		}
	}
	if len(a.changed()) > 0 {
		t.Errorf("it did %v", a.changed())
	}
}

// An image for other machines than the cluster's is refused when it is pulled, not when its process
// cannot be started.
func TestPull_RefusesAnImageForOtherMachines(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	t.Cleanup(server.Close)
	image, err := mutate.ConfigFile(empty.Image, &v1.ConfigFile{OS: "linux", Architecture: "s390x"})
	if err != nil {
		t.Fatal(err)
	}
	host := strings.TrimPrefix(server.URL, "http://")
	ref, err := name.ParseReference(host + "/app:1")
	if err == nil {
		err = remote.Write(ref, image)
	}
	if err != nil {
		t.Fatal(err)
	}
	k, err := (&apiServer{t: t, answer: answerFacts("v1.34.3",
		map[string]string{"/api/v1/nodes": someMachines})}).open()
	if err != nil {
		t.Fatal(err)
	}
	err = k.Pull(t.Context(), pipeline.Image{Registry: host, Repository: "app", Tag: "1",
		Insecure: true}, nil, nil)
	for _, want := range []string{"linux/s390x", "amd64", "choose an image for them"} {
		if err == nil || !strings.Contains(err.Error(), want) ||
			errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("it does not say %q: %v", want, err)
		}
	}
}

// An API server that takes too long has not answered, and one that has forgotten what a watch
// began with is watched anew.
func TestErrors_OfASlowAndOfAForgetfulServer(t *testing.T) {
	t.Parallel()
	slow := &apiServer{t: t, answer: func(r *http.Request) (int, string, bool) {
		<-r.Context().Done()
		return 0, "", false
	}}
	k, err := slow.open()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := k.List(ctx); !errors.Is(err, agent.ErrUnavailable) {
		t.Errorf("a slow one: %v", err)
	}
	k, err = (&apiServer{t: t, answer: func(r *http.Request) (int, string, bool) {
		return 200, `{"type":"ERROR","object":` + failure(410, "Expired", "too old") + `}`,
			r.URL.Query().Get("watch") != ""
	}}).open()
	if err != nil {
		t.Fatal(err)
	}
	hints := k.WatchChanges(t.Context())
	for range 3 {
		select {
		case <-hints:
		case <-time.After(30 * time.Second):
			t.Fatal("it is not watched anew")
		}
	}
}
