package main_test

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	"github.com/nullops/nullops/agent/docker/dockertest"
	"github.com/nullops/nullops/plugins/packaging"
)

// cluster is a real Kubernetes as tools/kubernetes/node.sh starts it, seen by its administrator.
// Nodes of a world that has one are agents of that cluster.
type cluster struct {
	kubeconfig string
	// registry is reached over TLS, with the certificate in the file authority.
	registry, authority string
	// plain is the same registry over HTTP, for what this machine puts into it.
	plain string
	// from is the address of this machine, as pods see it.
	from string
	// folder is where etcd, kubelet and containerd keep what they write to disk.
	folder string
	// sidecar is the helper of pods, and helper an image with it.
	sidecar string //nolint:unused // by tests with the tag kubernetes only
	helper  string
}

// equip has a node's agent work on the cluster, from outside it.
func (k *cluster) equip(n *node) {
	n.more = append(n.more, "--agent.runtime=kubernetes",
		"--agent.kubernetes.kubeconfig="+k.kubeconfig, "--agent.kubernetes.helper="+k.helper,
		"--agent.kubernetes.admit="+k.from+"/32", "--agent.kubernetes.volumesize=1Gi",
		"--agent.grace=2s")
	n.env = append(n.env, "SSL_CERT_FILE="+k.authority)
	n.cluster = k
}

// clusterOf is the cluster that a node is, or nil.
func clusterOf(n *node) *cluster { return cmp.Or(n.cluster, n.p.w.cluster) }

// publish puts an image of these files into the registry, and returns its name.
func (k *cluster) publish(
	t *testing.T, repository, tag string, config v1.Config, files ...packaging.File,
) (image string) {
	t.Helper()
	publishImage(t, k.plain, repository, tag, config, files...)
	return k.registry + "/" + repository + ":" + tag
}

// publishImage makes an image of one layer, and pushes it to a registry over plain HTTP.
func publishImage(t *testing.T, registry, repository, tag string, config v1.Config,
	files ...packaging.File) {
	t.Helper()
	layer, err := packaging.MakeLayer(t.TempDir(), files)
	if err != nil {
		t.Fatal(err)
	}
	made, err := packaging.Assemble(packaging.Plan{Layers: []packaging.Layer{layer},
		Config: config, Created: packaging.Epoch()})
	if err != nil {
		t.Fatal(err)
	}
	ref, err := name.NewTag(registry+"/"+repository+":"+tag, name.Insecure)
	if err == nil {
		err = remote.Write(ref, made, remote.WithContext(t.Context()))
	}
	if err != nil {
		t.Fatalf("publish %s: %v", repository, err)
	}
}

// publishActor publishes the program that does what its command says, and returns its tag.
func (w *world) publishActor(t *testing.T, repository string) (tag string) {
	t.Helper()
	if w.cluster == nil {
		return dockertest.PublishActorImage(t, w.docker, repository, `ENTRYPOINT ["/actor"]`).Tag
	}
	w.cluster.publish(t, repository, "test", v1.Config{Entrypoint: []string{"/actor"}},
		packaging.File{Path: "actor", Mode: 0o755, Data: dockertest.BuildActor(t)},
		packaging.File{Path: "data", Dir: true})
	return "test"
}

// volume is the folder of a deployment's only volume, on the disk of the cluster's machine.
func (k *cluster) volume(t *testing.T, n *node, id string) string {
	t.Helper()
	claimed := k.kubectl(t, "get", "persistentvolumeclaims", "--all-namespaces",
		"--selector=nullops.deployment="+id+",nullops.install="+n.install(t),
		"--output=jsonpath={.items[*].spec.volumeName}")
	path := k.kubectl(t, "get", "persistentvolume", claimed,
		"--output=jsonpath={.spec.hostPath.path}")
	return filepath.Join(k.folder, "volumes", filepath.Base(path), "data")
}

