package registry_test

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	ggcr "github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/controlplane"
	"github.com/nullops/nullops/controlplane/registry"
)

func sampleArtifact() registry.Artifact {
	return registry.Artifact{Type: "application/vnd.example+json", Content: []byte(`{"said":"yes"}`),
		Annotations: map[string]string{"of": "qa"}}
}

// pushSample pushes an image, and returns its digest.
func pushSample(t *testing.T, host string) name.Digest {
	t.Helper()
	image := imageOf(t, v1.Config{})
	if err := remote.Write(tagOf(t, host, "v1"), image); err != nil {
		t.Fatal(err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return tagOf(t, host, "v1").Context().Digest(digest.String())
}

// readReferrer returns the type and the content of the only thing that is attached to an image.
func readReferrer(t *testing.T, of name.Digest) (kind, content string) {
	t.Helper()
	index, err := remote.Referrers(of)
	if err != nil {
		t.Fatal(err)
	}
	all, err := index.IndexManifest()
	if err != nil || len(all.Manifests) != 1 {
		t.Fatalf("attached is %+v: %v", all, err)
	}
	image, err := remote.Image(of.Context().Digest(all.Manifests[0].Digest.String()))
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil {
		t.Fatal(err)
	}
	blob, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	defer blob.Close()
	text, err := io.ReadAll(blob)
	if err != nil {
		t.Fatal(err)
	}
	return all.Manifests[0].ArtifactType, string(text)
}

// Other programs find what is attached to an image, in registries with and without the API for
// that. Attaching it again changes nothing.
func TestAttach_IsFoundBesideTheImage(t *testing.T) {
	t.Parallel()
	for _, referrers := range []bool{true, false} {
		inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)),
			ggcr.WithReferrersSupport(referrers))
		f := startFake(t, inner.ServeHTTP)
		image := pushSample(t, f.host())
		for range 2 {
			err := newClient(t, registry.Config{}).Attach(t.Context(), plainSource(f.host()),
				image.DigestStr(), sampleArtifact())
			if err != nil {
				t.Fatal(err)
			}
		}
		kind, content := readReferrer(t, image)
		if kind != sampleArtifact().Type || content != string(sampleArtifact().Content) {
			t.Errorf("with the API %t: attached is %q, %q", referrers, kind, content)
		}
	}
}

// A registry that lets us read only, and an image that is gone, each have their own sentence.
func TestAttach_SaysWhyNot(t *testing.T) {
	t.Parallel()
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)))
	readOnly := false
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if readOnly && r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		inner.ServeHTTP(w, r)
	})
	image := pushSample(t, f.host())
	readOnly = true
	c := newClient(t, registry.Config{})
	err := c.Attach(t.Context(), plainSource(f.host()), image.DigestStr(), sampleArtifact())
	said, ok := errors.AsType[*controlplane.Error](err)
	if !ok || said.Code != "registry_read_only" ||
		!strings.Contains(said.Message, "does not let us write") {
		t.Errorf("a registry that cannot be written to: %v", err)
	}
	err = c.Attach(t.Context(), plainSource(f.host()), "sha256:"+strings.Repeat("0", 64),
		sampleArtifact())
	if controlplane.CodeOf(err) != "image_gone" {
		t.Errorf("an image that is gone: %v", err)
	}
}

// A registry that refuses what is written says what it minds; one that denies that a repository is
// there to those who may only read it does not pass for one whose image is gone. All is written
// with one sign-in: each costs a slow registry's time.
func TestAttach_SaysWhatIsRefused(t *testing.T) {
	t.Parallel()
	inner := ggcr.New(ggcr.Logger(log.New(io.Discard, "", 0)), ggcr.WithReferrersSupport(false))
	var refuse atomic.Int64
	var pings atomic.Int64
	f := startFake(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v2/" {
			pings.Add(1)
		}
		if status := int(refuse.Load()); status != 0 && r.Method == http.MethodPut &&
			strings.Contains(r.URL.Path, "/manifests/sha256-") {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"errors":[{"code":"PRECONDITION","message":"tag is immutable"}]}`)
			return
		}
		inner.ServeHTTP(w, r)
	})
	image := pushSample(t, f.host())
	c := newClient(t, registry.Config{})
	pings.Store(0)
	if err := c.Attach(t.Context(), plainSource(f.host()), image.DigestStr(),
		sampleArtifact()); err != nil {
		t.Fatal(err)
	}
	if n := pings.Load(); n > 2 {
		t.Errorf("it signed in %d times", n)
	}
	for status, want := range map[int]string{
		http.StatusPreconditionFailed:    "it answers 412, PRECONDITION tag is immutable",
		http.StatusNotFound:              "does not let us write",
		http.StatusRequestEntityTooLarge: "it answers 413",
		http.StatusServiceUnavailable:    "answers with error 503",
	} {
		refuse.Store(int64(status))
		another := sampleArtifact()
		another.Content = fmt.Appendf(nil, `{"said":%d}`, status)
		err := c.Attach(t.Context(), plainSource(f.host()), image.DigestStr(), another)
		said, ok := errors.AsType[*controlplane.Error](err)
		if !ok || !strings.Contains(said.Message, want) || said.Remedy == "" {
			t.Errorf("%d: %+v", status, err)
		}
	}
}
