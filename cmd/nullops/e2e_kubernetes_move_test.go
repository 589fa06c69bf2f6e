//go:build kubernetes

package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/controlplane/apiclient"
	"github.com/nullops/nullops/internal/testpart"
)

// A deployment with data goes from a node with Docker to a cluster, and back. It has the same URL
// everywhere, and its volume the same files, with owners, modes and links. It needs both kinds of
// servers:
//
//	tools/run services -- tools/kubernetes/node.sh \
//		go test -tags kubernetes ./cmd/nullops -run TestKubernetesMove -v
func TestKubernetesMove(t *testing.T) {
	testpart.Rotate(t)
	w := newWorld(t)
	k := newClusterBeside(t, w)
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
	cluster := k.enrol(t, p, "cluster", "qa")

	// promise: K-08
	p.admin.move(t, "keeps")
	p.admin.arrives(t, d, cluster)
	p.answers(t, url)
	p.answers(t, once)
	if now := describeFolder(t, k.volume(t, cluster, d.Id)); now != before {
		t.Errorf("on the cluster, the volume holds\n%s\ninstead of\n%s", now, before)
	}
	k.checkStopSignals(t, cluster, d.Id, 1)
	engine.awaitCleared(t, d.Id)

	p.admin.move(t, "keeps")
	p.admin.arrives(t, d, engine)
	p.answers(t, url)
	p.answers(t, once)
	if now := engine.describeVolume(t, d.Id); now != before {
		t.Errorf("back on Docker, the volume holds\n%s\ninstead of\n%s", now, before)
	}
	engine.checkStopSignals(t, d.Id, 2)
	k.awaitCleared(t, cluster, d.Id)
	p.admin.remove(t, d.Id)
	engine.nothingLeft(t, d.Id)
	k.awaitCleared(t, cluster, d.Id)

	// What a rule keeps goes the same way.
	q := startProduct(t, w)
	q.takeDataAlong(t, func() *node { return k.enrol(t, q, "right", "qa") })
}

// newClusterBeside is the cluster beside a world with Docker. Its machine finds the registry of
// that world under the name that it has for Docker, which is on the loopback interface.
func newClusterBeside(t *testing.T, w *world) *cluster {
	t.Helper()
	k := newCluster(t)
	k.registry, k.plain = w.registry, w.registry
	at := passOn(t, k.from+":0", w.registry)
	hosts := filepath.Join(k.folder, "certs.d", w.registry)
	err := os.MkdirAll(hosts, 0o755)
	if err == nil {
		err = os.WriteFile(filepath.Join(hosts, "hosts.toml"), fmt.Appendf(nil,
			"server = \"http://%s\"\n[host.\"http://%s\"]\n  capabilities = [\"pull\", \"resolve\"]\n",
			at, at), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
	k.publishHelper(t)
	k.makeDefaultClass(t)
	return k
}

// enrol adds the cluster as a node, beside those with Docker.
func (k *cluster) enrol(t *testing.T, p *product, name, environment string) *node {
	t.Helper()
	n := p.addNode(t, name, environment)
	k.equip(n)
	n.start(t)
	n.await(t, apiclient.NodeStatusOnline)
	return n
}

func (k *cluster) checkStopSignals(t *testing.T, n *node, id string, times int) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(k.volume(t, n, id), "said"))
	if want := strings.Repeat("told to end\n", times); err != nil || string(text) != want {
		t.Errorf("told to end %d times, the service wrote %q: %v", times, text, err)
	}
}

// awaitCleared waits until the cluster has no namespace of a deployment.
func (k *cluster) awaitCleared(t *testing.T, n *node, id string) {
	t.Helper()
	eventually(t, "the cluster is cleared", func() string {
		return k.kubectl(t, "get", "namespaces", "--output=name",
			"--selector=nullops.deployment="+id+",nullops.install="+n.install(t))
	})
}