// kubectl runs the real one with every right, and fails the test when it fails.
func (k *cluster) kubectl(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, err := k.tryKubectl("", args...)
	if err != nil {
		t.Fatalf("kubectl %s: %v: %s", strings.Join(args, " "), err, errs)
	}
	return out
}

func (k *cluster) tryKubectl(stdin string, args ...string) (out, errs string, err error) {
	c := exec.Command("kubectl", append([]string{"--kubeconfig=" + k.kubeconfig}, args...)...)
	c.Stdin = strings.NewReader(stdin)
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	err = c.Run()
	return stdout.String(), stderr.String(), err
}

// namespaceOf is the namespace of a deployment. An agent in the cluster keeps its installation id
// to itself.
func (n *node) namespaceOf(t *testing.T, deployment string) string {
	t.Helper()
	if n.data == "" {
		for _, o := range n.p.w.cluster.findObjects(t, "namespaces",
			"--selector=nullops.deployment="+deployment) {
			return o.Metadata.Name
		}
		return "none of " + deployment
	}
	sum := sha256.Sum256([]byte(n.install(t)))
	return "nullops-" + hex.EncodeToString(sum[:4]) + "-" + deployment
}

// clusterObject is what tests read of any object.
type clusterObject struct {
	Kind     string `json:"kind"`
	Metadata struct {
		Name      string            `json:"name"`
		Namespace string            `json:"namespace"`
		UID       string            `json:"uid"`
		Labels    map[string]string `json:"labels"`
		Deleted   *string           `json:"deletionTimestamp"`
	} `json:"metadata"`
	Spec struct {
		Machine string `json:"nodeName"`
		Claim   *struct {
			Namespace string `json:"namespace"`
		} `json:"claimRef"`
		ClusterIP string `json:"clusterIP"`
	} `json:"spec"`
	Status struct {
		PodIP string `json:"podIP"`
		Phase string `json:"phase"`
	} `json:"status"`
}

// findObjects lists objects of some kinds, such as "pods,services", with further flags of kubectl
// get.
func (k *cluster) findObjects(t *testing.T, kinds string, flags ...string) []clusterObject {
	t.Helper()
	var list struct{ Items []clusterObject }
	text := k.kubectl(t, append([]string{"get", kinds, "--output=json"}, flags...)...)
	if err := json.Unmarshal([]byte(text), &list); err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// leftOf lists what there is of a deployment, in the words of the leak scan of Docker.
func (k *cluster) leftOf(t *testing.T, n *node, deployment string) (left []string) {
	t.Helper()
	words := map[string]string{"Namespace": "network", "Pod": "container",
		"PersistentVolume": "volume"}
	namespace := n.namespaceOf(t, deployment)
	for _, o := range k.findObjects(t, "namespaces,pods,persistentvolumes", "--all-namespaces") {
		claimed := o.Spec.Claim != nil && o.Spec.Claim.Namespace == namespace
		if o.Metadata.Name == namespace || o.Metadata.Namespace == namespace || claimed {
			left = append(left, words[o.Kind]+" "+o.Metadata.Name+" of "+deployment)
		}
	}
	return left
}

// secretPlaces are the folders in which a value could be on the disk of a machine of the cluster.
func (k *cluster) secretPlaces() (folders []string) {
	for _, name := range []string{"etcd", "logs", "podlogs", "kubelet"} {
		folders = append(folders, filepath.Join(k.folder, name))
	}
	return folders
}

// pod returns the pod of a step that is not being removed.
func (n *node) pod(t *testing.T, deployment, step string) (pod clusterObject) {
	t.Helper()
	eventually(t, "step "+step+" has a pod", func() string {
		all := n.p.w.cluster.findObjects(t, "pods", "--namespace="+n.namespaceOf(t, deployment),
			"--selector=nullops.step="+step)
		i := slices.IndexFunc(all, func(o clusterObject) bool { return o.Metadata.Deleted == nil })
		if i < 0 {
			return "it has none"
		}
		pod = all[i]
		return ""
	})
	return pod
}
