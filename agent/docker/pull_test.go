package docker_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker"
	"github.com/nullops/nullops/agent/wire"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
)

// spoiler may answer itself, and then says so.
type spoiler func(w http.ResponseWriter, r *http.Request, name string) bool

// fakeRegistry serves one image on loopback, to whom it knows.
type fakeRegistry struct {
	image  pipeline.Image
	layer  string // its digest
	blobs  map[string][]byte
	layers atomic.Int64 // how often the layer was asked for
	// users are their passwords; nil stands for one who is not asked for.
	users atomic.Pointer[map[string]string]
	spoil atomic.Pointer[spoiler]
}

func digestOf(data []byte) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

const manifestType = "application/vnd.docker.distribution.manifest.v2+json"

func newFakeRegistry(t *testing.T, size int) *fakeRegistry {
	t.Helper()
	layer := tarOf(t, size)
	config, _ := json.Marshal(map[string]any{
		"architecture": "amd64", "os": "linux", "config": map[string]any{},
		"rootfs": map[string]any{"type": "layers", "diff_ids": []string{digestOf(layer)}},
	})
	const docker = "application/vnd.docker."
	manifest, _ := json.Marshal(map[string]any{
		"schemaVersion": 2, "mediaType": manifestType,
		"config": map[string]any{"mediaType": docker + "container.image.v1+json",
			"size": len(config), "digest": digestOf(config)},
		"layers": []any{map[string]any{"mediaType": docker + "image.rootfs.diff.tar",
			"size": len(layer), "digest": digestOf(layer)}},
	})
	f := &fakeRegistry{layer: digestOf(layer), blobs: map[string][]byte{
		digestOf(layer): layer, digestOf(config): config, digestOf(manifest): manifest}}
	f.admit(map[string]string{"puller": canary})
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	f.image = pipeline.Image{
		Registry: strings.TrimPrefix(server.URL, "http://"), Insecure: true,
		Repository: "team/app", Tag: "v1", Digest: digestOf(manifest),
	}
	return f
}

// admit replaces the list of who may pull.
func (f *fakeRegistry) admit(users map[string]string) { f.users.Store(&users) }

func (f *fakeRegistry) misbehave(how spoiler) { f.spoil.Store(&how) }

func (f *fakeRegistry) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	user, password, _ := r.BasicAuth()
	name := r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	if name == f.layer {
		f.layers.Add(1)
	}
	known, ok := (*f.users.Load())[user]
	if !ok || known != password {
		w.Header().Set("WWW-Authenticate", `Basic realm="test"`)
		writeRegistryError(w, http.StatusUnauthorized, "UNAUTHORIZED", "who are you")
		return
	}
	if spoil := f.spoil.Load(); spoil != nil && name != "" && (*spoil)(w, r, name) {
		return
	}
	blob := f.blobs[name]
	switch {
	case name == "":
	case blob == nil:
		writeRegistryError(w, http.StatusNotFound, "MANIFEST_UNKNOWN", "manifest unknown")
	case name == f.image.Digest:
		w.Header().Set("Content-Type", manifestType)
		w.Header().Set("Docker-Content-Digest", name)
		_, _ = w.Write(blob)
	default:
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(blob))
	}
}

// pauseInLayer is a spoiler that sends the layer for a second: an engine with containerd's image
// store looks at a download ten times a second only, and says nothing of one that was faster.
func (f *fakeRegistry) pauseInLayer(w http.ResponseWriter, r *http.Request, name string) bool {
	if name != f.layer || r.Method != http.MethodGet || r.Header.Get("Range") != "" {
		return false
	}
	blob := f.blobs[name]
	w.Header().Set("Content-Length", strconv.Itoa(len(blob)))
	_, _ = w.Write(blob[:len(blob)/2])
	_ = http.NewResponseController(w).Flush()
	time.Sleep(time.Second)
	_, _ = w.Write(blob[len(blob)/2:])
	return true
}

// writeRegistryError answers in the form that registries have agreed on.
func writeRegistryError(w http.ResponseWriter, status int, code, message string) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = fmt.Fprintf(w, `{"errors":[{"code":%q,"message":%q}]}`, code, message)
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

