//go:build kubernetes

package sweep_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/pipeline"
	"github.com/nullops/nullops/plugins/packaging"
)

// The same, on a real cluster that tools/kubernetes/node.sh has started.
//
// fault: F20
// promise: K-05
func TestAgent_SurvivesKillAtEveryFailpointOnKubernetes(t *testing.T) {
	newClusterSite(t).sweep(t, testpart.Pick(t, failpointNames()))
}

// clusterEngine is a cluster, seen by its administrator.
type clusterEngine struct {
	kubeconfig, registry, from string
	// helper is the image with our helper.
	helper string
	client *http.Client
	server string
}

func newClusterSite(t *testing.T) *site {
	t.Helper()
	e := clusterEngine{kubeconfig: os.Getenv("NULLOPS_TEST_KUBERNETES"),
		registry: os.Getenv("NULLOPS_TEST_KUBERNETES_REGISTRY"),
		from:     os.Getenv("NULLOPS_TEST_KUBERNETES_FROM")}
	if e.kubeconfig == "" {
		t.Fatal("NULLOPS_TEST_KUBERNETES is not set: run make test-kubernetes")
	}
	config, err := clientcmd.BuildConfigFromFlags("", e.kubeconfig)
	if err == nil {
		e.server = config.Host
		e.client, err = rest.HTTPClientFor(config)
	}
	if err != nil {
		t.Fatal(err)
	}
	sidecar := filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
		sidecar, "../../cmd/sidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the sidecar: %v\n%s", err, out)
	}
	helper := e.publish(t, "nullops-test/agent", v1.Config{},
		packaging.File{Path: "app/sidecar", From: sidecar, Mode: 0o755})
	e.helper = helper.Registry + "/" + helper.Repository + "@" + helper.Digest
	actor := packaging.File{Path: "actor", Data: dockertest.BuildActor(t), Mode: 0o755}
	return &site{engine: e, binary: buildAgent(t),
		service: e.publish(t, "nullops-test/actor", v1.Config{Entrypoint: []string{"/actor"}}, actor),
		plugin: e.publish(t, "nullops-test/record",
			v1.Config{Entrypoint: []string{"/actor", "record"}}, actor)}
}

func (e clusterEngine) publish(
	t *testing.T, repository string, config v1.Config, files ...packaging.File,
) pipeline.Image {
	t.Helper()
	layer, err := packaging.MakeLayer(t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	image, err := packaging.Assemble(packaging.Plan{Layers: []packaging.Layer{layer}, Config: config,
		Created: packaging.Epoch()})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(e.registry+"/"+repository+":sweep", name.Insecure)
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
	return pipeline.Image{Registry: e.registry, Repository: repository, Tag: "sweep",
		Digest: digest.String(), Insecure: true}
}

func (e clusterEngine) agentFlags(*node) []string {
	return []string{"--agent.runtime=kubernetes", "--agent.kubernetes.kubeconfig=" + e.kubeconfig,
		"--agent.kubernetes.helper=" + e.helper, "--agent.kubernetes.admit=" + e.from + "/32",
		"--agent.grace=2s"}
}

func (e clusterEngine) ledgerHost() string { return e.from }

// has: services are not started before their turn on a cluster.
func (clusterEngine) has(place string) bool {
	return !strings.HasPrefix(place, "sandbox.service_")
}

// scanForLeaks looks at every kind of object that the agent makes. Removing a deployment has waited
// for its namespace.
func (e clusterEngine) scanForLeaks(t testing.TB, install string) (left []string) {
	t.Helper()
	for _, path := range []string{"/api/v1/namespaces", "/api/v1/pods", "/api/v1/services",
		"/api/v1/secrets", "/api/v1/persistentvolumeclaims", "/api/v1/resourcequotas",
		"/api/v1/limitranges", "/apis/apps/v1/deployments", "/apis/apps/v1/statefulsets",
		"/apis/networking.k8s.io/v1/networkpolicies", "/apis/coordination.k8s.io/v1/leases"} {
		answer, err := e.client.Get(e.server + path + "?labelSelector=" +
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
