package registry_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

// fake answers as the test wants and remembers what it was asked.
type fake struct {
	*httptest.Server
	mu    sync.Mutex
	seen  []http.Header
	calls atomic.Int64
}

func startFake(t *testing.T, h http.HandlerFunc) *fake {
	t.Helper()
	f := &fake{}
	f.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.calls.Add(1)
		f.mu.Lock()
		f.seen = append(f.seen, r.Header.Clone())
		f.mu.Unlock()
		h(w, r)
	}))
	t.Cleanup(f.Close)
	return f
}

func (f *fake) host() string { return strings.TrimPrefix(f.URL, "http://") }

func (f *fake) sawCredentials() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, h := range f.seen {
		if h.Get("Authorization") != "" {
			return true
		}
	}
	return false
}

func plainSource(host string) registry.Source {
	return registry.Source{
		Registry: controlplane.Registry{
			Name: "local", Host: host, Insecure: true, Username: "robot",
		},
		Credentials: controlplane.Credentials{
			Username: "robot", Password: controlplane.NewPlain("robot-canary-password"),
		},
		Repository: "shop/api",
	}
}

func newClient(t *testing.T, c registry.Config) *registry.Client {
	t.Helper()
	made := registry.New(c)
	t.Cleanup(made.Close)
	return made
}

// pingRegistry answers the first request of every conversation.
func pingRegistry(w http.ResponseWriter, r *http.Request) bool {
	if r.URL.Path != "/v2/" {
		return false
	}
	w.WriteHeader(http.StatusOK)
	return true
}

// A registry is tried without naming a repository: what it says of itself and
// of the credentials counts, whichever way it wants them.
func TestPing_ProvesTheCredentials(t *testing.T) {
	t.Parallel()
	wanted := func(w http.ResponseWriter, r *http.Request) {
		if user, password, ok := r.BasicAuth(); ok && user == "robot" &&
			password == "robot-canary-password" {
			w.WriteHeader(http.StatusOK)
			return
		}
		w.Header().Set("WWW-Authenticate", `Basic realm="here"`)
		w.WriteHeader(http.StatusUnauthorized)
	}
	good, c := plainSource(startFake(t, wanted).host()), newClient(t, registry.Config{})
	if err := c.Ping(t.Context(), good); err != nil {
		t.Errorf("good credentials: %v", err)
	}
	bad := good
	bad.Credentials.Password = controlplane.NewPlain("wrong")
	if err := c.Ping(t.Context(), bad); controlplane.CodeOf(err) != "registry_denied" {
		t.Errorf("bad credentials: %v", err)
	}
	page := plainSource(startFake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusTeapot)
	}).host())
	if err := c.Ping(t.Context(), page); controlplane.CodeOf(err) != "registry_garbage" {
		t.Errorf("no registry: %v", err)
	}
}

// Every way a registry can fail is one clear sentence of its own.
//
// threat: T40
// fault: F53
func TestListTags_HostileAnswers(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name    string
		handler http.HandlerFunc
		code    string
	}{
		{"garbage", func(w http.ResponseWriter, r *http.Request) {
			_, _ = w.Write([]byte("<html>welcome</html>"))
		}, "registry_garbage"},
		{"garbage list", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				_, _ = w.Write([]byte(`{"tags": 7`))
			}
		}, "registry_garbage"},
		{"401", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
		}, "registry_denied"},
		{"403 on the list", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				w.WriteHeader(http.StatusForbidden)
			}
		}, "registry_denied"},
		{"404", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				w.WriteHeader(http.StatusNotFound)
			}
		}, "image_unknown"},
		{"429", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "17")
			w.WriteHeader(http.StatusTooManyRequests)
		}, "registry_busy"},
		{"500", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				w.WriteHeader(http.StatusInternalServerError)
			}
		}, "registry_down"},
		{"never ends", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				<-r.Context().Done()
			}
		}, "registry_slow"},
		{"too large", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				_, _ = w.Write([]byte(`{"tags":["` + strings.Repeat("x", 5<<20) + `"]}`))
			}
		}, "registry_refused"},
		{"endless pages", func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				w.Header().Set("Link", `</v2/shop/api/tags/list?last=x>; rel="next"`)
				_, _ = w.Write([]byte(`{"tags":["v1"]}`))
			}
		}, "registry_refused"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := startFake(t, c.handler)
			within := time.Minute
			if c.code == "registry_slow" {
				within = time.Second
			}
			_, err := newClient(t, registry.Config{AnswerTime: within}).
				ListTags(t.Context(), plainSource(f.host()))
			var said *controlplane.Error
			if !errors.As(err, &said) || said.Code != c.code {
				t.Fatalf("got %v, want code %s", err, c.code)
			}
			if !strings.Contains(said.Message, f.host()) || said.Remedy == "" {
				t.Errorf("the message names no registry or remedy: %q %q", said.Message, said.Remedy)
			}
			if strings.Contains(fmt.Sprintf("%v %+v", err, said), "canary") {
				t.Errorf("the error holds the password: %v", err)
			}
		})
	}
}

