package clustertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/packaging"
)

// Variable reads one of the variables of node.sh.
func Variable(t testing.TB, name string) string {
	t.Helper()
	value := os.Getenv(name)
	if value == "" {
		t.Fatal(name + " is not set: run make test-kubernetes")
	}
	return value
}

// PublishProgram puts an image of one program into the registry of the cluster.
func PublishProgram(
	t testing.TB, repository, path string, program []byte, entrypoint ...string,
) pipeline.Image {
	t.Helper()
	registry := Variable(t, "NULLOPS_TEST_KUBERNETES_REGISTRY")
	layer, err := packaging.MakeLayer(t.TempDir(),
		[]packaging.File{{Path: path, Data: program, Mode: 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	image, err := packaging.Assemble(packaging.Plan{Layers: []packaging.Layer{layer},
		Config: v1.Config{Entrypoint: entrypoint}, Created: packaging.Epoch()})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(registry+"/"+repository+":test", name.Insecure)
	if err == nil {
		err = remote.Write(ref, image, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatalf("publish %s: %v", repository, err)
	}
	digest, err := image.Digest()
	if err != nil {
		t.Fatal(err)
	}
	return pipeline.Image{Registry: registry, Repository: repository, Tag: "test",
		Digest: digest.String(), Insecure: true}
}

// PublishHelper publishes the image whose helper starts in pods, and returns its name.
func PublishHelper(t testing.TB) string {
	t.Helper()
	_, here, _, _ := runtime.Caller(0)
	out := filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w",
		"-o", out, "./cmd/sidecar")
	build.Dir = filepath.Join(filepath.Dir(here), "..", "..", "..")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the helper: %v\n%s", err, output)
	}
	program, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	i := PublishProgram(t, "nullops-test/helper", "app/sidecar", program)
	return i.Registry + "/" + i.Repository + "@" + i.Digest
}

// ListLeft lists what there is of an installation, of every kind that the agent makes.
func ListLeft(t testing.TB, install string) (left []string) {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", Variable(t, "NULLOPS_TEST_KUBERNETES"))
	if err != nil {
		t.Fatal(err)
	}
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/api/v1/namespaces", "/api/v1/pods", "/api/v1/services",
		"/api/v1/secrets", "/api/v1/persistentvolumeclaims", "/api/v1/resourcequotas",
		"/api/v1/limitranges", "/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets",
		"/apis/networking.k8s.io/v1/networkpolicies", "/apis/coordination.k8s.io/v1/leases"} {
		answer, err := client.Get(config.Host + path + "?labelSelector=" +
			url.QueryEscape("nullops.install="+install))
		if err != nil {
			t.Fatal(err)
		}
		var list struct {
			Items []struct {
				Metadata struct {
					Namespace string `json:"namespace"`
					Name      string `json:"name"`
				} `json:"metadata"`
			} `json:"items"`
		}
		err = json.NewDecoder(answer.Body).Decode(&list)
		_ = answer.Body.Close()
		if err != nil || answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: %s, %v", path, answer.Status, err)
		}
		for _, o := range list.Items {
			left = append(left, fmt.Sprintf("%s %s/%s", path, o.Metadata.Namespace, o.Metadata.Name))
		}
	}
	return left
}
