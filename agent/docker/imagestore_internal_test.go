package docker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/client"
)

// What Engine 29 with the containerd image store, and 20.10, say of an image that was pulled by
// its digest and of one that has a tag too. The name by digest is among the first one's tags.
const (
	listOf29 = `[{"Id":"sha256:aa","RepoTags":["127.0.0.1:5000/team/app@sha256:aa"],
		"RepoDigests":["127.0.0.1:5000/team/app@sha256:aa"],"Size":7},
		{"Id":"sha256:bb","RepoTags":["127.0.0.1:5000/team/app@sha256:bb","team/app:v1"],
		"RepoDigests":["127.0.0.1:5000/team/app@sha256:bb","team/app@sha256:bb"],"Size":9}]`
	listOf20 = `[{"Id":"sha256:01","RepoTags":["<none>:<none>"],
		"RepoDigests":["127.0.0.1:5000/team/app@sha256:aa"],"Size":7},
		{"Id":"sha256:02","RepoTags":["team/app:v1"],
		"RepoDigests":["127.0.0.1:5000/team/app@sha256:bb"],"Size":9}]`
)

// An image that has no name but by digest is not tagged, on any engine: the image keeper would
// never remove it.
func TestImages_NameByDigestIsNoTag(t *testing.T) {
	t.Parallel()
	for engineName, list := range map[string]string{"20.10": listOf20, "29": listOf29} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Api-Version", "1.41")
			switch {
			case strings.HasSuffix(r.URL.Path, "/images/json"):
				_, _ = w.Write([]byte(list))
			case strings.HasSuffix(r.URL.Path, "/containers/json"):
				_, _ = w.Write([]byte("[]"))
			}
		}))
		t.Cleanup(server.Close)
		api, err := client.New(client.WithHost("tcp://" + strings.TrimPrefix(server.URL, "http://")))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = api.Close() })
		im := &images{&engine{api: api, config: Config{DataDir: t.TempDir()}}}
		store, err := im.Images(t.Context())
		if err != nil || len(store.Images) != 2 {
			t.Fatalf("%s: %+v, %v", engineName, store, err)
		}
		if store.Images[0].Tagged || !store.Images[1].Tagged {
			t.Errorf("%s: %+v", engineName, store.Images)
		}
	}
}
