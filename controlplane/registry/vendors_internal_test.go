package registry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nullops/nullops/controlplane"
)

const (
	digestA = "sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	digestB = "sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// recorded answers as one registry's documents show, in two pages. Both images
// have the same tags everywhere: 2.0 is newer than 1.0.
type recorded struct {
	kind vendorKind
	// challenge is what the registry says of itself.
	challenge func(base string) string
	// paths are those of the first page, with its query, and what it answers.
	first, second string
	bodies        [2]string
	// link is set where the next page is in a header, and nextIn where it is in
	// the body.
	link bool
	sign string // the Authorization that it wants
}

func allRecordings() []recorded {
	return []recorded{
		{kind: kindHub,
			first:  "/v2/repositories/shop/api/tags?page_size=100&ordering=last_updated",
			second: "/v2/repositories/shop/api/tags?page=2&page_size=100",
			bodies: [2]string{`{"count":2,"next":"NEXT","previous":null,"results":[{"creator":1,
				"id":2,"images":[{"architecture":"amd64","digest":"` + digestB + `","os":"linux",
				"size":30}],"last_updated":"2026-11-02T10:00:00.123456Z","name":"2.0",
				"full_size":300,"v2":true,"tag_status":"active","digest":"` + digestB + `"}]}`,
				`{"count":2,"next":null,"results":[{"last_updated":"2026-11-01T10:00:00Z",
				"name":"1.0","full_size":100,"digest":"` + digestA + `"}]}`}},
		{kind: kindGitHub, sign: "Bearer canary-token", link: true,
			first:  "/users/shop/packages/container/api/versions?per_page=100",
			second: "/users/shop/packages/container/api/versions?per_page=100&page=2",
			bodies: [2]string{`[{"id":2,"name":"` + digestB + `","url":"https://api.github.com/x",
				"created_at":"2026-11-02T10:00:00Z","updated_at":"2026-11-02T10:00:00Z",
				"metadata":{"package_type":"container","container":{"tags":["2.0"]}}}]`,
				`[{"id":1,"name":"` + digestA + `","created_at":"2026-11-01T10:00:00Z",
				"metadata":{"package_type":"container","container":{"tags":["1.0"]}}},
				{"id":0,"name":"` + digestA + `","metadata":{"container":{"tags":[]}}}]`}},
		{kind: kindGitLab, sign: "Bearer pull-token", link: true,
			challenge: func(base string) string {
				return `Bearer realm="` + base + `/jwt/auth",service="container_registry"`
			},
			first:  "/gitlab/v1/repositories/shop/api/tags/list/?n=1000&sort=-published_at",
			second: "/gitlab/v1/repositories/shop/api/tags/list/?last=x&n=1000",
			bodies: [2]string{`[{"name":"2.0","digest":"` + digestB + `","config_digest":"sha256:1",
				"media_type":"application/vnd.oci.image.manifest.v1+json","size_bytes":300,
				"created_at":"2026-10-01T10:00:00.000+00:00",
				"published_at":"2026-11-02T10:00:00.000+00:00"}]`,
				`[{"name":"1.0","digest":"` + digestA + `","size_bytes":100,
				"created_at":"2026-11-01T10:00:00.000+00:00"}]`}},
		{kind: kindHarbor, sign: "Basic cm9ib3Q6Y2FuYXJ5LXRva2Vu", link: true,
			challenge: func(base string) string {
				return `Bearer realm="` + base + `/service/token",service="harbor-registry"`
			},
			first: "/api/v2.0/projects/shop/repositories/api/artifacts" +
				"?with_tag=true&page_size=100&sort=-push_time",
			second: "/api/v2.0/projects/shop/repositories/api/artifacts?page=2",
			bodies: [2]string{`[{"digest":"` + digestB + `","size":300,"type":"IMAGE",
				"push_time":"2026-11-02T09:00:00.000Z","tags":[{"id":2,"name":"2.0",
				"push_time":"2026-11-02T10:00:00.000Z","immutable":false}]}]`,
				`[{"digest":"` + digestA + `","size":100,"tags":[{"name":"1.0",
				"push_time":"2026-11-01T10:00:00.000Z"}]},{"digest":"` + digestA + `","tags":null}]`}},
	}
}

// play serves one recording, and the common interface beside it, which has one
// tag more.
type play struct {
	*httptest.Server
	recorded
	mu    sync.Mutex
	asked []string
	fails bool
}

func playRecording(t *testing.T, r recorded) *play {
	p := &play{recorded: r}
	p.Server = httptest.NewServer(http.HandlerFunc(p.answer))
	t.Cleanup(p.Close)
	return p
}

func (p *play) answer(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	p.asked = append(p.asked, r.URL.RequestURI())
	fails := p.fails
	p.mu.Unlock()
	page := slices.Index([]string{p.first, p.second}, r.URL.RequestURI())
	switch signed := r.Header.Get("Authorization"); {
	case r.URL.Path == "/jwt/auth" || r.URL.Path == "/service/token":
		_, _ = w.Write([]byte(`{"token":"pull-token"}`))
	case page >= 0 && !fails && (p.sign == "" || signed == p.sign):
		if next := p.URL + p.second; page == 0 && p.link {
			w.Header().Set("Link", "<"+strings.TrimPrefix(next, p.URL)+`>; rel="next"`)
		}
		_, _ = w.Write([]byte(strings.Replace(p.bodies[page], "NEXT", p.URL+p.second, 1)))
	case r.URL.Path == "/v2/" && p.challenge != nil && signed == "":
		w.Header().Set("WWW-Authenticate", p.challenge(p.URL))
		w.WriteHeader(http.StatusUnauthorized)
	case r.URL.Path == "/v2/":
	case r.URL.Path == "/v2/shop/api/tags/list":
		_, _ = w.Write([]byte(`{"name":"shop/api","tags":["1.0","2.0","old"]}`))
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

func (p *play) askedFor(path string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.asked, func(got string) bool { return strings.HasPrefix(got, path) })
}

// Whatever a registry's own interface is called, it is found, asked page by
// page with the right credentials, and tells the same as the common one would:
// every tag with digest and date. Where it says no, the common one is asked.
func TestWays_TellTheSame(t *testing.T) {
	t.Parallel()
	for _, r := range allRecordings() {
		t.Run(string(r.kind), func(t *testing.T) {
			t.Parallel()
			p := playRecording(t, r)
			host := strings.TrimPrefix(p.URL, "http://")
			s := Source{Registry: controlplane.Registry{Host: host, Insecure: true},
				Credentials: controlplane.Credentials{Username: "robot",
					Password: controlplane.NewPlain("canary-token")},
				Repository: "shop/api"}
			list := func() TagList {
				t.Helper()
				c := New(Config{})
				t.Cleanup(c.Close)
				if r.challenge == nil {
					c.ways[host] = vendorAPI{kind: r.kind, base: p.URL}
				}
				l, err := c.ListTags(t.Context(), s)
				if err != nil {
					t.Fatal(err)
				}
				return l
			}
			l := list()
			if got := fmt.Sprint(l.Tags); got != "[2.0 1.0]" || p.askedFor("/v2/shop/api/tags/list") {
				t.Errorf("tags %s, asked %q", got, p.asked)
			}
			two, one := l.Known["2.0"], l.Known["1.0"]
			if two.Digest != digestB || one.Digest != digestA ||
				!two.CreatedAt.Equal(time.Date(2026, 11, 2, 10, 0, 0, two.CreatedAt.Nanosecond(), time.UTC)) ||
				!one.CreatedAt.Equal(time.Date(2026, 11, 1, 10, 0, 0, 0, time.UTC)) {
				t.Errorf("known: %+v and %+v", two, one)
			}
			p.mu.Lock()
			p.fails = true
			p.mu.Unlock()
			if got := fmt.Sprint(list().Tags); got != "[2.0 1.0 old]" {
				t.Errorf("the common way tells %s", got)
			}
		})
	}
}

// A next page on another host is not asked for: it would get our credentials.
//
// threat: T39
func TestWays_StayAtTheirHost(t *testing.T) {
	t.Parallel()
	r := allRecordings()[1]
	stranger := playRecording(t, r)
	p := playRecording(t, r)
	p.second = stranger.URL + "/steal"
	a := &vendorClient{base: p.URL, guard: newGuard(controlplane.Registry{
		Host: strings.TrimPrefix(p.URL, "http://"), Insecure: true},
		strings.TrimPrefix(p.URL, "http://"), nil),
		source: Source{Repository: "shop/api", Credentials: controlplane.Credentials{
			Password: controlplane.NewPlain("canary-token")}}}
	if _, err := (&gitHub{a}).list(t.Context()); err == nil || len(stranger.asked) > 0 {
		t.Errorf("asked a stranger: %q, %v", stranger.asked, err)
	}
}
