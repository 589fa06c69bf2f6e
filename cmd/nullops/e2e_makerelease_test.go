package main_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// releasedVersion is what the story's release is called.
const releasedVersion = "v0.0.1-story"

// madeRelease is a folder with a release, and the key that signed it.
type madeRelease struct{ dir, public string }

// makeRelease makes one of this commit, for this machine's platform.
func makeRelease(t *testing.T, more ...string) madeRelease {
	t.Helper()
	_, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "key.pem")
	writeFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})), 0o600)
	out := filepath.Join(dir, releasedVersion)
	c := exec.CommandContext(t.Context(), "tools/run", append([]string{"release", "--version",
		releasedVersion, "--key", file, "--out", out, "--platform", "linux/" + runtime.GOARCH},
		more...)...)
	c.Dir = "../.."
	said, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("make a release: %v\n%s", err, said)
	}
	if slices.Contains(more, "--twice") &&
		!strings.Contains(string(said), "a second build has the same bytes") {
		t.Errorf("two builds were not compared:\n%s", said)
	}
	return madeRelease{dir: out, public: filepath.Join(out, "nullops-release.pub")}
}

// serverPackages are what a machine has that somebody set up for NullOps, and rpm.
const serverPackages = "docker.io,docker-compose,iproute2,openssl,ca-certificates,rpm"

// unpackDebian makes a folder a Debian with nothing but serverPackages. It is downloaded once.
func unpackDebian(t *testing.T, folder string) {
	t.Helper()
	if _, err := exec.LookPath("debootstrap"); err != nil {
		if os.Getenv("NULLOPS_TEST_STRICT") == "1" {
			t.Fatal("debootstrap is not installed: run make setup")
		}
		t.Skip("debootstrap is not installed: run make setup")
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		t.Fatal(err)
	}
	kept := filepath.Join(cache, "nullops", "debian-bookworm-server.tar")
	if _, err := os.Stat(kept); err != nil {
		fresh := filepath.Join(t.TempDir(), "debian")
		runTool(t, "", "debootstrap", "--variant=minbase", "--include="+serverPackages, "bookworm",
			fresh)
		runTool(t, "", "tar", "-cf", kept+".new", "--exclude=./var/cache/apt/archives/*",
			"--exclude=./var/lib/apt/lists/*", "-C", fresh, ".")
		if err := os.Rename(kept+".new", kept); err != nil {
			t.Fatal(err)
		}
	}
	runTool(t, "", "tar", "-xf", kept, "-C", folder)
}
