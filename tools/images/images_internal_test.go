package main

import (
	"archive/tar"
	"context"
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

func buildInto(t *testing.T, cache, only string) []built {
	t.Helper()
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	images, err := buildAll(t.Context(), options{root: root, cache: cache, only: only}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}
	return images
}

// Two builds that share nothing produce the same digests.
func TestBuild_IsReproducible(t *testing.T) {
	first := buildInto(t, t.TempDir(), "plugins/wait")
	second := buildInto(t, t.TempDir(), "plugins/wait")
	if len(first) < 2 {
		t.Fatalf("built %d images", len(first))
	}
	seen := map[string]string{}
	for i, image := range first {
		if image.digest != second[i].digest {
			t.Errorf("%s is %s, then %s", image.ref(), image.digest, second[i].digest)
		}
		if other, twice := seen[image.digest.String()]; twice {
			t.Errorf("%s and %s are the same image", image.ref(), other)
		}
		seen[image.digest.String()] = image.ref()
		if err := validate.Image(image.image); err != nil {
			t.Errorf("%s: %v", image.ref(), err)
		}
	}
}

// The agent's image has the helper, which starts in each pod of a cluster.
func TestBuild_AgentHasTheHelper(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(t.TempDir(), "nullops")
	if err := os.WriteFile(program, []byte("a program"), 0o600); err != nil {
		t.Fatal(err)
	}
	images, err := buildAll(t.Context(), options{root: root, cache: t.TempDir(),
		only: "nullops/agent", nullops: program}, io.Discard)
	if err != nil || len(images) != 1 {
		t.Fatalf("%d images, %v", len(images), err)
	}
	found, files := map[string]int64{}, tar.NewReader(mutate.Extract(images[0].image))
	for {
		file, err := files.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if file.Size > 0 && file.Mode&0o111 != 0 {
			found[file.Name] = file.Size
		}
	}
	if len(found) != 2 || found["app/nullops"] != 9 || found["app/sidecar"] < 100_000 {
		t.Errorf("the agent's image has the programs %v", found)
	}
}

// No image but the agent's runs as root, and each says what it is.
func TestCatalogue_IsNotRootAndLabelled(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	recipes, err := allRecipes(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range recipes {
		config := r.config()
		if user := config.User; user == "" || strings.HasPrefix(user, "0") || user == "root" {
			t.Errorf("%s runs as %q", r.ref(), user)
		}
		if config.Labels["org.opencontainers.image.version"] != r.tag {
			t.Errorf("%s has labels %v", r.ref(), config.Labels)
		}
	}
}

// The applications of `make test-apps` are large, so that nothing else builds them.
func TestRecipes_ApplicationsAreApart(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	for applications, want := range map[bool]string{true: "mariadb wordpress", false: ""} {
		recipes, err := listRecipes(options{root: root, applications: applications})
		if err != nil {
			t.Fatal(err)
		}
		var found []string
		for _, r := range recipes {
			if r.base == "mariadb" || r.base == "wordpress" {
				found = append(found, r.repository)
			}
		}
		if got := strings.Join(found, " "); got != want {
			t.Errorf("with applications %v the recipes have %q, want %q", applications, got, want)
		}
	}
}

// What was pushed is still there after a restart, and is not pushed twice.
func TestRegistry_RemembersAcrossRestarts(t *testing.T) {
	images, data := buildInto(t, t.TempDir(), "plugins/wait-for"), t.TempDir()
	for _, wantNew := range []int{len(images), 0} {
		handler, err := newRegistry(data)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(handler)
		host := strings.TrimPrefix(server.URL, "http://")
		pushed, err := pushImages(t.Context(), host, images)
		if err != nil || pushed != wantNew {
			t.Errorf("pushed %d, want %d; %v", pushed, wantNew, err)
		}
		checkPull(t, host, images[0])
		server.Close()
	}
}

func checkPull(t *testing.T, host string, want built) {
	t.Helper()
	repository, err := name.NewRepository(host+"/"+want.repository, name.Insecure)
	if err != nil {
		t.Fatal(err)
	}
	tags, err := remote.List(repository, remote.WithContext(t.Context()))
	if err != nil || !slices.Contains(tags, want.tag) {
		t.Errorf("tags %v, %v", tags, err)
	}
	image, err := remote.Image(repository.Digest(want.digest.String()),
		remote.WithContext(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Image(image); err != nil {
		t.Errorf("pulled %s: %v", want.ref(), err)
	}
}

func TestRun_SaysWhatIsMissing(t *testing.T) {
	for says, args := range map[string][]string{
		"use one of":        nil,
		"unknown command":   {"bild"},
		"--to is missing":   {"push"},
		"flag provided but": {"build", "--cahce", "x"},
	} {
		err := runImages(context.WithoutCancel(t.Context()), args, io.Discard)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v: got %v, want %q", args, err, says)
		}
	}
}