// dropImage removes the image at the end, when nothing uses it.
func (r *rig) dropImage(i pipeline.Image) {
	r.t.Cleanup(func() {
		_, _ = r.api.ImageRemove(context.WithoutCancel(r.t.Context()),
			i.Registry+"/"+i.Repository+"@"+i.Digest, client.ImageRemoveOptions{Force: true})
	})
}

// A private image is pulled by digest with its own credentials, with progress;
// what is here already is not transferred again; no credential stays on the node.
func TestPull(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := newFakeRegistry(t, 8<<20)
	f.misbehave(f.pauseInLayer)
	r.dropImage(f.image)
	auth := &wire.RegistryAuth{Username: "puller", Password: canary}
	var last agent.PullProgress
	// promise: N-022
	// promise: N-070
	err := r.Pull(t.Context(), f.image, auth, func(p agent.PullProgress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	if last.Total < 8<<20 || last.Done != last.Total || last.Layers != 1 || last.LayersDone != 1 {
		t.Errorf("the last progress is %+v", last)
	}
	before := f.layers.Load()
	if err := r.Pull(t.Context(), f.image, auth, nil); err != nil {
		t.Fatal(err)
	}
	// promise: N-063
	if asked := f.layers.Load() - before; asked != 0 {
		t.Errorf("the second pull asked for the layer %d times", asked)
	}
	r.expectNoSecret(canary)
}

// Two teams, one private image (docs/threats.md, T41): that it is on the node does not
// let those have it whom the registry would refuse.
//
// threat: T41
func TestPull_ImageOnTheNodeIsStillPrivate(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := newFakeRegistry(t, 1<<10)
	r.dropImage(f.image)
	ours := &wire.RegistryAuth{Username: "puller", Password: canary}
	theirs := &wire.RegistryAuth{Username: "stranger", Password: "let-me-in-5wX8"}
	if err := r.Pull(t.Context(), f.image, ours, nil); err != nil {
		t.Fatal(err)
	}
	refused := func(who string, auth *wire.RegistryAuth) {
		t.Helper()
		err := r.Pull(t.Context(), f.image, auth, nil)
		if err == nil || errors.Is(err, agent.ErrUnavailable) ||
			!strings.Contains(err.Error(), "does not let this deployment have it") {
			t.Errorf("%s: error is %v", who, err)
		}
	}
	refused("other credentials", theirs)
	refused("no credentials", nil)
	f.admit(map[string]string{"stranger": theirs.Password})
	refused("credentials that were withdrawn", ours)
	if err := r.Pull(t.Context(), f.image, theirs, nil); err != nil {
		t.Errorf("credentials of their own: %v", err)
	}
	if here, err := r.HasImage(t.Context(), f.image); err != nil || !here {
		t.Errorf("the image is here: %t, %v", here, err)
	}
}

// The registry's own reason is in the error, the password is not, and it is a
// "no", not a "could not ask": the run fails with it.
func TestPull_Refused(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	f := newFakeRegistry(t, 1<<10)
	known := &wire.RegistryAuth{Username: "puller", Password: canary}
	unknown := f.image
	unknown.Digest = digestOf([]byte("nothing"))
	outside := f.image
	outside.Registry = "registry.example"
	closed := f.image
	closed.Registry = closedAddress(t)
	for name, c := range map[string]struct {
		image  pipeline.Image
		auth   *wire.RegistryAuth
		status int
		code   string
		want   string
	}{
		"no credentials":   {f.image, nil, 0, "", "no basic auth credentials"},
		"unknown digest":   {unknown, known, 0, "", "manifest unknown"},
		"plain and remote": {outside, known, 0, "", "allowed for registries on loopback only"},
		"nobody there":     {closed, known, 0, "", "connection refused"},
		"forbidden":        {f.image, known, http.StatusForbidden, "DENIED", "not for your team"},
		"too many": {f.image, known, http.StatusTooManyRequests, "TOOMANYREQUESTS",
			"come back later"},
		// Of a server's own trouble, the engine passes on no more than the status.
		"broken": {f.image, known, http.StatusInternalServerError, "UNKNOWN",
			"500 Internal Server Error"},
		"away": {f.image, known, http.StatusServiceUnavailable, "UNAVAILABLE",
			"503 Service Unavailable"},
	} {
		t.Run(name, func(t *testing.T) {
			f.misbehave(func(w http.ResponseWriter, _ *http.Request, _ string) bool {
				if c.status > 0 {
					writeRegistryError(w, c.status, c.code, c.want)
				}
				return c.status > 0
			})
			err := r.Pull(t.Context(), c.image, c.auth, nil)
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				strings.Contains(err.Error(), canary) || errors.Is(err, agent.ErrUnavailable) {
				t.Errorf("error is %v", err)
			}
		})
	}
}

// closedAddress is one of loopback where nobody listens.
func closedAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().String()
}

// A connection that is cut in the middle of a layer is not the end: what has
// come is kept, and the rest is requested.
//
// fault: F53
func TestPull_CutIsResumed(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	f := newFakeRegistry(t, 4<<20)
	r.dropImage(f.image)
	var cut atomic.Bool
	var resumed atomic.Value
	f.misbehave(func(w http.ResponseWriter, r *http.Request, name string) bool {
		if name != f.layer {
			return false
		}
		if from := r.Header.Get("Range"); from != "" {
			resumed.Store(from)
		}
		if cut.Swap(true) {
			return false
		}
		w.Header().Set("Content-Length", strconv.Itoa(len(f.blobs[name])))
		_, _ = w.Write(f.blobs[name][:1<<20])
		panic(http.ErrAbortHandler)
	})
	var last agent.PullProgress
	err := r.Pull(t.Context(), f.image, &wire.RegistryAuth{Username: "puller", Password: canary},
		func(p agent.PullProgress) { last = p })
	if err != nil {
		t.Fatal(err)
	}
	from, _ := resumed.Load().(string)
	if !strings.HasPrefix(from, "bytes=") || strings.HasPrefix(from, "bytes=0-") {
		t.Errorf("the rest was asked for with Range %q", from)
	}
	if last.Done != last.Total || last.LayersDone != 1 {
		t.Errorf("the last progress is %+v", last)
	}
}

// A pull from a registry that stops sending fails, with that as the reason.
//
// fault: F53
func TestPull_SilenceEnds(t *testing.T) {
	testpart.Rotate(t)
	t.Parallel()
	r := newRig(t)
	d, err := docker.New(t.Context(), docker.Config{Host: r.host, Install: r.install,
		DataDir: r.dataDir, RunDir: r.runDir, PullPatience: 2 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.Close() }()
	f := newFakeRegistry(t, 4<<20)
	r.dropImage(f.image)
	auth := &wire.RegistryAuth{Username: "puller", Password: canary}
	let := make(chan struct{})
	defer close(let)
	silent := func(half bool) spoiler {
		return func(w http.ResponseWriter, r *http.Request, name string) bool {
			if half && name != f.layer {
				return false
			}
			if half {
				w.Header().Set("Content-Length", strconv.Itoa(len(f.blobs[name])))
				_, _ = w.Write(f.blobs[name][:1<<20])
				_ = http.NewResponseController(w).Flush()
			}
			select {
			case <-let:
			case <-r.Context().Done():
			}
			return true
		}
	}
	expect := func(when string) {
		t.Helper()
		err := d.Pull(t.Context(), f.image, auth, nil)
		// promise: N-098
		if err == nil || !strings.Contains(err.Error(), "the registry has sent nothing for 2s") ||
			errors.Is(err, agent.ErrUnavailable) {
			t.Errorf("%s: error is %v", when, err)
		}
	}
	f.misbehave(silent(false))
	expect("at the manifest")
	f.misbehave(silent(true))
	expect("in the middle of a layer")
	f.misbehave(func(http.ResponseWriter, *http.Request, string) bool { return false })
	if err := r.Pull(t.Context(), f.image, auth, nil); err != nil {
		t.Fatal(err)
	}
	f.misbehave(silent(false))
	expect("with the image on the node")
}
