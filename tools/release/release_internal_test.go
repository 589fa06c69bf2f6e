package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/ed25519"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// newTestRelease is a release whose programs are small files.
func newTestRelease(t *testing.T) *release {
	t.Helper()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	r := &release{root: root, out: t.TempDir(), scratch: t.TempDir(), version: "v1.2.3",
		made: time.Unix(1_700_000_000, 0).UTC(), key: ed25519.NewKeyFromSeed(make([]byte, 32))}
	for _, p := range platforms() {
		if err := os.MkdirAll(r.folder(p), 0o755); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{p.program(), "sidecar"} {
			text := []byte("a program for " + p.String())
			if err := os.WriteFile(filepath.Join(r.folder(p), name), text, 0o755); err != nil {
				t.Fatal(err)
			}
		}
		if err := r.signProgram(p); err != nil {
			t.Fatal(err)
		}
	}
	page := filepath.Join(r.helpFolder(), "man", "nullops.1")
	if err := os.MkdirAll(filepath.Dir(page), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(page, []byte(".TH NULLOPS 1\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	return r
}

// The same sources make the same bytes, in another folder and at another time. make release
// TWICE=1 does this with the real programs and packages.
func TestRelease_IsReproducible(t *testing.T) {
	var sums []string
	for range 2 {
		r := newTestRelease(t)
		for _, write := range []func(*release) error{
			func(r *release) error { return r.writeArchives(t.Context()) },
			func(r *release) error { return r.writeImages(t.Context()) },
			func(r *release) error { return r.writeCharts(t.Context()) },
			func(r *release) error { return r.writeSums(t.Context()) },
		} {
			if err := write(r); err != nil {
				t.Fatal(err)
			}
		}
		text, err := os.ReadFile(filepath.Join(r.out, sumsName))
		if err != nil {
			t.Fatal(err)
		}
		signature, err := os.ReadFile(filepath.Join(r.out, signatureName))
		if err != nil || !ed25519.Verify(r.publicKey(), text, signature) {
			t.Errorf("the checksums are not signed: %v", err)
		}
		sums = append(sums, string(text))
	}
	// promise: D-04
	if sums[0] != sums[1] {
		t.Errorf("two builds differ:\n%s", differentLines(sums[0], sums[1]))
	}
	for _, name := range []string{"nullops-v1.2.3-linux-arm64.tar.gz",
		"nullops-v1.2.3-windows-amd64.zip", "nullops-images-v1.2.3-linux-amd64.tar",
		"nullops-setup-v1.2.3.tar.gz", "nullops-images-v1.2.3.oci.tar",
		"nullops-1.2.3.tgz", "nullops-agent-1.2.3.tgz"} {
		if !strings.Contains(sums[0], "  "+name+"\n") {
			t.Errorf("the release has no %s:\n%s", name, sums[0])
		}
	}
}

// A packed chart has the release's version, as chart and as the images that it names.
func TestCharts_HaveTheRelease(t *testing.T) {
	r := newTestRelease(t)
	if err := r.writeCharts(t.Context()); err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(filepath.Join(r.out, "nullops-agent-1.2.3.tgz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	for files := tar.NewReader(z); ; {
		h, err := files.Next()
		if err != nil {
			t.Fatal("there is no Chart.yaml:", err)
		}
		if h.Name != "nullops-agent/Chart.yaml" {
			continue
		}
		text, err := io.ReadAll(files)
		if err != nil || !strings.Contains(string(text), "\nversion: 1.2.3\n") ||
			!strings.Contains(string(text), "\nappVersion: v1.2.3\n") {
			t.Errorf("Chart.yaml: %s, %v", text, err)
		}
		return
	}
}

// The list of what is inside names modules of Go and packages of the UI, with their versions.
func TestSBOM_NamesWhatIsInside(t *testing.T) {
	r := newTestRelease(t)
	self, err := os.Executable() // this test is a Go program with modules too
	if err != nil {
		t.Fatal(err)
	}
	modules, err := goComponents(self)
	if err != nil {
		t.Fatal(err)
	}
	packages, err := uiComponents(filepath.Join(r.root, "ui", "package-lock.json"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := r.encodeBOM(append(modules, packages...))
	if err != nil {
		t.Fatal(err)
	}
	var read bom
	if err := json.Unmarshal(text, &read); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, c := range read.Components {
		if c.Version == "" {
			t.Errorf("%s has no version", c.Name)
		}
		found[c.Name] = true
	}
	for _, name := range []string{"github.com/google/go-containerregistry", "std", "react"} {
		if !found[name] {
			t.Errorf("%s is not listed", name)
		}
	}
	if found["vitest"] {
		t.Error("what only tests the UI is listed")
	}
}

// A package's template is filled in, whole.
func TestPackages_AreFilledIn(t *testing.T) {
	r := newTestRelease(t)
	config, err := r.packageConfig(r.serverPlatforms()[1], "/man")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{"arch: arm64\n", "version: v1.2.3\n", "/man/*.1.gz", "nullops.sig"} {
		if !strings.Contains(string(text), part) {
			t.Errorf("%q is not in %s", part, text)
		}
	}
	if strings.Contains(string(text), "${") {
		t.Errorf("a variable is left in %s", text)
	}
}

// A release is of one commit: its notes name none that came while it was built, and one that did
// refuses it.
func TestRelease_IsOfOneCommit(t *testing.T) {
	dir := t.TempDir()
	git := func(args ...string) {
		t.Helper()
		c := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=a",
			"-c", "user.email=a@example.org"}, args...)...)
		if said, err := c.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v %s", args, err, said)
		}
	}
	git("init", "--quiet")
	git("commit", "--quiet", "--allow-empty", "--message", "Begin")
	commit, made, err := readCommit(t.Context(), dir)
	if err != nil || time.Since(made) > time.Hour {
		t.Fatalf("commit %s of %s: %v", commit, made, err)
	}
	r := &release{root: dir, out: t.TempDir(), version: "v1.2.3", commit: commit, made: made}
	if err := r.checkStill(t.Context()); err != nil {
		t.Error(err)
	}
	git("commit", "--quiet", "--allow-empty", "--message", "Go on")
	if err := r.writeNotes(t.Context()); err != nil {
		t.Fatal(err)
	}
	notes, err := os.ReadFile(filepath.Join(r.out, "release-notes.md"))
	// promise: D-04
	if err != nil || !strings.Contains(string(notes), "- Begin\n") ||
		strings.Contains(string(notes), "Go on") {
		t.Errorf("the notes are %s, %v", notes, err)
	}
	// promise: D-04
	if err := r.checkStill(t.Context()); err == nil ||
		!strings.Contains(err.Error(), "the sources changed while it was built") {
		t.Errorf("another commit came: %v", err)
	}
}
