package dockertest

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/nullops/nullops/pipeline"
)

// HostVariable names the engine that tests may use.
const HostVariable = "NULLOPS_TEST_DOCKER"

// Host returns the engine's address, or skips the test.
func Host(t testing.TB) string {
	t.Helper()
	host := os.Getenv(HostVariable)
	if host != "" {
		return host
	}
	skipOrFail(t, HostVariable+" is not set: run through make test")
	return ""
}

// skipOrFail skips, or fails where nothing may be skipped.
func skipOrFail(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("NULLOPS_TEST_STRICT") == "1" {
		t.Fatal(why)
	}
	t.Skip(why)
}

// Client connects to an engine for the length of a test.
func Client(t testing.TB, host string) *client.Client {
	t.Helper()
	api, err := client.New(client.WithHost(host))
	if err != nil {
		t.Fatalf("connect to %s: %v", host, err)
	}
	t.Cleanup(func() { _ = api.Close() })
	return api
}

// RunDir makes a folder on tmpfs for the length of a test.
func RunDir(t testing.TB) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "nullops-test-")
	if err != nil {
		t.Fatalf("make folder on tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	return dir
}

// ImportActor imports the actor as an image and names it. The image wants root, has
// a volume, a variable and an entrypoint: what careless images have. It stays
// in the engine, so that only the first test has to build it.
func ImportActor(t testing.TB, host string) pipeline.Image {
	t.Helper()
	return ImportActorImage(t, host, "nullops-test/actor", `ENTRYPOINT ["actor"]`,
		"ENV FROM_IMAGE=yes", "ENV PATH=/nowhere:/", "VOLUME /data")
}

// ImportActorImage makes an image of the actor with other settings. Its tag is a hash of
// the actor's source and the settings.
func ImportActorImage(t testing.TB, host, repository string, changes ...string) pipeline.Image {
	t.Helper()
	source, err := os.ReadFile(filepath.Join(actorDir(), "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	hash := sha256.Sum256(append(source, strings.Join(changes, "\n")...))
	image := pipeline.Image{Repository: repository, Tag: hex.EncodeToString(hash[:6])}
	api := Client(t, host)
	name := repository + ":" + image.Tag
	if _, err := api.ImageInspect(t.Context(), name); err == nil {
		return image
	}
	r, err := api.ImageImport(t.Context(),
		client.ImageImportSource{Source: packImage(t, BuildActor(t)), SourceName: "-"}, name,
		client.ImageImportOptions{Changes: changes})
	if err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	defer func() { _ = r.Close() }()
	if _, err := io.Copy(io.Discard, r); err != nil {
		t.Fatalf("import %s: %v", name, err)
	}
	return image
}

// RegistryVariable names a registry on loopback that tests may write to.
const RegistryVariable = "NULLOPS_TEST_REGISTRY"

// PublishActorImage imports an image of the actor and puts it into the test registry,
// from which agents can pull it by its digest.
func PublishActorImage(t testing.TB, host, repository string, changes ...string) pipeline.Image {
	t.Helper()
	registry := os.Getenv(RegistryVariable)
	if registry == "" {
		skipOrFail(t, RegistryVariable+" is not set: run through make test")
	}
	image := ImportActorImage(t, host, registry+"/"+repository, changes...)
	api := Client(t, host)
	name := image.Repository + ":" + image.Tag
	push, err := api.ImagePush(t.Context(), name, client.ImagePushOptions{RegistryAuth: "e30="})
	if err != nil {
		t.Fatalf("push %s: %v", name, err)
	}
	defer func() { _ = push.Close() }()
	if _, err := io.Copy(io.Discard, push); err != nil {
		t.Fatalf("push %s: %v", name, err)
	}
	pushed, err := api.ImageInspect(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range pushed.RepoDigests {
		if digest, ok := strings.CutPrefix(d, image.Repository+"@"); ok {
			return pipeline.Image{Registry: registry, Repository: repository, Tag: image.Tag,
				Digest: digest, Insecure: true}
		}
	}
	t.Fatalf("%s was pushed, and has the digests %v", name, pushed.RepoDigests)
	return pipeline.Image{}
}

// The users and groups of the actor's images.
const (
	ActorPasswd = "root:x:0:0::/:/\nsomebody:x:1234:1234::/:/\n"
	ActorGroup  = "root:x:0:\nsomebody:x:1234:\nstaff:x:4321:other,somebody\n"
)

func actorDir() string {
	_, here, _, _ := runtime.Caller(0)
	return filepath.Join(filepath.Dir(here), "testdata", "actor")
}

// BuildActor compiles the actor, statically.
func BuildActor(t testing.TB) []byte {
	t.Helper()
	out := filepath.Join(t.TempDir(), "actor")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-o", out, ".")
	build.Dir = actorDir()
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build actor: %v\n%s", err, output)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func packImage(t testing.TB, binary []byte) io.Reader {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"etc/", "bin/", "data/", "run/", "var/"} {
		add(tar.Header{Name: dir, Mode: 0o755, Typeflag: tar.TypeDir}, nil)
	}
	add(tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil)
	add(tar.Header{Name: "actor", Mode: 0o755}, binary)
	add(tar.Header{Name: "bin/sh", Typeflag: tar.TypeSymlink, Linkname: "/actor"}, nil)
	add(tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte(ActorPasswd))
	add(tar.Header{Name: "etc/group", Mode: 0o644}, []byte(ActorGroup))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return &b
}

// WaitUntil asks until it is so, and fails the test when the deadline passes.
func WaitUntil(ctx context.Context, t testing.TB, what string, so func() bool) {
	t.Helper()
	for !so() {
		if !waitTick(ctx) {
			t.Fatalf("did not come true: %s", what)
		}
	}
}

// PeakMemory is the most memory that this process ever held, in bytes.
func PeakMemory(t testing.TB) int64 {
	t.Helper()
	return processMemory(t, "self", "VmHWM:")
}

// ProcessMemory is what a process holds now, in bytes.
func ProcessMemory(t testing.TB, pid int) int64 {
	t.Helper()
	return processMemory(t, strconv.Itoa(pid), "VmRSS:")
}

func processMemory(t testing.TB, pid, field string) int64 {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("/proc", pid, "status"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if rest, ok := strings.CutPrefix(line, field); ok {
			kib, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatalf("no %s in the status of process %s", field, pid)
	return 0
}
