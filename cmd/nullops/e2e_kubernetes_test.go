//go:build kubernetes

package main_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/nullops/nullops/agent/kubernetes/clustertest"
	"github.com/nullops/nullops/internal/testpart"
	"github.com/nullops/nullops/plugins/packaging"
)

// TestKubernetesEndToEnd runs the real programs with agents of a real cluster of one machine, as in
//
//	tools/run services --only postgres -- tools/kubernetes/node.sh \
//		go test -tags kubernetes ./cmd/nullops -run TestKubernetesEndToEnd/Story -v
//
// The stories that do not look at Docker are those of TestEndToEnd, unchanged: what holds for one
// kind of node holds for the other. The cluster is in the end as it was in the beginning.
func TestKubernetesEndToEnd(t *testing.T) {
	w := newClusterWorld(t)
	w.cluster.leavesNothing(t)
	clustertest.EnforcePolicies(t)
	// A group of its own, so that all have ended before the cluster is looked at.
	t.Run("Stories", func(t *testing.T) {
		// What scenarios share has to end with them.
		w.t = t
		// Pods request processors, and the machine has two: more stories than these would wait for
		// each other's pods to go.
		room := make(chan struct{}, 2)
		for _, s := range []struct {
			name string
			run  func(*testing.T, *world)
		}{
			{"Story", clusterStory},
			{"AgentDies", agentOfClusterDies},
			{"FailingServiceRollsBack", failingService},
			{"FailingPluginsRollBack", failingPlugins},
			{"Cancel", cancelAnywhere},
			{"Masking", masking},
			{"Isolation", isolation},
			{"CaughtMails", caughtMails},
			{"KeepsData", keepsData},
		} {
			t.Run(s.name, func(t *testing.T) {
				testpart.Rotate(t)
				t.Parallel()
				room <- struct{}{}
				defer func() { <-room }()
				s.run(t, w)
			})
		}
	})
}

// newClusterWorld is a world whose nodes are agents of the test cluster.
func newClusterWorld(t *testing.T) *world {
	t.Helper()
	k := newCluster(t)
	w := &world{t: t, registry: k.registry, cluster: k}
	readVariable(t, "NULLOPS_TEST_POSTGRES")
	w.binary = w.build(t, "e2e")
	k.publishHelper(t)
	k.makeDefaultClass(t)
	return w
}

// newCluster is the cluster that tools/kubernetes/node.sh has started.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	return &cluster{kubeconfig: readVariable(t, "NULLOPS_TEST_KUBERNETES"),
		registry:  readVariable(t, "NULLOPS_TEST_KUBERNETES_SECURE"),
		authority: readVariable(t, "NULLOPS_TEST_KUBERNETES_AUTHORITY"),
		plain:     readVariable(t, "NULLOPS_TEST_KUBERNETES_REGISTRY"),
		from:      readVariable(t, "NULLOPS_TEST_KUBERNETES_FROM"),
		folder:    readVariable(t, "NULLOPS_TEST_KUBERNETES_FOLDER")}
}

// publishHelper puts an image with the helper of pods into the registry.
func (k *cluster) publishHelper(t *testing.T) {
	t.Helper()
	k.sidecar = filepath.Join(t.TempDir(), "sidecar")
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o",
		k.sidecar, "../sidecar")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the sidecar: %v\n%s", err, out)
	}
	k.helper = k.publish(t, "nullops-test/helper", "e2e", v1.Config{},
		packaging.File{Path: "app/sidecar", From: k.sidecar, Mode: 0o755})
}

// makeDefaultClass makes a StorageClass whose volumes are folders, for as long as the test runs.
func (k *cluster) makeDefaultClass(t *testing.T) {
	t.Helper()
	k.apply(t, `{"apiVersion":"storage.k8s.io/v1","kind":"StorageClass","metadata":{
		"name":"folders","annotations":{"storageclass.kubernetes.io/is-default-class":"true"}},
		"provisioner":"kubernetes.io/host-path","reclaimPolicy":"Delete"}`)
	t.Cleanup(func() { k.kubectl(t, "delete", "storageclass", "folders") })
}

