package docker_test

import (
	"archive/tar"
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/pipeline"
)

// fakeRegistry serves one image on loopback, to whom it knows.
type fakeRegistry struct {
	http.Handler
	image    pipeline.Image
	requests atomic.Int64
	user     string
	refuse   atomic.Bool
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func newFakeRegistry(t *testing.T, size int) *fakeRegistry {
	t.Helper()
	layer := tarOf(t, size)
	config, _ := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
	})
	const docker = "application/vnd.docker."
	manifest, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": docker + "distribution.manifest.v2+json",
		"config": map[string]any{"mediaType": docker + "container.image.v1+json",
			"size": len(config), "digest": digestOf(config)},
		"layers": []any{map[string]any{"mediaType": docker + "image.rootfs.diff.tar",
			"size": len(layer), "digest": digestOf(layer)}},
	})
	f := &fakeRegistry{user: "puller"}
	blobs := map[string][]byte{digestOf(layer): layer, digestOf(config): config}
	f.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f.requests.Add(1)
		user, password, _ := r.BasicAuth()
		name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
		switch {
		case user != f.user || password != canary:
			w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
			http.Error(w, `{"errors":[{"code":"UNAUTHORIZED","message":"who are you"}]}`,
				http.StatusUnauthorized)
		case f.refuse.Load() && name != "":
			http.Error(w, `{"errors":[{"code":"TOOMANYREQUESTS","message":"come back later"}]}`,
				http.StatusTooManyRequests)
		case name == digestOf(manifest):
			w.Header().Set("Content-Type", docker+"distribution.manifest.v2+json")
			w.Header().Set("Docker-Content-Digest", name)
			_, _ = w.Write(manifest)
		case blobs[name] != nil:
			w.Header().Set("Content-Length", strconv.Itoa(len(blobs[name])))
			_, _ = w.Write(blobs[name])
		case name != "":
			http.Error(w, `{"errors":[{"code":"MANIFEST_UNKNOWN","message":"manifest unknown"}]}`,
				http.StatusNotFound)
		}
	})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.image = pipeline.Image{
		Registry: strings.TrimPrefix(server.URL, "http://"), Insecure: true,
		Repository: "team/app", Tag: "v1", Digest: digestOf(manifest),
	}
	return f
}

// tarOf packs one file of random bytes, so that no layer was seen before.
func tarOf(t *testing.T, size int) []byte {
	t.Helper()
	data := make([]byte, size)
	_, _ = rand.Read(data)
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Name: "noise", Mode: 0o644, Size: int64(size)}); err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// A private image is pulled by digest with its own credentials, with progress;
// what is here already is not asked for; no credential stays on the node.
func TestPull(t *testing.T) {
	r := newRig(t)
	f := newFakeRegistry(t, 8<<20)
	auth := &wire.RegistryAuth{Username: "puller", Password: canary}
	var last agent.PullProgress
	// promise: N-022
	// promise: N-070
	err := r.Pull(t.Context(), f.image, auth, func(p agent.PullProgress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	ref := f.image.Registry + "/" + f.image.Repository + "@" + f.image.Digest
	t.Cleanup(func() {
		_, _ = r.api.ImageRemove(t.Context(), ref, client.ImageRemoveOptions{Force: true})
	})
	if last.Total < 8<<20 || last.Done != last.Total {
		t.Errorf("the last progress is %+v", last)
	}
	before := f.requests.Load()
	if err := r.Pull(t.Context(), f.image, auth, nil); err != nil {
		t.Fatal(err)
	}
	// promise: N-063
	if asked := f.requests.Load() - before; asked != 0 {
		t.Errorf("the second pull asked %d times", asked)
	}
	r.expectNoSecret(canary)
}

// The registry's own reason is in the error, the password is not.
func TestPull_Refused(t *testing.T) {
	r := newRig(t)
	f := newFakeRegistry(t, 1<<10)
	known := &wire.RegistryAuth{Username: "puller", Password: canary}
	unknown := f.image
	unknown.Digest = digestOf([]byte("nothing"))
	outside := f.image
	outside.Registry = "registry.example"
	for name, c := range map[string]struct {
		image pipeline.Image
		auth  *wire.RegistryAuth
		limit bool
		want  string
	}{
		"no credentials":   {f.image, nil, false, "no basic auth credentials"},
		"unknown digest":   {unknown, known, false, "manifest unknown"},
		"too many":         {f.image, known, true, "come back later"},
		"plain and remote": {outside, known, false, "allowed for registries on loopback only"},
	} {
		t.Run(name, func(t *testing.T) {
			f.refuse.Store(c.limit)
			err := r.Pull(t.Context(), c.image, c.auth, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), canary) {
				t.Errorf("error is %v", err)
			}
		})
	}
}
