//go:build kubernetes

package kubernetes_test

import (
	"archive/tar"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/uuid"

	"github.com/nullops/nullops/agent"
	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/agent/kubernetes"
	"github.com/nullops/nullops/agent/runtimetest"
	"github.com/nullops/nullops/pipeline"
)

// The variables that tools/kubernetes/node.sh sets: a kubeconfig of a cluster that tests may use, a
// registry that this process writes to and the cluster reads from, and the address from which this
// process reaches pods.
const (
	clusterVariable  = "NULLOPS_TEST_KUBERNETES"
	registryVariable = "NULLOPS_TEST_KUBERNETES_REGISTRY"
	addressVariable  = "NULLOPS_TEST_KUBERNETES_FROM"
)

// rig is one installation on a real cluster. The test fails if it leaves anything.
type rig struct {
	*kubernetes.Kubernetes
	t        *testing.T
	registry string
	config   kubernetes.Config
}

func newRig(t *testing.T) *rig { return newRigWith(t, func(*kubernetes.Config) {}) }

// newRigWith lets a test change the configuration.
func newRigWith(t *testing.T, change func(*kubernetes.Config)) *rig {
	t.Helper()
	kubeconfig := os.Getenv(clusterVariable)
	if kubeconfig == "" {
		t.Fatal(clusterVariable + " is not set: run make test-kubernetes")
	}
	r := &rig{t: t, registry: os.Getenv(registryVariable)}
	helper := r.publish("nullops-test/agent", "app/sidecar", buildProgram(t, "../../cmd/sidecar"),
		v1.Config{})
	from := netip.MustParsePrefix(os.Getenv(addressVariable) + "/32")
	r.config = kubernetes.Config{Kubeconfig: kubeconfig,
		Install: uuid.NewString(), Helper: r.imageName(helper), StopGrace: 2 * time.Second,
		Admit: []netip.Prefix{from}}
	change(&r.config)
	k, err := kubernetes.New(t.Context(), r.config)
	if err != nil {
		t.Fatal(err)
	}
	r.Kubernetes = k
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if left, err := k.List(ctx); err != nil || len(left) > 0 {
			t.Errorf("at the end there is %v, %v", left, err)
		}
		if err := k.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// namespaceOf is the name of a deployment's namespace.
func (r *rig) namespaceOf(deployment string) string {
	sum := sha256.Sum256([]byte(r.config.Install))
	return "nullops-" + hex.EncodeToString(sum[:4]) + "-" + deployment
}

func (r *rig) imageName(i pipeline.Image) string {
	return i.Registry + "/" + i.Repository + "@" + i.Digest
}

// publish makes an image of one program and puts it into the registry.
func (r *rig) publish(
	repository, path string, program []byte, config v1.Config,
) pipeline.Image {
	r.t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	add := func(h tar.Header, data []byte) {
		h.Size = int64(len(data))
		if err := w.WriteHeader(&h); err != nil {
			r.t.Fatal(err)
		}
		if _, err := w.Write(data); err != nil {
			r.t.Fatal(err)
		}
	}
	add(tar.Header{Name: "tmp/", Mode: 0o1777, Typeflag: tar.TypeDir}, nil)
	add(tar.Header{Name: path, Mode: 0o755}, program)
	add(tar.Header{Name: "etc/passwd", Mode: 0o644}, []byte(dockertest.ActorPasswd))
	add(tar.Header{Name: "etc/group", Mode: 0o644}, []byte(dockertest.ActorGroup))
	if err := w.Close(); err != nil {
		r.t.Fatal(err)
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(b.Bytes())), nil
	})
	if err != nil {
		r.t.Fatal(err)
	}
	image, err := mutate.AppendLayers(empty.Image, layer)
	if err != nil {
		r.t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err == nil {
		file = file.DeepCopy()
		file.OS, file.Architecture, file.Config = "linux", runtime.GOARCH, config
		image, err = mutate.ConfigFile(image, file)
	}
	if err != nil {
		r.t.Fatal(err)
	}
	ref, err := name.ParseReference(r.registry + "/" + repository + ":test")
	if err == nil {
		err = remote.Write(ref, image, remote.WithContext(r.t.Context()))
	}
	if err != nil {
		r.t.Fatalf("publish %s: %v", repository, err)
	}
	digest, err := image.Digest()
	if err != nil {
		r.t.Fatal(err)
	}
	return pipeline.Image{Registry: r.registry, Repository: repository, Tag: "test",
		Digest: digest.String(), Insecure: true}
}

// programs are those of buildProgram: many tests need the same two.
var programs sync.Map

// buildProgram compiles a program of this repository, statically.
func buildProgram(t *testing.T, folder string) []byte {
	t.Helper()
	once, _ := programs.LoadOrStore(folder, sync.OnceValues(func() ([]byte, error) {
		out := filepath.Join(os.TempDir(), "nullops-"+uuid.NewString())
		defer func() { _ = os.Remove(out) }()
		build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, ".")
		build.Dir, build.Env = folder, append(os.Environ(), "CGO_ENABLED=0")
		if output, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%w: %s", err, output)
		}
		return os.ReadFile(out)
	}))
	program, err := once.(func() ([]byte, error))()
	if err != nil {
		t.Fatalf("build %s: %v", folder, err)
	}
	return program
}

// A real cluster passes the suite that Docker passes, with the rights of the chart and no others.
func TestKubernetes_KeepsTheContract(t *testing.T) {
	t.Parallel()
	class := newAdmin(t).makeClass()
	chart := newInstaller(t)
	chart.install("testdata/connect.yaml", "nullops-qa")
	r := newRigWith(t, func(c *kubernetes.Config) {
		c.StorageClass, c.VolumeSize = class, "1Gi"
		c.Kubeconfig = chart.signIn("nullops-qa", "nullops-qa")
	})
	actor := buildProgram(t, "../docker/dockertest/testdata/actor")
	images := map[runtimetest.Behaviour]pipeline.Image{}
	for _, b := range []runtimetest.Behaviour{runtimetest.Echo, runtimetest.Fail,
		runtimetest.Hang, runtimetest.Flood} {
		images[b] = r.publish("nullops-test/"+string(b), "actor", actor,
			v1.Config{Entrypoint: []string{"/actor", "behave", string(b)}})
	}
	echo := r.publish("nullops-test/actor", "actor", actor,
		v1.Config{Entrypoint: []string{"/actor"}})
	// promise: K-02
	runtimetest.Run(t, func(*testing.T) runtimetest.Subject {
		return runtimetest.Subject{Runtime: r.Kubernetes, Port: 7,
			Service: func(s *agent.ServiceSpec) {
				s.Image, s.Command = echo, []string{"echo", "7"}
			},
			Actor: func(s *agent.ServiceSpec, args ...string) {
				s.Image, s.Command = echo, args
			},
			Plugin: func(p *agent.PluginSpec, b runtimetest.Behaviour) { p.Image = images[b] }}
	})
}

// The node says what it is, that it has its rights, and what it cannot do.
func TestKubernetes_DescribesItself(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	i, err := r.Inventory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for _, c := range i.Checks {
		found[c.ID] = string(c.Severity)
	}
	want := "map[cluster-version:ok engine:ok machines:ok rights:ok storage:warning]"
	if fmt.Sprint(found) != want || i.CPU <= 0 || i.Memory <= 0 || i.Disk <= 0 {
		t.Errorf("it says %v, %+v", found, i)
	}
}