// leavesNothing compares, at the end of the test, all that is in the cluster with what is there
// now.
func (k *cluster) leavesNothing(t *testing.T) {
	t.Helper()
	before := k.listEverything(t)
	t.Cleanup(func() {
		var left []string
		for deadline := time.Now().Add(waitTime); ; time.Sleep(longestPause) {
			left = slices.DeleteFunc(k.listEverything(t), func(name string) bool {
				return slices.Contains(before, name)
			})
			// promise: K-05
			if len(left) == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("left in the cluster: %s", strings.Join(left, ", "))
				k.removeNamespaces(t, left)
				return
			}
		}
	})
}

// removeNamespaces removes those that a failed test has left: their pods would take the room of
// later tests.
func (k *cluster) removeNamespaces(t *testing.T, left []string) {
	t.Helper()
	for _, name := range left {
		space, is := strings.CutPrefix(name, "Namespace /")
		if !is {
			continue
		}
		if _, errs, err := k.tryKubectl("", "delete", "namespace", space, "--timeout=1m"); err != nil {
			t.Logf("remove namespace %s: %v: %s", space, err, errs)
		}
	}
}

// listEverything lists all objects of all kinds, but for what the cluster notes for itself and
// forgets after a while.
func (k *cluster) listEverything(t *testing.T) (names []string) {
	t.Helper()
	kinds := strings.Fields(k.kubectl(t, "api-resources", "--verbs=list", "--output=name"))
	kinds = slices.DeleteFunc(kinds, func(kind string) bool {
		return kind == "events" || kind == "events.events.k8s.io" || kind == "componentstatuses"
	})
	text := k.kubectl(t, "get", strings.Join(kinds, ","), "--all-namespaces",
		`--output=jsonpath={range .items[*]}{.kind} {.metadata.namespace}/{.metadata.name}{"\n"}{end}`)
	return strings.Split(strings.TrimSpace(text), "\n")
}

// addMachine has a second machine join the cluster, and returns what kills it.
func (k *cluster) addMachine(t *testing.T) (kill func()) {
	t.Helper()
	var log locked
	machine := exec.Command("../../tools/kubernetes/machine.sh", k.folder)
	machine.Stdout, machine.Stderr = &log, &log
	if err := machine.Start(); err != nil {
		t.Fatal(err)
	}
	kill = func() {
		_ = machine.Process.Kill()
		_ = machine.Wait() // killed: its error says so
	}
	t.Cleanup(func() {
		kill()
		// Its pods are known to be gone only now.
		k.kubectl(t, "delete", "node", "node2", "--ignore-not-found")
		if t.Failed() {
			t.Log(log.String())
		}
	})
	eventually(t, "the second machine is ready", func() string {
		_, errs, err := k.tryKubectl("", "wait", "--for=condition=Ready", "node/node2",
			"--timeout=1s")
		if err != nil {
			return errs
		}
		return ""
	})
	return kill
}

// waitTime bounds what waits for the cluster, which takes its time on a busy machine.
const waitTime = 2 * time.Minute

// runLine runs a line as it is printed for people, in a shell at the root of the repository. The
// programs of this build and of the cluster are in the path.
func (k *cluster) runLine(t *testing.T, w *world, line string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTime)
	defer cancel()
	bin := t.TempDir()
	helm, err := exec.CommandContext(ctx, "../../tools/setup/helm.sh").Output()
	if err != nil {
		t.Fatalf("build helm: %v", err)
	}
	for name, path := range map[string]string{"nullops": w.binary,
		"helm": strings.TrimSpace(string(helm))} {
		if err := os.Symlink(path, filepath.Join(bin, name)); err != nil {
			t.Fatal(err)
		}
	}
	c := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", line)
	c.Dir = "../.."
	c.Env = append(cleanEnv(), "PATH="+bin+":"+os.Getenv("PATH"), "KUBECONFIG="+k.kubeconfig,
		"HELM_CACHE_HOME="+bin, "HELM_CONFIG_HOME="+bin, "HELM_DATA_HOME="+bin)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}

// apply makes objects from a manifest.
func (k *cluster) apply(t *testing.T, manifest string) {
	t.Helper()
	if _, errs, err := k.tryKubectl(manifest, "apply", "--filename=-"); err != nil {
		t.Fatalf("kubectl apply: %v: %s\n%s", err, errs, manifest)
	}
}