func TestListTags_Down(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(http.ResponseWriter, *http.Request) {})
	host := f.host()
	f.Close()
	_, err := newClient(t, registry.Config{}).ListTags(t.Context(), plainSource(host))
	if controlplane.CodeOf(err) != "registry_down" {
		t.Errorf("got %v", err)
	}
}

// A registry that wants our credentials sent somewhere else gets nothing, and
// neither does the other place.
//
// threat: T39
func TestListTags_NoForeignCredentials(t *testing.T) {
	t.Parallel()
	thief := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = w.Write([]byte(`{"token":"t"}`))
	})
	foreign := strings.Replace(thief.URL, "127.0.0.1", "localhost", 1)
	for name, h := range map[string]http.HandlerFunc{
		"realm": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer realm="`+foreign+`/token",service="x"`)
			w.WriteHeader(http.StatusUnauthorized)
		},
		"next page": func(w http.ResponseWriter, r *http.Request) {
			if !pingRegistry(w, r) {
				w.Header().Set("Link", `<`+foreign+`/v2/shop/api/tags/list?n=2>; rel="next"`)
				_, _ = w.Write([]byte(`{"tags":["v1"]}`))
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			f := startFake(t, h)
			_, err := newClient(t, registry.Config{}).ListTags(t.Context(), plainSource(f.host()))
			if err == nil {
				t.Error("the list was accepted")
			}
			if thief.sawCredentials() {
				t.Error("the other host was sent an Authorization header")
			}
		})
	}
}

// A public registry that leads to this machine or its link is not followed.
//
// threat: T39
func TestGuard_AddressesNobodyMayDial(t *testing.T) {
	t.Parallel()
	victim := startFake(t, func(http.ResponseWriter, *http.Request) {})
	s := plainSource(strings.Replace(victim.host(), "127.0.0.1", "localhost.localdomain", 1))
	for _, host := range []string{
		"169.254.169.254", "[fe80::1]:443", "0.0.0.0:443", "224.0.0.1:443",
	} {
		s.Registry.Host, s.Registry.Insecure = host, false
		_, err := newClient(t, registry.Config{AnswerTime: 3 * time.Second}).ListTags(t.Context(), s)
		if err == nil {
			t.Errorf("%s was asked", host)
		}
	}
	s.Registry.Host = "10.99.99.99:5000"
	denied := registry.Config{Own: func(ap netip.AddrPort) bool {
		return ap.Addr() == netip.MustParseAddr("10.99.99.99")
	}}
	_, err := newClient(t, denied).ListTags(t.Context(), s)
	if controlplane.CodeOf(err) != "registry_refused" {
		t.Errorf("denied address: %v", err)
	}
	if victim.calls.Load() > 0 {
		t.Error("a server on loopback was asked")
	}
}

func TestCheckHost(t *testing.T) {
	t.Parallel()
	for host, ok := range map[string]bool{
		"docker.io": true, "registry.example.org:5000": true, "localhost:5000": true,
		"127.0.0.1:5000": true, "[::1]:5000": true, "": false, "https://x.org": false,
		"x.org/path": false, "-x.org": false, "x.org:0": false, "x.org:": false, "word": false,
		"a b.org": false, "user@x.org": false,
	} {
		if err := registry.CheckHost(host, false); (err == nil) != ok {
			t.Errorf("%q: %v", host, err)
		}
	}
	if err := registry.CheckHost("registry.example.org", true); err == nil {
		t.Error("plain HTTP beyond loopback was allowed")
	}
}

// After a 429 there is no request before the time is over.
//
// threat: T40
// fault: F53
func TestListTags_HonoursRetryAfter(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "60")
		w.WriteHeader(http.StatusTooManyRequests)
	})
	var now atomic.Int64
	c := newClient(t, registry.Config{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	_, _ = c.ListTags(t.Context(), plainSource(f.host()))
	asked := f.calls.Load()
	now.Add(59)
	_, err := c.ListTags(t.Context(), plainSource(f.host()))
	if f.calls.Load() != asked || controlplane.CodeOf(err) != "registry_busy" {
		t.Errorf("asked again after %d calls: %v", f.calls.Load(), err)
	}
	now.Add(2)
	_, _ = c.ListTags(t.Context(), plainSource(f.host()))
	if f.calls.Load() == asked {
		t.Error("never asked again")
	}
}

// The cache answers for seconds, then the registry is asked; when that fails
// the old list comes back, marked.
func TestListTags_CacheAndStale(t *testing.T) {
	t.Parallel()
	var down atomic.Bool
	tags := atomic.Pointer[string]{}
	first, second := `["v1"]`, `["v1","v2"]`
	tags.Store(&first)
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if down.Load() {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		if !pingRegistry(w, r) {
			_, _ = w.Write([]byte(`{"tags":` + *tags.Load() + `}`))
		}
	})
	var now atomic.Int64
	c := newClient(t, registry.Config{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	ask := func() registry.TagList {
		t.Helper()
		l, err := c.ListTags(t.Context(), plainSource(f.host()))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	if l := ask(); len(l.Tags) != 1 {
		t.Fatalf("first list %v", l.Tags)
	}
	tags.Store(&second)
	calls := f.calls.Load()
	if ask(); f.calls.Load() != calls {
		t.Error("a fresh list was asked for again")
	}
	now.Add(6)
	// The earlier list is returned at once; the new one is read in the background.
	ask()
	// promise: N-029
	awaitTrue(t, "the pushed tag is listed", func() bool {
		l := ask()
		return len(l.Tags) == 2 && !l.Stale
	})
	down.Store(true)
	now.Add(61)
	if l := ask(); len(l.Tags) != 2 || !l.Stale || l.Reason == "" || l.ReadAt.Unix() != 6 {
		t.Errorf("while down: %+v", l)
	}
}

// awaitTrue waits for what happens after a response.
func awaitTrue(t *testing.T, what string, is func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !is(); {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A recently requested list is refreshed in the background; one that cannot be read says since when
// it is outdated, and one that is no longer requested is left alone.
func TestRefresh_ReadsWhatPeopleLookAt(t *testing.T) {
	t.Parallel()
	var down, pushed atomic.Bool
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case down.Load():
			w.WriteHeader(http.StatusBadGateway)
		case pingRegistry(w, r):
		case pushed.Load():
			_, _ = w.Write([]byte(`{"tags":["v1","v2"]}`))
		default:
			_, _ = w.Write([]byte(`{"tags":["v1"]}`))
		}
	})
	var now atomic.Int64
	c := newClient(t, registry.Config{Now: func() time.Time { return time.Unix(now.Load(), 0) }})
	ask := func() registry.TagList {
		t.Helper()
		l, err := c.ListTags(t.Context(), plainSource(f.host()))
		if err != nil {
			t.Fatal(err)
		}
		return l
	}
	ask()
	pushed.Store(true)
	now.Add(30)
	if err := c.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	if l := ask(); len(l.Tags) != 2 || l.ReadAt.Unix() != 30 {
		t.Errorf("after the refresh: %+v", l)
	}
	down.Store(true)
	now.Add(30)
	if err := c.Refresh(t.Context()); err == nil {
		t.Error("it failed and nobody heard of it")
	}
	if l := ask(); len(l.Tags) != 2 || !l.Stale || l.Reason == "" || l.ReadAt.Unix() != 30 {
		t.Errorf("while down: %+v", l)
	}
	now.Add(601)
	calls := f.calls.Load()
	if err := c.Refresh(t.Context()); err != nil || f.calls.Load() != calls {
		t.Errorf("asked for what nobody looks at: %v", err)
	}
}

func pushImage(t *testing.T, host, tag string, labels map[string]string) string {
	t.Helper()
	img, err := random.Image(512, 2)
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.Config(img, v1.Config{Labels: labels})
	if err != nil {
		t.Fatal(err)
	}
	img, err = mutate.CreatedAt(img, v1.Time{Time: time.Unix(1_700_000_000, 0)})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.ParseReference(host+"/shop/api:"+tag, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	if err := remote.Write(ref, img); err != nil {
		t.Fatal(err)
	}
	d, err := img.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return d.String()
}

func TestResolveAndDescribe(t *testing.T) {
	t.Parallel()
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	f := startFake(t, inner.ServeHTTP)
	digest := pushImage(t, f.host(), "v1", map[string]string{
		"org.opencontainers.image.revision": "abc123",
		"org.opencontainers.image.ref.name": "feat/cart\n",
		"io.buildpacks.builder":             "paketo/builder",
	})
	c := newClient(t, registry.Config{})
	got, err := c.Resolve(t.Context(), plainSource(f.host()), "v1")
	if err != nil || got != digest {
		t.Errorf("resolve: %s, %v; want %s", got, err, digest)
	}
	facts := c.DescribeTags(t.Context(), plainSource(f.host()), []string{"v1", "nope"}, 5*time.Second)
	v := facts["v1"]
	if len(facts) != 1 || v.Digest != digest || v.Commit != "abc123" ||
		v.Branch != "feat/cart" || v.Builder != "paketo/builder" ||
		v.CreatedAt.Unix() != 1_700_000_000 || v.Size <= 0 {
		t.Errorf("facts %+v", facts)
	}
	asked := f.calls.Load()
	c.DescribeTags(t.Context(), plainSource(f.host()), []string{"v1"}, 5*time.Second)
	if f.calls.Load() != asked {
		t.Error("what a tag meant a moment ago was asked again")
	}
	for tag, code := range map[string]string{
		"nope": "tag_unknown", "latest@sha256:00": "tag_invalid", "../x": "tag_invalid",
		"": "tag_invalid", "-x": "tag_invalid",
	} {
		if _, err := c.Resolve(t.Context(), plainSource(f.host()),
			tag); controlplane.CodeOf(err) != code {
			t.Errorf("%q: %v, want %s", tag, err, code)
		}
	}
}

// A registry with a token service of its own is signed in to.
func TestListTags_BasicAuth(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		user, password, _ := r.BasicAuth()
		if user != "robot" || password != "robot-canary-password" {
			w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		if !pingRegistry(w, r) {
			_, _ = w.Write([]byte(`{"tags":["v1"]}`))
		}
	})
	l, err := newClient(t, registry.Config{}).ListTags(t.Context(), plainSource(f.host()))
	if err != nil || len(l.Tags) != 1 {
		t.Errorf("%v %v", l.Tags, err)
	}
}

func TestSortVersions(t *testing.T) {
	t.Parallel()
	tags := []string{
		"latest", "1.9.0", "1.10.0", "1.10.0-rc2", "v2.0", "1.10.0-rc10", "feat-a", "1.10",
	}
	registry.SortVersions(tags)
	want := "v2.0 1.10.0 1.10.0-rc10 1.10.0-rc2 1.10 1.9.0 latest feat-a"
	if got := strings.Join(tags, " "); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// A caller whose context ends returns at once.
func TestListTags_EndsWithTheContext(t *testing.T) {
	t.Parallel()
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := newClient(t, registry.Config{AnswerTime: 2 * time.Second}).
		ListTags(ctx, plainSource(f.host())); err == nil {
		t.Error("no error")
	}
}
