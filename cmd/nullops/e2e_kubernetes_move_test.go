//go:build kubernetes

package main_test

import (
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/plugins/packaging"
)

// A deployment with data goes from a node with Docker to a cluster, and back. It has the same URL
// everywhere, and its volume the same files, with owners, modes and links. It needs both kinds of
// servers:
//
//	tools/run services -- tools/kubernetes/node.sh \
//		go test -tags kubernetes ./cmd/nullops -run TestKubernetesMove -v
func TestKubernetesMove(t *testing.T) {
	w := newWorld(t)
	m := newMixedWorld(t, w)
	p := startProduct(t, w)
	p.applyShop(t)
	image := dockertest.PublishActorImage(t, w.docker, "nullops-test/keeping", `ENTRYPOINT ["/actor"]`)
	p.admin.put(t, "/services/keeping", object{"registry": "local", "image": image.Repository,
		"tag_mode": "pinned", "tag": image.Tag}, nil)
	p.define(t, "keeps", keepingService(false), neverRestarted())
	engine := p.enrol(t, "engine", "qa")
	d := p.admin.deployReady(t, "keeps", "keeps", nil)
	url, once := serviceURL(t, d, "web"), serviceURL(t, d, "once")
	p.answers(t, url)
	engine.fill(t, d.Id)
	before := engine.describeVolume(t, d.Id)
	cluster := m.enrol(t, p, "cluster", "qa")

	// promise: K-08
	p.admin.move(t, "keeps")
	p.admin.arrives(t, d, cluster)
	p.answers(t, url)
	p.answers(t, once)
	if now := describeFolder(t, m.volume(t, cluster, d.Id)); now != before {
		t.Errorf("on the cluster, the volume holds\n%s\ninstead of\n%s", now, before)
	}
	m.checkStopSignals(t, cluster, d.Id, 1)
	engine.awaitCleared(t, d.Id)

	p.admin.move(t, "keeps")
	p.admin.arrives(t, d, engine)
	p.answers(t, url)
	p.answers(t, once)
	if now := engine.describeVolume(t, d.Id); now != before {
		t.Errorf("back on Docker, the volume holds\n%s\ninstead of\n%s", now, before)
	}
	engine.checkStopSignals(t, d.Id, 2)
	m.awaitCleared(t, cluster, d.Id)
	p.admin.remove(t, d.Id)
	engine.nothingLeft(t, d.Id)
	m.awaitCleared(t, cluster, d.Id)
}

// mixedWorld is a cluster beside the servers of a world with Docker. Its machine finds the registry
// of that world under the name that it has for Docker, which is on the loopback interface.
type mixedWorld struct {
	kubeconfig, from, folder, helper string
}

func newMixedWorld(t *testing.T, w *world) *mixedWorld {
	t.Helper()
	m := &mixedWorld{kubeconfig: readVariable(t, "NULLOPS_TEST_KUBERNETES"),
		from:   readVariable(t, "NULLOPS_TEST_KUBERNETES_FROM"),
		folder: readVariable(t, "NULLOPS_TEST_KUBERNETES_FOLDER")}
	at := m.passOn(t, w.registry)
	hosts := filepath.Join(m.folder, "certs.d", w.registry)
	err := os.MkdirAll(hosts, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(hosts, "hosts.toml"), fmt.Appendf(nil,
			"server = \"http://%s\"\n[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n",
			at, at), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	m.helper = m.publishHelper(t, w)
	m.kubectl(t, `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{
		"name":"moves"},"provisioner":"kubernetes.io/host-path","reclaimPolicy":"Delete"}`,
		"apply", "--filename=-")
	t.Cleanup(func() { m.kubectl(t, "", "delete", "storageclass", "moves") })
	return m
}

// passOn listens where the cluster's machine reaches this one, and passes connections on.
func (m *mixedWorld) passOn(t *testing.T, to string) (at string) {
	t.Helper()
	listener, err := net.Listen("tcp", net.JoinHostPort(m.from, "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			in, err := listener.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = in.Close() }()
				out, err := net.Dial("tcp", to)
				if err != nil {
					return
				}
				defer func() { _ = out.Close() }()
				go func() { _, _ = io.Copy(out, in) }()
				_, _ = io.Copy(in, out)
			}()
		}
	}()
	return listener.Addr().String()
}

// publishHelper puts an image with the helper of pods into the registry.
func (m *mixedWorld) publishHelper(t *testing.T, w *world) string {
	t.Helper()
	sidecar := filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
		sidecar, "../sidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the sidecar: %v\n%s", err, out)
	}
	layer, err := packaging.MakeLayer(t.TempDir(), []packaging.File{
		{Path: "app/sidecar", From: sidecar, Mode: 0o755}})
	if err != nil {
		t.Fatal(err)
	}
	image, err := packaging.Assemble(packaging.Plan{Layers: []packaging.Layer{layer},
		Config: v1.Config{}, Created: packaging.Epoch()})
	if err != nil {
		t.Fatal(err)
	}
	helper := w.registry + "/nullops-test/move-helper:e2e"
	ref, err := name.NewTag(helper, name.Insecure)
	if err == nil {
		err = remote.Write(ref, image, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatalf("publish the helper: %v", err)
	}
	return helper
}

// enrol adds the cluster as a node.
func (m *mixedWorld) enrol(t *testing.T, p *product, name, environment string) *node {
	t.Helper()
	n := p.addNode(t, name, environment)
	n.more = append(n.more, "--agent.runtime=kubernetes",
		"--agent.kubernetes.kubeconfig="+m.kubeconfig, "--agent.kubernetes.helper="+m.helper,
		"--agent.kubernetes.admit="+m.from+"/32", "--agent.kubernetes.storageclass=moves",
		"--agent.kubernetes.volumesize=1Gi", "--agent.grace=2s")
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	return n
}

func (m *mixedWorld) kubectl(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	c := exec.Command("kubectl", append([]string{"--kubeconfig=" + m.kubeconfig}, args...)...)
	c.Stdin = strings.NewReader(stdin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// volume is the folder of a deployment's only volume, on the disk of the cluster's machine.
func (m *mixedWorld) volume(t *testing.T, n *node, id string) string {
	t.Helper()
	claimed := m.kubectl(t, "", "get", "persistentvolumeclaims", "--all-namespaces",
		"--selector=nullops.deployment="+id+",nullops.install="+n.install(t),
		"--output=jsonpath={.items[*].spec.volumeName}")
	path := m.kubectl(t, "", "get", "persistentvolume", claimed,
		"--output=jsonpath={.spec.hostPath.path}")
	return filepath.Join(m.folder, "volumes", filepath.Base(path), "data")
}

func (m *mixedWorld) checkStopSignals(t *testing.T, n *node, id string, times int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(m.volume(t, n, id), "said"))
	if want := strings.Repeat("told to end\n", times); err != nil || string(text) != want {
		t.Errorf("told to end %d times, the service wrote %q: %v", times, text, err)
	}
}

// awaitCleared waits until the cluster has no namespace of a deployment.
func (m *mixedWorld) awaitCleared(t *testing.T, n *node, id string) {
	t.Helper()
	eventually(t, "the cluster is cleared", func() string {
		return m.kubectl(t, "", "get", "namespaces", "--output=name",
			"--selector=nullops.deployment="+id+",nullops.install="+n.install(t))
	})
}
